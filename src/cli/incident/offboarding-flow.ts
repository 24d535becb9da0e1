import type { Runtime } from '../../app/runtime.ts';
import {
  localSteps as localManualSteps,
  type ManualStep,
  otherComponents,
} from '../../operations/incident/manual-steps.ts';
import {
  accessPathsOf,
  noteOffboarding,
  offboardUsers,
  planUserOffboarding,
  type UserOffboardingPlan,
  type UserOffboardingReport,
} from '../../operations/incident/offboard-user.ts';
import type { AccessPath } from '../../operations/incident/verify-access-paths.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { refusalAhead, requireMayChange } from '../../operations/visibility.ts';
import { type MaybeMade, type NotMade, type Report, report } from '../../reports/tables/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import type { ChangeFlags } from '../flags.ts';
import { amountsOf, isNothing, planText, staysAliveLines } from '../revocation/revocation-plan.ts';
import {
  accessPathLines,
  hintForPaths,
  manualStepLines,
  pathName,
  stepAmount,
  stepLines,
  uncheckedText,
} from './incident-text.ts';
import { type LocalFlags, localMeasures, localSteps } from './local-access.ts';

/** What `users offboard` prints with `--json`. Without a change, most members of the report are null. */
export interface OffboardingJson extends MaybeMade<UserOffboardingReport> {
  readonly dryRun: boolean;
  readonly plan: UserOffboardingPlan;
  readonly manualSteps: readonly ManualStep[];
}

export interface OffboardingRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly users: readonly string[];
  readonly flags: ChangeFlags & LocalFlags;
}

/**
 * Plans, confirms, ends all access and reports.
 *
 * @throws TokenctlError `not_confirmed`, and the errors of the operations.
 */
export async function offboardingFlow(request: OffboardingRequest): Promise<Report<OffboardingJson>> {
  const { runtime, confirmation, flags } = request;
  const users = [...new Set(request.users)];
  const description = await runtime.description();
  const target = await runtime.target();
  const measures = localMeasures(flags, 'users');
  const plan = await planUserOffboarding({ target, description, clock: runtime.clock, users, measures });
  const dryRun = flags['dry-run'] === true;
  const local = localSteps(plan.local);
  const nothing =
    isNothing(amountsOf(plan.revocation)) &&
    plan.deactivate.length + local.before.length + local.after.length === 0;
  if (dryRun || nothing) {
    if (!dryRun) await noteOffboarding({ ...(await runtime.change(flags)), users });
    const accessPaths = await accessPathsOf(users, { target, description, clock: runtime.clock });
    return offboardingPlanResult(plan, { description, dryRun, accessPaths });
  }
  requireMayChange(description);
  await confirmation.confirm({
    plan: offboardingText(plan, description),
    act: `end all access of ${users.length === 1 ? printable.value(users[0] ?? '') : countText(users.length, 'user')}`,
    type: users.length === 1 ? (users[0] ?? '') : String(users.length),
  });
  const change = await runtime.change(flags);
  const progress = runtime.progress('Revoking');
  const done = await offboardUsers({ ...change, plan, onProgress: progress.step }).finally(progress.end);
  return offboardingResult(done, plan, description);
}

function offboardingPlanResult(
  plan: UserOffboardingPlan,
  options: {
    readonly description: TargetDescription;
    readonly dryRun: boolean;
    readonly accessPaths: readonly AccessPath[];
  },
): Report<OffboardingJson> {
  const { description, dryRun, accessPaths } = options;
  const text = offboardingText(plan, description);
  const manualSteps = [...otherComponents(description), ...localManualSteps(plan.local, description)];
  if (dryRun) {
    return report({
      json: { dryRun, plan, ...NOT_OFFBOARDED, accessPaths, manualSteps },
      text: () => `${text}\nDry run. Nothing was changed.\n`,
      failure: refusalAhead(() => requireMayChange(description)),
    });
  }
  const { users, revocation } = plan;
  const lines = [
    closingText(users, accessPaths, manualSteps),
    'Nothing was changed.',
    ...accessPathLines(accessPaths),
    ...staysAliveLines(revocation.staysAlive),
    ...manualStepLines(manualSteps),
    '',
  ];
  return report({
    json: { dryRun, plan, ...NOT_OFFBOARDED, accessPaths, manualSteps },
    text: () => lines.join('\n'),
    amount: stepAmount([]),
    failure: unfinishedWork({
      interrupted: false,
      stopped: null,
      left: `Some access of ${users.join(', ')} may be left`,
      open: accessPaths.some(({ state }) => state !== 'closed'),
      hint: hintForPaths(accessPaths, {
        description,
        staysActive: plan.staysActive,
        listedUnder: STAYS_ALIVE,
      }),
    }),
  });
}

