import { createHash } from 'node:crypto';
import type { Queryable } from '../../db/database.ts';
import { DELETED_TOKEN_COLUMNS, RECORD_DELETED_TOKENS } from './issued-tokens.ts';
import type { ProviderSession } from './sessions.ts';

/** An account or a session at an identity provider. */
type EndedSubject =
  | { readonly backend: string; readonly uid: string }
  | { readonly backend: string; readonly sid: string };

/** What an event ended here. */
export interface Ended {
  readonly sessions: number;
  readonly tokens: number;
  readonly refreshTokens: number;
  readonly codes: number;
}

/**
 * Records that an event is carried out, in the transaction that does so.
 *
 * @returns Whether this is the first time.
 */
export async function recordEvent(
  transaction: Queryable,
  event: { readonly issuer: string; readonly id: string; readonly expires: Date },
): Promise<boolean> {
  const touched = await transaction.execute(
    'INSERT INTO service_provider_event (digest, expires) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [digest([event.issuer, event.id]), event.expires],
  );
  return touched === 1;
}

/** Records that a provider ended an account's access or a session, at its time. The latest time counts. */
export async function recordEnding(
  database: Queryable,
  subject: EndedSubject,
  { at, expires }: { readonly at: Date; readonly expires: Date },
): Promise<void> {
  await database.execute(
    `INSERT INTO service_provider_ending AS e (subject, at, expires) VALUES ($1, $2, $3)
     ON CONFLICT (subject) DO UPDATE
     SET at = GREATEST(e.at, EXCLUDED.at), expires = GREATEST(e.expires, EXCLUDED.expires)`,
    [subjectDigest(subject), at, expires],
  );
}

/** Whether the provider ended this session, or the access of its account, since it confirmed the login. */
export async function isEnded(
  transaction: Queryable,
  { backend, details: { uid, sid, issued } }: ProviderSession,
): Promise<boolean> {
  const rows = await transaction.query(
    'SELECT FROM service_provider_ending WHERE subject = $1 OR (subject = $2 AND at >= $3)',
    [
      sid === undefined ? '' : subjectDigest({ backend, sid }),
      uid === undefined ? '' : subjectDigest({ backend, uid }),
      issued ?? new Date(0),
    ],
  );
  return rows.length > 0;
}

/**
 * Ends sessions that were started through an OpenID provider: the one that it calls `sid`, or all of a user. A session of the
 * user of which no `sid` is known ends as well, since it may be the one that is meant.
 *
 * @returns How many.
 */
export function endOpenIdSessions(
  transaction: Queryable,
  of: { readonly backend: string; readonly userId: number | null; readonly sid: string | null },
): Promise<number> {
  return transaction.execute(
    `DELETE FROM django_session WHERE session_key IN (
       SELECT p.session_key FROM service_provider_session p
       JOIN main_usersessionmembership m ON m.session_id = p.session_key
       WHERE p.backend = $1 AND ($2::integer IS NULL OR m.user_id = $2)
         AND ($3::text IS NULL OR p.details->>'sid' = $3 OR (m.user_id = $2 AND p.details->>'sid' IS NULL)))`,
    [of.backend, of.userId, of.sid],
  );
}

/** The users of the sessions that an OpenID provider calls `sid`: one, unless the provider reuses the name. */
export async function usersOfSession(
  database: Queryable,
  of: { readonly backend: string; readonly sid: string },
): Promise<readonly number[]> {
  const rows = await database.query<{ user_id: number }>(
    `SELECT DISTINCT m.user_id FROM service_provider_session p
     JOIN main_usersessionmembership m ON m.session_id = p.session_key
     WHERE p.backend = $1 AND p.details->>'sid' = $2 ORDER BY m.user_id`,
    [of.backend, of.sid],
  );
  return rows.map(({ user_id }) => user_id);
}

/**
 * Ends all access of a user whose row is locked: sessions, authorization codes, access tokens (each with an activity entry)
 * and refresh tokens. A refresh under way may add a pair, so it repeats until none is left, in the lock order of a refresh.
 */
export async function endAccess(
  transaction: Queryable,
  { userId, at, node }: { readonly userId: number; readonly at: Date; readonly node: string },
): Promise<Ended> {
  const sessions = await transaction.execute(
    'DELETE FROM django_session WHERE session_key IN (SELECT session_id FROM main_usersessionmembership WHERE user_id = $1)',
    [userId],
  );
  const codes = await transaction.execute('DELETE FROM oauth2_provider_grant WHERE user_id = $1', [userId]);
  let [tokens, refreshTokens] = [0, 0];
  for (let found = 1; found > 0; ) {
    const gone = await transaction.execute(
      `WITH gone AS (
         DELETE FROM main_oauth2accesstoken t WHERE t.user_id = $3 RETURNING ${DELETED_TOKEN_COLUMNS}
       ) ${RECORD_DELETED_TOKENS}`,
      [at, node, userId],
    );
    const revoked = await transaction.execute(
      'UPDATE oauth2_provider_refreshtoken SET revoked = $1, updated = $1 WHERE user_id = $2 AND revoked IS NULL',
      [at, userId],
    );
    tokens += gone;
    refreshTokens += revoked;
    found = gone + revoked;
  }
  return { sessions, tokens, refreshTokens, codes };
}

/** Deletes what is remembered longer than it is needed. */
export async function deleteExpiredEvents(database: Queryable, at: Date): Promise<void> {
  await database.execute('DELETE FROM service_provider_event WHERE expires <= $1', [at]);
  await database.execute('DELETE FROM service_provider_ending WHERE expires <= $1', [at]);
}

function subjectDigest(subject: EndedSubject): string {
  const kind = 'uid' in subject ? ['account', subject.uid] : ['session', subject.sid];
  return digest([subject.backend, ...kind]);
}

function digest(value: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
