import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { unfinishedFile } from './description.ts';
import { type Client, type Installation, newPassword, PREFIX, REDIRECT_URI } from './installation.ts';
import { type As, expectStatus } from './requests.ts';
import { tableNames } from './tables.ts';

/** A user of the run's own. */
export interface Account {
  readonly id: number;
  readonly name: string;
  readonly password: string;
}

/** How often a delete is tried again that is refused because of a job that still ends. */
const DELETE_ATTEMPTS = 10;

/** What a run can make, in the order in which it is removed: the filter that finds it by its name, and who serves it. */
const KINDS: readonly { readonly path: string; readonly field: string; readonly ofController: boolean }[] = [
  { path: 'jobs/', field: 'name', ofController: true },
  { path: 'schedules/', field: 'name', ofController: true },
  { path: 'workflow_job_templates/', field: 'name', ofController: true },
  { path: 'job_templates/', field: 'name', ofController: true },
  { path: 'projects/', field: 'name', ofController: true },
  { path: 'inventories/', field: 'name', ofController: true },
  { path: 'credential_types/', field: 'name', ofController: true },
  { path: 'execution_environments/', field: 'name', ofController: true },
  { path: 'role_definitions/', field: 'name', ofController: true },
  { path: 'applications/', field: 'name', ofController: false },
  { path: 'users/', field: 'username', ofController: false },
  { path: 'organizations/', field: 'name', ofController: false },
];

/** Makes a user with a password of its own; on a controller a member of the run's organization, whose applications it may use. */
export async function makeUser(it: Installation, own: string, fields: object = {}): Promise<Account> {
  const [name, password] = [it.name(own), it.keep(newPassword())];
  const body = { username: name, password, email: `${own}@tokenctl-acceptance.invalid`, ...fields };
  const { id } = await it.create('users/', body);
  if (!it.isGateway) {
    const path = `organizations/${it.organization}/users/`;
    expectStatus(await it.request(path, it.admin, { body: { id } }), 204);
  }
  return { id, name, password };
}

/** The credential of a user, for requests. */
export function asUser({ name, password }: Account): As {
  return { user: name, password };
}

/** Makes what all suites share: an organization, and an application for each grant. */
export async function makeShared(it: Installation): Promise<void> {
  it.organization = (await it.create('organizations/', { name: it.name('organization') })).id;
  it.applications.set('password', await makeApplication(it, 'by-password', 'password'));
  it.applications.set('code', await makeApplication(it, 'by-code', 'authorization-code'));
}

/** Makes a confidential application in the run's organization. */
export async function makeApplication(
  it: Installation,
  own: string,
  grant: 'password' | 'authorization-code',
): Promise<Client> {
  const name = it.name(own);
  const made = await it.create('applications/', {
    ...{ name, organization: it.organization, client_type: 'confidential' },
    ...{ authorization_grant_type: grant, redirect_uris: grant === 'password' ? '' : REDIRECT_URI },
  });
  return {
    id: made.id,
    name,
    client_id: String(made['client_id']),
    client_secret: it.keep(String(made['client_secret'])),
  };
}

/**
 * Removes everything whose name begins as this run's names do, or those of any run.
 * @returns How much of what was removed, and what could not be.
 */
export async function removeObjects(
  it: Installation,
  prefix: string = PREFIX,
): Promise<{ readonly removed: ReadonlyMap<string, number>; readonly left: readonly string[] }> {
  const removed = new Map<string, number>();
  const left: string[] = [];
  for (const { path, field, ofController } of KINDS) {
    if (ofController && it.isGateway) continue;
    for (const { id, name } of await named(it, path, field, prefix)) {
      if (await isDeleted(it, `${path}${id}/`)) removed.set(path, (removed.get(path) ?? 0) + 1);
      else left.push(`${path}${id}/ (${name})`);
    }
  }
  // The token of this run goes last: it removed the others.
  const tokens = await named(it, 'tokens/', 'description', prefix);
  for (const { id } of tokens.filter((token) => token.id !== it.adminTokenId)) {
    if (await isDeleted(it, `tokens/${id}/`)) removed.set('tokens/', (removed.get('tokens/') ?? 0) + 1);
  }
  if (it.database !== null && it.allows('databaseRoles')) await removeRoles(it);
  return { removed, left };
}

