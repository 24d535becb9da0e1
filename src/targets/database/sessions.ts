import { createHash } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Session } from '../../domain/token.ts';
import type { SessionSelector } from '../../operations/ports/target-parts.ts';
import { eachOf, processInBatches } from './batches.ts';
import type { Connection } from './connection.ts';
import {
  allOf,
  dateOf,
  dateOrNull,
  keysetPages,
  lastKeyOf,
  milliseconds,
  PAGE_LIMIT,
  PAGE_SIZE,
  when,
} from './queries.ts';
import { readUserNames } from './references.ts';
import type { CachedSession, SessionCache } from './session-cache.ts';
import { fingerprint, type Layout, TABLES } from './tables.ts';

const BATCH_SIZE = 500;

export interface SessionStore {
  readonly connection: Connection;
  /** A gateway's cache, if it is configured and usable. */
  readonly cache: SessionCache | null;
}

/**
 * Streams the unexpired sessions: the table's rows, and cached sessions without a row, which a gateway still
 * accepts. The cache also shows the owners of rows without one. A session whose owner is still unknown then
 * belongs to every selector.
 */
export async function* listSessions(
  { connection, cache }: SessionStore,
  selector: SessionSelector,
): AsyncGenerator<Session, void> {
  const unowned = new Map<string, SessionRow>();
  for await (const rows of sessionPages(connection, selector, cache !== null)) {
    for (const row of rows) {
      if (cache !== null && row.user_id === null) unowned.set(row.key, row);
      else yield sessionOf(row);
    }
  }
  if (cache === null) return;
  for (const row of await withOwners(connection, { cache, selector, unowned })) yield sessionOf(row);
  for await (const { session } of cachedOnly(connection, cache, selector)) yield session;
}

/**
 * Ends the sessions of a selector, and yields each ended one. Deletes rows first and cached entries
 * afterwards, because a gateway fills its cache from the table.
 * @param lockRetryMs How long to retry sessions that other transactions lock, in milliseconds.
 * @throws TokenctlError `partly_done` if some sessions stayed locked, `target_unreachable` if the cache does
 * not answer, and as queries do.
 */
export async function* endSessions(
  { connection, cache }: SessionStore,
  selector: SessionSelector,
  lockRetryMs: number,
): AsyncGenerator<Session, void> {
  const endedRows = new Set<string>();
  const unowned = new Map<string, SessionRow>();
  let left = 0;
  for await (const rows of sessionPages(connection, selector, cache !== null)) {
    const owned = cache === null ? rows : rows.filter(({ user_id }) => user_id !== null);
    if (cache !== null) for (const row of rows) if (row.user_id === null) unowned.set(row.key, row);
    left += yield* endRows(connection, { rows: owned, lockRetryMs, endedRows });
  }
  if (cache !== null) {
    const rows = await withOwners(connection, { cache, selector, unowned });
    left += yield* endRows(connection, { rows, lockRetryMs, endedRows });
    for await (const { session, entry } of cachedOnly(connection, cache, selector, endedRows)) {
      await entry.remove();
      if (!endedRows.has(entry.key)) yield session;
    }
  }
  if (left === 0) return;
  const sessions = left === 1 ? '1 session is' : `${left} sessions are`;
  throw new TokenctlError('partly_done', `${sessions} still active: other transactions hold locks on them`, {
    hint: 'Run the command again.',
    details: { left },
  });
}

/** Deletes rows, and yields the ended sessions (keys: `endedRows`). Returns how many are locked. */
async function* endRows(
  connection: Connection,
  options: { rows: readonly SessionRow[]; lockRetryMs: number; endedRows: Set<string> },
): AsyncGenerator<Session, number> {
  const { rows, lockRetryMs, endedRows } = options;
  const { layout } = connection;
  const { unprocessed, failure } = yield* eachOf(
    processInBatches<string, Session>({
      connection,
      purpose: 'sessions',
      items: rows.map(({ key }) => key),
      batchSize: BATCH_SIZE,
      lockRetryMs,
      process: async (database, keys) => {
        const ended = new Set(await deleteSessions(database, { layout, keys }));
        for (const key of ended) endedRows.add(key);
        return new Map(rows.filter(({ key }) => ended.has(key)).map((row) => [row.key, sessionOf(row)]));
      },
      findRemaining: readExistingKeys,
    }),
  );
  if (failure !== null) throw failure.error;
  return unprocessed.length;
}

/**
 * The rows without an owner that belong to a selector, with the owner from the cache. A gateway records no
 * owners before the release with a table for them, and none for sessions from before its upgrade.
 */
