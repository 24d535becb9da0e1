import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Adoption } from '../../domain/leases.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import type { Change } from '../../operations/journal/operation-run.ts';
import { LeaseReader } from '../../operations/journal/recorded-leases.ts';
import { adoptToken, planAdoption } from '../../operations/rotation/adopt-token.ts';
import type { StoredConsumer } from '../../operations/rotation/rotate-all.ts';
import {
  planOf,
  type Rotation,
  type RotationOptions,
  rotateConsumer,
} from '../../operations/rotation/rotate-consumer.ts';
import { lines, list, would } from '../../reports/document.ts';
import { secondsText } from '../../reports/tables/text.ts';
import type { ChangeRequest, PlannedChange } from '../change/change.ts';
import { placeText } from '../change/plan-text.ts';
import { requireToken } from './rotation-flow.ts';
import type { RotationFlags } from './token-flags.ts';

/** What `tokens rotate --consumer` prints with `--json`. */
export interface ConsumerRotationJson {
  readonly dryRun: boolean;
  readonly consumer: string;
  /** The adopted token; null without --adopt. */
  readonly adopted: Adoption['token'] | null;
  /** Null in a dry run. */
  readonly rotation: Rotation | null;
}

/**
 * Plans to give a configured consumer a new token now, as its job does when due; with `--adopt`, only to add
 * its current token to the rotation.
 * @throws TokenctlError `not_found` for a consumer that no job has, `usage` in another context than its
 * job's, and as the rotation.
 */
export async function consumerFlow(
  { runtime, flags, tokenId }: ChangeRequest<RotationFlags> & { tokenId: number | undefined },
  name: string,
): Promise<PlannedChange<Rotation, ConsumerRotationJson>> {
  if (tokenId !== undefined) {
    throw new TokenctlError('usage', '--consumer takes no ID', {
      hint: `To take over token ${tokenId}, use --adopt ${tokenId}.`,
    });
  }
  const { openStore } = await import('../../app/open-store.ts');
  const description = await runtime.description();
  const { consumer, context } = consumerOf(runtime.configuration, name);
  if (context !== description.context) {
    throw new TokenctlError('usage', `The job for ${name} runs in the context ${context}`, {
      hint: `Use --context ${context}.`,
    });
  }
  const { configuration, environment } = runtime;
  const store = await openStore(consumer.store, { configuration, consumer: name, environment });
  const withChange = (change: Change): RotationOptions => ({
    ...change,
    ...{ consumer, store, leases: new LeaseReader(change.log), early: true },
  });
  const reading = withChange({ ...(await runtime.dryRun()), log: await runtime.auditLog() });
  const { adopt } = flags;
  const adoption =
    adopt === undefined ? null : await planAdoption(reading, await requireToken(runtime, adopt));
  const planned =
    adoption === null
      ? await planOf(reading)
      : [`take over token ${adoption.token.id} (its next rotation revokes it)`];
  return {
    plan: [
      lines(would`change the token of ${name}:`, placeText(description), `${store.name}.`, list(...planned)),
    ],
    question: {
      act: adoption === null ? `rotate the token of ${name}` : `take over token ${adopt}`,
      type: name,
    },
    async act(begin) {
      const change = withChange(await begin());
      if (adoption === null) return await rotateConsumer(change);
      await adoptToken(change, adoption);
      return { result: 'unchanged', token: null, revoked: 0 };
    },
    ended: ({ result, token, revoked }) => ({
      document: [
        lines(
          adoption !== null &&
            `Took over token ${adoption.token.id}. The job for ${name} replaces it when it is due.`,
          adoption === null &&
            result === 'rotated' &&
            `${store.name} has the new token ${token}. The previous token is accepted for ${secondsText(consumer.overlap)} more.`,
          adoption === null && result === 'busy' && `Another process is rotating the token of ${name}.`,
          revoked > 0 && `Revoked ${revoked} of its tokens.`,
        ),
      ],
    }),
    json: ({ dryRun, done }) => ({
      ...{ dryRun, consumer: name },
      adopted: adoption?.token ?? null,
      rotation: done,
    }),
  };
}

/** A consumer of a job of the kind `rotation`, and the context of the job. */
function consumerOf(
  // A scheduler is not started with the --context of this command.
  { jobs, usualContext = '' }: ChangeRequest['runtime']['configuration'],
  name: string,
): { readonly consumer: StoredConsumer; readonly context: string } {
  const rotations = Object.values(jobs).filter(({ job }) => job === 'rotation');
  // The job's kind has validated it.
  const all = rotations.flatMap(({ contexts, parameters }) =>
    Object.entries((parameters as { consumers: Record<string, Omit<StoredConsumer, 'name'>> }).consumers).map(
      ([each, settings]) => ({
        consumer: { name: each, ...settings },
        context: contexts?.[0] ?? usualContext,
      }),
    ),
  );
  const found = all.find(({ consumer }) => consumer.name === name);
  if (found !== undefined) return found;
  const near = nearestName(
    name,
    all.map(({ consumer }) => consumer.name),
  );
  throw new TokenctlError('not_found', `No job rotates the tokens of a consumer named "${name}"`, {
    hint: near === undefined ? 'Add it to a job of kind `rotation`.' : `Did you mean "${near}"?`,
  });
}
