import { capital } from '@tokenctl/common/text.ts';
import {
  intendedIds,
  listOf,
  numbersIn,
  objectOf,
  objectsIn,
  ownersIn,
  textOf,
} from '../../operations/journal/journal.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import type { EntryContext, LogFormat } from '../../operations/ports/log-sink.ts';
import { canonical, hashOf } from '../chain.ts';

export type Act = 'delete' | 'create' | 'update' | 'enable' | 'disable' | 'log_off' | 'other';

/** The result of an event. `intended` is before the action; `noted` is for notes, which change nothing. */
export type EventStatus = 'intended' | 'done' | 'unchanged' | 'failed' | 'not_tried' | 'unknown' | 'noted';

export interface EventSubject {
  readonly kind:
    | 'access token'
    | 'refresh token'
    | 'authorization code'
    | 'session'
    | 'user'
    | 'settings'
    | 'operation';
  /** The id in the controller, the fingerprint of a session, or the run of an operation. */
  readonly id?: string;
  readonly name?: string;
  readonly fingerprint?: string | undefined;
  readonly owner?: string | undefined;
}

/** One event of an entry, independent of the format. An outcome with a thousand tokens has a thousand events. */
interface LogEvent {
  readonly act: Act;
  readonly status: EventStatus;
  readonly subject: EventSubject;
  /** For people. */
  readonly message: string;
  /** The reason for a failure, or other information. */
  readonly detail?: string | undefined;
  /** The number of objects, if they are not listed individually. */
  readonly count?: number;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly after?: Readonly<Record<string, unknown>>;
}

type Kind = Extract<EventSubject['kind'], 'access token' | 'refresh token' | 'authorization code'>;

/** The kind of token in a step's batches; undefined if the step is not a batch. */
function batchKind(step: unknown): Kind | undefined {
  if (step === 'batch') return 'access token';
  if (step === 'authorization_codes') return 'authorization code';
  return step === 'refresh_tokens' || step === 'refresh_token_rows' ? 'refresh token' : undefined;
}

/** The intent of a batch, as one event. The outcome has one event per token. */
function intendedBatch({ data }: Entry, kind: Kind): LogEvent {
  const count = intendedIds(data).length;
  return {
    act: 'delete',
    status: 'intended',
    subject: { kind, name: `${count} ${kind}${count === 1 ? '' : 's'}` },
    message: `About to revoke ${count} ${kind}${count === 1 ? '' : 's'}`,
    count,
  };
}

function* batchOutcomes({ data }: Entry, kind: Kind, intent: Entry | undefined): Generator<LogEvent> {
  const owners = ownersIn(intent?.data ?? {});
  const event = (id: number, status: EventStatus, message: string, detail?: string): LogEvent => {
    const owner = owners.get(id);
    return {
      act: 'delete',
      status,
      subject: { kind, id: String(id), owner },
      message: `${capital(kind)} ${id} ${message}`,
      detail,
    };
  };
  yield* done(data, event);
  for (const id of numbersIn(data['unchanged'])) yield event(id, 'unchanged', 'no longer existed');
  for (const { id, reason } of objectsIn(data['failed'])) {
    if (typeof id === 'number')
      yield event(
        id,
        'failed',
        kind === 'authorization code' ? 'could not be deleted' : 'could not be revoked',
        textOf(reason),
      );
  }
  for (const id of numbersIn(data['notTried'])) yield event(id, 'not_tried', 'was not tried');
  if (data['reconciled'] !== true) return;
  const found = 'Found by reconciliation after an interrupted run';
  for (const id of numbersIn(data['gone'])) yield event(id, 'done', 'no longer exists', found);
  for (const id of numbersIn(data['alive'])) yield event(id, 'failed', 'still exists', found);
}

/** The revoked tokens, and the refresh tokens that were revoked with them. */
function* done(
  data: Entry['data'],
  event: (id: number, status: EventStatus, message: string) => LogEvent,
): Generator<LogEvent> {
  const fingerprints = listOf(data['fingerprints']);
  const revoked = numbersIn(data['revoked'] ?? data['deleted']);
  const message = data['revoked'] === undefined ? 'was deleted' : 'was revoked';
  for (const [index, id] of revoked.entries()) {
    const each = event(id, 'done', message);
    yield { ...each, subject: marked(each.subject, fingerprints[index]) };
  }
  const others = listOf(data['refreshFingerprints']);
  for (const [index, id] of numbersIn(data['refreshTokens']).entries()) {
    const subject = marked({ kind: 'refresh token', id: String(id) }, others[index]);
    yield { act: 'delete', status: 'done', subject, message: `Refresh token ${id} was revoked` };
  }
}

function marked(subject: EventSubject, value: unknown): EventSubject {
  const fingerprint = textOf(value);
  return fingerprint === undefined ? subject : { ...subject, fingerprint };
}

/** The intent to end users' sessions, as one event. */
function intendedSessions({ data }: Entry): LogEvent {
  const { users } = data;
  const count = numbersIn(users).length;
  const whose = users === 'all' ? 'all users' : `${count} ${count === 1 ? 'user' : 'users'}`;
  return {
    act: 'log_off',
    status: 'intended',
    subject: { kind: 'session', name: `sessions of ${whose}`, ...ownerOf(data) },
    message: `About to end the sessions of ${whose}`,
  };
}

