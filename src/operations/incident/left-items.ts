import { objectsIn, textOf } from '../journal/journal.ts';
import { incidentNotes, type NotesOf } from '../journal/recorded-incidents.ts';

/** Items of an incident that a cleaning found but left, because no one confirmed an irreversible action. */
export interface LeftItems {
  /** The run of the last cleaning that left items. */
  readonly run: string;
  /** When the theft began, as confirmed for that cleaning (RFC 3339); null if the log does not have it. */
  readonly since: string | null;
  readonly items: readonly { readonly item: string; readonly summary: string }[];
}

/**
 * Irreversible items that the cleanings of an incident (its whole id) left and that no later cleaning ended;
 * null if there are none. They still work: once the lockdown is lifted, nothing else blocks their user.
 * Throws `log_broken`, `audit_unavailable`.
 */
export async function leftItems(options: NotesOf): Promise<LeftItems | null> {
  const left = new Map<string, string>();
  let last: string | null = null;
  let since: string | null = null;
  for await (const { data, kind, run } of incidentNotes(options, ['incident.clean'])) {
    for (const each of objectsIn(data['unconfirmed'])) {
      const item = textOf(each['item']);
      if (item === undefined) continue;
      left.set(item, textOf(each['summary']) ?? item);
      last = run;
      since = textOf(data['since']) ?? null;
    }
    const ended = textOf(data['item']);
    const isEnded = kind === 'outcome' && (data['result'] === 'done' || data['result'] === 'unchanged');
    if (ended !== undefined && isEnded) left.delete(ended);
  }
  if (last === null || left.size === 0) return null;
  return { run: last, since, items: [...left].map(([item, summary]) => ({ item, summary })) };
}
