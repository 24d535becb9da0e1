import { createHash } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { deleteTokens } from './issued-tokens.ts';
import type { ProviderSession } from './sessions.ts';
import { deleteSessionsOf } from './users.ts';

type EndedSubject =
  | { readonly backend: string; readonly uid: string }
  | { readonly backend: string; readonly sid: string };

export interface Ended {
  readonly sessions: number;
  readonly tokens: number;
  readonly refreshTokens: number;
  readonly codes: number;
}

/**
 * Records that an event is handled, in the same transaction.
 * @param event.about The action and its subject. An id belongs to only one of these.
 * @returns `reused` for the id of another event; roll back the transaction then.
 */
export async function recordEvent(
  transaction: Queryable,
  event: { issuer: string; id: string; about: readonly unknown[]; expires: Date },
): Promise<'first' | 'repeated' | 'reused'> {
  const { issuer, id, about, expires } = event;
  const add = (key: readonly string[]) =>
    sql`INSERT INTO service_provider_event (digest, expires) VALUES (${digest(key)}, ${expires})
      ON CONFLICT DO NOTHING`.touchesOne(transaction);
  if (!(await add([issuer, id, JSON.stringify(about)]))) return 'repeated';
  return (await add([issuer, id])) ? 'first' : 'reused';
}

/** Records when a provider ended an account's access or a session. The latest time counts. */
export async function recordEnding(
  database: Queryable,
  subject: EndedSubject,
  { at, expires }: { at: Date; expires: Date },
): Promise<void> {
  await sql`INSERT INTO service_provider_ending AS e (subject, at, expires)
    VALUES (${subjectDigest(subject)}, ${at}, ${expires})
    ON CONFLICT (subject) DO UPDATE
    SET at = GREATEST(e.at, EXCLUDED.at), expires = GREATEST(e.expires, EXCLUDED.expires)`.execute(database);
}

/** Whether the provider ended this session or its account's access after it confirmed the login. */
export function isEnded(
  transaction: Queryable,
  { backend, details: { uid, sid, issued } }: ProviderSession,
): Promise<boolean> {
  const session = sid === undefined ? '' : subjectDigest({ backend, sid });
  const account = uid === undefined ? '' : subjectDigest({ backend, uid });
  return sql`SELECT FROM service_provider_ending
    WHERE subject = ${session}
      OR (subject = ${account} AND at >= ${issued ?? new Date(0)})`.exists(transaction);
}

/**
 * Ends sessions that were started through an OpenID provider: the one with this `sid`, or all of a user. A
 * user's session without a known `sid` ends too, since it may be the right one. Returns their number.
 */
export function endOpenIdSessions(
  transaction: Queryable,
  of: { readonly backend: string; readonly userId: number | null; readonly sid: string | null },
): Promise<number> {
  return sql`DELETE FROM django_session WHERE session_key IN (
       SELECT p.session_key FROM service_provider_session p
       JOIN main_usersessionmembership m ON m.session_id = p.session_key
       WHERE p.backend = ${of.backend} AND (${of.userId}::integer IS NULL OR m.user_id = ${of.userId})
         AND (${of.sid}::text IS NULL OR p.details->>'sid' = ${of.sid} OR (m.user_id = ${of.userId}
         AND p.details->>'sid' IS NULL)))`.execute(transaction);
}

/** The users of the sessions with this `sid` at an OpenID provider: one, unless the provider reuses the value. */
export async function usersOfSession(
  database: Queryable,
  of: { readonly backend: string; readonly sid: string },
): Promise<readonly number[]> {
  const rows = await sql`SELECT DISTINCT m.user_id FROM service_provider_session p
    JOIN main_usersessionmembership m ON m.session_id = p.session_key
    WHERE p.backend = ${of.backend} AND p.details->>'sid' = ${of.sid}
    ORDER BY m.user_id`.rows<{ user_id: number }>(database);
  return rows.map(({ user_id }) => user_id);
}

/**
 * Ends all access of a user whose row is locked: sessions, authorization codes, access tokens (each with an
 * activity entry) and refresh tokens. An in-flight refresh may add a pair, so it repeats until none remain,
 * in the lock order of a refresh.
 */
export async function endAccess(
  transaction: Queryable,
  { userId, at, node }: { userId: number; at: Date; node: string },
): Promise<Ended> {
  const sessions = await deleteSessionsOf(transaction, userId);
  const codes = await sql`DELETE FROM oauth2_provider_grant WHERE user_id = ${userId}`.execute(transaction);
  let [tokens, refreshTokens] = [0, 0];
  for (let found = 1; found > 0; ) {
    const gone = await deleteTokens(transaction, sql`WHERE t.user_id = ${userId}`, { at, node });
    const revoked = await sql`UPDATE oauth2_provider_refreshtoken SET revoked = ${at}, updated = ${at}
      WHERE user_id = ${userId} AND revoked IS NULL`.execute(transaction);
    tokens += gone;
    refreshTokens += revoked;
    found = gone + revoked;
  }
  return { sessions, tokens, refreshTokens, codes };
}

/** Deletes events and endings that are no longer needed. */
export async function deleteExpiredEvents(database: Queryable, at: Date): Promise<void> {
  await sql`DELETE FROM service_provider_event WHERE expires <= ${at}`.execute(database);
  await sql`DELETE FROM service_provider_ending WHERE expires <= ${at}`.execute(database);
}

function subjectDigest(subject: EndedSubject): string {
  const kind = 'uid' in subject ? ['account', subject.uid] : ['session', subject.sid];
  return digest([subject.backend, ...kind]);
}

function digest(value: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
