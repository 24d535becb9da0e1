import { controllerTime } from '../../domain/clock-difference.ts';
import { listOf, objectOf, textOf } from '../journal/journal.ts';
import { incidentNotes, type NotesOf } from '../journal/recorded-incidents.ts';

/**
 * The items that a cleaning of an incident re-read at its end and found gone, and when (RFC 3339, by the
 * controller's clock). For items that a later cleaning or undo touched, only its verification counts.
 * @param options.incident The whole id.
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function verifiedItems(options: NotesOf): Promise<ReadonlyMap<string, string>> {
  const verified = new Map<string, string>();
  const planned = new Map<string, readonly string[]>();
  for await (const entry of incidentNotes(options, ['incident.clean', 'incident.clean-undo'])) {
    const { data, kind, operation, run } = entry;
    const item = textOf(data['item']);
    if (item !== undefined) {
      verified.delete(item);
    } else if (kind === 'intent') {
      const items = listOf(objectOf(data['planned'])?.['items']);
      planned.set(
        run,
        items.filter((each) => typeof each === 'string'),
      );
    } else if (kind === 'outcome' && operation === 'incident.clean' && Array.isArray(data['left'])) {
      const left = new Set(data['left']);
      const at = controllerTime(entry).toISOString();
      for (const id of planned.get(run) ?? []) if (!left.has(id)) verified.set(id, at);
    }
  }
  return verified;
}
