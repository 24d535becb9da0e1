import { listOf, numbersIn, textOf } from '../../operations/journal/entry-data.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import type { LogEvent } from './log-event.ts';

/** The intent to end sessions of some users, as one event. */
export function intendedSessions({ data }: Entry): LogEvent {
  const { users } = data;
  const whose = users === 'all' ? 'everybody' : `${numbersIn(users).length} users`;
  return {
    act: 'log_off',
    status: 'intended',
    subject: { kind: 'session', name: `sessions of ${whose}`, ...ownerOf(data) },
    message: `The sessions of ${whose} are to be ended`,
  };
}

/** Each session that was ended; one event for those that the entry only counts. */
export function* endedSessions({ data }: Entry, intent: Entry | undefined): Generator<LogEvent> {
  const owner = ownerOf(intent?.data ?? {});
  const fingerprints = listOf(data['fingerprints']).flatMap((each) => textOf(each) ?? []);
  const act = { act: 'log_off', status: 'done' } as const;
  for (const id of fingerprints) {
    yield { ...act, subject: { kind: 'session', id, ...owner }, message: `Session ${id} was ended` };
  }
  const more = (typeof data['ended'] === 'number' ? data['ended'] : 0) - fingerprints.length;
  if (more > 0) {
    const subject = { kind: 'session', name: `${more} sessions`, ...owner } as const;
    yield { ...act, subject, message: `${more} more sessions were ended`, count: more };
  }
  const failure = textOf(data['reason']);
  const alive = data['reconciled'] === true && typeof data['alive'] === 'number' ? data['alive'] : null;
  if (failure === undefined && alive === null) return;
  yield {
    act: 'log_off',
    status: failure === undefined && alive === 0 ? 'done' : 'failed',
    subject: { kind: 'session', name: 'sessions', ...owner },
    message: failure === undefined ? `${alive} sessions are alive` : 'Sessions could not be ended',
    detail: failure ?? 'The run was interrupted: this was found when reading again',
  };
}

/** The id of the one user that it is about; nothing where there are several. */
function ownerOf({ users }: Entry['data']): { readonly owner?: string } {
  const [user, ...others] = numbersIn(users);
  return user === undefined || others.length > 0 ? {} : { owner: `user ${user}` };
}
