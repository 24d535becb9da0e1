import type { Outcome } from '../../domain/plan.ts';
import {
  type BatchStep,
  batchesOf,
  type OutcomeCounts,
  OutcomeTally,
  runBatches,
} from '../journal/batches.ts';
import { type Change, OperationRun, type RunEnd } from '../journal/operation-run.ts';
import { partOf } from '../scope/target-parts.ts';
import { type CleanupKind, type CleanupPlan, cleanupKinds, tallied } from './plan-cleanup.ts';

export interface CleanupTokensOptions extends Change {
  readonly plan: CleanupPlan;
  /** Rows per batch; each batch is one intent and one outcome in the log. Default: as the target says. */
  readonly batchSize?: number;
}

interface CleanedTokens extends Omit<OutcomeCounts, 'revoked'> {
  readonly deleted: number;
}

export interface CleanupReport
  extends RunEnd,
    Pick<CleanupPlan, 'kept' | 'limited' | 'notPossible' | 'notSeen'> {
  readonly byKind: Readonly<Record<CleanupKind, CleanedTokens>>;
  readonly planned: number;
  /** The total of all kinds. */
  readonly deleted: number;
  readonly seconds: number;
}

/** One batch waits for the disk while another acts. */
const CONCURRENCY = 2;

/**
 * Deletes the planned tokens, refresh tokens before access tokens: closes what killed runs left open, records
 * the intent, then deletes in batches, each recorded before and after. Running it again finishes the work.
 * @throws TokenctlError as any {@link OperationRun}. If the target fails part-way, `stopped` reports it
 * instead.
 */
export async function cleanupTokens(options: CleanupTokensOptions): Promise<CleanupReport> {
  const { plan } = options;
  const size = options.batchSize ?? options.description.capabilities.batchSize;
  using work = new OperationRun(options, 'tokens.cleanup');
  const tallies = tallied((kind) => new OutcomeTally(plan.counts[kind]));
  await work.open({ planned: plan.total, ...plan.counts });
  for (const kind of cleanupKinds) {
    const ids = plan.ids[kind];
    const batches = batchesOf({ ids }, { from: 0, to: ids.length, size });
    await runBatches(work, {
      batches,
      concurrency: CONCURRENCY,
      tally: tallies[kind],
      ...way(kind, options),
    });
  }
  const byKind = tallied((kind): CleanedTokens => {
    const { revoked, ...counts } = tallies[kind].counts();
    return { ...counts, deleted: revoked };
  });
  const report: CleanupReport = {
    byKind,
    planned: plan.total,
    deleted: cleanupKinds.reduce((total, kind) => total + byKind[kind].deleted, 0),
    kept: plan.kept,
    limited: plan.limited,
    notPossible: plan.notPossible,
    notSeen: plan.notSeen,
    ...work.ending(cleanupKinds.every((kind) => byKind[kind].notTried === 0)),
    seconds: work.seconds,
  };
  const { run: _run, byKind: _byKind, ...stated } = report;
  const counts = tallied((kind) => ({ ...byKind[kind], failed: byKind[kind].failed.length }));
  await work.close({ ...stated, ...counts });
  return report;
}

/** How to delete tokens of a kind. Access tokens go with a refresh token that an earlier step left. */
function way(
  kind: CleanupKind,
  { target, signal }: CleanupTokensOptions,
): { readonly step: BatchStep; readonly act: (ids: readonly number[]) => AsyncIterable<Outcome> } {
  if (kind === 'expiredAuthorizationCodes') {
    return { step: 'authorization_codes', act: (ids) => partOf(target, 'authorizationCodes').delete(ids) };
  }
  if (kind !== 'expiredAccessTokens') {
    return { step: 'refresh_token_rows', act: (ids) => partOf(target, 'refreshTokens').delete(ids) };
  }
  const withRefreshTokens = target.refreshTokens !== undefined;
  return { step: 'batch', act: (ids) => target.revoke(ids, { withRefreshTokens, signal }) };
}
