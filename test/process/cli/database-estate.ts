import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '@tokenctl/common/db/database.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { SECRET_KEY, serviceDatabase, startTestService } from '@tokenctl/service/testing/service.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { configure } from '../../support/drafts.ts';
import { type Run, type RunOptions, temporaryFolder, tokenctl } from './program.ts';

/** A service on PostgreSQL, and the program working in its database. */
export interface DatabaseEstate {
  /** The service's base URL. */
  readonly service: () => string;
  /** The database's URL, of a role that may do everything. */
  readonly url: () => string;
  readonly database: () => Database;
  /** A home whose current context, `db`, has its URL in a file. */
  readonly home: (url?: string) => DatabaseHome;
  /**
   * Makes a user with two access tokens, one of them an application's with a refresh token, an orphaned
   * refresh token, a revoked one and a session.
   */
  readonly addUser: () => Promise<SeededUser>;
  /** Makes a role with these statements, `ROLE` in them being its name, and returns its URL of the database. */
  readonly addRole: (grants: readonly string[]) => Promise<string>;
}

/** A home folder of a database context. */
interface DatabaseHome {
  readonly folder: string;
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Run>;
}

/** A user, and what is hers by id and fingerprint. */
interface SeededUser {
  readonly name: string;
  readonly personal: Seeded;
  readonly issued: Seeded;
  readonly beside: Seeded;
  readonly orphaned: Seeded;
  readonly revoked: Seeded;
}

/** A row of a token, and its fingerprint. */
interface Seeded {
  readonly id: number;
  readonly fingerprint: string;
}

/** The first entry of an activity stream: otherwise no name could be followed. */
export const FIRST_ENTRY = `INSERT INTO main_activitystream (operation, timestamp, changes, object1, object2,
  object_relationship_type, action_node, setting)
  VALUES ('create', now(), '{}', 'team', '', '', 'test', '{}')`;

/** Starts the service for a test file. */
export function databaseEstate(): DatabaseEstate {
  let service: RunningService | undefined;
  let url = '';
  let open: Database | undefined;
  beforeAll(async () => {
    url = await serviceDatabase();
    service = await startTestService({ database: { url: new Secret(url) }, secretKey: SECRET_KEY });
    open = await openOn(url);
    await open.execute(
      `INSERT INTO main_oauth2application (client_id, client_type, authorization_grant_type, client_secret, name)
       VALUES ('chat', 'confidential', 'password', 'x', 'chatops')`,
    );
  });
  afterAll(async () => {
    await open?.close();
    await service?.close();
  });
  const database = () => {
    if (open === undefined) throw new Error('the database is not open yet');
    return open;
  };
  return {
    service: () => service?.url ?? '',
    url: () => url,
    database,
    home: (context = url) => homeFor(context),
    addUser: () => addUser(database()),
    addRole: (grants) => addRole({ database: database(), url, grants }),
  };
}

function homeFor(url: string): DatabaseHome {
  const folder = temporaryFolder();
  const secret = join(folder, 'controller.database');
  writeFileSync(secret, `${url}\n`, { mode: 0o600 });
  configure(folder, `currentContext: db\ncontexts:\n  db: { database: { file: "${secret}" } }\n`);
  return {
    folder,
    run: (args, options = {}) => tokenctl(args, { ...options, env: { HOME: folder, ...options.env } }),
  };
}

async function addUser(database: Database): Promise<SeededUser> {
  const name = `user-${randomBytes(4).toString('hex')}`;
  await database.execute("INSERT INTO auth_user (username, password) VALUES ($1, '!')", [name]);
  const seeded = async (sql: string): Promise<Seeded> => {
    const [row] = await database.query<Seeded>(
      `${sql.replaceAll('HASH', `encode(sha256('${randomBytes(16).toString('hex')}'), 'hex')`)}
       RETURNING id, left(token, 12) AS fingerprint`,
    );
    if (row === undefined) throw new Error('no row came back');
    return row;
  };
  const owner = `(SELECT id FROM auth_user WHERE username = '${name}')`;
  const application = `(SELECT id FROM main_oauth2application WHERE name = 'chatops')`;
  const access = `INSERT INTO main_oauth2accesstoken (token, expires, scope, last_used, user_id, application_id)
    VALUES (HASH, now() + interval '1 day', 'write', now() - interval '1 hour', ${owner}`;
  const personal = await seeded(`${access}, NULL)`);
  const issued = await seeded(`${access}, ${application})`);
  const refresh = `INSERT INTO oauth2_provider_refreshtoken (token, user_id, application_id, access_token_id, revoked)
    VALUES (HASH, ${owner}, ${application}`;
  const beside = await seeded(`${refresh}, ${issued.id}, NULL)`);
  const orphaned = await seeded(`${refresh}, NULL, NULL)`);
  const revoked = await seeded(`${refresh}, NULL, now() - interval '40 days')`);
  const key = randomBytes(16).toString('hex');
  await database.execute(
    "INSERT INTO django_session (session_key, session_data, expire_date) VALUES ($1, '{}', now() + interval '1 hour')",
    [key],
  );
  await database.execute(
    `INSERT INTO main_usersessionmembership (session_id, user_id, created) VALUES ($1, ${owner}, now())`,
    [key],
  );
  return { name, personal, issued, beside, orphaned, revoked };
}

async function addRole(options: { database: Database; url: string; grants: readonly string[] }) {
  const { database, url, grants } = options;
  const [role, password] = [`role_${randomBytes(6).toString('hex')}`, randomBytes(8).toString('hex')];
  await database.execute(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  onTestFinished(async () => {
    await database.execute(`DROP OWNED BY ${role}`);
    await database.execute(`DROP ROLE ${role}`);
  });
  for (const grant of grants) await database.execute(grant.replaceAll('ROLE', role));
  const of = new URL(url);
  of.username = role;
  of.password = password;
  return of.href;
}
