import { type JournalOptions, textOf } from '../journal/journal.ts';
import type { Entry } from '../ports/audit-log.ts';
import { incidentNotes, incidentOfNote, type NotesOf, noteOnIncident } from './recorded-incidents.ts';

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
  const { isHonest } = options;
  const about = await incidentOfNote(options);
  const incident = about.incident.id;
  const known = await honestItems({ ...options, incident });
  const changed = [...new Set(options.items)].filter((item) => known.has(item) !== isHonest);
  if (changed.length > 0) {
    await noteOnIncident(options, {
      about,
      operation: isHonest ? MARKED : UNMARKED,
      selection: changed.length === 1 ? `the item ${changed[0]}` : `${changed.length} items`,
      data: { items: changed },
    });
  }
  return { incident, changed };
}

/**
 * The items that are marked as honest work for an incident of a controller, by their ids.
 *
 * @param options.incident The whole id.
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function honestItems(options: NotesOf): Promise<ReadonlyMap<string, HonestItem>> {
  const marked = new Map<string, HonestItem>();
  for await (const { data, operation, at, seq, by } of incidentNotes(options, [MARKED, UNMARKED])) {
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
