import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../../app/runtime.ts';
import { untilText } from '../../domain/access.ts';
import { shellWord } from '../../domain/remedies.ts';
import { unreadSessions } from '../../operations/access/cached-sessions.ts';
import { hasWork, type LiftReport, liftIncident } from '../../operations/incident/lift.ts';
import {
  type DueIncident,
  dueIncidents,
  type LaterRun,
  type LiftItem,
  type LiftPlan,
  openIncidents,
  planLift,
  valueText,
} from '../../operations/incident/plan-lift.ts';
import { extendIncident } from '../../operations/journal/recorded-incidents.ts';
import type { TargetDescription } from '../../operations/ports/target.ts';
import { accessParts } from '../../reports/access-lines.ts';
import {
  type Document,
  good,
  type Line,
  type Lines,
  lines,
  list,
  type Part,
  usual,
  warning,
  would,
} from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { countText, timeText } from '../../reports/tables/text.ts';
import type { ChangeRequest, PlannedChange, Question } from '../change/change.ts';
import { runLine, stepAmount, stepLines, unfinishedWork } from '../change/ending.ts';
import { placeLine } from '../change/plan-text.ts';
import type { ExtendFlags, LiftFlags } from './incident-flags.ts';
import { dueTexts, endText, giveBackCommand, liftDueCommand, tellOfDue } from './incident-text.ts';

/** What `incident lift` prints with `--json`. */
export interface LiftJson {
  readonly dryRun: boolean;
  readonly plans: readonly LiftPlan[];
  /** Empty if nothing was lifted. */
  readonly reports: readonly LiftReport[];
}

/** What `incident extend` prints with `--json`. */
export interface ExtensionJson {
  readonly dryRun: boolean;
  readonly incident: string;
  /** Null for no end. */
  readonly until: Date | null;
}

export interface LiftRequest extends ChangeRequest<LiftFlags> {
  /** The incident's id; undefined with `due`, and for the only open one. */
  readonly incident: string | undefined;
  /** All contexts in which the command runs. */
  readonly contexts?: readonly string[];
  /** What remains of the case that the lift closes, for the plan; the console knows its investigations. */
  readonly closes?: Document | undefined;
  /** Incidents that are lifted with it, and whose users stay deactivated in any case. */
  readonly keeping?: readonly string[];
}

/** Refuses an incident id together with --due. Throws `usage`. */
export function requireOneIncident(incident: string | undefined, due: boolean | undefined): void {
  if (incident !== undefined && due === true) {
    throw new TokenctlError('usage', 'Both an incident ID and --due are specified', {
      hint: 'Omit one of them.',
    });
  }
}

/** The only open incident; empty if there is none. */
function onlyOne(open: readonly string[]): readonly string[] {
  if (open.length < 2) return open;
  throw new TokenctlError('usage', `${open.length} incidents are open: ${open.join(', ')}`, {
    hint: 'Specify one by its ID, or use --due.',
  });
}

export type LiftChange = PlannedChange<readonly LiftReport[], LiftJson, Question | null>;

export async function liftFlow(request: LiftRequest): Promise<LiftChange> {
  const { runtime, incident, flags, closes, keeping = [] } = request;
  const reading = await runtime.reading();
  const { description } = reading;
  const isDue = flags.due === true;
  const due = isDue ? await dueIncidents(reading) : null;
  const open = async () => due?.here.map(({ id }) => id) ?? onlyOne(await openIncidents(reading));
  const plans: LiftPlan[] = [];
  // A user who types the answer has read until when old sessions are accepted again.
  const acceptSessions = flags['accept-sessions'] === true || flags.yes !== true;
  const keepDeactivated = flags['keep-deactivated'];
  for (const id of incident === undefined ? await open() : [incident]) {
    plans.push(await planLift({ ...reading, incident: id, acceptSessions, keepDeactivated }));
  }
  for (const id of keeping) {
    plans.push(await planLift({ ...reading, incident: id, acceptSessions, keepDeactivated: true }));
  }
  const elsewhere = (due?.elsewhere ?? []).filter((each) => !isIncluded(each, request.contexts ?? []));
  const choices = { acceptSessions, keepDeactivated, keeping };
  return {
    ...liftChange(plans, { description, choices, elsewhere, closes }),
    after: async (report) => {
      if (!isDue) await tellOfDue(runtime);
      return report;
    },
  };
}

