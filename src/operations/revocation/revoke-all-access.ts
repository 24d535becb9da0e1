import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberText } from '@tokenctl/common/text.ts';
import { amountsOf, isNothing } from '../../domain/plan.ts';
import { type Selector, whoseOf } from '../../domain/selector.ts';
import { type SettledRequests, settleRequests } from '../access/requests-under-way.ts';
import {
  endsRun,
  type OperationRun,
  type Step,
  type StepReport,
  type StepResult,
  type Stopped,
} from '../journal/operation-run.ts';
import type { Target } from '../ports/target.ts';
import { laterOf } from '../sessions/expire-sessions.ts';
import { drainTokens, liveRefreshTokens } from './drain-tokens.ts';
import { planRevocation } from './plan-revocation.ts';
import type { RevocationListeners, RevocationReport } from './revocation-report.ts';
import { revokeTokens } from './revoke-tokens.ts';

/** The maximum number of passes over tokens that were created in the meantime. */
const MAX_PASSES = 12;

/** The maximum number of waits for in-flight requests while new tokens from them are found. */
const MAX_WAITS = 4;

/** Whose tokens are revoked and sessions ended. Sessions belong to users, not to applications. */
interface Clearing {
  /** Called before every pass: an identity provider creates accounts, and a plan ages while it is read. */
  readonly selector: () => Promise<Selector | null>;
  readonly common: Step['common'];
  readonly listeners: RevocationListeners;
}

/** The result of the passes; empty if they could not be finished. */
interface Cleared {
  /** The latest expiry among the ended sessions; null if none ended. */
  readonly latestSession: Date | null;
  /** How the in-flight requests ended; null if the target does not list them, or no one was selected. */
  readonly settled: SettledRequests | null;
}

/**
 * Deletes authorization codes, revokes refresh tokens and access tokens, ends sessions, and repeats this
 * until nothing is left: a client that refreshes during a pass gets a new pair that the pass did not plan.
 * Then it waits for open transactions and revokes what they wrote, until nothing new appears. A stage of the
 * run; each pass is a separate run in the audit log, which the outcome of its step names.
 * @throws TokenctlError as {@link OperationRun.step}.
 */
export async function revokeAllAccess(work: OperationRun, clearing: Clearing): Promise<Cleared> {
  let cleared: Cleared = { latestSession: null, settled: null };
  await work.take({ name: 'tokens', title: 'Revoking tokens' }, async () => {
    const passes: Passes = { number: 0, steps: [], latestSession: null };
    const settled = await revokeAndWait(work, clearing, passes);
    cleared = { latestSession: passes.latestSession, settled };
    return passes.steps;
  });
  return cleared;
}

/** What the passes did so far. */
interface Passes {
  number: number;
  readonly steps: StepReport[];
  latestSession: Date | null;
}

async function revokeAndWait(
  work: OperationRun,
  clearing: Clearing,
  passes: Passes,
): Promise<SettledRequests | null> {
  let settled: SettledRequests | null = null;
  let result = await revokeInPasses(work, clearing, passes);
  for (let waits = 1; result !== 'nobody' && !work.shouldStop; waits += 1) {
    settled = await settleRequests(work);
    if (settled === null) return null;
    result = await revokeInPasses(work, clearing, passes);
    if (result === 'clear' || settled.left.length > 0) return settled;
    if (waits >= MAX_WAITS || result !== 'revoked') return { ...settled, isBusy: true };
  }
  return settled;
}

/**
 * Revokes until nothing is left: `clear` if nothing existed, `revoked` if something existed and nothing is
 * left, `left` if passes did not help, and `nobody` if the selection names no one.
 */
