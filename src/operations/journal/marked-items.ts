import { controllerTime } from '../../domain/clock-difference.ts';
import { type JournalOptions, textOf } from './journal.ts';
import { incidentNotes, incidentOfNote, type NotesOf, noteOnIncident } from './recorded-incidents.ts';

/** Marks that a person can give an item: legitimate, resolved manually, or handed over to someone else. */
export const markKinds = ['legitimate', 'by_hand', 'handed_over'] as const;

export type MarkKind = (typeof markKinds)[number];

/** The operations that set and remove each mark. */
const OPERATIONS: Readonly<Record<MarkKind, readonly [marked: string, unmarked: string]>> = {
  legitimate: ['incident.mark', 'incident.mark-undo'],
  by_hand: ['incident.by-hand', 'incident.by-hand-undo'],
  handed_over: ['incident.hand-over', 'incident.hand-over-undo'],
};

const MEMBERS = { legitimate: 'legitimate', by_hand: 'byHand', handed_over: 'handedOver' } as const;

/** Items restored by undoing a cleaning no longer count as resolved. */
const UNDOING = 'incident.clean-undo';

export interface ItemMark {
  readonly item: string;
  /** By the controller's clock (RFC 3339). */
  readonly at: string;
  readonly by: string;
  readonly seq: number;
  /** The given reason; null if none was given. */
  readonly why: string | null;
  /** The person or team who decides about a reassigned item. */
  readonly to?: string;
}

export type HandedOver = ItemMark & Required<Pick<ItemMark, 'to'>>;

/** The marks of an incident's items, by item id. */
export interface Marks {
  readonly legitimate: ReadonlyMap<string, ItemMark>;
  readonly byHand: ReadonlyMap<string, ItemMark>;
  readonly handedOver: ReadonlyMap<string, HandedOver>;
}

/**
 * Marks items of an incident's investigations as legitimate (cleanings skip them), resolved manually, or
 * reassigned; or removes these marks. Only records this in the audit log: the marks are a person's statement.
 * Unchanged marks are not recorded again, except that an item was resolved manually: it may have been found
 * again since.
 * @param options `items` are item ids; `isMarked: false` removes the marks; `to` decides about reassigned
 * items.
 * @returns The incident, and the items whose mark changed.
 * @throws TokenctlError `not_found` for an unknown incident, `audit_unavailable`.
 */
export async function markItems(
  options: Omit<JournalOptions, 'operation'> & {
    readonly incident: string;
    readonly items: readonly string[];
    readonly as: MarkKind;
    readonly isMarked: boolean;
    readonly to?: string | undefined;
  },
): Promise<{ readonly incident: string; readonly changed: readonly string[] }> {
  const { isMarked, as, to, reason = null } = options;
  const about = await incidentOfNote(options);
  const incident = about.incident.id;
  const known = await marksOf({ ...options, incident });
  const isNew = (item: string) => {
    const { to: before, why } = known.handedOver.get(item) ?? {};
    if (isMarked && as === 'handed_over') return before !== to || why !== reason;
    return (isMarked && as === 'by_hand') || known[MEMBERS[as]].has(item) !== isMarked;
  };
  const changed = [...new Set(options.items)].filter(isNew);
  if (changed.length > 0) {
    const what = changed.length === 1 ? `the item ${changed[0]}` : `${changed.length} items`;
    await noteOnIncident(options, {
      about,
      operation: OPERATIONS[as][isMarked ? 0 : 1],
      selection: to === undefined ? what : `${what} to ${to}`,
      data: { items: changed, ...(to !== undefined && { to }) },
    });
  }
  return { incident, changed };
}

/**
 * The marks of an incident's items (by its whole id) of a controller. For items resolved manually or
 * reassigned, the last mark counts. Throws `log_broken`, `audit_unavailable`.
 */
export async function marksOf(options: NotesOf): Promise<Marks> {
  const marks = {
    legitimate: new Map<string, ItemMark>(),
    byHand: new Map<string, ItemMark>(),
    handedOver: new Map<string, HandedOver>(),
  };
  const operations = [...Object.values(OPERATIONS).flat(), UNDOING];
  for await (const entry of incidentNotes(options, operations)) {
    const { data, operation, seq, by } = entry;
    const at = controllerTime(entry).toISOString();
    const as = markKinds.find((kind) => OPERATIONS[kind].includes(operation));
    const isMarked = as !== undefined && OPERATIONS[as][0] === operation;
    const items = Array.isArray(data['items']) ? data['items'] : [data['item']];
    for (const item of items.flatMap((each) => textOf(each) ?? [])) {
      if (as === 'legitimate') marks.legitimate.delete(item);
      else marks.byHand.delete(item);
      if (as === 'by_hand' || as === 'handed_over') marks.handedOver.delete(item);
      if (!isMarked) continue;
      const mark = { item, at, by, seq, why: textOf(data['reason']) ?? null };
      if (as === 'handed_over') marks.handedOver.set(item, { ...mark, to: textOf(data['to']) ?? 'somebody' });
      else marks[MEMBERS[as]].set(item, mark);
    }
  }
  return marks;
}
