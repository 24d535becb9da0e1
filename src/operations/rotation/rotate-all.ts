import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import type { Consumer } from '../../domain/rotation.ts';
import type { JobReport, TargetJobContext } from '../jobs/job.ts';
import { LeaseReader } from '../journal/recorded-leases.ts';
import { requireWithinLifetime } from '../leases/make-limited-token.ts';
import {
  planOf,
  type Rotation,
  type RotationOptions,
  requireMayCreate,
  rotateConsumer,
} from './rotate-consumer.ts';

export type StoredConsumer = Consumer & { readonly store: string };

/** Consumers that were processed, and those that failed. */
interface Done {
  readonly rotations: Rotation[];
  readonly planned: string[];
  readonly failures: { readonly consumer: string; readonly error: TokenctlError }[];
}

/**
 * Rotates the tokens of consumers, one after the other. Failures are reported after all were tried, but
 * nothing is tried without the audit log.
 * @throws TokenctlError `unsupported`, `configuration`, `usage` before anything is created, if an account may
 * not create the tokens or the controller's lifetime is too short; `partly_done` if some failed, the error
 * itself if all did.
 */
export async function rotateAll(
  context: TargetJobContext,
  consumers: readonly StoredConsumer[],
): Promise<JobReport> {
  for (const consumer of consumers) requireMayCreate(context.description, consumer);
  await requireWithinLifetime(context.target, Math.max(...consumers.map(({ lifetime }) => lifetime)));
  const leases = new LeaseReader(context.log);
  const done: Done = { rotations: [], planned: [], failures: [] };
  for (const consumer of consumers) {
    if (context.signal.aborted) break;
    try {
      const store = await context.services.store(consumer.store, consumer.name);
      await rotate({ ...context, consumer, store, leases }, done);
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      done.failures.push({ consumer: consumer.name, error });
      if (OF_THE_LOG.has(error.code)) break;
    }
  }
  return reportOf(done, { total: consumers.length, dryRun: context.dryRun });
}

const OF_THE_LOG: ReadonlySet<TokenctlError['code']> = new Set(['audit_unavailable', 'outcome_unrecorded']);

async function rotate(options: RotationOptions & Pick<TargetJobContext, 'dryRun'>, done: Done) {
  if (options.dryRun) done.planned.push(...(await planOf(options)));
  else done.rotations.push(await rotateConsumer(options));
}

function reportOf(
  { rotations, planned, failures }: Done,
  { total, dryRun }: { total: number; dryRun: boolean },
): JobReport {
  const of = (result: Rotation['result']) => rotations.filter((each) => each.result === result).length;
  const revoked = rotations.reduce((sum, each) => sum + each.revoked, 0);
  const rotated = of('rotated');
  const summary = {
    consumers: total,
    ...(dryRun ? { planned } : { rotated, revoked, busy: of('busy') }),
    failed: failures.map(({ consumer, error: { code, message } }) => ({ consumer, code, message })),
  };
  const consumers = `${numberText(total)} ${total === 1 ? 'consumer' : 'consumers'}`;
  const message = dryRun
    ? planned.length === 0
      ? `Nothing to do for ${consumers}`
      : `Would ${planned.join('; ')}`
    : `Rotated ${numberText(rotated)} of ${consumers}`;
  const [first] = failures;
  if (first !== undefined) {
    const more = failures.length === 1 ? '' : ` (and ${failures.length - 1} more)`;
    throw new TokenctlError(
      failures.length === total ? first.error.code : 'partly_done',
      `${message}. Failed for ${first.consumer}${more}: ${first.error.message}`,
      { hint: first.error.hint, details: summary },
    );
  }
  const isCutShort = !dryRun && rotations.length < total;
  return { message, summary, revoked, ...(isCutShort && { interrupted: true }) };
}
