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

/** The interval of log entries, in ms: the log lacks the ids of what a killed process revoked since. */
const ROUND_MS = 1000;

/** A live token, and its owner if the target shows one. */
interface Live {
  readonly id: number;
  readonly user: UserReference | null;
}

interface Drain {
  readonly selector: Selector;
  readonly step: Extract<BatchStep, 'batch' | 'refresh_tokens'>;
  /** The noun for messages. */
  readonly noun: string;
  /** The live tokens, in the order of revocation. */
  readonly live: () => Promise<readonly Live[]>;
  readonly revoke: (ids: readonly number[]) => AsyncIterable<Outcome>;
}

/**
 * Revokes tokens until none is live. A client that gets a new token every few milliseconds, with a refresh
 * token or an existing token, has the next one before a plan is carried out and its intent is on disk. The
 * intent is therefore to revoke every live token of the selection: they are listed and revoked repeatedly,
 * and the outcome lists the revoked ones. Refresh tokens come first, since their next use creates a new pair.
 * @returns What it did; empty if no token was live.
 * @throws TokenctlError `audit_unavailable` if the log fails before anything was tried, and
 * `outcome_unrecorded` if it fails later.
 */
export async function drainTokens(
  work: OperationRun,
  { selector, withRefreshTokens }: { selector: Selector; withRefreshTokens: boolean },
): Promise<StepReport[]> {
  const { target } = work;
  const { signal } = work.change;
  const refreshTokens: Drain = {
    selector,
    step: 'refresh_tokens',
    noun: 'refresh token',
    live: async () => (await liveRefreshTokens(target, selector)).map((id) => ({ id, user: null })),
    revoke: (ids) => partOf(target, 'refreshTokens').revoke(ids),
  };
  const accessTokens: Drain = {
    selector,
    step: 'batch',
    noun: 'access token',
    live: () => liveAccessTokens(target, selector),
    revoke: (ids) => target.revoke(ids, { withRefreshTokens, signal }),
  };
  const first = withRefreshTokens ? await drain(work, refreshTokens) : [];
  return [...first, ...(await drain(work, accessTokens))];
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
    // If none was left, a request in flight may have created one: they are listed again.
    isStuck = round.isStuck;
  }
  if (tries === 0) return [];
  const rest = left === 0 ? '' : `; ${left} ${left === 1 ? 'was' : 'were'} live when last listed`;
  const tokens = `${what.noun}${revoked === 1 ? '' : 's'}`;
  return [
    {
      step: what.step === 'batch' ? 'tokens' : what.step,
      // If clients were merely faster, the next pass continues; the access paths read last show what is open.
      result: left === 0 || !(isStuck || work.shouldStop) ? 'done' : 'partly',
      message: `Revoked ${revoked} more ${tokens} that clients obtained in the meantime, in ${tries} ${tries === 1 ? 'attempt' : 'attempts'}${rest}.`,
    },
  ];
}

/** One drain, with its deadline in milliseconds of `performance.now()`. */
interface Chase extends Drain {
  readonly found: readonly Live[];
  readonly until: number;
}

/** The combined result of several tries, updated while they run, so that it includes failed tries. */
interface Round {
  revoked: number;
  tries: number;
  /** The number of live tokens when they were last listed. */
  left: number;
  /** Whether the last try revoked nothing, and another would not either. */
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
      // And their replacements.
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

/** Tokens in the form of log entries: access tokens are grouped by owner, who may ask about them. */
function named(step: Drain['step'], tokens: readonly Live[]) {
  const ids = tokens.map(({ id }) => id);
  if (step !== 'batch') return { step, ids };
  const owners = tokens.map(({ user }) => user?.username ?? '');
  const ownerIds = Object.fromEntries(tokens.flatMap(({ user }) => (user ? [[user.username, user.id]] : [])));
  return { step, tokens: byOwner({ ids, owners, ownerIds }) };
}

/** Lists and revokes until none is live, or the next log entry is due. */
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
      // It was refreshed before its turn: its replacement is next.
      if (each.result === 'unchanged') continue;
      chase.add(each, byId.get(each.tokenId) ?? { id: each.tokenId, user: null });
    }
    round.isStuck = failed === byId.size;
    live = await chase.live();
    round.left = live.length;
  }
}

/**
 * A selection's access tokens except the caller's own. Newest first: a client continues with its last one.
 */
async function liveAccessTokens(target: Target, selector: Selector): Promise<Live[]> {
  const own = new Set(await target.ownTokenIds());
  const live: Live[] = [];
  for await (const { id, user } of target.tokens(selector)) if (!own.has(id)) live.push({ id, user });
  return live.sort((one, other) => other.id - one.id);
}

/** The ids of a selection's live refresh tokens, with or without an access token. */
export async function liveRefreshTokens(target: Target, selector: Selector): Promise<number[]> {
  const states = ['live', 'orphaned'] as const;
  const live = partOf(target, 'refreshTokens').list({ ...whoseOf(selector), states });
  return await Array.fromAsync(live, ({ id }) => id);
}
