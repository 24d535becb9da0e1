// Every list of the service by its description, on PostgreSQL with its default settings, as a superuser and as an admin of one
// organization sees it: the first page of a list of 100 rows, and of 100,000 that all belong to the first object, that organization,
// which is one of as many; all are printed. The slowest five of each caller are measured again, and the slowest is judged. Each
// object has several roles: their list has 3,100,031. TEST_POSTGRES names a server to use instead of the own one, which cannot
// compile queries (`jit`).
// Run: node bench/list-routes.ts [rows]
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase, startPostgres } from '@tokenctl/testing/embedded-postgres.ts';
import { judge, median, sized } from './support/ratio.ts';
import { api, start } from './support/requests.ts';

const SIZES = process.argv[2] === undefined ? sized([100, 100_000], [100]) : [Number(process.argv[2])];
const REQUESTS = sized(5, 1);
const TURNS = sized(9, 1);
const MAX_MS = 100;

/** That of an admin of the organization 1 who is no superuser. */
const ADMIN_TOKEN = 'of-an-organization-admin';

/** What is asked for beside each list as it is. */
const MORE = [
  'activity_stream/?actor=1&order_by=-timestamp&page_size=1',
  'activity_stream/?order_by=-timestamp',
  'jobs/?order_by=-finished',
  'tokens/?order_by=-created',
  'users/?order_by=username',
];

/** As many rows of each kind: all in the organization 1, the inventory 1, …; no user is in more than 100 teams. */
const FILL = `
  DROP INDEX auth_user_name_shape;
  INSERT INTO auth_user (username, password) SELECT 'user ' || n, '!' FROM generate_series(1, :rows) n;
  INSERT INTO service_role (user_id, role, organization_id) SELECT id, 'member', 1 FROM auth_user;
  INSERT INTO service_role (user_id, role, organization_id) SELECT id, 'admin', 1 FROM auth_user WHERE id <= 100;
  INSERT INTO main_organization (name) SELECT 'organization ' || n FROM generate_series(1, :rows) n;
  INSERT INTO main_team (name, organization_id) SELECT 'team ' || n, 1 FROM generate_series(1, :rows) n;
  INSERT INTO service_team_role (user_id, role, team_id) SELECT id, 'member', 1 FROM auth_user;
  INSERT INTO service_team_role (user_id, role, team_id) SELECT 1, 'admin', id FROM main_team WHERE id <= 100;
  INSERT INTO main_inventory (name, organization_id) SELECT 'inventory ' || n, 1 FROM generate_series(1, :rows) n;
  INSERT INTO main_credential (name, organization_id) SELECT 'credential ' || n, 1 FROM generate_series(1, :rows) n;
  INSERT INTO service_project (name, organization_id) SELECT 'project ' || n, 1 FROM generate_series(1, :rows) n;
  INSERT INTO service_job_template (name, organization_id, inventory_id, project_id)
    SELECT 'template ' || n, 1, 1, 1 FROM generate_series(1, :rows) n;
  INSERT INTO main_host (name, inventory_id) SELECT 'host ' || n, 1 FROM generate_series(1, :rows) n;
  INSERT INTO main_group (name, inventory_id) SELECT 'group ' || n, 1 FROM generate_series(1, :rows) n;
  INSERT INTO main_group_hosts (group_id, host_id) SELECT 1, id FROM main_host;
  INSERT INTO main_group_hosts (group_id, host_id) SELECT id, 1 FROM main_group WHERE id > 1;
  INSERT INTO main_group_parents (from_group_id, to_group_id) SELECT id, 1 FROM main_group WHERE id > 1;
  INSERT INTO service_role_grant (role_id, user_id)
    SELECT r.id, u.id FROM service_object_role r, auth_user u
    WHERE r.resource_id = 1 AND r.role = 'read' AND r.resource_type <> 'organization';
  INSERT INTO service_role_grant (role_id, team_id)
    SELECT r.id, t.id FROM service_object_role r, main_team t WHERE r.resource_type = 'inventory' AND r.resource_id = 1
      AND r.role = 'use' AND t.id <= 100;
  INSERT INTO main_oauth2application (name, organization_id, client_id, client_type, authorization_grant_type, client_secret)
    SELECT 'application ' || n, 1, n, 'public', 'password', '' FROM generate_series(1, :rows) n;
  INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id, application_id)
    SELECT encode(sha256(n::text::bytea), 'hex'), now() + interval '1 year', 'write', 1, n
    FROM generate_series(1, :rows) n;
  INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id)
    VALUES (encode(sha256(':token'), 'hex'), now() + interval '1 year', 'write', 5);
  INSERT INTO service_job (created, modified, name, status, finished, playbook, runner, organization_id, inventory_id, project_id,
      job_template_id, created_by_id)
    SELECT now() - n * interval '1 minute', now(), 'job ' || n, 'successful', now() - n * interval '1 minute', '',
      gen_random_uuid(), 1, 1, 1, 1, 1 FROM generate_series(1, :rows) n;
  INSERT INTO service_job_output (job_id, number, content)
    SELECT 1, n, repeat('ok: [host]' || chr(10), least(:rows, 3000)) FROM generate_series(0, (:rows - 1) / 3000) n;
  INSERT INTO main_activitystream (operation, timestamp, changes, object1, actor_id, action_node)
    SELECT 'create', now() - n * interval '1 second', '{"name": "one"}', 'host', 1, 'node' FROM generate_series(1, :rows) n;
  ${[
    ['o_auth2_access_token', 'oauth2accesstoken_id'],
    ['o_auth2_application', 'oauth2application_id'],
    ['user', 'user_id'],
    ['organization', 'organization_id'],
    ['team', 'team_id'],
    ['inventory', 'inventory_id'],
    ['host', 'host_id'],
    ['group', 'group_id'],
    ['credential', 'credential_id'],
    ['project', 'project_id'],
    ['job_template', 'jobtemplate_id'],
  ]
    .map(
      ([type, column], index, all) => `INSERT INTO main_activitystream_${type} (activitystream_id, ${column})
    SELECT id, 1 FROM main_activitystream WHERE id % ${all.length} = ${index};`,
    )
    .join('\n')}`;

