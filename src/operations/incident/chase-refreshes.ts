import type { Selector } from '../../core/selector.ts';
import type { Target } from '../ports/target.ts';
import { runBatches } from '../record/batches.ts';
import { OutcomeTally } from '../record/outcome-tally.ts';
import type { Work } from '../record/work.ts';
import type { StepReport } from './step.ts';

/** For how long refreshing clients are chased, in milliseconds. */
const LONGEST = 15_000;

/**
 * Revokes refresh tokens until none is live. Whoever refreshes every few milliseconds has another pair before a
 * plan is through: so they are listed and revoked at once, again and again, each batch recorded before and after.
 * Every try catches those that are not in the middle of a refresh.
 *
 * @returns What it did; null where none was live.
 * @throws TokenctlError as `runBatches`.
 */
export async function chaseRefreshes(work: Work, selector: Selector): Promise<StepReport | null> {
  const until = performance.now() + LONGEST;
  let [revoked, tries, left] = [0, 0, 0];
  for (; !work.over && performance.now() < until; tries += 1) {
    const ids = await liveRefreshTokens(work.target, selector);
    left = ids.length;
    if (left === 0) break;
    const tally = new OutcomeTally(ids.length);
    await runBatches(work, {
      batches: [{ ids }],
      atOnce: 1,
      step: 'refresh_tokens',
      act: (batch) => work.target.revokeRefreshTokens(batch),
      tally,
    });
    const counts = tally.counts();
    revoked += counts.revoked;
    // One that cannot be revoked stays so: it is told of by the next pass.
    if (counts.failed.length === ids.length) break;
  }
  if (tries === 0) return null;
  const rest = left === 0 ? '' : `; ${left} are still being refreshed`;
  return {
    step: 'refresh_tokens',
    result: left === 0 ? 'done' : 'partly',
    message: `Chased clients that were refreshing: revoked ${revoked} more refresh tokens in ${tries} tries${rest}.`,
  };
}

/**
 * The ids of the refresh tokens of a selection that are live, without an access token or beside one.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function liveRefreshTokens(
  target: Target,
  { users, applications }: Selector,
): Promise<number[]> {
  const of = { ...(users && { users }), ...(applications && { applications }) };
  const ids: number[] = [];
  for await (const { id } of target.refreshTokens({ ...of, states: ['live', 'orphaned'] })) ids.push(id);
  return ids;
}
