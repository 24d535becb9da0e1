import type { Runtime } from '../../app/runtime.ts';
import {
  offboardUsers,
  planUserOffboarding,
  type UserOffboardingPlan,
  type UserOffboardingReport,
} from '../../operations/incident/offboard-user.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import type { ChangeFlags } from '../flags.ts';
import { amountsOf, isNothing, planText, staysAliveLines } from '../revocation/revocation-plan.ts';
import { accessPathLines, stepLines } from './incident-text.ts';

export interface OffboardingRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  readonly users: readonly string[];
  readonly flags: ChangeFlags;
}

/**
 * Plans, confirms, ends all access and reports.
 *
 * @throws TokenctlError `not_confirmed`, and the errors of the operations.
 */
export async function offboardingFlow(request: OffboardingRequest): Promise<Report> {
  const { runtime, confirmation, flags } = request;
  const users = [...new Set(request.users)];
  const description = await runtime.description();
  const target = await runtime.target();
  const plan = await planUserOffboarding({ target, description, clock: runtime.clock, users });
  const dryRun = flags['dry-run'] === true;
  const nothing = isNothing(amountsOf(plan.revocation)) && plan.deactivate.length === 0;
  if (dryRun || nothing) return offboardingPlanResult(plan, { description, dryRun });
  await confirmation.confirm({
    plan: offboardingText(plan, description),
    act: `end all access of ${users.length === 1 ? printable.value(users[0] ?? '') : countText(users.length, 'user')}`,
    type: users.length === 1 ? (users[0] ?? '') : String(users.length),
  });
  const change = await runtime.change(flags);
  const progress = runtime.progress('Revoking');
  const done = await offboardUsers({ ...change, plan, onProgress: progress.step }).finally(progress.end);
  return offboardingResult(done);
}

function offboardingPlanResult(
  plan: UserOffboardingPlan,
  { description, dryRun }: { readonly description: TargetDescription; readonly dryRun: boolean },
): Report {
  return report({
    json: { dryRun, plan },
    text: () => offboardingText(plan, description) + (dryRun ? '\nDry run. Nothing was changed.\n' : ''),
  });
}

function offboardingText(plan: UserOffboardingPlan, description: TargetDescription): string {
  const names = plan.deactivate.map(({ name }) => printable.value(name)).join(', ');
  const lines = [
    ...(names === '' ? [] : [`Would deactivate ${names}.`]),
    ...(plan.staysActive ? [STAYS_ACTIVE] : []),
    planText(plan.revocation, description),
  ];
  return lines.join('\n');
}

const STAYS_ACTIVE =
  'Not deactivated: this target cannot deactivate users. Use a database context or the identity provider.';

function offboardingResult(done: UserOffboardingReport): Report {
  const { interrupted, stopped, result, users } = done;
  return report({
    json: done,
    text: () => resultText(done),
    failure: unfinishedWork({
      interrupted,
      stopped,
      left: `Some access of ${users.join(', ')} may be left`,
      open: result === 'partly',
    }),
  });
}

function resultText({
  users,
  result,
  steps,
  accessPaths,
  staysActive,
  staysAlive,
  run,
}: UserOffboardingReport): string {
  const names = users.map(printable.value).join(', ');
  const lines = [
    result === 'done'
      ? `All access of ${names} has ended.`
      : `Only part of the access of ${names} has ended.`,
    ...stepLines(steps),
    ...(staysActive ? [STAYS_ACTIVE] : []),
    ...accessPathLines(accessPaths),
    ...staysAliveLines(staysAlive),
    '',
    `Audit log: run ${run}.`,
  ];
  return `${lines.join('\n')}\n`;
}
