import type { Runtime } from '../../app/runtime.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { shellWord } from '../../domain/remedies.ts';
import {
  dueIncidents,
  type LaterRun,
  type LiftItem,
  type LiftPlan,
  type LiftReport,
  liftIncident,
  openIncidents,
  planLift,
} from '../../operations/incident/lift.ts';
import { extendIncident } from '../../operations/incident/recorded-incidents.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { type Report, report } from '../../reports/tables/result.ts';
import { countText, printable, timeText } from '../../reports/tables/text.ts';
import type { Confirmation } from '../confirmation.ts';
import { unfinishedWork } from '../errors/failure.ts';
import type { AccountFlags, ChangeFlags } from '../flags.ts';
import { stepAmount, stepLines, tellOfDue } from './incident-text.ts';
import { valueText } from './lockdown-flow.ts';

/** What `incident lift` prints with `--json`. */
export interface LiftJson {
  readonly dryRun: boolean;
  readonly plans: readonly LiftPlan[];
  /** Empty if nothing was lifted. */
  readonly reports: readonly LiftReport[];
}

/** What `incident extend` prints with `--json`. */
export interface ExtensionJson {
  readonly incident: string;
  /** Null without an end. */
  readonly until: Date | null;
}

export interface LiftRequest {
  readonly runtime: Runtime;
  readonly confirmation: Confirmation;
  /** The incident's id; undefined with `due`, and for the only open one. */
  readonly incident: string | undefined;
  readonly flags: ChangeFlags & { readonly due?: boolean | undefined };
}

/**
 * Refuses an incident id together with --due.
 *
 * @throws TokenctlError `usage`
 */
export function requireOneIncident(incident: string | undefined, due: boolean | undefined): void {
  if (incident !== undefined && due === true) {
    throw new TokenctlError('usage', 'Both an incident id and --due are given', {
      hint: 'Leave one of them out.',
    });
  }
}

/** The only open incident; empty if no incident is open. */
function onlyOne(open: readonly string[]): readonly string[] {
  if (open.length < 2) return open;
  throw new TokenctlError('usage', `${open.length} incidents are open: ${open.join(', ')}`, {
    hint: 'Give the id of one, or --due.',
  });
}

/**
 * Plans, confirms, lifts and reports.
 *
 * @throws TokenctlError `usage`, `not_confirmed`, and the errors of the operations.
 */
export async function liftFlow({
  runtime,
  confirmation,
  incident,
  flags,
}: LiftRequest): Promise<Report<LiftJson>> {
  const description = await runtime.description();
  const { clock } = runtime;
  const reading = { target: await runtime.target(), description, log: await runtime.auditLog(), clock };
  const isDue = flags.due === true;
  const ids =
    incident === undefined
      ? isDue
        ? await dueIncidents(reading)
        : onlyOne(await openIncidents(reading))
      : [incident];
  const plans: LiftPlan[] = [];
  for (const id of ids) plans.push(await planLift({ ...reading, incident: id }));
  const open = plans.filter(({ incident: { state } }) => state !== 'lifted');
  const dryRun = flags['dry-run'] === true;
  if (!isDue && (dryRun || open.length === 0)) await tellOfDue(runtime);
  if (dryRun || open.length === 0) return plansResult(plans, { description, dryRun });
  const [first] = open;
  await confirmation.confirm({
    plan: plansText(plans, description),
    act: open.length === 1 ? `lift ${first?.incident.id ?? ''}` : `lift ${open.length} incidents`,
    type: open.length === 1 ? (first?.incident.id ?? '') : String(open.length),
  });
  const change = await runtime.change(flags);
  const reports: LiftReport[] = [];
  for (const plan of open) reports.push(await liftIncident({ ...change, incident: plan.incident.id }));
  if (!isDue) await tellOfDue(runtime);
  return liftResult(reports, plans);
}

function plansResult(
  plans: readonly LiftPlan[],
  { description, dryRun }: { readonly description: TargetDescription; readonly dryRun: boolean },
): Report<LiftJson> {
  return report({
    json: { dryRun, plans, reports: [] },
    text: () => plansText(plans, description) + (dryRun ? '\nDry run. Nothing was changed.\n' : ''),
  });
}

function plansText(plans: readonly LiftPlan[], { address, context }: TargetDescription): string {
  if (plans.length === 0) return 'No incidents to lift.\n';
  const lines = plans.flatMap(({ incident, items, revived }) => {
    const { id, selection, lifted } = incident;
    if (lifted !== null) {
      return [`${id} was lifted at ${timeText(new Date(lifted.at))}. Nothing to do.`];
    }
    return [
      `Would lift ${id}: ${printable.value(selection)}, locked down since ${incident.since}.`,
      ...items.map((item) => `  ${itemText(item)}`),
      '  Revoked tokens stay revoked.',
      ...staysLines(incident),
      ...revivedLines(revived, context),
    ];
  });
  return `${[...lines, `At ${address} (context ${context}).`].join('\n')}\n`;
}

