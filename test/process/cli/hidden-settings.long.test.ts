import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ADMIN, basic, Client } from '@tokenctl/service/testing/service.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { HIDING_WAYS, SettingsProxy } from '../../support/settings-proxy.ts';
import { estate, homeFor } from './estate.ts';

const here = estate({ users: 3, tokens: 10 });
let proxy: SettingsProxy;
let client: Client;

beforeAll(async () => {
  proxy = await SettingsProxy.start(here.url);
  client = new Client(here.url(), basic(ADMIN.username, ADMIN.password));
});
afterAll(() => proxy[Symbol.asyncDispose]());

let made = 0;

/** A user with a password and a personal token. */
async function someone() {
  made += 1;
  const username = `someone${made}`;
  const password = 'Some-long-passw0rd!';
  const { json: user } = await client.post('/api/v2/users/', { username, password });
  const own = new Client(here.url(), basic(username, password));
  const { json: token } = await own.post('/api/v2/tokens/', { scope: 'write', description: '' });
  const value = String(token['token']);
  const isAccepted = async () =>
    (await fetch(`${here.url()}/api/v2/me/`, { headers: { authorization: `Bearer ${value}` } })).status ===
    200;
  return { username, id: Number(user['id']), tokenId: Number(token['id']), value, isAccepted };
}

/** Not an answer of JSON, and JSON that is no answer; the other ways run with the long tests. */
const FEW: readonly string[] = ['404 page', 'not their own'];

