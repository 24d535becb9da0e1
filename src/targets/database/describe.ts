import type { Queryable } from '../../db/database.ts';
import type { Visibility } from '../../domain/claims.ts';
import type { StaysAlive } from '../../domain/plan.ts';
import {
  authorizationCodesRemedy,
  expiredText,
  passwordsRemedy,
  refreshTokensRemedy,
  sessionsRemedy,
  shellWord,
} from '../../domain/remedies.ts';
import type {
  AuthenticationSettings,
  MissingRight,
  RevocationFacts,
  RightsPurpose,
  TargetDescription,
} from '../../operations/ports/target.ts';
import { RIGHTS_TEXT } from '../../operations/visibility.ts';
import type { Connection } from './connection.ts';
import type { RecognizedLayout } from './layout.ts';
import { PURPOSES, requiredColumns } from './required-rights.ts';
import { BATCH_SIZE } from './revocation.ts';
import { missingRights } from './rights.ts';
import { unownedSessions } from './sessions.ts';
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

/** Describes the database, what the role may do with it, and whether the session cache can be used. */
export async function describeDatabase(
  connection: Connection,
  { context, cache }: { readonly context: string; readonly cache: DescribedCache | null },
): Promise<TargetDescription> {
  const { layout, recognized, address, database } = connection;
  const { refreshTokens, authorizationCodes, sessionMemberships, settings } = TABLES[layout];
  const { role, version, missing, filtered } = await connection.read(async (queryable) => ({
    version: layout === 'controller' ? await readVersion(queryable) : null,
    missing: await missingRights(queryable, layout),
    ...(await readRole(queryable, [...requiredColumns(layout).keys()])),
  }));
  const { accessTokens } = TABLES[layout];
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
      refreshTokens: mayRead(missing, refreshTokens),
      authorizationCodes: mayRead(missing, authorizationCodes) && mayDelete(missing, authorizationCodes),
      sessions,
      ...(sessionsCached && { sessionsCached }),
      ...(sessionsUnowned !== null && { sessionsUnowned }),
      lastUsed: true,
      settings: mayRead(missing, settings),
      settingsHold: recognized.isServiceDatabase ? 'at_once' : SETTINGS_HOLD[layout],
      createTokens: may('create'),
      deactivateUsers: may('users'),
      identifies: 'by_hash',
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
  const rows = await database.query<{ value: unknown }>(
    "SELECT s.value FROM conf_setting s WHERE s.key = 'INSTALL_UUID' AND s.user_id IS NULL ORDER BY s.id LIMIT 1",
  );
  const value = rows[0]?.value;
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

/** What stays alive after access tokens are revoked, where refresh tokens and sessions could have been ended as well. */
export async function staysAlive(
  facts: RevocationFacts & {
    readonly recognized: Pick<RecognizedLayout, 'layout' | 'hasSessionOwners'>;
    readonly context: string;
  },
  read: {
    readonly settings: () => Promise<AuthenticationSettings>;
    readonly missingRights: () => Promise<readonly MissingRight[]>;
  },
): Promise<readonly StaysAlive[]> {
  const { reach, tokensWithRefreshToken, recognized, selection, context } = facts;
  const { sessionMemberships } = TABLES[recognized.layout];
  const place = { dialect: recognized.layout, context, databaseContext: context };
  const alive: StaysAlive[] = [];
  const withRights = async (purpose: 'sessions' | 'settings', remedy: string) => {
    const missing = await read.missingRights();
    const readable = purpose === 'settings' ? [] : ['django_session', sessionMemberships];
    if (missing.every((right) => right.purpose !== purpose) && mayRead(missing, ...readable)) return remedy;
    return `This role may not ${RIGHTS_TEXT[purpose]}: grant what \`tokenctl context check --context ${shellWord(context)}\` lists. ${remedy}`;
  };
  if (!reach.refreshTokens && tokensWithRefreshToken > 0) {
    alive.push({
      what: 'refresh_tokens',
      count: tokensWithRefreshToken,
      why: `Only access tokens are revoked. The refresh tokens stay, without an access token.${expiredText(facts)}`,
      remedy: `Do not use --access-only. Afterwards: ${refreshTokensRemedy(selection, place)}`,
    });
  }
  if (!reach.authorizationCodes && selection.kind !== 'tokens') {
    alive.push({
      what: 'authorization_codes',
      count: null,
      why: 'They were not selected, or this role may not delete them. They can be exchanged for tokens.',
      remedy: `${authorizationCodesRemedy(selection, place)} \`tokenctl context check\` lists missing rights.`,
    });
  }
  if (!reach.sessions) {
    alive.push({
      what: 'sessions',
      count: null,
      why: 'Revoking tokens does not end browser sessions.',
      remedy: recognized.hasSessionOwners
        ? await withRights('sessions', sessionsRemedy(selection, place))
        : selection.kind === 'all'
          ? 'No table holds the owners of sessions. After `DELETE FROM django_session` in this database, they are accepted until their entries in the cache of the gateway expire, unless the user is deactivated.'
          : 'No table holds the owners of sessions, so that no command ends only these.',
    });
  }
  if ((await read.settings()).AUTH_BASIC_ENABLED) {
    alive.push({
      what: 'basic_authentication',
      count: null,
      why: 'The API accepts passwords: a user with a password needs no token, and can create new ones.',
      remedy: await withRights('settings', passwordsRemedy(selection, place)),
    });
  }
  return alive;
}
