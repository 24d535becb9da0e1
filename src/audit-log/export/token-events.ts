import { intendedIds } from '../../operations/journal/batches.ts';
import { listOf, numbersIn, objectsIn, textOf } from '../../operations/journal/entry-data.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import type { EventStatus, EventSubject, LogEvent } from './log-event.ts';

type Kind = Extract<EventSubject['kind'], 'access token' | 'refresh token'>;

/** What the batches of a step are made of; undefined for a step that is no batch. */
export function batchKind(step: unknown): Kind | undefined {
  if (step === 'batch') return 'access token';
  return step === 'refresh_tokens' || step === 'refresh_token_rows' ? 'refresh token' : undefined;
}

/** The intent of a batch, as one event: its outcome tells of each token. */
export function intendedBatch({ data }: Entry, kind: Kind): LogEvent {
  const count = intendedIds(data).length;
  return {
    act: 'delete',
    status: 'intended',
    subject: { kind, name: `${count} ${kind}s` },
    message: `${count} ${kind}s are to be revoked`,
    count,
  };
}

/** What became of each token of a batch. */
export function* batchOutcomes({ data }: Entry, kind: Kind, intent: Entry | undefined): Generator<LogEvent> {
  const owners = ownersIn(intent);
  const event = (id: number, status: EventStatus, message: string, detail?: string): LogEvent => {
    const owner = owners.get(id);
    return {
      act: 'delete',
      status,
      subject: { kind, id: String(id), ...(owner !== undefined && { owner }) },
      message: `${capital(kind)} ${id} ${message}`,
      ...(detail !== undefined && { detail }),
    };
  };
  yield* done(data, event);
  for (const id of numbersIn(data['unchanged'])) yield event(id, 'unchanged', 'was gone already');
  for (const { id, reason } of objectsIn(data['failed'])) {
    if (typeof id === 'number') yield event(id, 'failed', 'could not be revoked', textOf(reason));
  }
  for (const id of numbersIn(data['notTried'])) yield event(id, 'not_tried', 'was not tried');
  if (data['reconciled'] !== true) return;
  const found = 'The run was interrupted: this was found when reading again';
  for (const id of numbersIn(data['gone'])) yield event(id, 'done', 'is gone', found);
  for (const id of numbersIn(data['alive'])) yield event(id, 'failed', 'is alive', found);
}

/** What was revoked, and the refresh tokens that went along. */
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

/** The owner of each token of a batch, where the intent tells it. */
function ownersIn(intent: Entry | undefined): ReadonlyMap<number, string> {
  const owners = new Map<number, string>();
  for (const { user, ids } of objectsIn(intent?.data['tokens'])) {
    const owner = textOf(user);
    if (owner === undefined) continue;
    for (const id of numbersIn(ids)) owners.set(id, owner);
  }
  return owners;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
