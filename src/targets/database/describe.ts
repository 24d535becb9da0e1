import type { Queryable } from '../../db/database.ts';
import type { Visibility } from '../../domain/claims.ts';
import type { MissingRight, RightsPurpose, TargetDescription } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { PURPOSES, requiredColumns } from './required-rights.ts';
import { BATCH_SIZE } from './revocation.ts';
import { missingRights } from './rights.ts';
import { unownedSessions } from './sessions.ts';
import { storedValue } from './settings.ts';
import { type Layout, TABLES } from './tables.ts';
import { readTokenStorage } from './tokens.ts';

/** What changes nothing. */
const READING: readonly RightsPurpose[] = ['read', 'contacts'];

/** The service reads its settings with each request; a controller and a gateway cache them. */
const SETTINGS_HOLD: Readonly<Record<Layout, TargetDescription['capabilities']['settingsHold']>> = {
  service: 'at_once',
  controller: 'within_a_minute',
  gateway: 'within_five_minutes',
};

/** The configured session cache of a gateway. */
interface DescribedCache {
  readonly addresses: readonly string[];
  /** Why it cannot be used; null if it can. Without the right to read sessions, it is not compared with them. */
  readonly problem: (maySeeSessions: boolean) => Promise<string | null>;
}

/** The parts of a target that a role needs rights for. */
export interface PartsWithRights {
  readonly refreshTokens: boolean;
  readonly authorizationCodes: boolean;
  readonly sessions: boolean;
}

/** Finds out which parts this role may use: it has to read them, and codes also to delete. */
export async function findParts(connection: Connection): Promise<PartsWithRights> {
  const { layout, recognized } = connection;
  const missing = await connection.read((database) => missingRights(database, layout, ['read', 'revoke']));
  const { refreshTokens, authorizationCodes, sessionMemberships } = TABLES[layout];
  return {
    refreshTokens: mayRead(missing, refreshTokens),
    authorizationCodes: mayRead(missing, authorizationCodes) && mayDelete(missing, authorizationCodes),
    sessions: recognized.hasSessionOwners && mayRead(missing, 'django_session', sessionMemberships),
  };
}

/** Describes the database, what the role may do with it, and whether the session cache can be used. */
export async function describeDatabase(
  connection: Connection,
  { context, cache }: { readonly context: string; readonly cache: DescribedCache | null },
): Promise<TargetDescription> {
  const { layout, recognized, address, database } = connection;
  const { accessTokens, refreshTokens, sessionMemberships, settings } = TABLES[layout];
  const { role, version, missing, filtered } = await connection.read(async (queryable) => ({
    version: layout === 'controller' ? await readVersion(queryable) : null,
    missing: await missingRights(queryable, layout),
    ...(await readRole(queryable, [...requiredColumns(layout).keys()])),
  }));
  const storage =
    layout === 'gateway' && mayRead(missing, accessTokens, refreshTokens)
      ? await connection.read(readTokenStorage)
      : {};
  const installUuid =
    layout !== 'gateway' && mayRead(missing, settings) ? await connection.read(readInstallUuid) : null;
  const sessions = recognized.hasSessionOwners && mayRead(missing, 'django_session', sessionMemberships);
  const sessionCache = cache && { addresses: cache.addresses, problem: await cache.problem(sessions) };
  const sessionsCached = layout === 'gateway' && sessionCache?.problem !== null;
  const sessionsUnowned = sessionsCached && sessions ? await connection.read(unownedSessions) : null;
  const may = (purpose: RightsPurpose) => missing.every((right) => right.purpose !== purpose);
  return {
    context,
    address,
    dialect: layout,
    version,
    installUuid,
    identity: { id: null, username: role, isSuperuser: may('revoke'), isSystemAuditor: may('read') },
    visibility: visibilityOf(layout, missing, filtered),
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
      deactivateUsers: may('users'),
      changes: PURPOSES.some((purpose) => !READING.includes(purpose) && may(purpose)),
      batchSize: BATCH_SIZE,
    },
    missingRights: missing,
    ...storage,
    ...(sessionCache && { sessionCache }),
  };
}

/** The current role, and the tables of which row-level security may hide rows from it. */
async function readRole(
  database: Queryable,
  tables: readonly string[],
): Promise<{ readonly role: string; readonly filtered: readonly string[] }> {
  const [row] = await database.query<{ role: string; filtered: string[] }>(
    `SELECT current_user::text AS role, ARRAY(
       SELECT w.name FROM unnest($1::text[]) AS w(name)
       WHERE to_regclass(w.name) IS NOT NULL AND row_security_active(to_regclass(w.name))
     ) AS filtered`,
    [tables],
  );
  return row ?? { role: '', filtered: [] };
}

/**
 * What the role sees. A missing right to read refresh tokens or sessions is not part of this: the capabilities tell it,
 * and what depends on it is reported as not checked.
 */
function visibilityOf(
  layout: Layout,
  missing: readonly MissingRight[],
  filtered: readonly string[],
): Visibility {
  const { users, applications, accessTokens } = TABLES[layout];
  const isReadable = mayRead(missing, users, applications, accessTokens);
  if (isReadable && filtered.length === 0) return { kind: 'all' };
  const what = (name: string) =>
    isReadable
      ? `${name} that row-level security shows to this role (policies on ${filtered.join(', ')})`
      : `${name} that its rights allow it to read`;
  return {
    kind: 'part',
    tokens: what('tokens'),
    users: what('users'),
    applications: what('applications'),
    organizations: [],
  };
}

/** The version that every web node of a controller states; null if they differ, or if the role may not read it. */
async function readVersion(database: Queryable): Promise<string | null> {
  const [readable] = await database.query<{ yes: boolean | null }>(
    `SELECT bool_and(has_column_privilege(to_regclass('main_instance'), c.name, 'SELECT')) AS yes
     FROM unnest(ARRAY['version', 'node_type']) AS c(name) WHERE to_regclass('main_instance') IS NOT NULL`,
  );
  if (readable?.yes !== true) return null;
  const rows = await database.query<{ version: string }>(
    `SELECT DISTINCT i.version FROM main_instance i
     WHERE i.node_type IN ('control', 'hybrid') AND i.version <> ''`,
  );
  return rows.length === 1 ? (rows[0]?.version ?? null) : null;
}

/** A controller stores it as JSON text. */
async function readInstallUuid(database: Queryable): Promise<string | null> {
  const rows = await database.query<{ value: string | null }>(
    "SELECT s.value::text AS value FROM conf_setting s WHERE s.key = 'INSTALL_UUID' AND s.user_id IS NULL ORDER BY s.id LIMIT 1",
  );
  const value = storedValue(rows[0]?.value ?? null);
  return typeof value === 'string' && value !== '' ? value : null;
}

function mayRead(missing: readonly MissingRight[], ...tables: string[]): boolean {
  return !tables.some((table) =>
    missing.some(({ purpose, grant }) => purpose === 'read' && grant.includes(`.${table} TO `)),
  );
}

function mayDelete(missing: readonly MissingRight[], table: string): boolean {
  return !missing.some(({ grant }) => grant.startsWith('GRANT DELETE ') && grant.includes(`.${table} TO `));
}
