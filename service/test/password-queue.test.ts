import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { HashQueue } from '../src/limits/hash-queue.ts';
import { ADMIN, type Answer, basic, Client, useService } from './support/service.ts';

/** Hashes that end by hand, and a list of those that have begun. */
function hashes(queue: HashQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    /** Asks for a hash; resolves to `done`, or the status of the refusal. */
    ask(source: string, account: string, name = `${source} ${account}`, isFree = false) {
      const hash = async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        return 'done';
      };
      return queue.run({ source, account }, hash, () => isFree).catch(({ status }) => status);
    },
    async end(name: string) {
      await new Promise(setImmediate);
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

/** Lets no hash end until `work` has: the threads that compute them wait for the other end of a pipe each. */
async function withoutHashes<Result>(work: () => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-pipes-'));
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  const pipes = Array.from({ length: threads }, (_, thread) => join(folder, `${thread}`));
  execFileSync('mkfifo', pipes);
  const readers = pipes.map((path) => open(path, 'r'));
  try {
    return await work();
  } finally {
    const writers = pipes.map((path) => openSync(path, 'w'));
    for (const reader of await Promise.all(readers)) await reader.close();
    for (const writer of writers) closeSync(writer);
    rmSync(folder, { recursive: true });
  }
}

describe('the queue of hashes', () => {
  it('lets a newcomer wait for the running hash only', async () => {
    const work = hashes(new HashQueue(() => 0, 1));
    const names = Array.from({ length: 30 }, (_, n) => `network ${n % 5} name ${n}`);
    for (const [n, name] of names.entries()) work.ask(`network ${n % 5}`, `name ${n}`, name);
    await new Promise(setImmediate);
    for (let n = 0; n < 5; n++) await work.end(work.begun.at(-1) ?? '');
    work.ask('new network', 'alice', 'newcomer');
    await work.end(work.begun.at(-1) ?? '');
    expect(work.begun.at(-1)).toBe('newcomer');
    // Until then the networks took turns.
    const networks = work.begun.slice(0, 5).map((name) => name.slice(0, 9));
    expect(networks).toEqual(['network 0', 'network 1', 'network 2', 'network 3', 'network 4']);
  });

  it('lets accounts of one network take turns', async () => {
    const work = hashes(new HashQueue(() => 0, 1));
    for (let n = 0; n < 10; n++) work.ask('network', 'attacked', `attacked ${n}`);
    work.ask('network', 'bob', 'bob');
    await work.end('attacked 0');
    expect(work.begun).toEqual(['attacked 0', 'bob']);
  });

  it('does not count correct passwords', async () => {
    const work = hashes(new HashQueue(() => 0, 1));
    const right = work.ask('one', 'alice', 'right', true);
    await work.end('right');
    expect(await right).toBe('done');
    work.ask('two', 'bob', 'wrong');
    await work.end('wrong');
    work.ask('three', 'carol', 'running');
    work.ask('two', 'bob', 'later');
    work.ask('one', 'alice', 'first');
    await work.end('running');
    expect(work.begun.at(-1)).toBe('first');
  });

  it('refuses more than sixteen of a source, and of too many in all those that would be last', async () => {
    const work = hashes(new HashQueue(() => 0, 1));
    const asked = (source: string) => Array.from({ length: 20 }, (_, n) => work.ask(source, `name ${n}`));
    const refused = new Map<string, unknown[]>();
    const note = (source: string, answers: Promise<unknown>[]) => {
      refused.set(source, []);
      for (const answer of answers) answer.then((status) => refused.get(source)?.push(status));
    };
    work.ask('first', 'running');
    for (const source of ['a', 'b', 'c', 'd']) note(source, asked(source));
    await new Promise(setImmediate);
    expect([...refused.values()]).toEqual(Array(4).fill([429, 429, 429, 429]));
    note('newcomer', [work.ask('newcomer', 'alice')]);
    await new Promise(setImmediate);
    expect(refused.get('newcomer')).toEqual([]);
    expect([...refused.values()].flat()).toHaveLength(17);
  });
});

/** Long enough for a queue: a hash takes longer than a request. */
const ITERATIONS = 50_000;

describe('passwords over HTTP', () => {
  const { service } = useService(() => ({ behindProxy: true, passwordIterations: ITERATIONS }));
  let clientId: string;
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = (username: string, password: string, address: string) =>
    new Client(service.url, { ...basic(username, password), ...from(address) }).get('/api/v2/me/');

  beforeAll(async () => {
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    for (const username of ['alice', 'bob']) {
      await admin.post('/api/v2/users/', { username, password: 'a-password' });
    }
    const [organization] = (await admin.get('/api/v2/organizations/')).json.results;
    const application = await admin.post('/api/v2/applications/', {
      name: 'public',
      organization: organization?.id,
      client_type: 'public',
      authorization_grant_type: 'password',
    });
    clientId = String(application.json['client_id']);
  });

  type Attempt = (username: string, password: string, address: string) => Promise<Answer>;
  const login: Attempt = (username, password, address) => {
    const csrf = 'a'.repeat(32);
    const headers = { ...from(address), 'x-csrftoken': csrf, cookie: `csrftoken=${csrf}` };
    return new Client(service.url, headers).send('POST', '/api/login/', { form: { username, password } });
  };
  const grant: Attempt = (username, password, address) =>
    new Client(service.url, from(address)).send('POST', '/api/o/token/', {
      form: { grant_type: 'password', username, password, client_id: clientId },
    });

  it.each([
    ['Basic authentication', guess, '203.0.113.1'],
    ['the login page', login, '203.0.113.2'],
    ['the password grant', grant, '203.0.113.3'],
  ] as const)('answer wrong ones alike for known and unknown names: %s', async (_name, attempt, network) => {
    const statuses = async (username: string, password: (n: number) => string, address: string) => {
      const answers = await Promise.all(
        Array.from({ length: 14 }, (_, n) => attempt(username, password(n), address)),
      );
      // The page has the name that was given, whether it exists or not.
      const alike = (text: string) =>
        text.replace(/[A-Za-z0-9]{32}/g, '').replaceAll(`value="${username}"`, '');
      return answers.map(({ status, text }) => `${status} ${alike(text)}`).sort();
    };
    const equal = () => 'wrong';
    const known = await statuses('alice', equal, network);
    expect(await statuses('nobody', equal, network)).toEqual(known);
    const different = (n: number) => `wrong ${n}`;
    const [all] = [await statuses('alice', different, `${network}0`)];
    const counts = (answers: readonly string[]) => answers.map((answer) => answer.slice(0, 3));
    expect(counts(await statuses('nobody', different, `${network}1`))).toEqual(counts(all));
  });

  it('of one address, 190 at a time, are refused but for a few, and others log in before them', {
    tags: ['long'],
  }, async () => {
    const answered: number[] = [];
    const attack = Array.from({ length: 190 }, async (_, n) => {
      const { status, headers } = await guess(`name ${n}`, 'wrong', '198.51.100.1');
      answered.push(status);
      if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    });
    await until(() => answered.length > 100);
    const before = answered.filter((status) => status === 401).length;
    const { status } = await login('alice', 'a-password', '198.51.100.2');
    const during = answered.filter((each) => each === 401).length - before;
    await Promise.all(attack);
    expect(status).toBe(302);
    // Those that were running, and a few at the same time as the login itself. Without turns it would be nearly all.
    expect(during).toBeLessThanOrEqual(16);
    expect(answered).toContain(429);
  });

  it('changed many at a time by one user are shared like those of logins', async () => {
    const bob = new Client(service.url, basic('bob', 'a-password'));
    const { id } = (await bob.get('/api/v2/me/')).json.results[0] ?? {};
    const { token } = (await bob.post('/api/v2/tokens/', { scope: 'write' })).json;
    const own = new Client(service.url, { authorization: `Bearer ${token}` });
    const statuses: number[] = [];
    const changes = await withoutHashes(async () => {
      const sent = Array.from({ length: 60 }, async () => {
        const { status } = await own.patch(`/api/v2/users/${id}/`, { password: 'a-password' });
        statuses.push(status);
      });
      await until(() => statuses.includes(429));
      return sent;
    });
    await Promise.all(changes);
    expect([...new Set(statuses)].sort()).toEqual([200, 429]);
  });
});