function liftChange(
  plans: readonly LiftPlan[],
  request: Pick<LiftRequest, 'closes'> & {
    description: TargetDescription;
    choices: {
      readonly acceptSessions: boolean;
      readonly keepDeactivated: boolean | undefined;
      readonly keeping: readonly string[];
    };
    elsewhere: readonly DueIncident[];
  },
): LiftChange {
  const { description, choices, elsewhere, closes } = request;
  const meant = plans.filter(hasWork);
  const ids = meant.map(({ incident: { id } }) => id);
  const isGiving = meant.length > 0 && meant.every(({ incident: { lifted } }) => lifted !== null);
  const [only = ''] = ids;
  const one = ids.length === 1;
  const namesSessions = plans.some(({ accessPaths }) => accessPaths.length > 0);
  return {
    plan: [
      lines(
        plans.length === 0
          ? nothingText(elsewhere)
          : [
              ...plans.flatMap((plan) =>
                planLines(plan, { ...description, isLate: choices.keepDeactivated === true }),
              ),
              placeLine(description),
            ],
      ),
      ...plans.flatMap(({ accessPaths }) => accessParts(accessPaths)),
      ...plans.map((plan) => leftPart(plan, description)),
      ...(closes ?? []),
      lines(dueTexts(elsewhere)),
    ],
    incomplete: elsewhereFailure(elsewhere),
    namesSessions,
    question:
      ids.length === 0
        ? null
        : {
            act: `${isGiving ? 'restore what was left by' : 'lift'} ${one ? only : `${ids.length} incidents`}${closes === undefined ? '' : ' and close the case'}`,
            type: one ? only : String(ids.length),
            lift: { givesBack: isGiving, stays: null },
          },
    async act(begin) {
      const opened = await begin();
      const reports: LiftReport[] = [];
      const { acceptSessions, keepDeactivated, keeping } = choices;
      for (const incident of ids) {
        const keeps = keeping.includes(incident) || keepDeactivated;
        reports.push(await liftIncident({ ...opened, incident, acceptSessions, keepDeactivated: keeps }));
      }
      return reports;
    },
    ended: (reports) => {
      const partly = reports.filter(({ result }) => result === 'partly');
      return {
        document: [
          lines(reports.map((each) => reportLines(each, { ...description, isGiving }))),
          ...reports.flatMap(({ accessPaths }) => accessParts(accessPaths)),
          ...plans.map((plan) => leftPart(plan, description)),
        ],
        amount: stepAmount(reports.flatMap(({ steps }) => steps)),
        failure:
          unfinishedWork({
            interrupted: reports.some(({ interrupted }) => interrupted),
            stopped: reports.find((each) => each.stopped !== null)?.stopped ?? null,
            left: `Not everything was lifted: ${partly.map(({ incident }) => incident).join(', ')}`,
            open: partly.length > 0,
            hint: waitingHint(partly),
          }) ??
          elsewhereFailure(elsewhere) ??
          (namesSessions ? unreadSessions(description) : undefined),
      };
    },
    json: ({ dryRun, done }) => ({ dryRun, plans, reports: done ?? [] }),
  };
}

/** Whether the same command also works in an incident's context. */
function isIncluded({ context }: DueIncident, contexts: readonly string[]): boolean {
  const [base = ''] = context.split('/');
  return contexts.length > 1 && (contexts.includes(context) || contexts.includes(base));
}

function nothingText(elsewhere: readonly DueIncident[]): string {
  return elsewhere.length === 0 ? 'No incidents to lift.' : 'No incidents to lift in this context.';
}