describe.each(HIDING_WAYS.filter((way) => way !== 'time-out' && (inject('longTests') || FEW.includes(way))))(
  'a proxy that answers the settings with %s',
  (way) => {
    test('stops no change that needs them for a remark only', async () => {
      proxy.way = way;
      const home = homeFor(proxy.url);
      const unknown = /may accept passwords: the settings could not be read \(/;

      const [one, two, three] = [await someone(), await someone(), await someone()];
      const revoked = await home.run(['tokens', 'revoke', '--user', one.username, '--yes']);
      expect(revoked).toMatchObject({ code: 0, stdout: expect.stringMatching(unknown) });
      expect(revoked.stdout).toContain('Revoked 1 of 1 token');
      expect(await one.isAccepted()).toBe(false);

      const leak = join(home.folder, 'leak');
      writeFileSync(leak, `token: ${two.value}\n`);
      const found = await home.run(['tokens', 'find', '--leaked', leak, '--revoke', '--yes']);
      expect(found).toMatchObject({ code: 0, stdout: expect.stringMatching(unknown) });
      expect(await two.isAccepted()).toBe(false);

      // Over REST, refresh tokens and sessions are not checked: exit code 5, as without the proxy.
      const offboarded = await home.run(['users', 'offboard', three.username, '--yes']);
      expect(offboarded).toMatchObject({
        code: 5,
        stdout: expect.stringContaining('Deactivated 1 of 1 users.'),
      });
      expect(await three.isAccepted()).toBe(false);

      expect(await home.run(['tokens', 'cleanup', '--yes'])).toMatchObject({ code: 0 });
      const output = join(home.folder, 'new.token');
      expect(
        await home.run(['tokens', 'create', '--scope', 'read', '--output', output, '--yes']),
      ).toMatchObject({ code: 0 });
      const { stdout, code } = await home.run(['tokens', 'audit']);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^Not checked: .*basic-auth-on\b.*: /m)]);
    });

    test('stops no saved plan, rotation, deletion, cleaning or job', async () => {
      proxy.way = way;
      const home = homeFor(proxy.url);
      const jobs = {
        cleanup: { job: 'token-cleanup', dryRun: false },
        leavers: { job: 'offboarding', dryRun: false, parameters: { stopAbovePercent: 100 } },
        guard: {
          job: 'settings-guard',
          dryRun: false,
          parameters: { enforce: true, settings: { AUTH_BASIC_ENABLED: false } },
        },
      };
      appendFileSync(join(home.folder, '.config/tokenctl/tokenctl.yaml'), `jobs: ${JSON.stringify(jobs)}\n`);
      const [user, intruder, leaver] = [await someone(), await someone(), await someone()];
      const done = async (...args: string[]) => {
        const run = await home.run(args);
        expect([args.join(' '), run.stderr, run.code]).toEqual([args.join(' '), expect.any(String), 0]);
        return run.stdout;
      };

      const plan = join(home.folder, 'plan.json');
      await done('tokens', 'revoke', '--id', String(user.tokenId), '--plan-out', plan);
      expect(await user.isAccepted()).toBe(true);
      await done('tokens', 'revoke', '--plan', plan, '--yes');
      expect(await user.isAccepted()).toBe(false);

      const [old, renewed] = [join(home.folder, 'old.token'), join(home.folder, 'renewed.token')];
      const made = await done('tokens', 'create', '--scope', 'read', '--output', old, '--yes', '--json');
      const { id } = (JSON.parse(made) as { token: { id: number } }).token;
      await done('tokens', 'rotate', String(id), '--output', renewed, '--yes');
      expect((await client.get(`/api/v2/tokens/${id}/`)).status).toBe(404);

      const application = { client_type: 'public', authorization_grant_type: 'password', organization: 1 };
      const { json: app } = await client.post('/api/v2/applications/', { name: `of ${way}`, ...application });
      await done('applications', 'delete', `of ${way}`, '--yes');
      expect((await client.get(`/api/v2/applications/${app['id']}/`)).status).toBe(404);

      const found = join(home.folder, 'found.json');
      const investigate = ['incident', 'investigate', '--user', intruder.username];
      const investigation = await done(...investigate, '--since', '1d', '--out', found);
      expect(investigation).toContain('Not checked: whether the activity stream was on the whole time.');
      await done('incident', 'clean', '--from', found, '--yes', '--irreversible');
      expect(await intruder.isAccepted()).toBe(false);

      await client.patch(`/api/v2/users/${leaver.id}/`, { is_active: false });
      await done('jobs', 'run', 'leavers');
      expect((await client.get(`/api/v2/tokens/${leaver.tokenId}/`)).status).toBe(404);
      await done('jobs', 'run', 'cleanup');
      // What is to change settings fails, and changes none.
      const guard = await home.run(['jobs', 'run', 'guard']);
      expect(guard.code).not.toBe(0);
      expect(guard.stdout).toContain('guard@test: failed: ');
      const { json } = await client.get('/api/v2/settings/authentication/');
      expect(json['AUTH_BASIC_ENABLED']).toBe(true);
    });

    test('leaves out the settings of a lockdown, and says so', async () => {
      proxy.way = way;
      const home = homeFor(proxy.url);
      const user = await someone();
      const rescue = ['--rescue-token', join(home.folder, 'rescue.token')];
      const done = await home.run(['incident', 'lockdown', '--all', '--yes', ...rescue]);
      expect(done.code).toBe(5);
      expect(done.stdout).toMatch(
        /FAILED +Stopping token creation: not done; the settings could not be read \(/,
      );
      expect(done.stdout).toMatch(
        /NOT CHECKED Basic authentication: The API may accept passwords: the settings could not be read \(/,
      );
      expect(await user.isAccepted()).toBe(false);
      expect(await home.run(['incident', 'lift', '--yes'])).toMatchObject({ code: 0 });
    });

    test('refuses a change of settings, and changes none', async () => {
      proxy.way = way;
      const refused = await homeFor(proxy.url).run(['settings', 'basic-auth', 'off', '--yes']);
      expect(refused.code).not.toBe(0);
      expect(refused.stderr).toContain('authentication settings');
      const { json } = await client.get('/api/v2/settings/authentication/');
      expect(json['AUTH_BASIC_ENABLED']).toBe(true);
    });
  },
);

test('a proxy that never answers for the settings delays an offboarding once a question', async () => {
  proxy.way = 'time-out';
  proxy.asked = 0;
  const user = await someone();
  const { code, stdout } = await homeFor(proxy.url).run(['users', 'offboard', user.username, '--yes']);
  expect(code).toBe(5);
  expect(stdout).toContain('revoked 1 of 1 access tokens');
  expect(await user.isAccepted()).toBe(false);
  // For those of authentication, and whether the activity stream, where names are looked at, is on.
  expect(proxy.asked).toBe(2);
});

test('a proxy that never answers for the settings delays an investigation once', async () => {
  proxy.way = 'time-out';
  proxy.asked = 0;
  const { username } = await someone();
  const found = await homeFor(proxy.url).run(['incident', 'investigate', '--user', username]);
  expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('the activity stream was on') });
  expect(proxy.asked).toBe(1);
});

const RECORDED = join(import.meta.dirname, '../../../../shared/recordings/awx-devel/raw.jsonl.gz');

