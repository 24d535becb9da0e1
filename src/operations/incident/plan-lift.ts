import type { Incident, LockValue } from '../../domain/incident/incident.ts';
import type { IncidentBook } from '../../domain/incident/incident-history.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Clock } from '../ports/scheduler.ts';
import type { Target, TargetDescription } from '../ports/target.ts';
import { activeUsers, foundOf, isDue } from './incident-status.ts';
import { requireIncident } from './plan-lockdown.ts';
import { readIncidents } from './read-incidents.ts';

/** What becomes of one thing that an incident set. */
export interface LiftItem {
  readonly what: 'setting' | 'user';
  readonly name: string;
  readonly userId?: number;
  /** What it was before the first incident. */
  readonly before: LockValue;
  readonly locked: LockValue;
  /** What it is; null where it is gone. */
  readonly found: LockValue | null;
  /**
   * `restore` gives it the value from before; `as_before` it is already; `kept` another incident holds it;
   * `changed` somebody else has set it since; `gone` the user is.
   */
  readonly action: 'restore' | 'as_before' | 'kept' | 'changed' | 'gone';
  /** Ids of the incidents that hold it besides. */
  readonly others: readonly string[];
}

/** What lifting an incident would do. */
export interface LiftPlan {
  readonly incident: Incident;
  /** In the order of the work: what was locked last first. */
  readonly items: readonly LiftItem[];
}

/**
 * Computes what lifting an incident would do. Reads only. Of one that was lifted nothing is left to do.
 *
 * @throws TokenctlError `not_found` for an incident that the log does not have, and whatever the target and
 * the log throw.
 */
export async function planLift(options: {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries'>;
  readonly incident: string;
}): Promise<LiftPlan> {
  const { target, description, log } = options;
  const book = await readIncidents({ log, address: description.address });
  const incident = requireIncident(book, options.incident);
  return { incident, items: await itemsOf(target, book, incident.id) };
}

/**
 * The ids of open incidents whose time is over, in the order in which they began. Reads only.
 *
 * @throws TokenctlError whatever the log throws.
 */
export async function dueIncidents(options: {
  readonly description: TargetDescription;
  readonly log: Pick<AuditLog, 'entries'>;
  readonly clock: Clock;
}): Promise<readonly string[]> {
  const { description, log, clock } = options;
  const book = await readIncidents({ log, address: description.address });
  return book.open.filter((incident) => isDue(incident, clock.now())).map(({ id }) => id);
}

async function itemsOf(target: Target, book: IncidentBook, incident: string): Promise<LiftItem[]> {
  const holds = book.heldBy(incident).toReversed();
  const settings = holds.some(({ lock }) => lock.what === 'setting') ? await target.settings.read() : null;
  const names = holds.flatMap(({ lock }) => (lock.what === 'user' ? [lock.name] : []));
  const active = await activeUsers(target, names);
  return holds.map(({ lock, before, locked, holders }) => {
    const found = foundOf(lock, { settings, active });
    const others = holders.filter((id) => id !== incident);
    return { ...lock, before, locked, found, others, action: actionOf({ before, locked, found, others }) };
  });
}

function actionOf(item: Pick<LiftItem, 'before' | 'locked' | 'found' | 'others'>): LiftItem['action'] {
  const { before, locked, found, others } = item;
  if (others.length > 0) return 'kept';
  if (found === null) return 'gone';
  if (found === before) return 'as_before';
  return found === locked ? 'restore' : 'changed';
}
