import type { Database } from '@tokenctl/common/db/database.ts';
import type { Sql } from '@tokenctl/common/db/sql.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase, templateDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { afterAll, beforeAll, inject } from 'vitest';
import type { Outcome } from '../../src/domain/plan.ts';
import type { Target } from '../../src/operations/ports/target.ts';
import {
  type DatabaseTargetOptions,
  openDatabaseTarget,
} from '../../src/targets/database/database-target.ts';
import { type Layout, TABLES, type Tables } from '../../src/targets/database/tables.ts';
import { seedGateway } from '../unit/targets/database/gateway-seed.ts';
import { LAYOUTS as CONTROLLERS, makeTables } from './controller-tables.ts';
import { makeGatewayTables } from './gateway-tables.ts';

/** Ids in every test database. */
export const ALICE = 1;
export const LEAVER = 2;
export const GITHUB = 1;

/** The layouts to test: a real controller's tables if they are available, the others always. */
export const LAYOUTS = [...CONTROLLERS, 'gateway'] as const;

/** How another target is opened: as another role, with another time for lock retries, with a session cache. */
interface OpenOptions extends Pick<DatabaseTargetOptions, 'sessionCache' | 'interruption'> {
  readonly url?: string;
  readonly lockRetryMs?: number;
}

/** A database of a layout with a few users and applications, and a target on it. */
export interface TestDatabase {
  readonly url: string;
  readonly database: Database;
  /** The names of its tables. */
  readonly tables: TableNames;
  readonly target: Target;
  open(options?: OpenOptions): Promise<Target>;
  /** Creates access tokens of alice, and returns their ids, ascending. */
  tokens(count: number, columns?: Readonly<Record<string, string>>): Promise<number[]>;
  /** Creates a refresh token for an access token, or an orphaned one, and returns its id. */
  refreshToken(accessTokenId: number | null, revoked?: boolean): Promise<number>;
  /** Creates an authorization code of alice that expires after this many minutes, and returns its id. */
  authorizationCode(minutes: number): Promise<number>;
  /** Creates a session, with or without an owner. */
  session(key: string, userId: number | null, hours?: number): Promise<void>;
  close(): Promise<void>;
}

/** A database for all tests of a file or a group: made before the first of them, and closed after the last. */
export function testDatabase(...made: Parameters<typeof createTestDatabase>): TestDatabase {
  let place: TestDatabase | undefined;
  beforeAll(async () => {
    place = await createTestDatabase(...made);
  });
  afterAll(() => place?.close());
  return new Proxy({} as TestDatabase, { get: (_, member) => Reflect.get(place ?? {}, member) });
}

type TableNames = { readonly [Name in keyof Tables]: Tables[Name] extends Sql ? string : Tables[Name] };

/** @param server A superuser's URL of another server than that of the tests. */
export async function createTestDatabase(
  layout: (typeof LAYOUTS)[number],
  server = inject('postgresUrl'),
): Promise<TestDatabase> {
  const template = await templateDatabase(server, `test_${layout}_${inject('testRun')}`, (made) =>
    fill(made, layout),
  );
  const url = await createDatabase(server, { template });
  const database = await openOn(url);
  const tables = tableNames(layout);
  const targets: Target[] = [];
  const open = async ({ url: as = url, lockRetryMs = 300, ...more }: OpenOptions = {}) => {
    const connection = new Secret(as);
    const target = await openDatabaseTarget({ context: 'test', connection, lockRetryMs, ...more });
    targets.push(target);
    return target;
  };
  return {
    url,
    database,
    tables,
    open,
    target: await open(),
    tokens: (count, columns = {}) => makeTokens(database, { tables, count, columns }),
    refreshToken: (accessTokenId, revoked = false) =>
      makeRefreshToken(database, { tables, accessTokenId, revoked }),
    authorizationCode: (minutes) => makeAuthorizationCode(database, layout, minutes),
    session: (key, userId, hours = 1) => makeSession(database, { tables, key, userId, hours }),
    async close() {
      await Promise.all(targets.map((target) => target.close()));
      await database.close();
    },
  };
}

async function fill(url: string, layout: (typeof LAYOUTS)[number]): Promise<void> {
  const database = await openOn(url);
  if (layout === 'gateway') {
    await makeGatewayTables(database);
    await seedGateway(database);
  } else {
    await makeTables(database, layout);
    await seed(database);
  }
  await database.close();
}

function tableNames(layout: Layout): TableNames {
  const texts = Object.entries(TABLES[layout]).map(([name, part]) => [
    name,
    'text' in Object(part) ? part.text : part,
  ]);
  return Object.fromEntries(texts);
}

