import { join } from 'node:path';
import type { Runtime } from '../../app/runtime.ts';
import { stateFolder } from '../../config/paths.ts';
import { incidentStatus } from '../../operations/incident/incident-status.ts';
import { type LockdownReport, lockDown } from '../../operations/incident/lock-down.ts';
import { type LockdownPlan, planLockdown } from '../../operations/incident/plan-lockdown.ts';
import { printable } from '../../reports/printable.ts';
import { type Report, report } from '../../reports/result.ts';
import { timeText } from '../../reports/times.ts';
import type { Consent } from '../consent.ts';
import { unfinishedWork } from '../errors/unfinished-work.ts';
import { amountsOf, isNothing } from '../revocation/plan-amounts.ts';
import { tellOfDue } from './due-notice.ts';
import type { LockdownFlags, LockdownOrder } from './lockdown-order.ts';
import { lockdownPlanText } from './lockdown-text.ts';
import { snapshotFiles } from './snapshot-file.ts';
import { byHandLines, doorLines, stepLines } from './steps-text.ts';

/** What a lockdown is asked for with. */
export interface LockdownRequest {
  readonly runtime: Runtime;
  readonly consent: Consent;
  readonly flags: LockdownFlags;
  readonly order: LockdownOrder;
  /** Whether other contexts are locked down as well. */
  readonly several: boolean;
}

/**
 * Plans, shows, asks, locks down and reports. Where it is locked down and holds, nothing is done.
 *
 * @throws TokenctlError `not_confirmed`, and whatever the operations throw.
 */
export async function lockdownFlow(request: LockdownRequest): Promise<Report> {
  const { runtime, consent, flags, several } = request;
  const { scope, measures, sharedId } = request.order;
  const description = await runtime.description();
  const plan = await planLockdown({
    target: await runtime.target(),
    description,
    log: await runtime.auditLog(),
    clock: runtime.clock,
    scope,
    measures,
    ...(several && { sharedId }),
    lasts: flags.for ?? null,
    count: flags.yes !== true || flags['dry-run'] === true,
  });
  const text = lockdownPlanText(plan, description);
  if (flags['dry-run'] === true) {
    await tellOfDue(runtime);
    return report({ json: { dryRun: true, plan }, text: () => `${text}\nDry run: nothing was changed.\n` });
  }
  if (flags.for === undefined && (await holdsAlready(runtime, plan))) {
    await tellOfDue(runtime);
    return heldResult(plan);
  }
  await consent.confirm({ plan: text, act: `lock down ${plan.selection}`, type: plan.incident });
  const change = await runtime.change(flags);
  const progress = runtime.progress('Revoking');
  const files = snapshotFiles(join(stateFolder(runtime.environment), 'incidents'));
  const done = await lockDown({ ...change, plan, files, onProgress: progress.step }).finally(progress.end);
  await tellOfDue(runtime);
  return lockdownResult(done, plan);
}

/** Whether the plan goes on with a lockdown that went through, that nothing has changed, and that nobody got round. */
async function holdsAlready(runtime: Runtime, plan: LockdownPlan): Promise<boolean> {
  const { continues, counted, revocation } = plan;
  if (!continues || !counted || (revocation !== null && !isNothing(amountsOf(revocation)))) return false;
  const { incidents } = await incidentStatus({
    target: await runtime.target(),
    description: await runtime.description(),
    log: await runtime.auditLog(),
    clock: runtime.clock,
    all: false,
  });
  return incidents.some(({ id, state, holds }) => id === plan.incident && state === 'locked' && holds);
}

/** A lockdown that holds: in JSON as one that was done, with nothing done and no run. */
function heldResult({ incident, selection, until, byHand, revocation }: LockdownPlan): Report {
  const kept = revocation?.kept.map(({ tokenId }) => tokenId) ?? [];
  const nothing = { steps: [], doors: [], interrupted: false, stopped: null, run: null, seconds: 0 };
  return report({
    json: { incident, result: 'locked', until, byHand, kept, ...nothing },
    text: () =>
      [
        `Locked down already, and it holds: ${printable.value(selection)}. The incident is ${incident}. Nothing was changed.`,
        ...byHandLines(byHand),
        '',
        ...keptLines(kept),
        untilLine({ incident, until }),
        '',
      ].join('\n'),
  });
}

function lockdownResult(done: LockdownReport, plan: LockdownPlan): Report {
  const { interrupted, stopped, result, incident } = done;
  return report({
    json: done,
    text: () => resultText(done, plan),
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: `Not all of ${incident} is locked down for certain`,
      open: result === 'partly',
    }),
  });
}

function resultText(done: LockdownReport, { selection }: LockdownPlan): string {
  const { incident, result, seconds, steps, doors, byHand, kept, until, run } = done;
  const state = result === 'locked' ? 'Locked down' : 'Locked down in part';
  const lines = [
    `${state}: ${printable.value(selection)}, in ${seconds.toFixed(1)} s. The incident is ${incident}.`,
    '',
    ...stepLines(steps),
    ...doorLines(doors),
    ...byHandLines(byHand),
    '',
    ...keptLines(kept),
    untilLine({ incident, until }),
    `In the audit log as run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}

function keptLines(kept: readonly number[]): string[] {
  if (kept.length === 0) return [];
  return [
    `Kept: your own access (token ${kept.join(', ')}). Revoke it last, with tokens revoke --include-own.`,
  ];
}

function untilLine({ incident, until }: Pick<LockdownReport, 'incident' | 'until'>): string {
  return until === null
    ? `It stays until: tokenctl incident lift ${incident}`
    : `It is over at ${timeText(until)}: tokenctl incident lift --due`;
}
