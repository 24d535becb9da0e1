import type { Incident } from '../../domain/incident/incident.ts';
import { isSameController, Journal, type JournalOptions, textOf } from '../journal/journal.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import { incidentReference, readIncidentHistories, requireIncident } from './recorded-incidents.ts';

/** Ticks a step off, and takes that back. */
const DONE = 'incident.step';
const UNDONE = 'incident.step-undo';

/** A step of a runbook, with its title at the time. */
interface RunbookStep {
  readonly runbook: string;
  readonly step: number;
  readonly title: string;
}

/** A step that a person ticked off. */
export interface StepDone extends RunbookStep {
  /** RFC 3339. */
  readonly at: string;
  readonly by: string;
  /** The number of the entry. */
  readonly seq: number;
}

type Place = Pick<TargetDescription, 'address' | 'installUuid'>;

/**
 * Ticks a step of a runbook off for an incident, or takes that back. Records it in the audit log, and nothing else: whether
 * the step was done is what its person says. What is recorded already is not recorded again.
 *
 * @returns The incident, and whether anything was recorded.
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function tickStep(
  options: Omit<JournalOptions, 'operation'> & {
    readonly incident: string;
    readonly step: RunbookStep;
    /** False takes it back. */
    readonly isDone: boolean;
  },
): Promise<{ readonly incident: string; readonly changed: boolean }> {
  const { log, description, step, isDone } = options;
  const histories = (await readIncidentHistories(log)).ofController(description);
  const { incident, history } = requireIncident(histories, options.incident);
  const known = (await stepsDone({ log, description, incident: incident.id })).some(
    (each) => each.runbook === step.runbook && each.step === step.step,
  );
  if (known === isDone) return { incident: incident.id, changed: false };
  const journal = new Journal({ ...options, operation: isDone ? DONE : UNDONE });
  await journal.note({
    ...incidentReference({ id: incident.id, address: history.address }, description),
    selection: `step ${step.step} of ${step.runbook} (${step.title})`,
    ...usersOf(incident),
    runbook: { name: step.runbook, step: step.step, title: step.title },
  });
  return { incident: incident.id, changed: true };
}

/** So that the timeline of a user has the entry. */
function usersOf({ scope }: Incident): Entry['data'] {
  return scope.kind === 'users' ? { users: scope.names } : {};
}

/**
 * The steps that are ticked off for an incident of a controller, in the order in which that was done.
 *
 * @param options.incident The whole id.
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function stepsDone(options: {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly description: Place;
  readonly incident: string;
}): Promise<readonly StepDone[]> {
  const { log, description, incident } = options;
  const done = new Map<string, StepDone>();
  for await (const entry of log.entries(1, { operations: [DONE, UNDONE] })) {
    if (entry.data['incident'] !== incident || !isSameController(entry.target, description)) continue;
    const step = stepIn(entry);
    if (step === null) continue;
    const key = `${step.runbook} ${step.step}`;
    if (entry.operation === DONE) done.set(key, step);
    else done.delete(key);
  }
  return [...done.values()];
}

function stepIn({ data, at, seq, actor }: Entry): StepDone | null {
  const { name, step, title } = (data['runbook'] ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof step !== 'number') return null;
  const by = actor['sudo_user'] ?? actor['user'] ?? 'unknown';
  return { runbook: textOf(name) ?? '', step, title: textOf(title) ?? '', at, by, seq };
}