/** Due incidents in other contexts stay locked down. */
function elsewhereFailure(elsewhere: readonly DueIncident[]): TokenctlError | undefined {
  if (elsewhere.length === 0) return undefined;
  const contexts = [...new Set(elsewhere.map(({ context }) => context))];
  return new TokenctlError(
    'partly_done',
    `Past the end time but not lifted, in other contexts: ${elsewhere.map(({ id, context }) => `${id} (${context})`).join(', ')}`,
    { hint: `Run ${contexts.map((context) => `\`${liftDueCommand(context)}\``).join(' and ')}.` },
  );
}

function planLines(plan: LiftPlan, { context, isLate }: { context: string; isLate: boolean }): Lines {
  const { incident, items, revived } = plan;
  const { id, selection, lifted, since, measures } = incident;
  const isOver = lifted !== null && !hasWork(plan);
  if (isOver) {
    return [
      `${id} was lifted at ${timeText(new Date(lifted.at))}. Nothing to do.`,
      list(items.map(itemLine), giveBackText(items, { id, context })),
      isLate &&
        items.length === 0 &&
        (measures.deactivate || measures.stripRoles === true) &&
        'It is too late for --keep-deactivated: the lift left no users deactivated. Lock down again, or use `tokenctl users offboard`.',
    ];
  }
  return [
    lifted === null
      ? usual(would`lift ${id}: ${selection}, locked down since ${since}.`.text)
      : would`restore what the lift of ${id} left: ${selection}, lifted at ${timeText(new Date(lifted.at))}.`,
    list(
      items.map(itemLine),
      giveBackText(items, { id, context }),
      usual('Revoked tokens stay revoked.'),
      passwordsText(items, measures),
      measures.resetPasswords === true && 'Passwords stay reset. Set new ones for users who need to log in.',
      measures.endApplications === true && 'Deleted applications stay deleted.',
      revivedText(revived, context),
    ),
  ];
}

/** How to restore later what a lift leaves. */
function giveBackText(items: readonly LiftItem[], { id, context }: { id: string; context: string }): Lines {
  if (items.every(({ action }) => action !== 'stays')) return '';
  return {
    text: `To restore this access later: ${giveBackCommand(id, context)}`,
    usual: true,
    inConsole: 'You can restore access later on the page of this case: “Restore access…”.',
  };
}

/** An intruder may know a password that the lockdown did not reset. */
function passwordsText(items: readonly LiftItem[], { resetPasswords }: LiftPlan['incident']['measures']) {
  const active = items.filter(({ what, action }) => what === 'user' && action === 'restore');
  if (active.length === 0 || resetPasswords === true) return '';
  return active.length === 1
    ? `The lockdown did not reset the password of ${active[0]?.name}. It works again unless it was changed since.`
    : 'The lockdown did not reset the passwords of these users. Those that were not changed since work again.';
}

/** The maximum number of items from a cleaning that still work, and that only the lockdown blocks. */
const MOST_LEFT = 20;

/** Warns about items that the cleanings left, and that a lift makes usable again. */
function leftPart({ leftByCleaning, incident }: LiftPlan, { context }: TargetDescription): Part {
  if (leftByCleaning === null || incident.lifted !== null) return lines();
  const { run, items, since } = leftByCleaning;
  const from = since === null ? '' : ` --since ${since}`;
  const more = items.length - MOST_LEFT;
  return lines(
    `The cleanup in run ${run} skipped these items because they cannot be undone and were not confirmed: ${countText(items.length, 'item')}.`,
    items.slice(0, MOST_LEFT).map(({ summary }) => ({ mark: 'left', text: summary })),
    more > 0 && `And ${more} more.`,
    `Clean them first: \`tokenctl incident clean --incident ${incident.id}${from} --context ${shellWord(context)} --irreversible\`.`,
  );
}

/** Refresh tokens that expired because of the shorter lifetime, and are live again. */
function revivedText(revived: number | null, context: string): Lines {
  if (revived === 0) return '';
  return revived === null
    ? 'Refresh tokens that expired because of the shorter lifetime become live again. This context cannot list them.'
    : {
        text: `${countText(revived, 'expired refresh token becomes', 'expired refresh tokens become')} live again. To see which:`,
        commands: [`tokenctl refresh-tokens list --context ${shellWord(context)} --state expired`],
      };
}

function itemLine(item: LiftItem): Extract<Line, { text: unknown }> {
  const { what, name, action } = item;
  const text = itemText(item);
  if (what !== 'user' || action === 'kept' || action === 'changed' || action === 'gone') return { text };
  return { text, account: { name, staysDeactivated: action === 'stays' } };
}

