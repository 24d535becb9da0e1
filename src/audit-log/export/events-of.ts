import { textOf } from '../../operations/journal/entry-data.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import type { LogEvent } from './log-event.ts';
import { endedSessions, intendedSessions } from './session-events.ts';
import { resultOf, settingEvent, userEvents } from './state-events.ts';
import { batchKind, batchOutcomes, intendedBatch } from './token-events.ts';

/**
 * What an entry states, thing by thing: each token of the outcome of a batch, each session, each user. Whatever
 * it is, there is at least one event of it.
 *
 * @param intent Of an outcome: what it closes, where that is known. It knows the owners of tokens.
 */
export function* eventsOf(entry: Entry, intent: Entry | undefined): Generator<LogEvent> {
  let told = false;
  for (const event of particular(entry, intent)) {
    told = true;
    yield event;
  }
  if (!told) yield operationEvent(entry);
}

function* particular(entry: Entry, intent: Entry | undefined): Generator<LogEvent> {
  const { kind, operation, data } = entry;
  if (kind === 'note') return;
  const tokens = batchKind(data['step']);
  if (tokens !== undefined) {
    if (kind === 'intent') yield intendedBatch(entry, tokens);
    else yield* batchOutcomes(entry, tokens, intent);
    return;
  }
  if (data['step'] === 'sessions') {
    if (kind === 'intent') yield intendedSessions(entry);
    else yield* endedSessions(entry, intent);
    return;
  }
  if (operation === 'tokens.create') {
    yield creation(entry, intent);
    return;
  }
  const setting = settingEvent(entry, intent);
  if (setting !== undefined) yield setting;
  else yield* userEvents(entry, intent) ?? [];
}

function creation(entry: Entry, intent: Entry | undefined): LogEvent {
  const { token, fingerprint, reason } = entry.data;
  const status = entry.kind === 'intent' ? 'intended' : resultOf(entry.data);
  const owner = textOf((intent ?? entry).data['user']) ?? entry.actor['as'];
  const mark = textOf(fingerprint);
  const detail = entry.kind === 'outcome' ? textOf(reason) : undefined;
  return {
    act: 'create',
    status,
    subject: {
      kind: 'access token',
      ...(typeof token === 'number' ? { id: String(token) } : { name: 'a new access token' }),
      ...(mark !== undefined && { fingerprint: mark }),
      ...(owner !== undefined && { owner }),
    },
    message:
      status === 'done' ? `Access token ${String(token)} was created` : 'An access token: to be created',
    ...(detail !== undefined && { detail }),
  };
}

/** An entry about a whole operation, or a note. */
function operationEvent({ kind, operation, run, data }: Entry): LogEvent {
  const step = textOf(data['step']);
  const name = step === undefined || step === 'operation' ? operation : `${operation} ${step}`;
  const status = kind === 'intent' ? 'intended' : kind === 'note' ? 'noted' : resultOf(data);
  const phrase = { intent: 'begins', outcome: 'ended', note: 'was noted' }[kind];
  const detail = kind === 'outcome' ? textOf(data['reason']) : undefined;
  return {
    act: 'other',
    status,
    subject: { kind: 'operation', id: run, name },
    message: `${name} ${phrase}`,
    ...(detail !== undefined && { detail }),
  };
}
