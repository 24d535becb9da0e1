import { TokenctlError } from '@tokenctl/common/errors.ts';
import { afterAct, sentenceOf } from '../../domain/access.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { Selector } from '../../domain/selector.ts';
import { batchesOf, runBatches } from '../journal/batches.ts';
import { type Change, OperationRun } from '../journal/operation-run.ts';
import { findLiveRefreshTokens, stillAlive } from '../journal/reconcile.ts';
import type { TargetDescription } from '../ports/target.ts';
import { partOf } from '../scope/target-parts.ts';
import { refusalAhead, requireMayChange, requireRights } from '../scope/visibility.ts';
import { type EndedSessions, endSessions, sessionsAfter } from '../sessions/expire-sessions.ts';
import {
  closingOf,
  countMadeSince,
  openingOf,
  type RevocationListeners,
  type RevocationReport,
  RevocationTally,
  type Verification,
} from './revocation-report.ts';

export interface RevokeTokensOptions extends Change, RevocationListeners {
  readonly plan: RevocationPlan;
  /** The selector of the plan, to check for tokens created since; not checked if absent. */
  readonly selector?: Selector | undefined;
  /** Tokens per batch; each batch is one intent and one outcome in the log. Default: as the target says. */
  readonly batchSize?: number;
}

/** One batch waits for the disk while others act; more would only make an interruption slower. */
const CONCURRENCY = 3;

/**
 * Carries out a revocation plan: closes what killed runs left open, records the intent, and revokes in
 * several concurrent batches, each recorded before and after: authorization codes, refresh tokens without a
 * planned access token, then access tokens with their refresh tokens. Then it ends sessions, re-reads what
 * was tried, revokes the caller's own credential last and singly, and counts tokens created since the plan.
 * Running it again finishes the work.
 * @throws TokenctlError as any {@link OperationRun}. If the target fails part-way, `stopped` reports it
 * instead.
 */
export async function revokeTokens(options: RevokeTokensOptions): Promise<RevocationReport> {
  const { plan, clock, description } = options;
  requireMayRevoke(plan, description);
  using work = new OperationRun(options, 'tokens.revoke');
  const tally = new RevocationTally(plan, options);
  const batches = { plan, tally, size: options.batchSize ?? description.capabilities.batchSize };
  await work.open(openingOf(plan));

  await deleteCodes(work, batches);
  await revokeAlone(work, batches);
  const own = plan.tokenIds.length - plan.ownTokenIds.length;
  await revokeStretch(work, { ...batches, from: 0, to: own });
  const ending = plan.sessions === null ? null : await endSessions(work, plan.sessions);
  let read = await verifyOthers(work, tally);
  const sessions = plan.sessions && (await sessionsAfter(work, plan.sessions, ending));
  // Listing them may need the caller's own credential.
  const madeSince = await countMadeSince(work, { plan, selector: options.selector });
  for (let index = own; index < plan.tokenIds.length; index += 1) {
    const since = { access: tally.access.tried.length, alongside: tally.access.alongside.length };
    await revokeStretch(work, { ...batches, from: index, to: index + 1 });
    read = together(read, await verifyOwn(work, tally, since));
  }

  const untried = tally.access.notTried + tally.refresh.notTried + tally.codes.notTried;
  const verification = verificationOf(plan, { ...read, sessions, untried, interrupted: work.interrupted });
  const unfinished = untried > 0 || ending?.complete === false;
  const report: RevocationReport = {
    ...tally.access.counts(),
    stillAlive: read.alive ?? [],
    refreshTokens: plan.reach.refreshTokens ? refreshTokensOf(plan, tally, read) : null,
    authorizationCodes: plan.reach.authorizationCodes ? tally.codes.counts() : null,
    sessions,
    madeSince,
    verification,
    verified: verification.result === 'checked',
    ownAccessEnded: read.ownAccessEnded,
    plan: plan.saved,
    kept: plan.kept,
    accessPaths: afterAct(plan.accessPaths, sessions?.unseen ? [sessions.unseen] : [], clock.now()),
    ...work.ending(!unfinished),
    seconds: work.seconds,
  };
  await work.close(closingOf(report));
  return report;
}