/** The heading of what a revocation cannot end. */
const STAYS_ALIVE = 'Stays alive';

function offboardingText(plan: UserOffboardingPlan, description: TargetDescription): string {
  const names = plan.deactivate.map(({ name }) => printable.value(name)).join(', ');
  const lines = [
    ...(names === '' ? [] : [`Would deactivate ${names}.`]),
    ...(plan.staysActive ? [STAYS_ACTIVE] : []),
    ...localSteps(plan.local).before,
    ...localSteps(plan.local).after,
    planText(plan.revocation, description),
  ];
  return lines.join('\n');
}

const STAYS_ACTIVE =
  'Not deactivated: this target cannot deactivate users. Use a database context or the identity provider.';

const NOT_OFFBOARDED: NotMade<UserOffboardingReport> = {
  users: null,
  result: null,
  steps: null,
  accessPaths: null,
  staysActive: null,
  staysAlive: null,
  interrupted: null,
  stopped: null,
  run: null,
};

function offboardingResult(
  done: UserOffboardingReport,
  plan: UserOffboardingPlan,
  description: TargetDescription,
): Report<OffboardingJson> {
  const { interrupted, stopped, result, users, steps, accessPaths, staysActive } = done;
  const isWhole = steps.every((step) => step.result === 'done' || step.result === 'unchanged');
  const hint = hintForPaths(accessPaths, { description, staysActive, listedUnder: STAYS_ALIVE });
  const manualSteps = [...otherComponents(description), ...localManualSteps(plan.local, description)];
  return report({
    json: { dryRun: false, plan, ...done, manualSteps },
    text: () => resultText(done, manualSteps),
    amount: stepAmount(done.steps),
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: `Some access of ${users.join(', ')} may be left`,
      open: result === 'partly',
      hint: isWhole ? hint : undefined,
    }),
  });
}

/** What is true of the access of users, as far as it was checked. */
function closingText(
  users: readonly string[],
  accessPaths: readonly AccessPath[],
  manualSteps: readonly ManualStep[],
): string {
  const names = users.map(printable.value).join(', ');
  const open = accessPaths
    .filter(({ state }) => state === 'open')
    .map(({ path }) => pathName(path).toLowerCase())
    .join(', ');
  const unchecked = uncheckedText(accessPaths);
  if (accessPaths.length === 0) return `The access of ${names} was not checked.`;
  if (open === '' && unchecked === '') {
    return manualSteps.length === 0
      ? `All access of ${names} has ended.`
      : `All access of ${names} that this database shows has ended.`;
  }
  return [
    open === ''
      ? `The access of ${names} was ended as far as this context can check.`
      : `${names} may still have access: ${open}.`,
    ...(unchecked === '' ? [] : [`Not checked: ${unchecked}.`]),
  ].join(' ');
}

function resultText(
  { users, steps, accessPaths, staysActive, staysAlive, run }: UserOffboardingReport,
  manualSteps: readonly ManualStep[],
): string {
  const lines = [
    closingText(users, accessPaths, manualSteps),
    ...stepLines(steps),
    ...(staysActive ? [STAYS_ACTIVE] : []),
    ...accessPathLines(accessPaths),
    ...staysAliveLines(staysAlive),
    ...manualStepLines(manualSteps),
    '',
    `Audit log: run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}
