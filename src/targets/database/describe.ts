import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { replayedText, type Standby, type Visibility } from '../../domain/claims.ts';
import type { ClockDifference } from '../../domain/clock-difference.ts';
import type { MissingRight, RightsPurpose, TargetDescription } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { PURPOSES, requiredColumns } from './required-rights.ts';
import { BATCH_SIZE } from './revocation.ts';
import { missingRights } from './rights.ts';
import { unownedSessions } from './sessions.ts';
import { storedValue } from './settings.ts';
import { type Layout, TABLES } from './tables.ts';
import { readTokenStorage } from './tokens.ts';

/** The purposes that change nothing. */
const READING: readonly RightsPurpose[] = ['read', 'contacts'];

/** The service reads its settings with each request. A controller and a gateway cache them. */
const SETTINGS_HOLD: Readonly<Record<Layout, TargetDescription['capabilities']['settingsHold']>> = {
  service: 'at_once',
  controller: 'within_a_minute',
  gateway: 'within_five_minutes',
};

interface DescribedCache {
  readonly addresses: readonly string[];
  /** Why it cannot be used, or null. Without the right to read sessions, it is not compared with them. */
  readonly problem: (maySeeSessions: boolean) => Promise<string | null>;
}

/** The parts of a target for which a role needs rights. */
export interface PartsWithRights {
  readonly refreshTokens: boolean;
  readonly authorizationCodes: boolean;
  readonly sessions: boolean;
}

/** Finds which parts this role may use: it needs the right to read them, and to delete codes. */
export async function findParts(connection: Connection): Promise<PartsWithRights> {
  const { layout, recognized } = connection;
  const missing = await missingRights(connection.reader, layout, ['read', 'revoke']);
  const { refreshTokens, authorizationCodes, sessionMemberships } = TABLES[layout];
  return {
    refreshTokens: mayRead(missing, refreshTokens),
    authorizationCodes: mayRead(missing, authorizationCodes) && mayDelete(missing, authorizationCodes),
    sessions: recognized.hasSessionOwners && mayRead(missing, sql`django_session`, sessionMemberships),
  };
}

/** Describes the database, what the role may do with it, and whether the session cache can be used. */
export async function describeDatabase(
  connection: Connection,
  { context, cache }: { context: string; cache: DescribedCache | null },
): Promise<TargetDescription> {
  const { layout, recognized, address, database } = connection;
  const { accessTokens, refreshTokens, sessionMemberships, settings } = TABLES[layout];
  const clock = await compareClocks(connection.reader);
  const { role, isSuperuser, version, missing, filtered, standby } = await connection.read(
    async (queryable) => ({
      standby: await readStandby(queryable),
      version: layout === 'controller' ? await readVersion(queryable) : null,
      missing: await missingRights(queryable, layout),
      ...(await readRole(queryable, [...requiredColumns(layout).keys()])),
    }),
  );
  const storage =
    layout === 'gateway' && mayRead(missing, accessTokens, refreshTokens)
      ? await readTokenStorage(connection.reader)
      : {};
  const installUuid =
    layout !== 'gateway' && mayRead(missing, settings) ? await readInstallUuid(connection.reader) : null;
  const sessions = recognized.hasSessionOwners && mayRead(missing, sql`django_session`, sessionMemberships);
  const sessionCache = cache && { addresses: cache.addresses, problem: await cache.problem(sessions) };
  const sessionsCached = layout === 'gateway' && sessionCache?.problem !== null;
  const sessionsUnowned = sessionsCached && sessions ? await unownedSessions(connection.reader) : null;
  const may = (purpose: RightsPurpose) => missing.every((right) => right.purpose !== purpose);
  return {
    context,
    address,
    dialect: layout,
    version,
    installUuid,
    identity: { id: null, username: role, isSuperuser, isSystemAuditor: false },
    visibility: visibilityOf(layout, { missing, filtered, standby }),
    ...(standby && { standby }),
    clock,
    credential: 'database_role',
    transport: database.transport,
    capabilities: {
      ...(sessionsCached && { sessionsCached }),
      ...(sessionsUnowned !== null && {
        sessionsUnowned: sessionsUnowned.sessions,
        sessionsUnownedUntil: sessionsUnowned.until.toISOString(),
      }),
      lastUsed: true,
      settingsHold: recognized.isServiceDatabase ? 'at_once' : SETTINGS_HOLD[layout],
      deactivateUsers: standby === null && may('users'),
      changes: standby === null && PURPOSES.some((purpose) => !READING.includes(purpose) && may(purpose)),
      batchSize: BATCH_SIZE,
    },
    missingRights: missing,
    ...storage,
    ...(sessionCache && { sessionCache }),
  };
}