interface Batches {
  readonly plan: RevocationPlan;
  readonly tally: RevocationTally;
  readonly size: number;
}

/** Deletes the planned authorization codes: one redeemed meanwhile yields a token pair outside the plan. */
async function deleteCodes(work: OperationRun, { plan, tally, size }: Batches): Promise<void> {
  const { authorizationCodeIds: ids } = plan;
  await runBatches(work, {
    batches: batchesOf({ ids }, { from: 0, to: ids.length, size }),
    concurrency: 1,
    step: 'authorization_codes',
    act: (batch) => partOf(work.target, 'authorizationCodes').delete(batch),
    tally: tally.codes,
  });
}

/** Revokes the refresh tokens without a planned access token. */
async function revokeAlone(work: OperationRun, { plan, tally, size }: Batches): Promise<void> {
  const { refreshTokenIds: ids, refreshTokenOwners: owners, ownerIds } = plan;
  await runBatches(work, {
    batches: batchesOf({ ids, owners, ownerIds }, { from: 0, to: ids.length, size }),
    concurrency: CONCURRENCY,
    step: 'refresh_tokens',
    act: (batch) => partOf(work.target, 'refreshTokens').revoke(batch),
    tally: tally.refresh,
  });
}

/** Revokes a range of the plan's access tokens. */
async function revokeStretch(
  work: OperationRun,
  { plan, tally, ...stretch }: Batches & { from: number; to: number },
): Promise<void> {
  const withRefreshTokens = plan.reach.refreshTokens;
  await runBatches(work, {
    batches: batchesOf({ ids: plan.tokenIds, owners: plan.owners, ownerIds: plan.ownerIds }, stretch),
    concurrency: CONCURRENCY,
    step: 'batch',
    act: (batch) => work.target.revoke(batch, { withRefreshTokens, signal: work.change.signal }),
    tally: tally.access,
  });
}

function refreshTokensOf(plan: RevocationPlan, { access, refresh }: RevocationTally, read: ReadAgain) {
  const alone = refresh.counts();
  return {
    ...alone,
    planned: plan.refreshTokensBeside + alone.planned,
    revoked: access.alongside.length + alone.revoked,
    stillAlive: read.refreshAlive ?? [],
    expired: plan.refreshTokensExpired,
  };
}

function verificationOf(
  plan: RevocationPlan,
  read: ReadAgain & {
    readonly sessions: EndedSessions | null;
    /** Planned tokens and codes that were not reached: they are not re-read. */
    readonly untried: number;
    readonly interrupted: boolean;
  },
): Verification {
  const { alive, refreshAlive, sessions, untried, interrupted } = read;
  const found = (alive?.length ?? 0) + (refreshAlive?.length ?? 0) + (sessions?.stillAlive ?? 0);
  if (found > 0) return { result: 'still_alive' };
  if (alive === null || refreshAlive === null || sessions?.stillAlive === null) {
    return interrupted
      ? { result: 'not_checked', cause: 'interrupted', why: 'Interrupted before everything was read again' }
      : { result: 'not_checked', cause: 'unreadable', why: 'The target could not be read' };
  }
  if (untried > 0) {
    return interrupted
      ? { result: 'not_checked', cause: 'interrupted', why: 'Interrupted before everything was tried' }
      : { result: 'not_checked', cause: 'not_tried', why: 'Not everything was tried' };
  }
  const unseen = sessions?.unseen ?? null;
  if (unseen !== null) {
    return { result: 'not_checked', cause: 'sessions_unseen', why: sentenceOf(unseen).replace(/\.$/, '') };
  }
  return plan.notSeen === null
    ? { result: 'checked' }
    : { result: 'not_checked', cause: 'part_seen', why: plan.notSeen };
}

/**
 * Refuses a plan if the caller may only carry out the part about their own tokens.
 * @throws TokenctlError `permission_refused` for a system auditor, if the plan has tokens of others.
 */