/** The settings that a controller after 24.6.1 answered, as recorded. */
function settingsOfDevel(): Record<string, unknown> {
  for (const line of gunzipSync(readFileSync(RECORDED)).toString().split('\n')) {
    if (!line.includes('"/api/v2/settings/authentication/"')) continue;
    const { method, path, as, response } = JSON.parse(line) as Record<string, unknown>;
    const isRead = method === 'GET' && path === '/api/v2/settings/authentication/';
    if (isRead && as === 'admin') return response as Record<string, unknown>;
  }
  throw new Error('No settings are recorded');
}

describe.runIf(existsSync(RECORDED))('a controller after 24.6.1, without single sign-on', () => {
  beforeEach(() => {
    proxy.settings = settingsOfDevel();
  });
  afterEach(() => {
    proxy.settings = null;
  });

  test('lets access be revoked, and states its settings', async () => {
    const home = homeFor(proxy.url);
    const [one, two] = [await someone(), await someone()];
    const revoked = await home.run(['tokens', 'revoke', '--user', one.username, '--yes']);
    expect(revoked).toMatchObject({ code: 0, stdout: expect.stringContaining('The API accepts passwords') });
    expect(await one.isAccepted()).toBe(false);
    const offboarded = await home.run(['users', 'offboard', two.username, '--yes']);
    expect([offboarded.code, await two.isAccepted()]).toEqual([5, false]);
    const shown = await home.run(['settings', 'show']);
    expect(shown).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Tokens of external users: +not available here/),
    });
    const state = await home.run(['settings', 'external-tokens', 'status']);
    expect(state).toMatchObject({
      code: 0,
      stdout: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS is not available here.\n',
    });
    expect((await home.run(['tokens', 'show', String((await someone()).tokenId)])).code).toBe(0);
    const audit = await home.run(['tokens', 'audit']);
    expect(audit.stdout).toMatch(
      /^Not checked: .*external-tokens-allowed: This target has no setting for the tokens of external users\.$/m,
    );
  });

  test('changes the settings that it has, and refuses the one that it has not', async () => {
    const home = homeFor(proxy.url);
    const lifetime = await home.run(['settings', 'token-lifetime', '--access', '30d', '--yes']);
    expect(lifetime.code).toBe(0);
    expect(proxy.settings?.['OAUTH2_PROVIDER']).toMatchObject({ ACCESS_TOKEN_EXPIRE_SECONDS: 2_592_000 });
    const refused = await home.run(['settings', 'external-tokens', 'deny', '--yes']);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('This target has no setting ALLOW_OAUTH2_FOR_EXTERNAL_USERS');
  });

  test('is locked down but for what it has not, and lifted', async () => {
    const home = homeFor(proxy.url);
    const user = await someone();
    const rescue = ['--rescue-token', join(home.folder, 'rescue.token')];
    const done = await home.run(['incident', 'lockdown', '--all', '--yes', ...rescue]);
    expect(done.code).toBe(5);
    expect(done.stdout).not.toContain('FAILED');
    expect(done.stdout).toContain('AUTH_BASIC_ENABLED off');
    expect(proxy.settings?.['AUTH_BASIC_ENABLED']).toBe(false);
    expect(await user.isAccepted()).toBe(false);
    expect((await home.run(['incident', 'lift', '--yes', '--context', 'test'])).code).toBe(0);
    expect(proxy.settings?.['AUTH_BASIC_ENABLED']).toBe(true);
  });
});

test('a rotation that fails after the new token was made says that both are valid', async () => {
  proxy.way = null;
  const home = homeFor(proxy.url);
  const [old, output] = [join(home.folder, 'old.token'), join(home.folder, 'new.token')];
  const making = ['tokens', 'create', '--scope', 'read', '--output', old, '--yes', '--json'];
  const { token } = JSON.parse((await home.run(making)).stdout) as { token: { id: number } };
  let isMade = false;
  proxy.fails = (method, path) => {
    if (method === 'POST' && path.includes('tokens/')) isMade = true;
    return isMade && method === 'GET' && path.startsWith('/api/v2/tokens/');
  };
  try {
    const failed = await home.run(['tokens', 'rotate', String(token.id), '--output', output, '--yes']);
    expect(failed.code).toBe(7);
    expect(failed.stderr).toContain(`Token ${token.id} was not revoked: `);
    expect(failed.stderr).toContain(`Both tokens are valid: the new one is in ${output}.`);
    expect(failed.stderr).toContain(`tokenctl tokens revoke --id ${token.id} --context test`);
  } finally {
    proxy.fails = () => false;
  }
});