/** What a lift does not give back. */
function staysLines({ measures }: LiftPlan['incident']): string[] {
  return [
    ...(measures.resetPasswords === true
      ? ['  Passwords stay reset: set new ones for the users who are to log in.']
      : []),
    ...(measures.endApplications === true ? ['  Deleted applications stay deleted.'] : []),
  ];
}

/** The refresh tokens that expired because of the shorter lifetime, and no longer are expired. */
function revivedLines(revived: number | null, context: string): string[] {
  if (revived === 0) return [];
  return revived === null
    ? [
        '  Refresh tokens that expired because of the shorter lifetime become live again. This context cannot list them.',
      ]
    : [
        `  ${countText(revived, 'expired refresh token becomes', 'expired refresh tokens become')} live again. To see which: tokenctl refresh-tokens list --context ${shellWord(context)} --state expired`,
      ];
}

function itemText({ what, name, before, found, action, others, endedBy }: LiftItem): string {
  const shown = printable.value(name);
  const isUser = what === 'user';
  if (what === 'role') return roleText(shown, { action, others, endedBy });
  switch (action) {
    case 'restore':
      return isUser ? `Activate ${shown}.` : `Set ${shown} back to ${valueText(before)}.`;
    case 'as_before':
      return isUser ? `${shown} is active already.` : `${shown} is ${valueText(before)} already.`;
    case 'kept':
      return `Keep ${shown}: also held by ${others.join(' and ')}.`;
    case 'changed':
      return `Keep ${shown}${found === null ? '' : ` at ${valueText(found)}`}: it was changed since.`;
    case 'ended_since':
      return isUser
        ? `Keep ${shown} deactivated: ${endedText('offboarded', endedBy)}.`
        : `Keep ${shown}${found === null ? '' : ` at ${valueText(found)}`}: ${endedText('set', endedBy)}.`;
    case 'gone':
      return `${shown} no longer exists.`;
  }
}

function roleText(
  shown: string,
  { action, others, endedBy }: Pick<LiftItem, 'action' | 'others' | 'endedBy'>,
): string {
  switch (action) {
    case 'restore':
      return `Give back ${shown}.`;
    case 'as_before':
      return `${shown} is held already.`;
    case 'kept':
      return `Do not give back ${shown}: also taken by ${others.join(' and ')}.`;
    case 'ended_since':
      return `Do not give back ${shown}: ${endedText('offboarded', endedBy)}.`;
    case 'changed':
    case 'gone':
      return `${shown}: the user no longer exists, or this context cannot list roles.`;
  }
}

function endedText(what: string, later: LaterRun | null): string {
  if (later === null) return `${what} since`;
  return `${what} by ${printable.value(later.by['user'] ?? 'an unknown user')} at ${timeText(new Date(later.at))}, run ${later.run}`;
}

function liftResult(reports: readonly LiftReport[], plans: readonly LiftPlan[]): Report<LiftJson> {
  const partly = reports.filter(({ result }) => result === 'partly');
  const stopped = reports.find((each) => each.stopped !== null)?.stopped ?? null;
  return report({
    json: { dryRun: false, plans, reports },
    amount: stepAmount(reports.flatMap(({ steps }) => steps)),
    text: () => `${reports.flatMap(reportLines).join('\n')}\n`,
    failure: unfinishedWork({
      interrupted: reports.some(({ interrupted }) => interrupted),
      stopped,
      left: `Not everything was lifted: ${partly.map(({ incident }) => incident).join(', ')}`,
      open: partly.length > 0,
    }),
  });
}

function reportLines({ incident, result, steps, left, revived, run }: LiftReport): string[] {
  if (result === 'unchanged') return [`${incident} was lifted already. Nothing was changed.`];
  return [
    `${result === 'lifted' ? 'Lifted' : 'Partly lifted'}: ${incident}.`,
    ...stepLines(steps),
    ...left.map((item) => `  left       ${itemText(item)}`),
    ...(revived
      ? [`  ${countText(revived, 'expired refresh token is', 'expired refresh tokens are')} live again.`]
      : []),
    ...(run === null ? [] : [`Audit log: run ${run}.`]),
  ];
}

/**
 * Sets the end time of an incident.
 *
 * @throws TokenctlError whatever the operation throws.
 */
export async function extendFlow(request: {
  readonly runtime: Runtime;
  readonly incident: string;
  /** `for` is in milliseconds; without it the incident has no end time. */
  readonly flags: AccountFlags & { readonly for?: number | undefined };
}): Promise<Report<ExtensionJson>> {
  const { runtime, flags } = request;
  const lasts = flags.for;
  const until = lasts === undefined ? null : new Date(runtime.clock.now().getTime() + lasts);
  const { target: _target, ...change } = await runtime.change(flags);
  const incident = await extendIncident({ ...change, incident: request.incident, until });
  await tellOfDue(runtime);
  return report({
    json: { incident, until },
    text: () =>
      until === null
        ? `${incident} has no end time. Lift it with: tokenctl incident lift ${incident}\n`
        : `${incident} ends at ${timeText(until)} unless extended. Lift it then with: tokenctl incident lift ${incident}\n`,
  });
}