/** What a list has whose name begins so; nothing where the list is not served. */
async function named(it: Installation, path: string, field: string, prefix: string) {
  const query = `${path}?${field}__startswith=${encodeURIComponent(prefix)}`;
  const { status } = await it.request(`${query}&page_size=1`, it.admin);
  if (status === 404) return [];
  return (
    (await it.all(query))
      .map((item) => ({ id: Number(item['id']), name: String(item[field]) }))
      // The filter is the installation's: what it did not apply would be someone else's.
      .filter(({ name }) => name.startsWith(prefix))
  );
}

async function isDeleted(it: Installation, path: string): Promise<boolean> {
  for (let attempt = 0; attempt < DELETE_ATTEMPTS; attempt += 1) {
    const { status } = await it.request(path, it.admin, { method: 'DELETE' });
    if (status < 300 || status === 404) return true;
    // A job that is not at its end, or an object that one uses.
    if (path.startsWith('jobs/')) await it.request(`${path}cancel/`, it.admin, { body: {} });
    if (status !== 409 && !path.startsWith('jobs/')) return false;
    await sleep(500);
  }
  return false;
}

/** Drops the roles of the database server that runs made. */
async function removeRoles(it: Installation): Promise<void> {
  const roles = await it.sql<{ name: string }>(
    "SELECT rolname AS name FROM pg_roles WHERE rolname LIKE 'tokenctl\\_acceptance\\_%'",
  );
  for (const { name } of roles) {
    await it.sql(`DROP OWNED BY "${name}"`);
    await it.sql(`DROP ROLE "${name}"`);
  }
}

/** What a scenario has to put back. */
interface Before {
  readonly settings: Readonly<Record<string, unknown>>;
  /** The ids of the users who were active, if the scenario deactivates users of others. */
  readonly active: readonly number[];
}

/** The settings that lockdowns change, on a controller and on a gateway. */
export const AUTHENTICATION = [
  ...['AUTH_BASIC_ENABLED', 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS', 'OAUTH2_PROVIDER'],
  'gateway_basic_auth_enabled',
];

/** Where the settings of authentication are. */
export function settingsPath(it: Installation): string {
  return it.isGateway ? 'settings/all/' : 'settings/authentication/';
}

/**
 * Notes the values of settings, and which users are active, before a scenario changes them, and puts them back after it: also if it
 * fails, or is killed.
 */
export async function withSettings(
  it: Installation,
  names: readonly string[],
  work: () => Promise<void>,
  active: readonly number[] = [],
): Promise<void> {
  const { body } = expectStatus(await it.request(settingsPath(it), it.admin), 200);
  const settings = Object.fromEntries(names.filter((name) => name in body).map((name) => [name, body[name]]));
  const before: Before = { settings, active };
  writeFileSync(unfinishedFile(it.description), JSON.stringify({ url: it.requests.url, ...before }), {
    mode: 0o600,
  });
  try {
    await work();
  } finally {
    await putBack(it, before);
  }
}

async function putBack(it: Installation, { settings, active }: Before): Promise<void> {
  if (active.length > 0) {
    const { user } = tableNames(it);
    await it.sql(`UPDATE ${user} SET is_active = true WHERE id = ANY($1) AND NOT is_active`, [active]);
  }
  expectStatus(await it.request(settingsPath(it), it.admin, { method: 'PATCH', body: settings }), 200);
  rmSync(unfinishedFile(it.description), { force: true });
}

/** Puts back what an earlier run changed before it was killed. Gives it in words. */
export async function putBackUnfinished(it: Installation): Promise<readonly string[]> {
  const file = unfinishedFile(it.description);
  if (!existsSync(file)) return [];
  const { url, settings, active } = JSON.parse(readFileSync(file, 'utf8')) as Before & {
    readonly url: string;
  };
  if (url !== it.requests.url) {
    throw new Error(`${file} is of a run against ${url}: run the tests there first, or remove it`);
  }
  if (active.length > 0 && it.database === null) {
    throw new Error(`${file} names users to activate again, which needs \`database\` in the description`);
  }
  await putBack(it, { settings, active });
  return [...Object.keys(settings), ...(active.length > 0 ? ['the users who were active'] : [])];
}
