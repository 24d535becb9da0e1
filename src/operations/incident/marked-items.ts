import { controllerTime } from '../../domain/clock-difference.ts';
import { type InvestigationItem, isStillThere } from '../../domain/investigation/investigation.ts';
import { type JournalOptions, textOf } from '../journal/journal.ts';
import type { Entry } from '../ports/audit-log.ts';
import { incidentNotes, incidentOfNote, type NotesOf, noteOnIncident } from './recorded-incidents.ts';

/** What a person may say of an item of an investigation: that it is honest work, or that somebody dealt with it by hand. */
export const markKinds = ['honest', 'by_hand'] as const;

/** One of {@link markKinds}. */
export type MarkKind = (typeof markKinds)[number];

/** The operations that say it, and take it back. */
const OPERATIONS: Readonly<Record<MarkKind, readonly [marked: string, unmarked: string]>> = {
  honest: ['incident.mark', 'incident.mark-undo'],
  by_hand: ['incident.by-hand', 'incident.by-hand-undo'],
};

/** What a person said of an item. */
export interface ItemMark {
  readonly item: string;
  /** By the clock of the controller (RFC 3339). */
  readonly at: string;
  readonly by: string;
  /** The number of the entry. */
  readonly seq: number;
}

/**
 * Marks items of an incident's investigations as honest work, which a cleaning leaves, or as dealt with by hand; or takes that back.
 * Records it in the audit log, and nothing else: whether it is so is what its person says. What is recorded already is not recorded
 * again, but that an item was dealt with by hand: it may have been found again since.
 *
 * @param options.items The ids of the items.
 * @param options.isMarked False takes the marks back.
 * @returns The incident, and the items whose mark changed.
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function markItems(
  options: Omit<JournalOptions, 'operation'> & {
    readonly incident: string;
    readonly items: readonly string[];
    readonly as: MarkKind;
    readonly isMarked: boolean;
  },
): Promise<{ readonly incident: string; readonly changed: readonly string[] }> {
  const { isMarked, as } = options;
  const about = await incidentOfNote(options);
  const incident = about.incident.id;
  const known = await markedItems({ ...options, incident }, as);
  const isSaidAgain = as === 'by_hand' && isMarked;
  const changed = [...new Set(options.items)].filter((item) => isSaidAgain || known.has(item) !== isMarked);
  if (changed.length > 0) {
    await noteOnIncident(options, {
      about,
      operation: OPERATIONS[as][isMarked ? 0 : 1],
      selection: changed.length === 1 ? `the item ${changed[0]}` : `${changed.length} items`,
      data: { items: changed },
    });
  }
  return { incident, changed };
}

/** What people said of the items of an incident, by the ids of the items. */
export interface Marks {
  readonly honest: ReadonlyMap<string, ItemMark>;
  readonly byHand: ReadonlyMap<string, ItemMark>;
}

/**
 * What people said of the items of an incident of a controller.
 *
 * @param options.incident The whole id.
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function marksOf(options: NotesOf): Promise<Marks> {
  return { honest: await markedItems(options, 'honest'), byHand: await markedItems(options, 'by_hand') };
}

/** The items that are marked in one way. What an undoing of a cleaning gave back is not dealt with any more. */
export async function markedItems(options: NotesOf, as: MarkKind): Promise<ReadonlyMap<string, ItemMark>> {
  const marked = new Map<string, ItemMark>();
  const [mark, unmark] = OPERATIONS[as];
  const undoing = as === 'by_hand' ? ['incident.clean-undo'] : [];
  for await (const entry of incidentNotes(options, [mark, unmark, ...undoing])) {
    const { data, operation, seq, by } = entry;
    const at = controllerTime(entry).toISOString();
    for (const item of itemsIn(data)) {
      if (operation === mark) marked.set(item, { item, at, by, seq });
      else marked.delete(item);
    }
  }
  return marked;
}

function itemsIn({ items, item }: Entry['data']): readonly string[] {
  return (Array.isArray(items) ? items : [item]).flatMap((each) => textOf(each) ?? []);
}

/**
 * What a person said about an item that was dealt with by hand, as far as it stands: until the next investigation, which then says
 * itself what is there. Null without.
 */
export function handledBy(
  item: Pick<InvestigationItem, 'id' | 'state'>,
  { madeAt, marks }: { readonly madeAt: string; readonly marks: Pick<Marks, 'byHand'> },
): ItemMark | null {
  const mark = marks.byHand.get(item.id);
  if (mark === undefined || !isStillThere(item)) return null;
  return Date.parse(mark.at) >= Date.parse(madeAt) ? mark : null;
}
