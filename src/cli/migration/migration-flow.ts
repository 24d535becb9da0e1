import { statSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { openStore } from '../../app/open-store.ts';
import { absolutePath } from '../../config/paths.ts';
import { storeSettings } from '../../config/stores.ts';
import { LeaseReader } from '../../operations/journal/recorded-leases.ts';
import { leftLeases } from '../../operations/leases/end-leases.ts';
import { type MigrationReport, migrateTokens } from '../../operations/migration/migrate-tokens.ts';
import { type MigrationPlan, planMigration } from '../../operations/migration/plan-migration.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { refusalAhead, requireMayChange, requireRights } from '../../operations/scope/visibility.ts';
import { good, lines } from '../../reports/document.ts';
import type { MaybeMade } from '../../reports/result.ts';
import { countText } from '../../reports/tables/text.ts';
import { type ChangeRequest, notMade, type PlannedChange } from '../change/change.ts';
import { runLine, unfinishedWork } from '../change/ending.ts';
import type { MigrationFlags } from './migration-flags.ts';
import { migrationDocument, tokenListing } from './migration-text.ts';
import { openSides } from './sides.ts';

/** What `tokens migrate` prints with `--json`. If nothing was created, the members of the report are null. */
export interface MigrationJson extends MaybeMade<MigrationReport> {
  readonly dryRun: boolean;
  readonly plan: MigrationPlan & {
    /** Tokens used since then count as in use. */
    readonly usedSince: Date;
  };
}

const DAY_MS = 86_400_000;
const USED_WITHIN_MS = 90 * DAY_MS;

/**
 * Plans new tokens on a gateway for a controller's tokens that are in use.
 * @throws TokenctlError as {@link openSides}; `not_found` for a store, `usage` for a folder.
 */
export async function migrationFlow(
  request: ChangeRequest<MigrationFlags>,
): Promise<PlannedChange<MigrationReport, MigrationJson>> {
  const { runtime, flags } = request;
  const open = placesOf(request);
  const { from, to, gateway, migrated } = await openSides(runtime, flags);
  const usedSince = new Date(from.clock.now().getTime() - (flags['used-within'] ?? USED_WITHIN_MS));
  const plan = await planMigration({ from, to, usedSince, migrated });
  const tokens = plan.tokens.filter(({ next }) => next === 'new_token');
  const count = tokens.length;
  const leases = new LeaseReader(await runtime.auditLog());
  const act = `make ${countText(count, 'token')}`;
  return {
    plan: migrationDocument(plan, {
      from: from.description,
      to: to.description,
      usedSince,
      place: placeOf(flags),
    }),
    csv: tokenListing(plan.tokens),
    question: count === 0 ? null : { act, type: String(count), tokens: count },
    amount: { what: 'token', planned: count },
    require: () => {
      requirePlace(open);
      requireCreates(to.description);
    },
    refusal: () => (open === null ? undefined : refusalAhead(() => requireCreates(to.description))),
    act: async (begin) =>
      await migrateTokens({
        ...(await begin(gateway)),
        ...{ tokens, from: from.description, leases, openStore: requirePlace(open) },
      }),
    ended: (done) => endingOf(done, count),
    json: ({ dryRun, done }) => ({
      dryRun,
      plan: { ...plan, usedSince },
      ...(done ?? notMade('results leftovers interrupted stopped run')),
    }),
  };
}

function endingOf({ results, leftovers, interrupted, stopped, run }: MigrationReport, count: number) {
  const failed = results.filter(({ why }) => why !== null);
  const done = results.length - failed.length;
  const left = leftLeases(leftovers, 'The next run tries again.');
  return {
    document: [
      lines(
        done > 0 &&
          good`${countText(done, 'token')} of the gateway replaced the controller's tokens. The values were read back from where they were written. The old tokens were not changed.`,
        failed
          .slice(0, SHOWN)
          .map(({ old, owner, why }) => `Token ${old} of ${owner} was not replaced: ${why}.`),
        failed.length > SHOWN && `and ${failed.length - SHOWN} more (--json lists all)`,
        done > 0 && 'Once the programs use the new tokens, --finish revokes the old ones.',
        runLine(run),
      ),
    ],
    amount: { what: 'token' as const, planned: count, done },
    failure:
      unfinishedWork({
        ...{ interrupted, stopped, open: failed.length > 0 },
        left: `${countText(count - done, 'token')} not replaced.`,
      }) ?? left,
  };
}

/** The maximum number of tokens in a text. */
const SHOWN = 20;

/** Opens the store of a token's value. */
type Open = Parameters<typeof migrateTokens>[0]['openStore'];

function requirePlace(open: Open | null): Open {
  if (open !== null) return open;
  throw new TokenctlError('usage', 'A new token requires a place to store its value', {
    hint: 'Add --store NAME or --output-dir DIR, or --dry-run.',
  });
}

/** Refuses what the gateway's context cannot do: over REST, an account creates tokens for itself only. */
function requireCreates(description: TargetDescription): void {
  requireMayChange(description);
  if (description.credential !== 'database_role') {
    throw new TokenctlError(
      'permission_refused',
      `Over REST, ${description.identity.username} can only create tokens for itself`,
      { hint: 'Specify a database context of the gateway with --to.' },
    );
  }
  requireRights(description, { what: 'A migration', purposes: ['create', 'revoke'] });
}

function placeOf(flags: Pick<MigrationFlags, 'store' | 'output-dir'>): string {
  if (flags.store !== undefined) return `the store ${flags.store}`;
  return flags['output-dir'] ?? '';
}

/**
 * Opens the store of each value; null if the flags name none.
 * @throws TokenctlError `not_found` for a store, `usage` for one without a separate place for each, and for
 * something that is not a folder.
 */
function placesOf({ runtime, flags }: ChangeRequest<MigrationFlags>): Open | null {
  const { store } = flags;
  const { environment, configuration } = runtime;
  if (store !== undefined) {
    const { stores } = configuration;
    if (!JSON.stringify(storeSettings(store, stores)).includes('{consumer}')) {
      throw new TokenctlError('usage', `The store ${store} has only one place for all tokens`, {
        hint: 'Use {consumer} in its path or key. It stands for migrated-CONTROLLER-ID, with the ID of the old token.',
      });
    }
    return (consumer: string) => openStore(store, { configuration, consumer, environment });
  }
  if (flags['output-dir'] === undefined) return null;
  const folder = absolutePath(flags['output-dir'], process.cwd(), environment);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new TokenctlError('usage', `${folder} is not a directory`, { hint: 'Create it, with mode 0700.' });
  }
  const stores = { files: { kind: 'file' as const, file: join(folder, '{consumer}') } };
  return (consumer: string) =>
    openStore('files', { configuration, stores, consumer, environment, isPrivate: true });
}
