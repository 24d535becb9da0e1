import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Outcome } from '../../domain/plan.ts';
import { type Selector, whoseOf } from '../../domain/selector.ts';
import type { UserReference } from '../../domain/token.ts';
import { BatchOutcome, type BatchStep, byOwner } from '../journal/batches.ts';
import type { OperationRun, StepReport } from '../journal/operation-run.ts';
import type { Target } from '../ports/target.ts';
import { partOf } from '../scope/target-parts.ts';

/** The time limit for draining tokens of one kind. */
const MAX_DRAIN_MS = 15_000;

/** After how many milliseconds the log is told: what a killed process did since is not in it by number. */
const ROUND_MS = 1000;

/** A live token, and its owner where the target names one. */
interface Live {
  readonly id: number;
  readonly user: UserReference | null;
}

/** How tokens of one kind are listed and revoked. */
interface Drain {
  readonly selector: Selector;
  /** What the log calls it. */
  readonly step: Extract<BatchStep, 'batch' | 'refresh_tokens'>;
  /** What people call it. */
  readonly noun: string;
  /** Those that are live now, in the order in which they are revoked. */
  readonly live: () => Promise<readonly Live[]>;
  readonly revoke: (ids: readonly number[]) => AsyncIterable<Outcome>;
}

/**
 * Revokes tokens until none is live. A client that gets a token every few milliseconds, by a refresh token or
 * by a token that it has, gets the next one before a plan is carried out, and before its intent is on disk.
 * So the intent is to revoke every live token of the selection: they are listed and revoked repeatedly, and
 * the outcome lists those that were revoked. Refresh tokens come first, since their next use makes a pair.
 * @returns What it did; empty if no token was live.
 * @throws TokenctlError `audit_unavailable` where the log fails before anything was tried, and
 * `outcome_unrecorded` where it fails later.
 */
export async function drainTokens(
  work: OperationRun,
  { selector, withRefreshTokens }: { selector: Selector; withRefreshTokens: boolean },
): Promise<StepReport[]> {
  const { target } = work;
  const { signal } = work.change;
  const reports: StepReport[] = [];
  if (withRefreshTokens)
    reports.push(
      ...(await drain(work, {
        selector,
        ...({ step: 'refresh_tokens', noun: 'refresh token' } as const),
        live: async () => (await liveRefreshTokens(target, selector)).map((id) => ({ id, user: null })),
        revoke: (ids) => partOf(target, 'refreshTokens').revoke(ids),
      })),
    );
  reports.push(
    ...(await drain(work, {
      selector,
      ...({ step: 'batch', noun: 'access token' } as const),
      live: () => liveAccessTokens(target, selector),
      revoke: (ids) => target.revoke(ids, { withRefreshTokens, signal }),
    })),
  );
  return reports;
}

async function drain(work: OperationRun, what: Drain): Promise<StepReport[]> {
  const until = performance.now() + MAX_DRAIN_MS;
  let [revoked, tries, left] = [0, 0, 0];
  let isStuck = false;
  while (!isStuck && !work.shouldStop && performance.now() < until) {
    const live = await what.live();
    left = live.length;
    if (left === 0) break;
    const round = await recordedRound(work, { ...what, found: live, until });
    revoked += round.revoked;
    tries += round.tries;
    left = round.left;
    // Where none was left, a request in flight may have made one: they are listed again.
    isStuck = round.isStuck;
  }
  if (tries === 0) return [];
  const rest = left === 0 ? '' : `; ${left} ${left === 1 ? 'was' : 'were'} live when last listed`;
  const tokens = `${what.noun}${revoked === 1 ? '' : 's'}`;
  return [
    {
      step: what.step === 'batch' ? 'tokens' : what.step,
      // Where clients only were faster, the next pass goes on, and the ways in that are read at the end say what is open.
      result: left === 0 || !(isStuck || work.shouldStop) ? 'done' : 'partly',
      message: `Revoked ${revoked} more ${tokens} that clients obtained in the meantime, in ${tries} ${tries === 1 ? 'attempt' : 'attempts'}${rest}.`,
    },
  ];
}

