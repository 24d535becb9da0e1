import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Database, Queryable } from '@tokenctl/common/db/database.ts';
import { openEmbedded } from '@tokenctl/common/db/embedded.ts';
import { applyMissing, lockMigrations, MIGRATION, type Migration } from '@tokenctl/common/db/migrate.ts';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { hashPassword } from './auth/secret-hashes.ts';
import { initial } from './migrations/001-initial.ts';
import { oauth2 } from './migrations/002-oauth2.ts';
import { applications } from './migrations/003-applications.ts';
import { jobs } from './migrations/004-jobs.ts';
import { singleSignOn } from './migrations/005-single-sign-on.ts';
import { providerSessions } from './migrations/006-provider-sessions.ts';
import { resources } from './migrations/007-resources.ts';
import { teams } from './migrations/008-teams.ts';
import { jobOptions } from './migrations/009-job-options.ts';
import { narrowRights } from './migrations/010-narrow-rights.ts';
import { simultaneousJobs } from './migrations/011-simultaneous-jobs.ts';
import { objectRoles } from './migrations/012-object-roles.ts';
import { groups } from './migrations/013-groups.ts';
import { providerEvents } from './migrations/014-provider-events.ts';
import { oneScope } from './migrations/015-one-scope.ts';
import { nameShapes } from './migrations/016-name-shapes.ts';
import { listIndexes } from './migrations/017-list-indexes.ts';
import { DEMO_PLAYBOOK, DEMO_PROJECT } from './playbooks/projects-folder.ts';
import { insertActivity } from './store/activity.ts';
import { ORGANIZATIONS } from './store/organizations.ts';
import { insertResource } from './store/resources.ts';
import { deleteSettings, lockSettings, readSettings, writeSetting } from './store/settings.ts';
import { BLANK_USER, hasUsers, insertUser } from './store/users.ts';

/** The service's migrations, oldest first. A released migration never changes. */
export const migrations: readonly Migration[] = [
  initial,
  oauth2,
  applications,
  jobs,
  singleSignOn,
  providerSessions,
  resources,
  teams,
  jobOptions,
  narrowRights,
  simultaneousJobs,
  objectRoles,
  groups,
  providerEvents,
  oneScope,
  nameShapes,
  listIndexes,
];

const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * The joins of a list are written starting at its own table, in the order to run them: planning others took
 * PostgreSQL ten times as long as running the list of activities. Prepared statements differ only in their
 * values. Compiling a statement (`jit`) takes longer than running it: seconds for the list of activities.
 */
const PLANNING = { join_collapse_limit: '4', plan_cache_mode: 'force_generic_plan', jit: 'off' };

/** A PostgreSQL URL, or the folder of the embedded database (null: in memory). */
export type Place = { readonly url: Secret } | { readonly folder: string | null };