async function withOwners(
  connection: Connection,
  options: { cache: SessionCache; selector: SessionSelector; unowned: ReadonlyMap<string, SessionRow> },
): Promise<readonly SessionRow[]> {
  const { cache, selector, unowned } = options;
  const rows = new Map(unowned);
  if (rows.size === 0) return [];
  for await (const page of cache.entries()) {
    const entries = page.filter(({ key, userId }) => rows.has(key) && userId !== undefined);
    if (entries.length === 0) continue;
    const { names } = await readKnownSessions(connection.reader, { layout: connection.layout, entries });
    for (const { key, userId = null } of entries) {
      const row = rows.get(key);
      const isWanted = !('userIds' in selector) || (userId !== null && selector.userIds.includes(userId));
      if (row === undefined || !isWanted) rows.delete(key);
      else rows.set(key, { ...row, user_id: userId, username: names.get(userId ?? 0) ?? null });
    }
  }
  return [...rows.values()];
}

/**
 * Streams a selector's cached sessions without a row. One whose owner is unreadable belongs to every
 * selector, because its session has ended in the table.
 * @param keys Sessions to include, whatever their owner.
 */
async function* cachedOnly(
  connection: Connection,
  cache: SessionCache,
  selector: SessionSelector,
  keys: ReadonlySet<string> = new Set(),
): AsyncGenerator<{ readonly session: Session; readonly entry: CachedSession }, void> {
  const { layout } = connection;
  const wanted = 'userIds' in selector ? new Set(selector.userIds) : null;
  const seen = new Set<string>();
  for await (const page of cache.entries()) {
    const entries = page.filter(
      ({ key, userId }) =>
        wanted === null || keys.has(key) || userId === undefined || wanted.has(userId ?? 0),
    );
    if (entries.length === 0) continue;
    const found = await readKnownSessions(connection.reader, { layout, entries });
    for (const entry of entries) {
      const { key, userId, expires } = entry;
      if (found.keys.has(key) || seen.has(key)) continue;
      seen.add(key);
      const username = found.names.get(userId ?? 0);
      const user = username === undefined ? null : { id: userId ?? 0, username };
      yield { entry, session: { user, created: null, expires, fingerprint: hashedKey(key) } };
    }
  }
}

/** Like `fingerprint` in SQL. */
function hashedKey(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 12);
}

/**
 * Pages of sessions. Their keys are random, so new sessions appear among those still to read. It reads no
 * more than existed after the first page, plus some that started since.
 * @throws TokenctlError `target_misbehaved` if sessions are created as fast as they are read: a truncated
 * list would hide some.
 * @param withUnowned Whether sessions without an owner are included for any selector.
 */
async function* sessionPages(connection: Connection, selector: SessionSelector, withUnowned: boolean) {
  const { layout, address } = connection;
  let most = Number.POSITIVE_INFINITY;
  const pages = keysetPages({
    start: '',
    lastKey: lastKeyOf(({ key }: SessionRow) => key),
    read: (after, last) => readSessionPage(connection.reader, { layout, selector, withUnowned, after, last }),
    end: async () => {
      const { last, count } = await readLastSession(connection.reader);
      most = Math.ceil(count * 1.1) + 2 * PAGE_SIZE;
      return last;
    },
  });
  let read = 0;
  for await (const rows of pages) {
    read += rows.length;
    if (read > most) {
      throw new TokenctlError(
        'target_misbehaved',
        `Sessions are created in ${address} as fast as they are read; stopped after ${read}`,
        { hint: 'Find out which client logs in so often, or select users.' },
      );
    }
    yield rows;
  }
}

interface LastSession {
  readonly last: string | null;
  readonly count: number;
}