/** What is drained, from where, and until when, in milliseconds of `performance.now()`. */
interface Chase extends Drain {
  /** Those that are live as it begins. */
  readonly found: readonly Live[];
  readonly until: number;
}

/** What tries together came to; kept up to date while they run, so that it is true of tries that fail as well. */
interface Round {
  revoked: number;
  tries: number;
  /** How many were live when they were last listed. */
  left: number;
  /** Whether nothing of the last try could be revoked, and would not be by another. */
  isStuck: boolean;
}

/** One round of tries between an intent and its outcome. */
async function recordedRound(work: OperationRun, chase: Chase): Promise<Readonly<Round>> {
  const { step, found } = chase;
  const round: Round = { revoked: 0, tries: 0, left: found.length, isStuck: false };
  await work.part(async () => {
    const { users, applications } = chase.selector;
    const intent = await work.journal.intent({
      ...named(step, found),
      // And those that come in their place.
      chased: { ...(users && { users }), ...(applications && { applications }) },
    });
    const touched: Live[] = [];
    const ids: number[] = [];
    const outcome = new BatchOutcome(step, { ids });
    try {
      await tries(work, {
        ...chase,
        round,
        add: (each, token) => {
          touched.push(token);
          ids.push(each.tokenId);
          outcome.add(each);
        },
      });
    } catch (error) {
      if (!(error instanceof TokenctlError)) throw error;
      work.stop(error);
    } finally {
      await work.journal.outcome(intent, { ...named(step, touched), ...outcome.data() });
    }
  });
  return round;
}

/** Tokens as entries name them: access tokens under their owners, who may ask what became of them. */
function named(step: Drain['step'], tokens: readonly Live[]) {
  const ids = tokens.map(({ id }) => id);
  if (step !== 'batch') return { step, ids };
  const owners = tokens.map(({ user }) => user?.username ?? '');
  const ownerIds = Object.fromEntries(tokens.flatMap(({ user }) => (user ? [[user.username, user.id]] : [])));
  return { step, tokens: byOwner({ ids, owners, ownerIds }) };
}

/** Lists and revokes until none is live, or it is time to tell the log. */
async function tries(
  work: OperationRun,
  chase: Chase & { readonly add: (outcome: Outcome, token: Live) => void; readonly round: Round },
): Promise<void> {
  const { round } = chase;
  const until = Math.min(chase.until, performance.now() + ROUND_MS);
  let live = await chase.live();
  round.left = live.length;
  while (
    live.length > 0 &&
    !round.isStuck &&
    !work.shouldStop &&
    (round.tries === 0 || performance.now() < until)
  ) {
    let failed = 0;
    round.tries += 1;
    const byId = new Map(live.map((token) => [token.id, token]));
    for await (const each of chase.revoke([...byId.keys()])) {
      work.acted = true;
      if (each.result === 'revoked') {
        round.revoked += 1;
        round.left -= 1;
      }
      if (each.result === 'failed') failed += 1;
      // Refreshed before its turn came: what is there instead is next.
      if (each.result === 'unchanged') continue;
      chase.add(each, byId.get(each.tokenId) ?? { id: each.tokenId, user: null });
    }
    round.isStuck = failed === byId.size;
    live = await chase.live();
    round.left = live.length;
  }
}

/** The access tokens of a selection but the caller's own. The newest come first: a client goes on with the last one that it got. */
async function liveAccessTokens(target: Target, selector: Selector): Promise<Live[]> {
  const own = new Set(await target.ownTokenIds());
  const live: Live[] = [];
  for await (const { id, user } of target.tokens(selector)) if (!own.has(id)) live.push({ id, user });
  return live.sort((one, other) => other.id - one.id);
}

/** The ids of the refresh tokens of a selection that are live, without an access token or beside one. */
export async function liveRefreshTokens(target: Target, selector: Selector): Promise<number[]> {
  const ids: number[] = [];
  const states = ['live', 'orphaned'] as const;
  for await (const { id } of partOf(target, 'refreshTokens').list({ ...whoseOf(selector), states }))
    ids.push(id);
  return ids;
}
