import { numbersIn, objectOf, objectsIn, textOf } from '../../operations/journal/entry-data.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import type { EventStatus, LogEvent } from './log-event.ts';

/** A change of settings, before and after it; undefined where the entry is about none. */
export function settingEvent(entry: Entry, intent: Entry | undefined): LogEvent | undefined {
  const stated = changeIn(intent?.data ?? entry.data);
  if (stated === undefined) return undefined;
  const now = objectOf(entry.data['now']);
  const names = Object.keys(stated.after).join(', ');
  const status = entry.kind === 'intent' ? 'intended' : resultOf(entry.data);
  const detail = textOf(entry.data['reason']);
  return {
    act: 'update',
    status,
    subject: { kind: 'settings', name: names },
    message: `${names}: ${phrases[status]}`,
    ...(detail !== undefined && entry.kind === 'outcome' && { detail }),
    before: stated.before,
    after: now ?? stated.after,
  };
}

/** The values that settings had and are to have. A lockdown states them as locks. */
function changeIn(data: Entry['data']): Required<Pick<LogEvent, 'before' | 'after'>> | undefined {
  const before = objectOf(data['before']);
  const after = objectOf(data['after']);
  if (before !== undefined && after !== undefined) return { before, after };
  const locks = objectsIn(data['locks']).filter(({ what }) => what === 'setting');
  if (locks.length === 0) return undefined;
  const values = (key: 'before' | 'locked') =>
    Object.fromEntries(locks.map((lock) => [String(lock['name']), lock[key]]));
  return { before: values('before'), after: values('locked') };
}

/** Users that are activated or deactivated, each before and after; undefined where the entry is about none. */
export function userEvents(entry: Entry, intent: Entry | undefined): LogEvent[] | undefined {
  const stated = intent?.data ?? entry.data;
  if (typeof stated['active'] !== 'boolean') return undefined;
  const act = stated['active'] ? 'enable' : 'disable';
  const verb = stated['active'] ? 'activated' : 'deactivated';
  const { data, kind } = entry;
  const changed = new Set(numbersIn(data['changed']));
  const unchanged = new Set(numbersIn(data['unchanged']));
  const failures = new Map(objectsIn(data['failed']).map(({ id, reason }) => [id, textOf(reason)]));
  const users = objectsIn(stated['locks'] ?? stated['users']);
  return users.flatMap(({ name, userId }): LogEvent[] => {
    const user = textOf(name);
    if (user === undefined || typeof userId !== 'number') return [];
    const isKnown = changed.has(userId) ? 'done' : unchanged.has(userId) ? 'unchanged' : undefined;
    const came: EventStatus = isKnown ?? (failures.has(userId) ? 'failed' : resultOf(data));
    const status = kind === 'intent' ? 'intended' : came;
    const detail = failures.get(userId);
    return [
      {
        act,
        status,
        subject: { kind: 'user', id: String(userId), name: user },
        message: `User ${user}: to be ${verb}, ${phrases[status]}`,
        ...(detail !== undefined && { detail }),
      },
    ];
  });
}

const phrases: Readonly<Record<EventStatus, string>> = {
  intended: 'intended',
  done: 'done',
  unchanged: 'it was so already',
  failed: 'failed',
  not_tried: 'not tried',
  unknown: 'what came of it is unknown',
  noted: 'noted',
};

/** What an outcome says of itself. */
export function resultOf({ result, interrupted, stopped, verified, failed }: Entry['data']): EventStatus {
  if (result === 'refused' || result === 'failed' || result === 'partly') return 'failed';
  if (result === 'unknown') return 'unknown';
  if (result === 'unchanged') return 'unchanged';
  if (interrupted === true || objectOf(stopped) !== undefined || verified === false) return 'failed';
  return typeof failed === 'number' && failed > 0 ? 'failed' : 'done';
}
