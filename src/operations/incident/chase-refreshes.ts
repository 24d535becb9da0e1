import { TokenctlError } from '../../domain/errors.ts';
import type { Selector } from '../../domain/selector.ts';
import { BatchOutcome } from '../journal/batches.ts';
import type { Work } from '../journal/operation-run.ts';
import type { Target } from '../ports/target.ts';
import type { StepReport } from './step.ts';

/** For how long refreshing clients are chased, in milliseconds. */
const LONGEST = 15_000;

/** After how many milliseconds the log is told: what a killed process did since is not in it by number. */
const ROUND = 1000;

/**
 * Revokes refresh tokens until none is live. Whoever refreshes every few milliseconds has another pair before a
 * plan is through, and before a disk has taken an intent that names its refresh token. So the intent is to revoke
 * whatever is live: under it they are listed and revoked at once, again and again, and the outcome names those
 * that were. Every try catches all that are not in the middle of a refresh.
 *
 * @returns What it did; null where none was live.
 * @throws TokenctlError `audit_unavailable` where the log fails before anything was tried, and
 * `outcome_unrecorded` where it fails later.
 */
export async function chaseRefreshes(work: Work, selector: Selector): Promise<StepReport | null> {
  const until = performance.now() + LONGEST;
  let [revoked, tries, left] = [0, 0, 0];
  while (!work.over && performance.now() < until) {
    const ids = await liveRefreshTokens(work.target, selector);
    left = ids.length;
    if (left === 0) break;
    const round = await recordedRound(work, { selector, ids, until });
    revoked += round.revoked;
    tries += round.tries;
    left = round.left;
    // One that cannot be revoked stays so: it is told of by the next pass.
    if (left === 0 || round.isStuck) break;
  }
  if (tries === 0) return null;
  const rest = left === 0 ? '' : `; ${left} are still being refreshed`;
  return {
    step: 'refresh_tokens',
    result: left === 0 ? 'done' : 'partly',
    message: `Chased clients that were refreshing: revoked ${revoked} more refresh tokens in ${tries} tries${rest}.`,
  };
}

/** What is chased, from where, and until when, in milliseconds of `performance.now()`. */
interface Chase {
  readonly selector: Selector;
  /** Those that are live as it begins. */
  readonly ids: readonly number[];
  readonly until: number;
}

/** What tries together came to. */
interface Round {
  readonly revoked: number;
  readonly tries: number;
  /** How many were live at the end. */
  readonly left: number;
  /** Whether nothing of the last try could be revoked, and would not be by another. */
  readonly isStuck: boolean;
}

/** One round of tries between an intent and its outcome. */
async function recordedRound(work: Work, chase: Chase): Promise<Round> {
  let round: Round = { revoked: 0, tries: 0, left: chase.ids.length, isStuck: true };
  await work.part(async () => {
    const { users, applications } = chase.selector;
    const intent = await work.journal.intent({
      step: 'refresh_tokens',
      ids: chase.ids,
      // And those that come in their place.
      chased: { ...(users && { users }), ...(applications && { applications }) },
    });
    const touched: number[] = [];
    const outcome = new BatchOutcome('refresh_tokens', { ids: touched });
    try {
      round = await tries(work, { ...chase, outcome, touched });
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      work.stop(error);
    } finally {
      await work.journal.outcome(intent, outcome.data());
    }
  });
  return round;
}

/** Lists and revokes until none is live, or it is time to tell the log. */
async function tries(
  work: Work,
  chase: Chase & { readonly outcome: BatchOutcome; readonly touched: number[] },
): Promise<Round> {
  const { target } = work;
  const until = Math.min(chase.until, performance.now() + ROUND);
  let [revoked, count, isStuck] = [0, 0, false];
  let ids = await liveRefreshTokens(target, chase.selector);
  while (ids.length > 0 && !isStuck && !work.over && (count === 0 || performance.now() < until)) {
    let failed = 0;
    for await (const each of target.revokeRefreshTokens(ids)) {
      work.acted = true;
      if (each.result === 'revoked') revoked += 1;
      if (each.result === 'failed') failed += 1;
      // Refreshed before its turn came: what is there instead is next.
      if (each.result === 'unchanged') continue;
      chase.touched.push(each.tokenId);
      chase.outcome.add(each);
    }
    count += 1;
    isStuck = failed === ids.length;
    ids = await liveRefreshTokens(target, chase.selector);
  }
  return { revoked, tries: count, left: ids.length, isStuck };
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