/** One event per ended session, and one for all that the entry only counts. */
function* endedSessions({ data }: Entry, intent: Entry | undefined): Generator<LogEvent> {
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
    message: failure === undefined ? `${alive} sessions still exist` : 'Could not end sessions',
    detail: failure ?? 'Found by reconciliation after an interrupted run',
  };
}

/** The user id, if there is exactly one. */
function ownerOf({ users }: Entry['data']): { readonly owner?: string } {
  const [user, ...others] = numbersIn(users);
  return user === undefined || others.length > 0 ? {} : { owner: `user ${user}` };
}

/** A change of settings, with the old and new values; undefined for other entries. */
function settingEvent(entry: Entry, intent: Entry | undefined): LogEvent | undefined {
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

/** The old and new values of settings. A lockdown records them as locks. */
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

/** The activated or deactivated users; undefined for other entries. */
function userEvents(entry: Entry, intent: Entry | undefined): LogEvent[] | undefined {
  const stated = intent?.data ?? entry.data;
  if (typeof stated['active'] !== 'boolean') return undefined;
  const act = stated['active'] ? 'enable' : 'disable';
  const verb = stated['active'] ? 'activate' : 'deactivate';
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
        message: `User ${user}: ${verb} (${phrases[status]})`,
        detail,
      },
    ];
  });
}

const phrases: Readonly<Record<EventStatus, string>> = {
  intended: 'intended',
  done: 'done',
  unchanged: 'already in this state',
  failed: 'failed',
  not_tried: 'not tried',
  unknown: 'result unknown',
  noted: 'noted',
};

function resultOf({ result, interrupted, stopped, verified, failed }: Entry['data']): EventStatus {
  if (result === 'refused' || result === 'failed' || result === 'partly') return 'failed';
  if (result === 'unknown') return 'unknown';
  if (result === 'unchanged') return 'unchanged';
  if (interrupted === true || objectOf(stopped) !== undefined || verified === false) return 'failed';
  return typeof failed === 'number' && failed > 0 ? 'failed' : 'done';
}

/**
 * The events of an entry: one for each listed token, session or user, and at least one.
 * @param intent The intent that an outcome closes, if known. It contains the tokens' owners.
 */
function* eventsOf(entry: Entry, intent: Entry | undefined): Generator<LogEvent> {
  let isEmpty = true;
  for (const event of specificEvents(entry, intent)) {
    isEmpty = false;
    yield event;
  }
  if (isEmpty) yield operationEvent(entry);
}

function* specificEvents(entry: Entry, intent: Entry | undefined): Generator<LogEvent> {
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

const createPhrases: Readonly<Record<Exclude<EventStatus, 'done'>, string>> = {
  intended: 'About to create an access token',
  failed: 'Could not create an access token',
  not_tried: 'Did not try to create an access token',
  unknown: 'Unknown whether an access token was created',
  unchanged: 'No access token was created',
  noted: 'Access token noted',
};

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
      fingerprint: mark,
      owner,
    },
    message: status === 'done' ? `Access token ${String(token)} was created` : createPhrases[status],
    detail,
  };
}

/** The event of an entry about a whole operation, or of a note. */
function operationEvent({ kind, operation, run, data }: Entry): LogEvent {
  const step = textOf(data['step']);
  const name = step === undefined || step === 'operation' ? operation : `${operation} ${step}`;
  const status = kind === 'intent' ? 'intended' : kind === 'note' ? 'noted' : resultOf(data);
  const phrase = { intent: 'started', outcome: 'ended', note: 'noted' }[kind];
  const detail = kind === 'outcome' ? textOf(data['reason']) : undefined;
  return {
    act: 'other',
    status,
    subject: { kind: 'operation', id: run, name },
    message: `${name} ${phrase}`,
    detail,
  };
}

/** The maximum length of a text in a record, in characters. */
const MAX_TEXT_LENGTH = 1_000;

/** Truncates a text to the maximum length. Reasons and messages are user input. */
export function truncated(text: string): string {
  if (text.length <= MAX_TEXT_LENGTH) return text.toWellFormed();
  return `${text.slice(0, MAX_TEXT_LENGTH - 1).toWellFormed()}…`;
}

/** An event with all facts for the formats. */
export interface EventRecord {
  readonly entry: Entry;
  readonly event: LogEvent;
  /** The SHA-256 (hex) of the entry's line. */
  readonly hash: string;
  /** Unique, and the same each time the event is exported, so that receivers can drop duplicates. */
  readonly id: string;
  readonly reason?: string;
  readonly ticket?: string;
}

/** The events of an entry, with the run's reason and ticket. */
function* recordsOf(entry: Entry, { intent, opening }: EntryContext): Generator<EventRecord> {
  const hash = hashOf(canonical(entry));
  const account = { ...opening?.data, ...entry.data };
  const reason = entry.kind === 'outcome' ? textOf(opening?.data['reason']) : textOf(account['reason']);
  const ticket = textOf(account['ticket']);
  let number = 0;
  for (const event of eventsOf(entry, intent)) {
    number += 1;
    yield {
      entry,
      event,
      hash,
      id: `${hash.slice(0, 32)}-${number}`,
      ...(reason !== undefined && { reason: truncated(reason) }),
      ...(ticket !== undefined && { ticket: truncated(ticket) }),
    };
  }
}

/** A format with one record for each event. */
export function eventFormat(textOf: (record: EventRecord) => string): LogFormat {
  return {
    *records(entry, context) {
      for (const record of recordsOf(entry, context)) yield textOf(record);
    },
  };
}