async function seed(database: Database): Promise<void> {
  await database.execute(
    `INSERT INTO auth_user (username, password, is_superuser, first_name, last_name, email, is_staff, is_active,
       date_joined, last_login)
     SELECT name, CASE WHEN name = 'ldap' THEN '!unusable' ELSE 'pbkdf2_sha256$1$a$b' END, name = 'admin', '', '', '',
       false, name <> 'leaver', now(), CASE WHEN name = 'alice' THEN '2026-01-02T03:04:05.678Z'::timestamptz END
     FROM unnest(ARRAY['alice', 'leaver', 'admin', 'ldap', 'mixed', 'social', 'radius']) WITH ORDINALITY AS n(name, i)
     ORDER BY i`,
  );
  await database.execute(
    `INSERT INTO main_profile (created, modified, ldap_dn, user_id)
     SELECT now(), now(), CASE WHEN username IN ('ldap', 'mixed') THEN 'cn=' || username ELSE '' END, id FROM auth_user`,
  );
  await database.execute(
    `INSERT INTO social_auth_usersocialauth (provider, uid, user_id, created, modified, extra_data)
     SELECT 'github', 'x', id, now(), now(), '{}' FROM auth_user WHERE username = 'social'`,
  );
  await database.execute(
    `INSERT INTO sso_userenterpriseauth (provider, user_id) SELECT 'radius', id FROM auth_user WHERE username = 'radius'`,
  );
  await database.execute(
    `INSERT INTO main_oauth2application (client_id, redirect_uris, client_type, authorization_grant_type,
       client_secret, name, skip_authorization, created, updated, description, logo_data, algorithm)
     SELECT name, '', 'public', 'password', '', name, false, '2020-01-01', now(), '', '', ''
     FROM unnest(ARRAY['github', 'gitlab']) AS n(name)`,
  );
}

async function makeTokens(
  database: Database,
  wanted: { tables: TableNames; count: number; columns: Readonly<Record<string, string>> },
): Promise<number[]> {
  const { accessTokens, tokenTimestamps } = wanted.tables;
  const values = {
    token: storedRandom(wanted.tables),
    expires: "now() + interval '1 year'",
    scope: "'write'",
    description: "''",
    ...Object.fromEntries(tokenTimestamps.map((stamp) => [stamp, 'now()'])),
    user_id: String(ALICE),
    ...wanted.columns,
  };
  const rows = await database.query<{ id: number }>(
    `INSERT INTO ${accessTokens} (${Object.keys(values).join(', ')})
     SELECT ${Object.values(values).join(', ')} FROM generate_series(1, $1::int) RETURNING id`,
    [wanted.count],
  );
  return rows.map(({ id }) => id);
}

/** SQL for a random stored token, in the form of the layout. */
function storedRandom({ storedForm }: TableNames): string {
  const hash = "encode(sha256(gen_random_uuid()::text::bytea), 'hex')";
  return storedForm === 'by_value' ? `'$sha256$' || ${hash}` : hash;
}

async function makeRefreshToken(
  database: Database,
  wanted: { readonly tables: TableNames; readonly accessTokenId: number | null; readonly revoked: boolean },
): Promise<number> {
  const { refreshTokens, refreshTokenUpdatedAt } = wanted.tables;
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO ${refreshTokens}
       (token, access_token_id, application_id, user_id, created, ${refreshTokenUpdatedAt}, revoked)
     VALUES (${storedRandom(wanted.tables)}, $1, ${GITHUB}, ${ALICE}, now(), '2020-01-01',
       CASE WHEN $2::boolean THEN '2021-01-01'::timestamptz END) RETURNING id`,
    [wanted.accessTokenId, wanted.revoked],
  );
  return row?.id ?? 0;
}

async function makeAuthorizationCode(database: Database, layout: (typeof LAYOUTS)[number], minutes: number) {
  const own = layout === 'service' ? { redirect_uri_given: 'true' } : { nonce: "''", claims: "''" };
  const values = {
    code: 'gen_random_uuid()::text',
    expires: 'now() + make_interval(mins => $1)',
    redirect_uri: "''",
    scope: "'write'",
    application_id: String(GITHUB),
    user_id: String(ALICE),
    created: 'now()',
    updated: 'now()',
    code_challenge: "''",
    code_challenge_method: "''",
    ...own,
  };
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO oauth2_provider_grant (${Object.keys(values).join(', ')})
     VALUES (${Object.values(values).join(', ')}) RETURNING id`,
    [minutes],
  );
  return row?.id ?? 0;
}

async function makeSession(
  database: Database,
  session: { tables: TableNames; key: string; userId: number | null; hours: number },
): Promise<void> {
  await database.execute(
    `INSERT INTO django_session (session_key, session_data, expire_date)
     VALUES ($1, 'secret', now() + make_interval(hours => $2))`,
    [session.key, session.hours],
  );
  if (session.userId === null) return;
  await database.execute(
    `INSERT INTO ${session.tables.sessionMemberships} (created, session_id, user_id) VALUES (now(), $1, $2)`,
    [session.key, session.userId],
  );
}

/** All that a stream gives. */
export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Outcomes as `id: result`, by id. */
export async function results(outcomes: AsyncIterable<Outcome>): Promise<Record<number, string>> {
  return Object.fromEntries((await all(outcomes)).map(({ tokenId, result }) => [tokenId, result]));
}

/** The URL of the same database for a new role that may do what the grants say, and nothing else. */
export async function roleWith(
  place: Pick<TestDatabase, 'database' | 'url'>,
  grants: (role: string) => readonly string[],
): Promise<string> {
  const role = `role_${Math.random().toString(36).slice(2)}`;
  await place.database.execute(`CREATE ROLE ${role} LOGIN PASSWORD 'secret-of-the-role'`);
  for (const grant of grants(role)) await place.database.execute(grant);
  const url = new URL(place.url);
  [url.username, url.password] = [role, 'secret-of-the-role'];
  return url.href;
}
