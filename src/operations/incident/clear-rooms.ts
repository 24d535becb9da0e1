import { TokenctlError } from '../../domain/errors.ts';
import type { RevocationPlan } from '../../domain/plan.ts';
import type { Selector } from '../../domain/selector.ts';
import type { Change, Stopped, Work } from '../journal/operation-run.ts';
import type { Capabilities, Target } from '../ports/target.ts';
import { planRevocation } from '../revocation/plan-revocation.ts';
import type { RevocationReport } from '../revocation/revocation-report.ts';
import type { RevocationListeners } from '../revocation/revocation-tally.ts';
import { revokeTokens } from '../revocation/revoke-tokens.ts';
import { chaseRefreshes, liveRefreshTokens } from './chase-refreshes.ts';
import { endsWork, type Step, type StepReport, type StepResult, takeStep } from './step.ts';

/** How often it is looked again for tokens that were made meanwhile. */
const MOST_PASSES = 12;

/** Whose tokens are revoked and sessions ended. */
export interface Clearing extends RevocationListeners {
  readonly change: Change;
  /** Asked before every pass: an identity provider makes accounts, and a plan is as old as its first page. */
  readonly selector: () => Promise<Selector | null>;
  readonly sessions: boolean;
  readonly common: Step['common'];
}

/** What the passes did together. */
export interface Cleared {
  readonly steps: readonly StepReport[];
  /** What the last pass left, as of its plan; null where nothing was planned at all. */
  readonly last: RevocationPlan | null;
}

/**
 * Revokes refresh tokens, then access tokens, then ends sessions; and looks again, until nothing is there:
 * whoever refreshes while the first pass works has a new pair that its plan does not know. Each pass is a run of
 * its own in the log, named by the step's outcome.
 *
 * @throws TokenctlError as {@link takeStep}.
 */
export async function clearRooms(work: Work, clearing: Clearing): Promise<Cleared> {
  const steps: StepReport[] = [];
  let last: RevocationPlan | null = null;
  for (let pass = 1; pass <= MOST_PASSES && !work.over; pass += 1) {
    const selector = await clearing.selector();
    if (selector === null) break;
    last = await planRevocation({
      target: work.target,
      selector,
      clock: clearing.change.clock,
      capabilities: clearing.change.description.capabilities,
      withSessions: clearing.sessions,
    });
    if (amount(last) === 0) {
      if (await isClear(work.target, selector, clearing.change.description.capabilities)) break;
      continue;
    }
    let progress = 0;
    const plan = last;
    const step = await takeStep(work, {
      name: 'tokens',
      title: 'Revoking tokens',
      common: clearing.common,
      intent: { pass, planned: plan.tokenIds.length, digest: plan.digest },
      act: async () => {
        const report = await revokeTokens({ ...clearing.change, ...listeners(clearing), plan });
        if (report.stopped !== null) stopAt(work, report.stopped);
        progress = progressOf(report);
        return passResult(pass, report);
      },
    });
    steps.push(step);
    // What fails again and again is not tried forever.
    if (progress === 0) break;
    if (plan.reach.refreshTokens) {
      const chase = await chaseRefreshes(work, selector);
      if (chase !== null) steps.push(chase);
    }
  }
  return { steps, last };
}

/**
 * Whether nothing is left, and nothing can come of what is under way: a refresh that has not committed yet still
 * shows its refresh token as live. So first no refresh token must be live, and after that no access token there.
 */
async function isClear(target: Target, selector: Selector, capabilities: Capabilities): Promise<boolean> {
  if (capabilities.refreshTokens && (await liveRefreshTokens(target, selector)).length > 0) return false;
  const own = new Set(await target.ownTokenIds());
  for await (const { id } of target.tokens(selector)) if (!own.has(id)) return false;
  return true;
}

function amount(plan: RevocationPlan): number {
  return plan.tokenIds.length + plan.refreshTokenIds.length + (plan.sessions?.count ?? 0);
}

/** How much is gone that was planned, whoever did it. */
function progressOf({ revoked, unchanged, refreshTokens, sessions }: RevocationReport): number {
  const refresh = (refreshTokens?.revoked ?? 0) + (refreshTokens?.unchanged ?? 0);
  return revoked + unchanged + refresh + (sessions?.ended ?? 0);
}

function stopAt(work: Work, { code, message, hint }: Stopped): void {
  const error = new TokenctlError(code, message, hint === undefined ? {} : { hint });
  if (endsWork(error)) work.stop(error);
}

function listeners({ onProgress, onOutcome }: Clearing): RevocationListeners {
  return { ...(onProgress && { onProgress }), ...(onOutcome && { onOutcome }) };
}

function passResult(pass: number, report: RevocationReport): StepResult {
  const { planned, revoked, unchanged, refreshTokens, sessions, run, failed, notTried, verified } = report;
  const parts = [
    `revoked ${revoked} of ${planned} access tokens${unchanged > 0 ? ` (${unchanged} gone already)` : ''}`,
    ...(refreshTokens === null
      ? []
      : [`${refreshTokens.revoked} of ${refreshTokens.planned} refresh tokens`]),
    ...(sessions === null ? [] : [`ended ${sessions.ended} of ${sessions.planned} sessions`]),
  ];
  const problem = failed[0] ?? refreshTokens?.failed[0];
  const stopped = report.stopped === null ? '' : `; stopped: ${report.stopped.message}`;
  const left = problem === undefined ? '' : `; failed: ${failed.length}, the first: ${problem.reason}`;
  const whole =
    failed.length === 0 && notTried === 0 && (refreshTokens?.failed.length ?? 0) === 0 && verified;
  return {
    result: whole ? 'done' : 'partly',
    message: `Pass ${pass}: ${parts.join(', ')}${left}${stopped}. Run ${run}.`,
    data: { pass, clearing: run, revoked, unchanged, failed: failed.length, notTried },
  };
}