async function revokeInPasses(
  work: OperationRun,
  clearing: Clearing,
  passes: Passes,
): Promise<'clear' | 'revoked' | 'left' | 'nobody'> {
  const { steps } = passes;
  let result: 'clear' | 'revoked' = 'clear';
  while (passes.number < MAX_PASSES && !work.shouldStop) {
    const selector = await clearing.selector();
    if (selector === null) return 'nobody';
    passes.number += 1;
    const pass = passes.number;
    const { target, clock, description } = work.change;
    const plan = await planRevocation({
      target,
      clock,
      description,
      selector,
      withSessions: target.sessions !== undefined && selector.applications === undefined,
    });
    if (isNothing(amountsOf(plan))) {
      if (await isClear(work.target, selector)) return result;
      continue;
    }
    result = 'revoked';
    let progress = 0;
    const step = await work.step({
      name: 'tokens',
      title: 'Revoking tokens',
      common: clearing.common,
      intent: { pass, planned: plan.tokenIds.length, digest: plan.digest },
      act: async () => {
        const report = await revokeTokens({ ...work.change, ...clearing.listeners, plan });
        if (report.stopped !== null) stopAt(work, report.stopped);
        progress = progressOf(report);
        passes.latestSession = laterOf(passes.latestSession, report.sessions?.latestExpiry ?? null);
        return passResult(pass, report);
      },
    });
    steps.push(step);
    // Without progress, another pass would fail the same way.
    if (progress === 0) return 'left';
    steps.push(...(await drainTokens(work, { selector, withRefreshTokens: plan.reach.refreshTokens })));
  }
  return 'left';
}

/**
 * Whether nothing is left, and nothing can result from work in flight: an uncommitted refresh still shows its
 * refresh token as live, and a code being redeemed still exists. First no code and no live refresh token may
 * exist, and after that no access token.
 */
async function isClear(target: Target, selector: Selector): Promise<boolean> {
  if (target.authorizationCodes) {
    const codes = target.authorizationCodes.list({ ...whoseOf(selector), state: 'live' });
    for await (const _code of codes) return false;
  }
  if (target.refreshTokens && (await liveRefreshTokens(target, selector)).length > 0) return false;
  const own = new Set(await target.ownTokenIds());
  for await (const { id } of target.tokens(selector)) if (!own.has(id)) return false;
  return true;
}

/** How many of the planned tokens and sessions are gone. */
function progressOf(report: RevocationReport): number {
  const { revoked, unchanged, refreshTokens, authorizationCodes, sessions } = report;
  const refresh = (refreshTokens?.revoked ?? 0) + (refreshTokens?.unchanged ?? 0);
  const codes = (authorizationCodes?.revoked ?? 0) + (authorizationCodes?.unchanged ?? 0);
  return revoked + unchanged + refresh + codes + (sessions?.ended ?? 0);
}

function stopAt(work: OperationRun, { code, message, hint }: Stopped): void {
  const error = new TokenctlError(code, message, hint === undefined ? {} : { hint });
  if (endsRun(error)) work.stop(error);
}

function passResult(pass: number, report: RevocationReport): StepResult {
  const { planned, revoked, unchanged, refreshTokens, sessions, run, failed, notTried, verified } = report;
  const { authorizationCodes: codes, verification } = report;
  // The access paths report unlisted sessions.
  const isVerified =
    verified || (verification.result === 'not_checked' && verification.cause === 'sessions_unseen');
  const parts = [
    `revoked ${numberText(revoked)} of ${numberText(planned)} access tokens${unchanged > 0 ? ` (${numberText(unchanged)} already deleted)` : ''}`,
    ...(refreshTokens === null
      ? []
      : [`${numberText(refreshTokens.revoked)} of ${numberText(refreshTokens.planned)} refresh tokens`]),
    ...(codes === null || codes.planned === 0
      ? []
      : [`deleted ${numberText(codes.revoked)} of ${numberText(codes.planned)} authorization codes`]),
    ...(sessions === null
      ? []
      : [`ended ${numberText(sessions.ended)} of ${numberText(sessions.planned)} sessions`]),
  ];
  const problem = failed[0] ?? refreshTokens?.failed[0] ?? codes?.failed[0];
  const stopped = report.stopped === null ? '' : `; stopped: ${report.stopped.message}`;
  const left =
    problem === undefined ? '' : `; ${numberText(failed.length)} failed, first error: ${problem.reason}`;
  const codesLeft = (codes?.failed.length ?? 0) + (codes?.notTried ?? 0);
  const whole =
    failed.length === 0 &&
    notTried === 0 &&
    codesLeft === 0 &&
    (refreshTokens?.failed.length ?? 0) === 0 &&
    isVerified;
  return {
    result: whole ? 'done' : 'partly',
    message: `Pass ${pass}: ${parts.join(', ')}${left}${stopped}. Run ${run}.`,
    data: { pass, clearing: run, revoked, unchanged, failed: failed.length, notTried },
  };
}
