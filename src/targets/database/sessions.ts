import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { Session } from '../../domain/token.ts';
import type { SessionSelector } from '../../operations/ports/target.ts';
import { processInBatches } from './batches.ts';
import type { Connection } from './connection.ts';
import { Conditions, dateOf, dateOrNull, keysetPages, milliseconds, PAGE_SIZE } from './queries.ts';
import { fingerprint, type Layout, TABLES } from './tables.ts';

/** How many sessions one transaction ends. */
const BATCH_SIZE = 500;

/** Streams the sessions that have not expired. */
export async function* listSessions(
  connection: Connection,
  selector: SessionSelector,
): AsyncGenerator<Session, void> {
  for await (const rows of sessionPages(connection, selector)) for (const row of rows) yield sessionOf(row);
}

/**
 * Ends the sessions of a selector, and yields each session that it ended.
 *
 * @param lockRetryMs How long to retry sessions that other transactions lock, in milliseconds.
 * @throws TokenctlError `partly_done` if some sessions stayed locked, and as queries do.
 */
export async function* endSessions(
  connection: Connection,
  selector: SessionSelector,
  lockRetryMs: number,
): AsyncGenerator<Session, void> {
  const { layout } = connection;
  let left = 0;
  for await (const rows of sessionPages(connection, selector)) {
    const { unprocessed, failure } = yield* processInBatches<string, Session>({
      connection,
      purpose: 'sessions',
      items: rows.map(({ key }) => key),
      batchSize: BATCH_SIZE,
      lockRetryMs,
      process: async (database, keys) => {
        const ended = new Set(await deleteSessions(database, { layout, keys }));
        return new Map(rows.filter(({ key }) => ended.has(key)).map((row) => [row.key, sessionOf(row)]));
      },
      findRemaining: readExistingKeys,
    });
    if (failure !== null) throw failure.error;
    left += unprocessed.length;
  }
  if (left === 0) return;
  const sessions = left === 1 ? '1 session is' : `${left} sessions are`;
  throw new TokenctlError('partly_done', `${sessions} still active: other transactions lock them`, {
    hint: 'Run the command again.',
    details: { left },
  });
}

/** @throws TokenctlError `unsupported` if no table holds the owners of sessions. */
function sessionPages(
  connection: Connection,
  selector: SessionSelector,
): AsyncIterable<readonly SessionRow[]> {
  const { layout, recognized, address } = connection;
  if (!recognized.hasSessionOwners) {
    throw new TokenctlError('unsupported', `${address} does not store the owners of sessions`, {
      hint: `Upgrade the gateway to a release with the table ${TABLES[layout].sessionMemberships}. To log out all users, delete all rows of django_session.`,
    });
  }
  return keysetPages({
    start: '',
    keyOf: ({ key }) => key,
    read: (after) => connection.read((database) => readSessionPage(database, { layout, selector, after })),
  });
}

function sessionOf(row: SessionRow): Session {
  const { user_id, username } = row;
  return {
    user: user_id === null || username === null ? null : { id: user_id, username },
    created: dateOrNull(row.created),
    expires: dateOf(row.expires),
    fingerprint: row.fingerprint,
  };
}

/** A session's row with its owner; instants in milliseconds. `key` is a secret of the target. */
interface SessionRow {
  readonly key: string;
  readonly fingerprint: string;
  readonly expires: number;
  readonly created: number | null;
  readonly user_id: number | null;
  readonly username: string | null;
}

/** A page of the sessions that have not expired, after a key, ordered by key. `session_data` is never read. */
function readSessionPage(
  database: Queryable,
  options: { readonly layout: Layout; readonly selector: SessionSelector; readonly after: string },
): Promise<SessionRow[]> {
  const { layout, selector, after } = options;
  const { sessionMemberships, users } = TABLES[layout];
  const where = new Conditions()
    .add(after, (key) => `s.session_key > ${key}::text`)
    .add('userIds' in selector ? selector.userIds : undefined, (ids) => `m.user_id = ANY(${ids}::bigint[])`);
  return database.query<SessionRow>(
    `SELECT s.session_key AS key, ${fingerprint('s.session_key')} AS fingerprint,
       ${milliseconds('s.expire_date')} AS expires, ${milliseconds('m.created')} AS created,
       u.id AS user_id, u.username
     FROM django_session s
     LEFT JOIN ${sessionMemberships} m ON m.session_id = s.session_key
     LEFT JOIN ${users} u ON u.id = m.user_id
     WHERE s.expire_date > now() AND ${where.sql} ORDER BY s.session_key LIMIT ${PAGE_SIZE}`,
    where.values,
  );
}

/** Deletes sessions and their memberships in one statement, and returns the keys of those that were not locked. */
async function deleteSessions(
  database: Queryable,
  { layout, keys }: { readonly layout: Layout; readonly keys: readonly string[] },
): Promise<string[]> {
  const rows = await database.query<{ key: string }>(
    `WITH locked AS MATERIALIZED (
       SELECT s.session_key FROM django_session s WHERE s.session_key = ANY($1::text[])
       FOR UPDATE SKIP LOCKED
     ), memberships AS (
       DELETE FROM ${TABLES[layout].sessionMemberships}
       WHERE session_id = ANY(ARRAY(SELECT session_key FROM locked))
     )
     DELETE FROM django_session WHERE session_key = ANY(ARRAY(SELECT session_key FROM locked))
     RETURNING session_key AS key`,
    [keys],
    'end sessions',
  );
  return rows.map(({ key }) => key);
}

async function readExistingKeys(database: Queryable, keys: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ key: string }>(
    'SELECT s.session_key AS key FROM django_session s WHERE s.session_key = ANY($1::text[])',
    [keys],
  );
  return rows.map(({ key }) => key);
}
