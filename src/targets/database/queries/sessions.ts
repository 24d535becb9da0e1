import type { Queryable } from '../../../db/database.ts';
import type { SessionSelector } from '../../../operations/ports/target.ts';
import { Conditions } from '../conditions.ts';
import { digestOf } from '../fingerprint.ts';
import { milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { PAGE } from '../pages.ts';
import { TABLES } from '../tables.ts';

/** A session's row with its owner; instants in milliseconds. `key` is a secret of the target's own. */
export interface SessionRow {
  readonly key: string;
  readonly fingerprint: string;
  readonly expires: number;
  readonly created: number | null;
  readonly user_id: number | null;
  readonly username: string | null;
}

/** A page of the sessions that have not expired, after a key, in its order; `session_data` is never read. */
export function readSessionPage(
  database: Queryable,
  options: { readonly layout: Layout; readonly selector: SessionSelector; readonly after: string },
): Promise<SessionRow[]> {
  const { layout, selector, after } = options;
  const { memberships, users } = TABLES[layout];
  const where = new Conditions()
    .add(after, (key) => `s.session_key > ${key}::text`)
    .add('userIds' in selector ? selector.userIds : undefined, (ids) => `m.user_id = ANY(${ids}::bigint[])`);
  return database.query<SessionRow>(
    `SELECT s.session_key AS key, ${digestOf('s.session_key')} AS fingerprint,
       ${milliseconds('s.expire_date')} AS expires, ${milliseconds('m.created')} AS created,
       u.id AS user_id, u.username
     FROM django_session s
     LEFT JOIN ${memberships} m ON m.session_id = s.session_key
     LEFT JOIN ${users} u ON u.id = m.user_id
     WHERE s.expire_date > now() AND ${where.sql} ORDER BY s.session_key LIMIT ${PAGE}`,
    where.values,
  );
}

/**
 * Ends sessions by their keys: deletes what says whose they are, then them, in one statement. Those that
 * another transaction holds are left.
 *
 * @returns The keys of those that ended.
 */
export async function deleteSessions(
  database: Queryable,
  { layout, keys }: { readonly layout: Layout; readonly keys: readonly string[] },
): Promise<string[]> {
  const rows = await database.query<{ key: string }>(
    `WITH taken AS MATERIALIZED (
       SELECT s.session_key FROM django_session s WHERE s.session_key = ANY($1::text[])
       FOR UPDATE SKIP LOCKED
     ), memberships AS (
       DELETE FROM ${TABLES[layout].memberships}
       WHERE session_id = ANY(ARRAY(SELECT session_key FROM taken))
     )
     DELETE FROM django_session WHERE session_key = ANY(ARRAY(SELECT session_key FROM taken))
     RETURNING session_key AS key`,
    [keys],
    'end sessions',
  );
  return rows.map(({ key }) => key);
}

/** Those of these keys whose sessions are there. */
export async function readSessionKeys(database: Queryable, keys: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ key: string }>(
    'SELECT s.session_key AS key FROM django_session s WHERE s.session_key = ANY($1::text[])',
    [keys],
  );
  return rows.map(({ key }) => key);
}