export function requireMayRevoke(plan: RevocationPlan, description: TargetDescription): void {
  if (plan.owners.some((owner) => owner !== description.identity.username)) requireMayChange(description);
}

/** The refusal that carrying out a plan would get, for its dry run; undefined if none is known. */
export function revocationRefusal(
  plan: RevocationPlan,
  description: TargetDescription,
): TokenctlError | undefined {
  const { tokenIds, refreshTokenIds, authorizationCodeIds } = plan;
  const sessions = plan.sessions?.count ?? 0;
  const tokens = tokenIds.length + refreshTokenIds.length + authorizationCodeIds.length;
  return refusalAhead(() => {
    requireMayRevoke(plan, description);
    const purposes = [
      ...(tokens > 0 ? (['revoke'] as const) : []),
      ...(sessions > 0 ? (['sessions'] as const) : []),
    ];
    // Codes that this role may not delete are kept, as the plan says.
    const missingRights = description.missingRights.filter(
      ({ codesOnly }) => plan.reach.authorizationCodes || codesOnly !== true,
    );
    requireRights({ ...description, missingRights }, { what: 'A revocation', purposes });
  });
}

interface ReadAgain {
  /** Access tokens that still exist, ascending; null if the target could not be read. */
  readonly alive: readonly number[] | null;
  /** Refresh tokens that are still live, ascending; null if the target could not be read. */
  readonly refreshAlive: readonly number[] | null;
  /** Whether the caller's own credential is refused now. */
  readonly ownAccessEnded: boolean;
}

/** How many tokens had been tried at some point; those tried since are re-read. */
interface Mark {
  readonly access: number;
  readonly alongside: number;
}

const UNKNOWN: ReadAgain = { alive: null, refreshAlive: null, ownAccessEnded: false };

/**
 * Re-reads which tried tokens still exist, before the caller's own credential is revoked. The run stops if
 * that fails. An interrupted run does not wait for it.
 */
async function verifyOthers(work: OperationRun, tally: RevocationTally): Promise<ReadAgain> {
  if (work.shouldStop) return UNKNOWN;
  const { access, refresh } = tally;
  try {
    return await readAgain(work, access.tried, refresh.tried.concat(access.alongside));
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    work.stop(error);
    return UNKNOWN;
  }
}

/**
 * Finds out what happened to one of the caller's own tokens, right after it was tried: if it was the
 * credential itself, its refusal proves that it is revoked. Reads nothing if the tally is unchanged.
 */
async function verifyOwn(work: OperationRun, tally: RevocationTally, since: Mark): Promise<ReadAgain> {
  const ids = tally.access.tried.slice(since.access);
  if (ids.length === 0) return { alive: [], refreshAlive: [], ownAccessEnded: false };
  if (work.stopped !== null && work.stopped.code !== 'credentials_refused') return UNKNOWN;
  try {
    return await readAgain(work, ids, tally.access.alongside.slice(since.alongside));
  } catch (error) {
    if (!(error instanceof TokenctlError)) throw error;
    const ended = error.code === 'credentials_refused';
    return ended ? { alive: [], refreshAlive: [], ownAccessEnded: true } : UNKNOWN;
  }
}

/** Combines both: null if either is. */
function together(one: ReadAgain, other: ReadAgain): ReadAgain {
  return {
    alive: joined(one.alive, other.alive),
    refreshAlive: joined(one.refreshAlive, other.refreshAlive),
    ownAccessEnded: one.ownAccessEnded || other.ownAccessEnded,
  };
}

async function readAgain({ target }: OperationRun, ids: readonly number[], refreshIds: readonly number[]) {
  const alive = await stillAlive(target, ids);
  const refreshAlive = await findLiveRefreshTokens(target, refreshIds);
  return { alive, refreshAlive, ownAccessEnded: false };
}

function joined(one: readonly number[] | null, other: readonly number[] | null): readonly number[] | null {
  return one === null || other === null ? null : [...one, ...other];
}