/** The last key of the unexpired sessions, and their number. */
async function readLastSession(database: Queryable): Promise<LastSession> {
  const row = await sql`SELECT max(s.session_key) AS last, count(*)::int AS count
    FROM django_session s WHERE s.expire_date > now()`.first<LastSession>(database);
  return row ?? { last: null, count: 0 };
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

/** A session's row with its owner. Instants are in milliseconds. `key` is a secret of the target. */
interface SessionRow {
  readonly key: string;
  readonly fingerprint: string;
  readonly expires: number;
  readonly created: number | null;
  readonly user_id: number | null;
  readonly username: string | null;
}

/** A page of unexpired sessions after a key, ordered by key. `session_data` is never read. */
function readSessionPage(
  database: Queryable,
  options: {
    readonly layout: Layout;
    readonly selector: SessionSelector;
    readonly withUnowned: boolean;
    readonly after: string;
    readonly last: string | null;
  },
): Promise<SessionRow[]> {
  const { layout, selector, withUnowned, after, last } = options;
  const { sessionMemberships, users } = TABLES[layout];
  const orUnowned = withUnowned ? sql` OR m.user_id IS NULL` : sql``;
  const where = allOf(
    sql`s.session_key > ${after}::text`,
    when(last, (key) => sql`s.session_key <= ${key}::text`),
    when(
      'userIds' in selector ? selector.userIds : undefined,
      (ids) => sql`(m.user_id = ANY(${ids}::bigint[])${orUnowned})`,
    ),
  );
  return sql`SELECT s.session_key AS key, ${fingerprint(sql`s.session_key`)} AS fingerprint,
       ${milliseconds(sql`s.expire_date`)} AS expires, ${milliseconds(sql`m.created`)} AS created,
       u.id AS user_id, u.username
     FROM django_session s
     LEFT JOIN ${sessionMemberships} m ON m.session_id = s.session_key
     LEFT JOIN ${users} u ON u.id = m.user_id
     WHERE s.expire_date > now() AND ${where}
     ORDER BY s.session_key ${PAGE_LIMIT}`.rows<SessionRow>(database);
}

/**
 * Why a gateway's session cache cannot be used, as a sentence without a full stop; null if it can. A gateway
 * stores each session in its cache and its table, so a cache without any session of the table is the wrong
 * one, such as another database of the same server.
 */
export async function cacheProblem(connection: Connection, cache: SessionCache): Promise<string | null> {
  const problem = await cache.problem();
  if (problem !== null) return problem;
  const { count } = await readLastSession(connection.reader);
  if (count === 0) return null;
  const { layout } = connection;
  try {
    for await (const entries of cache.entries()) {
      if (entries.length === 0) continue;
      const { keys } = await readKnownSessions(connection.reader, { layout, entries });
      if (keys.size > 0) return null;
    }
  } catch (error) {
    if (error instanceof TokenctlError) return error.message;
    throw error;
  }
  return `The cache at ${cache.addresses.join(', ')} contains none of the sessions in the database`;
}

interface Unowned {
  readonly until: number | string | null;
  readonly recorded: boolean;
}

/**
 * Whether a gateway has unexpired sessions without a recorded owner, and when the last of them expires; null if it
 * has none. All sessions are without one if the gateway records no owners, as in the first releases of 2.5.
 */
export async function unownedSessions(
  database: Queryable,
): Promise<{ readonly sessions: 'all' | 'some'; readonly until: Date } | null> {
  const { sessionMemberships } = TABLES.gateway;
  const row = await sql`SELECT (SELECT ${milliseconds(sql`max(s.expire_date)`)} FROM django_session s
         LEFT JOIN ${sessionMemberships} m ON m.session_id = s.session_key
         WHERE s.expire_date > now() AND m.user_id IS NULL) AS until,
      EXISTS (SELECT FROM ${sessionMemberships}) AS recorded`.first<Unowned>(database);
  if (row === null || row.until === null) return null;
  return { sessions: row.recorded ? 'some' : 'all', until: dateOf(row.until) };
}

/** Deletes sessions and their memberships in one statement. Returns the keys of those that were not locked. */
async function deleteSessions(
  database: Queryable,
  { layout, keys }: { layout: Layout; keys: readonly string[] },
): Promise<string[]> {
  const rows = await sql`WITH locked AS MATERIALIZED (
       SELECT s.session_key FROM django_session s WHERE s.session_key = ANY(${keys}::text[])
       FOR UPDATE SKIP LOCKED
     ), memberships AS (
       DELETE FROM ${TABLES[layout].sessionMemberships}
       WHERE session_id = ANY(ARRAY(SELECT session_key FROM locked))
     )
     DELETE FROM django_session WHERE session_key = ANY(ARRAY(SELECT session_key FROM locked))
     RETURNING session_key AS key`
    .prepared('end sessions')
    .rows<{ key: string }>(database);
  return rows.map(({ key }) => key);
}

/** Which cached sessions have an unexpired row, and the names of all their users. */
async function readKnownSessions(
  database: Queryable,
  { layout, entries }: { layout: Layout; entries: readonly CachedSession[] },
): Promise<{ readonly keys: ReadonlySet<string>; readonly names: ReadonlyMap<number, string> }> {
  const cached = entries.map(({ key }) => key);
  const keys = await sql`SELECT s.session_key AS key FROM django_session s
    WHERE s.session_key = ANY(${cached}::text[]) AND s.expire_date > now()`.rows<{ key: string }>(database);
  const userIds = [...new Set(entries.flatMap(({ userId }) => userId ?? []))];
  const names = await readUserNames(database, { layout, ids: userIds });
  return {
    keys: new Set(keys.map(({ key }) => key)),
    names: new Map(names.map(({ id, username }) => [id, username])),
  };
}

async function readExistingKeys(database: Queryable, keys: readonly string[]): Promise<string[]> {
  const rows = await sql`SELECT s.session_key AS key FROM django_session s
    WHERE s.session_key = ANY(${keys}::text[])`.rows<{ key: string }>(database);
  return rows.map(({ key }) => key);
}