/** Opens and migrates the database. Throws `configuration` if it is newer, `busy`, `database_unreachable`. */
export async function openDatabase(place: Place): Promise<Database> {
  const database = await open(place);
  try {
    await database.transaction(async (transaction) => {
      await lockMigrations(transaction);
      await applyMissing(transaction, migrations);
    }, MIGRATION);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

function isServiceDatabase(database: Queryable): Promise<boolean> {
  return sql`SELECT WHERE to_regclass('service_migration') IS NOT NULL`.exists(database);
}

async function open(place: Place): Promise<Database> {
  if ('url' in place) {
    return openPostgres({
      url: place.url,
      applicationName: 'tokenctl service',
      statementTimeout: STATEMENT_TIMEOUT_MS,
      settings: PLANNING,
    });
  }
  return openEmbedded(place.folder);
}

const ADMIN = 'admin';

/**
 * Fills an empty database in one transaction: the superuser `admin`, the organization `Default`, and demo
 * resources (inventory, host, credentials, project, job template). Only then does it request the superuser's
 * password. Returns whether the database was empty.
 */
export async function prepareFirstStart(
  database: Database,
  { password, now, iterations }: { password: () => string; now: () => Date; iterations?: number | undefined },
): Promise<boolean> {
  if (await hasUsers(database)) return false;
  const stored = await hashPassword(password(), iterations);
  return database.transaction(async (transaction) => {
    const id = await insertUser(transaction, {
      ...BLANK_USER,
      username: ADMIN,
      password: stored,
      is_superuser: true,
    });
    if (id === null) return false;
    const at = now();
    await writeSetting(transaction, { key: 'INSTALL_UUID', value: randomUUID(), at });
    // The controller's stream starts with this entry too. Without it, entries would appear to have been deleted.
    await insertActivity(transaction, {
      operation: 'create',
      at,
      changes: { username: ADMIN, is_superuser: true, is_active: true, id, password: 'hidden' },
      object1: 'user',
      actorId: null,
      node: hostname(),
      userId: id,
    });
    await addDemoResources(transaction, { createdBy: id, at });
    return true;
  });
}

async function addDemoResources(transaction: Queryable, { createdBy, at }: { createdBy: number; at: Date }) {
  const organization = await insertResource(transaction, ORGANIZATIONS, {
    values: { name: 'Default', description: '', max_hosts: 0 },
    by: createdBy,
    at,
  });
  const inventory = await sql`INSERT INTO main_inventory (name, organization_id)
    VALUES ('Demo Inventory', ${organization}) RETURNING id`.first<{ id: number }>(transaction);
  // Without the controller's `ansible_connection: local`, which the operator must allow, and the demo does not need.
  await sql`INSERT INTO main_host (name, inventory_id)
    VALUES ('localhost', ${inventory?.id})`.execute(transaction);
  await sql`INSERT INTO main_credential (name)
    VALUES ('Demo Credential'), ('Ansible Galaxy')`.execute(transaction);
  const project = await sql`INSERT INTO service_project (name, organization_id, local_path)
    VALUES ('Demo Project', ${organization}, ${DEMO_PROJECT})
    RETURNING id`.first<{ id: number }>(transaction);
  await sql`INSERT INTO service_job_template (name, organization_id, inventory_id, project_id, playbook)
    VALUES ('Demo Job Template', ${organization}, ${inventory?.id}, ${project?.id},
      ${DEMO_PLAYBOOK})`.execute(transaction);
}

/**
 * Enables local accounts directly in the database, for administrators who are locked out. `dryRun` only
 * reads. A service on PostgreSQL applies it at once. Revoked sessions and tokens stay revoked. Returns
 * whether local accounts were off.
 * @throws TokenctlError `busy` while a service runs on the embedded database, `not_found` if there is no
 * service's database, `database_unreachable`.
 */
export async function enableLocalAccounts(place: Place, now: Date, dryRun = false): Promise<boolean> {
  const database = await openExisting(place);
  try {
    if (!(await isServiceDatabase(database))) throw noService('The database');
    if (dryRun) return (await readSettings(database)).get('DISABLE_LOCAL_AUTH') === true;
    return await database.transaction(async (transaction) => {
      await lockSettings(transaction);
      const [row] = await deleteSettings(transaction, ['DISABLE_LOCAL_AUTH']);
      if (row === undefined) return false;
      await insertActivity(transaction, {
        operation: 'delete',
        at: now,
        changes: { value: row.value, id: row.id },
        object1: 'setting',
        actorId: null,
        node: hostname(),
        setting: { name: row.key, category: 'authentication' },
      });
      return row.value === true;
    });
  } finally {
    await database.close();
  }
}

/** Opens an existing database. Opening a missing embedded database would create one. */
async function openExisting(place: Place): Promise<Database> {
  if ('url' in place) return openPostgres({ url: place.url, applicationName: 'tokenctl service' });
  if (place.folder !== null && !existsSync(join(place.folder, 'pgdata'))) {
    throw noService(`The folder ${place.folder}`);
  }
  return openEmbedded(place.folder);
}

function noService(what: string): TokenctlError {
  return new TokenctlError('not_found', `${what} is not a database of the service`, {
    hint: 'Use the same --data, --database or --database-file as for the service.',
  });
}