function itemText({ what, name: shown, before, found, action, others, endedBy }: LiftItem): string {
  const isUser = what === 'user';
  if (what === 'role') return roleText(shown, { action, others, endedBy });
  switch (action) {
    case 'restore':
      return isUser ? `Activate ${shown}.` : `Restore ${shown} to ${valueText(before)}.`;
    case 'as_before':
      return isUser ? `${shown} is already active.` : `${shown} is already ${valueText(before)}.`;
    case 'stays':
      return `${shown} stays deactivated.`;
    case 'waits':
      return `Keep ${shown} deactivated for now because existing sessions would be accepted again.`;
    case 'kept':
      return `Keep ${shown}: also held by ${others.join(' and ')}.`;
    case 'changed':
      return `Keep ${shown}${found === null ? '' : ` at ${valueText(found)}`}: it has changed since.`;
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
      return `${shown} is already assigned.`;
    case 'stays':
      return `${shown} stays taken.`;
    case 'kept':
      return `Do not restore ${shown}: also taken by ${others.join(' and ')}.`;
    case 'ended_since':
      return `Do not restore ${shown}: ${endedText('offboarded', endedBy)}.`;
    case 'changed':
    case 'gone':
    case 'waits':
      return `${shown}: the user no longer exists, or this context cannot list roles.`;
  }
}

function endedText(what: string, later: LaterRun | null): string {
  if (later === null) return `${what} since`;
  return `${what} by ${later.by['user'] ?? 'an unknown user'} at ${timeText(new Date(later.at))}, run ${later.run}`;
}

function reportLines(
  { incident, result, steps, left, revived, run }: LiftReport,
  { context, isGiving }: { context: string; isGiving: boolean },
): Lines {
  if (result === 'unchanged') return `${incident} was already lifted. Nothing was changed.`;
  return [
    isGiving
      ? `${result === 'lifted' ? 'Restored' : 'Partly restored'} what was left by the lift: ${incident}.`
      : result === 'lifted'
        ? usual(good`Lifted: ${incident}.`.text)
        : warning`Partly lifted: ${incident}.`,
    stepLines(steps),
    left.map((item) => ({ ...itemLine(item), mark: 'left' })),
    list(
      giveBackText(left, { id: incident, context }),
      revived !== null &&
        revived > 0 &&
        `${countText(revived, 'expired refresh token is', 'expired refresh tokens are')} live again.`,
    ),
    runLine(run),
  ];
}

/** What to do if only users remain who wait until earlier sessions have expired. */
function waitingHint(partly: readonly LiftReport[]): string | undefined {
  const isWaiting = ({ steps, left }: LiftReport) =>
    left.some(({ action }) => action === 'waits') &&
    steps.every(({ result }) => result === 'done' || result === 'unchanged');
  if (partly.length === 0 || !partly.every(isWaiting)) return undefined;
  const ends = partly.flatMap(({ accessPaths }) => accessPaths.flatMap(({ until }) => until ?? []));
  const until = ends.sort().at(-1);
  return until === undefined
    ? 'Add --accept-sessions to activate the users now.'
    : `Run the same command again after ${untilText(until)}, or add --accept-sessions to activate the users now.`;
}

/** Sets the end time of an incident. */
export async function extendFlow(request: {
  readonly runtime: Runtime;
  readonly incident: string;
  /** `for` is in milliseconds; without it the incident has no end time. */
  readonly flags: ExtendFlags;
}): Promise<Report<ExtensionJson>> {
  const { runtime, flags } = request;
  const lasts = flags.for;
  const dryRun = flags['dry-run'] === true;
  const until = lasts === undefined ? null : new Date((await runtime.targetClock()).now().getTime() + lasts);
  const { target: _target, ...change } = await runtime.change(flags);
  const incident = await extendIncident({ ...change, incident: request.incident, until, dryRun });
  await tellOfDue(runtime);
  const { context } = await runtime.description();
  const lift = `tokenctl incident lift ${incident} --context ${shellWord(context)}`;
  const ends = await endText(runtime, { context, until });
  return report({
    json: { dryRun, incident, until },
    document: [
      lines(
        dryRun && `Would change when ${incident} ends:`,
        until === null
          ? { text: `${incident} has no end time. Lift it with:`, commands: [lift] }
          : { ...ends, text: `${incident}: ${ends.text}` },
        dryRun && 'Dry run. Nothing was changed.',
      ),
    ],
  });
}
