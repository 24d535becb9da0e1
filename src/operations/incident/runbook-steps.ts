import { type JournalOptions, textOf } from '../journal/journal.ts';
import {
  incidentNotes,
  incidentOfNote,
  type NotesOf,
  noteOnIncident,
} from '../journal/recorded-incidents.ts';
import type { Entry } from '../ports/audit-log.ts';

/** Marks a step as done, or reverts that. */
const DONE = 'incident.step';
const UNDONE = 'incident.step-undo';

/** A runbook step, with its title at the time. */
interface RunbookStep {
  readonly runbook: string;
  readonly step: number;
  readonly title: string;
}

export interface StepDone extends RunbookStep {
  /** RFC 3339. */
  readonly at: string;
  readonly by: string;
  readonly seq: number;
}

/**
 * Marks a runbook step of an incident as done, or reverts that. Only records it in the audit log: whether the
 * step was done is the person's statement. An unchanged state is not recorded again.
 * @returns The incident, and whether anything was recorded.
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function tickStep(
  options: Omit<JournalOptions, 'operation'> & {
    readonly incident: string;
    readonly step: RunbookStep;
    /** False reverts it. */
    readonly isDone: boolean;
  },
): Promise<{ readonly incident: string; readonly changed: boolean }> {
  const { step, isDone } = options;
  const about = await incidentOfNote(options);
  const incident = about.incident.id;
  const known = (await stepsDone({ ...options, incident })).some(
    (each) => each.runbook === step.runbook && each.step === step.step,
  );
  if (known === isDone) return { incident, changed: false };
  await noteOnIncident(options, {
    about,
    operation: isDone ? DONE : UNDONE,
    selection: `step ${step.step} of ${step.runbook} (${step.title})`,
    data: { runbook: { name: step.runbook, step: step.step, title: step.title } },
  });
  return { incident, changed: true };
}

/** The steps done for an incident (its whole id), in that order. Throws `log_broken`, `audit_unavailable`. */
export async function stepsDone(options: NotesOf): Promise<readonly StepDone[]> {
  const done = new Map<string, StepDone>();
  for await (const entry of incidentNotes(options, [DONE, UNDONE])) {
    const step = stepIn(entry);
    if (step === null) continue;
    const key = `${step.runbook} ${step.step}`;
    if (entry.operation === DONE) done.set(key, step);
    else done.delete(key);
  }
  return [...done.values()];
}

function stepIn({ data, at, seq, by }: Entry & { by: string }): StepDone | null {
  const { name, step, title } = (data['runbook'] ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof step !== 'number') return null;
  return { runbook: textOf(name) ?? '', step, title: textOf(title) ?? '', at, by, seq };
}
