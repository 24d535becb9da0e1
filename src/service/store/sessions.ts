import type { Queryable } from '../../db/database.ts';

import { MAY_AUTHENTICATE, USER_COLUMNS, type UserRecord } from './users.ts';

/** A session row with its owner. `session_key` is the hash of the cookie's value. */
export interface SessionRecord {
  readonly session_key: string;
  readonly expire_date: Date;
  readonly owner: UserRecord;
}

/** A live session of a user who may authenticate, or null. */
export async function findSession(
  database: Queryable,
  sessionKey: string,
  at: Date,
): Promise<SessionRecord | null> {
  const rows = await database.query<UserRecord & { session_key: string; expire_date: Date }>(
    `SELECT s.session_key, s.expire_date, ${USER_COLUMNS}
     FROM django_session s
     JOIN main_usersessionmembership m ON m.session_id = s.session_key
     JOIN auth_user u ON u.id = m.user_id
     WHERE s.session_key = $1 AND s.expire_date > $2 AND ${MAY_AUTHENTICATE}`,
    [sessionKey, at],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const { session_key, expire_date, ...owner } = row;
  return { session_key, expire_date, owner };
}

/** Starts a session for a user. */
export async function insertSession(
  transaction: Queryable,
  session: { readonly key: string; readonly userId: number; readonly created: Date; readonly expires: Date },
): Promise<void> {
  await transaction.execute(
    'INSERT INTO django_session (session_key, session_data, expire_date) VALUES ($1, $2, $3)',
    [session.key, '', session.expires],
  );
  await transaction.execute(
    'INSERT INTO main_usersessionmembership (created, session_id, user_id) VALUES ($1, $2, $3)',
    [session.created, session.key, session.userId],
  );
}

/** Changes the expiry of a session. */
export async function extendSession(database: Queryable, sessionKey: string, expires: Date): Promise<void> {
  await database.execute('UPDATE django_session SET expire_date = $2 WHERE session_key = $1', [
    sessionKey,
    expires,
  ]);
}

/** Ends one session. */
export async function deleteSession(database: Queryable, sessionKey: string): Promise<void> {
  await database.execute('DELETE FROM django_session WHERE session_key = $1', [sessionKey]);
}

/** Ends every session of a user. */
export async function deleteSessionsOf(transaction: Queryable, userId: number): Promise<void> {
  await transaction.execute(
    'DELETE FROM django_session WHERE session_key IN (SELECT session_id FROM main_usersessionmembership WHERE user_id = $1)',
    [userId],
  );
}

/** Ends a user's oldest live sessions until `most` are left. */
export async function deleteOldestSessions(
  transaction: Queryable,
  options: { readonly userId: number; readonly most: number; readonly at: Date },
): Promise<void> {
  await transaction.execute(
    `DELETE FROM django_session WHERE session_key IN (
       SELECT m.session_id FROM main_usersessionmembership m
       JOIN django_session s ON s.session_key = m.session_id
       WHERE m.user_id = $1 AND s.expire_date > $2
       ORDER BY m.created DESC, m.id DESC OFFSET $3)`,
    [options.userId, options.at, options.most],
  );
}

/** Deletes expired sessions. */
export function deleteExpiredSessions(database: Queryable, at: Date): Promise<number> {
  return database.execute('DELETE FROM django_session WHERE expire_date <= $1', [at]);
}