async function fill(url: string, rows: number): Promise<void> {
  const options = { applicationName: 'bench', responseTimeout: 1_800_000 };
  const database = await openPostgres({ url: new Secret(url), ...options });
  await database.script(FILL.replaceAll(':rows', String(rows)).replaceAll(':token', ADMIN_TOKEN));
  // What a server does by itself within a minute, where there are many rows.
  if (rows > 1000) await database.execute('VACUUM ANALYZE');
  await database.close();
}

/** The lists that a caller sees, with the first object of each kind. */
async function lists(url: string, authorization: string): Promise<string[]> {
  const { paths } = await api<{ paths: Record<string, { get?: object }> }>(url, '/api/v2/openapi.json');
  const found: string[] = [];
  for (const [path, { get }] of Object.entries(paths)) {
    if (get === undefined || !path.startsWith('/api/v2/')) continue;
    const address = path.replaceAll(/\{[^}]*\}/g, '1');
    const answer = await fetch(url + address, { headers: { authorization } });
    if (answer.headers.get('content-type')?.includes('json') !== true) continue;
    const { results, count = 0 } = (await answer.json()) as { results?: unknown; count?: number };
    if (answer.status === 200 && Array.isArray(results) && count > 0) found.push(address);
    else if (answer.status >= 400) console.log(`not measured: ${address}: ${answer.status}`);
  }
  return [...found, ...MORE.map((path) => `/api/v2/${path}`)];
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** The times of some requests of a list, in milliseconds. */
async function times(address: string, authorization: string, requests: number): Promise<number[]> {
  const taken: number[] = [];
  for (let request = 0; request < requests; request += 1) {
    taken.push(await timeOf(async () => (await fetch(address, { headers: { authorization } })).text()));
  }
  return taken;
}

/** The slowest of the lists that a caller sees, with its times. */
async function slowest(url: string, authorization: string): Promise<{ path: string; taken: number[] }> {
  const measured: { path: string; taken: number[] }[] = [];
  for (const path of await lists(url, authorization)) {
    const taken = await times(url + path, authorization, REQUESTS);
    console.log(
      `${median(taken).toFixed(1).padStart(9)} ms (first ${taken[0]?.toFixed(1).padStart(8)}) ${path}`,
    );
    measured.push({ path, taken });
  }
  const bySlowness = (one: { taken: number[] }, other: { taken: number[] }) =>
    median(other.taken) - median(one.taken);
  const again: { path: string; taken: number[] }[] = [];
  for (const { path } of measured.sort(bySlowness).slice(0, 5))
    again.push({ path, taken: await times(url + path, authorization, TURNS) });
  return again.sort(bySlowness)[0] ?? { path: '', taken: [] };
}

const given = process.env['TEST_POSTGRES'];
const server = given === undefined ? await startPostgres(['jit=on', 'autovacuum=on']) : null;
try {
  for (const rows of SIZES) {
    const DATABASE_URL = await createDatabase(given ?? server?.url ?? '');
    const { url, child } = await start('service-process.ts', { DATABASE_URL });
    const { token } = await api<{ token: string }>(url, '/api/v2/tokens/', {});
    const started = performance.now();
    await fill(DATABASE_URL, rows);
    console.log(`${rows} rows, filled in ${((performance.now() - started) / 1000).toFixed(0)} s`);
    for (const [caller, secret] of [
      ['a superuser', token],
      ["an organization's admin", ADMIN_TOKEN],
    ] as const) {
      console.log(`As ${caller}:`);
      const { path, taken } = await slowest(url, `Bearer ${secret}`);
      judge(`the slowest list of ${rows} rows for ${caller}, ${path}, ms`, taken, { atMost: MAX_MS });
    }
    child.kill('SIGKILL');
  }
} finally {
  await server?.stop();
}
