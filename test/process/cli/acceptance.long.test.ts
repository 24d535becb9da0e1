import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '@tokenctl/common/secret.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, basic, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { EXPLANATION, readDescription } from '../../acceptance/description.ts';

const PROGRAM = fileURLToPath(new URL('../../acceptance/main.ts', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the acceptance tests as their command does, and sends them a signal once it is time. */
async function acceptance(
  args: readonly string[],
  kill?: { signal: NodeJS.Signals; when: (stdout: string) => boolean | Promise<boolean> },
): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { PATH: process.env['PATH'] ?? '' } });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  if (kill !== undefined) {
    await until(() => child.exitCode !== null || kill.when(stdout));
    child.kill(kill.signal);
  }
  const [code] = await closed;
  return { code, stdout, stderr };
}

describe('the acceptance tests, at the bundled service', () => {
  let service: RunningService;
  let databaseUrl: string;
  let admin: Client;
  let folder: string;
  const file = () => join(folder, 'installation.yaml');

  /** Writes a description of the service, with other members in place of its own. */
  const describeIt = (others: object = {}) => {
    writeFileSync(join(folder, 'admin.password'), `${ADMIN.password}\n`, { mode: 0o600 });
    writeFileSync(join(folder, 'database.url'), `${databaseUrl}\n`, { mode: 0o600 });
    const description = {
      rest: { url: service.url, username: ADMIN.username, password: { file: 'admin.password' } },
      database: { database: { file: 'database.url' } },
      destroy: {
        ...{ ownObjects: true, settings: true, expiredTokens: true, allAccess: true, databaseRoles: true },
      },
      ...others,
    };
    writeFileSync(file(), JSON.stringify(description));
    return file();
  };
  /** How many users, organizations and applications runs left behind. */
  const left = async () => {
    const lists = ['users/?username', 'organizations/?name', 'applications/?name', 'tokens/?description'];
    const answers = lists.map((list) => admin.get(`/api/v2/${list}__startswith=tokenctl-acceptance-`));
    return (await Promise.all(answers)).map(({ json }) => json.count);
  };

  beforeAll(async () => {
    databaseUrl = await createDatabase(inject('postgresUrl'));
    service = await startTestService({ database: { url: new Secret(databaseUrl) } });
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
  });
  afterAll(() => service.close());
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
    return () => rmSync(folder, { recursive: true, force: true });
  });

  // .ci/run runs them at this service as well, by their own command.
  test.runIf(inject('longTests'))('pass, remove what they made, and say what was left out', async () => {
    const { code, stdout, stderr } = await acceptance([describeIt()]);
    expect([code, stderr], stdout).toEqual([0, '']);
    expect(stdout).toMatch(/^\d+ passed, 0 failed, \d+ left out\./m);
    expect(await left()).toEqual([0, 0, 0, 0]);
    expect(readdirSync(folder).sort()).toEqual(['admin.password', 'database.url', 'installation.yaml']);
    process.stderr.write(`${stdout.slice(stdout.indexOf('Removed what'))}\n`);
  });

  test.runIf(inject('longTests')).each(['SIGKILL', 'SIGINT'] as const)(
    'leave nothing behind after %s',
    async (signal) => {
      const path = describeIt();
      const when = (stdout: string) => /removes that token alone/.test(stdout);
      const first = await acceptance([path], { signal, when });
      expect(first.code).toBe(signal === 'SIGINT' ? 130 : null);
      expect((await left()).some((count) => count > 0)).toBe(signal === 'SIGKILL');
      const second = await acceptance([path, '--suite', 'The installation']);
      expect(second.code, second.stderr).toBe(0);
      expect(second.stdout.includes('Removed what an earlier run left: ')).toBe(signal === 'SIGKILL');
      expect(await left()).toEqual([0, 0, 0, 0]);
    },
  );

  test.runIf(inject('longTests'))(
    'killed while Basic authentication is off, put it back the next time',
    async () => {
      const path = describeIt();
      const isOff = async () => (await admin.get('/api/v2/me/')).status === 401;
      const first = await acceptance([path, '--suite', 'Settings'], { signal: 'SIGKILL', when: isOff });
      expect([first.code, await isOff()]).toEqual([null, true]);
      const second = await acceptance([path, '--suite', 'The installation']);
      expect([second.code, second.stderr]).toEqual([0, '']);
      expect(second.stdout).toContain('Put back what an earlier run left changed: AUTH_BASIC_ENABLED.');
      expect([await isOff(), await left()]).toEqual([false, [0, 0, 0, 0]]);
    },
  );

  test.runIf(inject('longTests'))(
    'killed while everyone is deactivated, activate them the next time',
    async () => {
      const path = describeIt();
      const { json } = await admin.post('/api/v2/users/', { username: 'dan', password: 'Pw-1234-abcd' });
      const database = await openOn(databaseUrl);
      const isInactive = async () =>
        (await database.query('SELECT FROM auth_user WHERE id = $1 AND NOT is_active', [json.id])).length > 0;
      const args = [path, '--suite', 'The access of everybody'];
      const first = await acceptance(args, { signal: 'SIGKILL', when: isInactive });
      expect([first.code, await isInactive()]).toEqual([null, true]);
      const second = await acceptance([path, '--suite', 'The installation']);
      expect(second.code, second.stderr).toBe(0);
      expect(second.stdout).toContain('the users who were active');
      expect([await isInactive(), await left()]).toEqual([false, [0, 0, 0, 0]]);
      await database.close();
      await admin.delete(`/api/v2/users/${json.id}/`);
    },
  );

  test('leave out what the description has nothing for, and say so', async () => {
    const path = describeIt({ database: undefined, destroy: { ownObjects: true } });
    const { code, stdout } = await acceptance([path, '--list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/left out {2}is accepted by context check, in the database \(needs `database`\)/);
    expect(await left()).toEqual([0, 0, 0, 0]);
  });

  test('list no test as one that may run with an account that may not', async () => {
    const fields = { username: 'dora', password: 'Pw-1234-abcd', is_system_auditor: true };
    const { json } = await admin.post('/api/v2/users/', fields);
    writeFileSync(join(folder, 'dora.password'), fields.password, { mode: 0o600 });
    const rest = { url: service.url, username: 'dora', password: { file: 'dora.password' } };
    const { stdout, stderr } = await acceptance([describeIt({ rest }), '--list']);
    expect(stdout, stderr).toMatch(/left out .*needs a superuser/);
    expect(stdout).not.toMatch(/may run {2}/);
    await admin.delete(`/api/v2/users/${json.id}/`);
  });

  test.each([
    ['a limit of none', { limits: { users: 0 } }, /limits\.users/],
    ['no consent', { destroy: { settings: true } }, /destroy\.ownObjects is not true/],
    ['no consent at all', { destroy: undefined }, /destroy\.ownObjects is not true/],
    ['a name that is not one', { destroy: { ownObject: true } }, /did you mean "ownObjects"/],
    ['a file without its url', { rest: { username: 'admin' } }, /rest: has neither a url nor a database/],
    ['a database in place of the REST API', { rest: { database: 'service=awx' } }, /rest: must have a url/],
  ])('refuse a description with %s', (_, others, message) => {
    const path = describeIt(others);
    expect(() => readDescription(path, {})).toThrow(message);
  });

  test('refuse what looks like production, unless it is said not to', async () => {
    const ids: number[] = [];
    for (const username of ['ann', 'ben', 'cid']) {
      const { json } = await admin.post('/api/v2/users/', { username, password: 'Pw-1234-abcd' });
      ids.push(json.id);
    }
    const before = (await admin.get('/api/v2/activity_stream/')).json.count;
    const refused = await acceptance([describeIt({ limits: { users: 3 } })]);
    expect(refused).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('has 4 users, and looks like'),
    });
    expect((await admin.get('/api/v2/activity_stream/')).json.count).toBe(before);
    const path = describeIt({ limits: { users: 4 } });
    expect((await acceptance([path, '--suite', 'The installation'])).code).toBe(0);
    for (const id of ids) await admin.delete(`/api/v2/users/${id}/`);
  });

  test('say what is wrong, without a trace', async () => {
    const rest = { username: 'admin', password: { file: 'admin.password' } };
    writeFileSync(join(folder, 'wrong'), 'not the password\n', { mode: 0o600 });
    for (const [others, args, code, message] of [
      [{ rest: { ...rest, url: 'http://127.0.0.1:9' } }, [], 2, /cannot be reached: ECONNREFUSED/],
      [
        { rest: { ...rest, url: service.url, password: { file: 'wrong' } } },
        ...([[], 2, /does not accept the password of admin/] as const),
      ],
      [{ destroy: {} }, [], 2, /destroy\.ownObjects is not true/],
      [{}, ['--suite', 'Tokens'], 2, /There is no suite "Tokens"/],
      [{}, ['--wrong'], 2, /--wrong/],
    ] as const) {
      const ended = await acceptance([describeIt(others), ...args]);
      expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(message)]);
      expect(ended.stderr).not.toMatch(/\n {4}at /);
    }
    expect(await left()).toEqual([0, 0, 0, 0]);
  });

  test('explain themselves with an example that is a description', async () => {
    const { code, stdout } = await acceptance([]);
    expect([code, stdout.trim()]).toEqual([0, EXPLANATION.trim()]);
    const example = /^ {2}rest:.*?\n\n/ms.exec(stdout)?.[0] ?? '';
    for (const name of ['ca.pem', 'admin.password', 'database.url']) expect(example).toContain(name);
    writeFileSync(file(), example.replace(/^ {2}/gm, ''));
    const ended = await acceptance([file(), '--list']);
    // Everything in it is known; the file of the certificate is missing.
    expect(ended.stderr).toMatch(/ca\.pem/);
    expect(existsSync(join(folder, 'ca.pem'))).toBe(false);
  });
});
