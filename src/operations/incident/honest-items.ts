import type { Incident } from '../../domain/incident/incident.ts';
import { isSameController, Journal, type JournalOptions, textOf } from '../journal/journal.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import type { TargetDescription } from '../ports/target.ts';
import { incidentReference, readIncidentHistories, requireIncident } from './recorded-incidents.ts';

/** Marks items of an investigation as honest work, and takes that back. */
const MARKED = 'incident.mark';
const UNMARKED = 'incident.mark-undo';

/** An item of an investigation that a person called honest work. */
export interface HonestItem {
  readonly item: string;
  /** RFC 3339. */
  readonly at: string;
  readonly by: string;
  /** The number of the entry. */
  readonly seq: number;
}

type Place = Pick<TargetDescription, 'address' | 'installUuid'>;

/**
 * Marks items of an incident's investigations as honest work, or takes that back: a cleaning leaves what is marked. Records it in
 * the audit log, and nothing else: whether it is honest is what its person says. What is recorded already is not recorded again.
 *
 * @param options.items The ids of the items.
 * @param options.isHonest False takes the marks back.
 * @returns The incident, and the items whose mark changed.
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function markItems(
  options: Omit<JournalOptions, 'operation'> & {
    readonly incident: string;
    readonly items: readonly string[];
    readonly isHonest: boolean;
  },
): Promise<{ readonly incident: string; readonly changed: readonly string[] }> {
  const { log, description, isHonest } = options;
  const histories = (await readIncidentHistories(log)).ofController(description);
  const { incident, history } = requireIncident(histories, options.incident);
  const known = await honestItems({ log, description, incident: incident.id });
  const changed = [...new Set(options.items)].filter((item) => known.has(item) !== isHonest);
  if (changed.length === 0) return { incident: incident.id, changed };
  const journal = new Journal({ ...options, operation: isHonest ? MARKED : UNMARKED });
  await journal.note({
    ...incidentReference({ id: incident.id, address: history.address }, description),
    selection: changed.length === 1 ? `the item ${changed[0]}` : `${changed.length} items`,
    ...usersOf(incident),
    items: changed,
  });
  return { incident: incident.id, changed };
}

/** So that the timeline of a user has the entry. */
function usersOf({ scope }: Incident): Entry['data'] {
  return scope.kind === 'users' ? { users: scope.names } : {};
}

/**
 * The items that are marked as honest work for an incident of a controller, by their ids.
 *
 * @param options.incident The whole id.
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function honestItems(options: {
  readonly log: Pick<AuditLog, 'entries'>;
  readonly description: Place;
  readonly incident: string;
}): Promise<ReadonlyMap<string, HonestItem>> {
  const { log, description, incident } = options;
  const marked = new Map<string, HonestItem>();
  for await (const entry of log.entries(1, { operations: [MARKED, UNMARKED] })) {
    const { data, operation, at, seq, actor } = entry;
    if (data['incident'] !== incident || !isSameController(entry.target, description)) continue;
    const by = actor['sudo_user'] ?? actor['user'] ?? 'unknown';
    for (const item of itemsIn(data)) {
      if (operation === MARKED) marked.set(item, { item, at, by, seq });
      else marked.delete(item);
    }
  }
  return marked;
}

function itemsIn(data: Entry['data']): readonly string[] {
  const { items } = data;
  return Array.isArray(items) ? items.flatMap((item) => textOf(item) ?? []) : [];
}