/** The current role, whether it is a superuser, and the tables whose row-level security may hide rows from it. */
async function readRole(database: Queryable, tables: readonly string[]) {
  const row = await sql`SELECT current_user::text AS role,
       EXISTS (SELECT FROM pg_roles r WHERE r.rolname = current_user AND r.rolsuper) AS "isSuperuser",
       ARRAY(
         SELECT w.name FROM unnest(${tables}::text[]) AS w(name)
         WHERE to_regclass(w.name) IS NOT NULL AND row_security_active(to_regclass(w.name))
       ) AS filtered`.first<{ role: string; isSuperuser: boolean; filtered: string[] }>(database);
  return row ?? { role: '', isSuperuser: false, filtered: [] };
}

/** What the role sees, except refresh tokens and sessions: the capabilities show those rights. */
function visibilityOf(
  layout: Layout,
  options: { missing: readonly MissingRight[]; filtered: readonly string[]; standby: Standby | null },
): Visibility {
  const { missing, filtered, standby } = options;
  const { users, applications, accessTokens } = TABLES[layout];
  const isReadable = mayRead(missing, users, applications, accessTokens);
  if (isReadable && filtered.length === 0 && standby === null) return { kind: 'all' };
  const reasons = [
    ...(isReadable ? [] : ['its permissions allow it to read']),
    ...(isReadable && filtered.length > 0
      ? [`row-level security shows to this role (policies on ${filtered.join(', ')})`]
      : []),
    ...(standby === null ? [] : [`this standby has replayed (${replayedText(standby)})`]),
  ];
  const what = (name: string) => `${name} that ${reasons.join(' and that ')}`;
  return {
    kind: 'part',
    tokens: what('tokens'),
    users: what('users'),
    applications: what('applications'),
    organizations: [],
  };
}

/** The database server's clock, read between two readings of this machine's clock. */
async function compareClocks(database: Queryable): Promise<ClockDifference> {
  const sent = Date.now();
  const row = await sql`SELECT extract(epoch FROM clock_timestamp())::float8
    * 1000 AS now`.first<{ now: number }>(database);
  const received = Date.now();
  const now = row?.now ?? received;
  return {
    aheadMs: Math.round(now - (sent + received) / 2),
    uncertaintyMs: Math.ceil((received - sent) / 2) + 1,
  };
}

/**
 * How far a standby is behind; null for a primary. The age of the last replayed transaction is an upper bound,
 * because an idle primary sends none. Every role sees the process that receives them, but not its state.
 */
async function readStandby(database: Queryable): Promise<Standby | null> {
  const row = await sql`SELECT pg_is_in_recovery() AS "isStandby",
       pg_last_xact_replay_timestamp() AS "replayedUntil",
       extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 AS "lagSeconds",
       EXISTS (SELECT FROM pg_stat_wal_receiver r WHERE r.pid IS NOT NULL) AS "isReceiving"`.first<
    Standby & { isStandby: boolean }
  >(database);
  if (row?.isStandby !== true) return null;
  const { replayedUntil, isReceiving } = row;
  const lagSeconds = row.lagSeconds === null ? null : Math.max(0, Math.round(row.lagSeconds));
  return { replayedUntil, lagSeconds, isReceiving };
}

/** The version that all web nodes of a controller state; null if they differ or the role may not read it. */
async function readVersion(database: Queryable): Promise<string | null> {
  const readable = await sql`SELECT
       bool_and(has_column_privilege(to_regclass('main_instance'), c.name, 'SELECT')) AS yes
     FROM unnest(ARRAY['version', 'node_type']) AS c(name)
    WHERE to_regclass('main_instance') IS NOT NULL`.first<{ yes: boolean | null }>(database);
  if (readable?.yes !== true) return null;
  const rows = await sql`SELECT DISTINCT i.version FROM main_instance i
     WHERE i.node_type IN ('control', 'hybrid') AND i.version <> ''`.rows<{ version: string }>(database);
  return rows.length === 1 ? (rows[0]?.version ?? null) : null;
}

/** A controller stores the value as JSON text. */
async function readInstallUuid(database: Queryable): Promise<string | null> {
  const row = await sql`SELECT s.value::text AS value FROM conf_setting s
    WHERE s.key = 'INSTALL_UUID' AND s.user_id IS NULL
    ORDER BY s.id LIMIT 1`.first<{ value: string | null }>(database);
  const value = storedValue(row?.value ?? null);
  return typeof value === 'string' && value !== '' ? value : null;
}

function mayRead(missing: readonly MissingRight[], ...tables: Sql[]): boolean {
  return !tables.some(({ text: table }) =>
    missing.some(({ purpose, grant }) => purpose === 'read' && grant.includes(`.${table} TO `)),
  );
}

function mayDelete(missing: readonly MissingRight[], { text: table }: Sql): boolean {
  return !missing.some(({ grant }) => grant.startsWith('GRANT DELETE ') && grant.includes(`.${table} TO `));
}
