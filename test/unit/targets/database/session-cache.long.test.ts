import net from 'node:net';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import {
  HAS_OPENSSL,
  makeCertificate,
  NO_REDIS,
  pickledSession,
  type Redis,
  startRedis,
} from '@tokenctl/testing/redis.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sessionListing } from '../../../../src/cli/sessions/session-flow.ts';
import { shownUserResult } from '../../../../src/cli/users/user-view.ts';
import { unreadSessions } from '../../../../src/operations/access/cached-sessions.ts';
import { checkTarget } from '../../../../src/operations/contexts/check-target.ts';
import type { Target } from '../../../../src/operations/ports/target.ts';
import type { SessionSelector } from '../../../../src/operations/ports/target-parts.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { listSessions } from '../../../../src/operations/sessions/sessions.ts';
import { showUser } from '../../../../src/operations/users/users.ts';
import { SessionCache } from '../../../../src/targets/database/session-cache.ts';
import { temporaryFolder } from '../../../process/cli/program.ts';
import { ALICE, all, createTestDatabase, LEAVER, type TestDatabase } from '../../../support/test-database.ts';

const ENGINE = 'gateway:1:ansible_base.lib.sessions.stores.cached_dynamic_timeout';
const PASSWORD = 'redis-password-of-a-test';
const key = (name: string) => name.padEnd(32, '0');

const caches: SessionCache[] = [];
const servers: Redis[] = [];
afterEach(async () => {
  for (const cache of caches.splice(0)) cache.close();
  await Promise.all(servers.splice(0).map((redis) => redis.stop()));
});

async function redisWith(...[args, options]: Parameters<typeof startRedis>): Promise<Redis> {
  const redis = await startRedis(args, options);
  servers.push(redis);
  return redis;
}

function cacheAt(urls: string, tls: Partial<ConstructorParameters<typeof SessionCache>[0]> = {}) {
  const cache = new SessionCache({
    urls: new Secret(urls),
    keyPrefix: 'gateway',
    verifyHostname: true,
    ...tls,
  });
  caches.push(cache);
  return cache;
}

async function entriesOf(cache: SessionCache) {
  return (await all(cache.entries())).flat();
}

describe('the address of a session cache', () => {
  test.each([
    ...['', 'localhost:6379', 'http://localhost', 'redis://', 'redis://host/x', 'redis://a,oops'],
    ...['redis://host?db=x', 'unix:///run/redis.sock?db=-1', 'unix://'],
  ])('refuses %j without repeating it', (urls) => {
    expect(() => cacheAt(urls)).toThrowError('Invalid address of the session cache');
  });

  test('refuses Sentinel, and parameters that only the library of a gateway knows', () => {
    for (const urls of [
      'sentinel://a:26379/service',
      'redis+sentinel://a',
      'redis://a,rediss+sentinel://b',
    ]) {
      expect(() => cacheAt(urls)).toThrowError('Redis Sentinel is not supported for the session cache');
    }
    expect(() => cacheAt(`rediss://host?db=4&ssl_cert_reqs=${PASSWORD}`)).toThrowError(
      /^Unsupported parameters in the address of the session cache: ssl_cert_reqs$/,
    );
  });

  test('is shown without credentials', () => {
    const { addresses } = cacheAt(`rediss://user:${PASSWORD}@cache-1.invalid/4, unix:///run/redis.sock?db=4`);
    expect(addresses).toEqual(['rediss://cache-1.invalid:6379/4', 'unix:///run/redis.sock?db=4']);
  });

  test('names the database as a gateway reads it: the parameter counts more than the path', () => {
    const { addresses } = cacheAt(
      `redis://a:1/0?db=4 redis://b?db=4&username=u&password=${PASSWORD} file:///run/redis.sock?db=4 unix:///r`,
    );
    expect(addresses).toEqual([
      ...['redis://a:1/4', 'redis://b:6379/4'],
      ...['unix:///run/redis.sock?db=4', 'unix:///r?db=0'],
    ]);
  });
});

describe('a session cache that does not answer', () => {
  test('is a problem, after a limited time', async () => {
    const sockets: net.Socket[] = [];
    const silent = net.createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as net.AddressInfo;
    const problem = await cacheAt(`redis://:${PASSWORD}@127.0.0.1:${port}`, {
      timeoutMs: NO_ANSWER_MS,
    }).problem();
    expect(problem).toMatch(/^The session cache at redis:\/\/127\.0\.0\.1:\d+\/0 cannot be read: /);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  test('is a problem where nothing listens', async () => {
    expect(await cacheAt('redis://127.0.0.1:1').problem()).toContain('cannot be read: ECONNREFUSED');
  });
});

describe.skipIf(NO_REDIS !== null)('a session cache', () => {
  test('with a wrong password is a problem, which does not name it', async () => {
    const { port } = await redisWith(['--requirepass', 'another']);
    const problem = await cacheAt(`redis://:${PASSWORD}@127.0.0.1:${port}`).problem();
    expect(problem).toContain('it rejects the password');
    expect(problem).not.toContain(PASSWORD);
    expect(await cacheAt(`redis://127.0.0.1:${port}`).problem()).toContain('it requires a password');
  });

  test('without any key of a gateway is a problem', async () => {
    const redis = await redisWith();
    redis.set('other:1:x', Buffer.from('y'), 60);
    expect(await cacheAt(`redis://127.0.0.1:${redis.port}`).problem()).toContain(
      'has no keys of a gateway with the prefix "gateway"',
    );
  });

  test.each(['get', 'pttl', 'del'])(
    'whose keys may be listed and %s is refused is a problem',
    async (command) => {
      const redis = await redisWith();
      redis.set('gateway:1:another', Buffer.from('x'), 60);
      redis.cli('acl', 'setuser', 'reader', 'on', `>${PASSWORD}`, '~*', '+@all', `-${command}`);
      const problem = await cacheAt(`redis://reader:${PASSWORD}@127.0.0.1:${redis.port}`).problem();
      expect(problem).toContain('its user lacks a permission (SCAN, GET, PTTL and DEL are required)');
      redis.cli('acl', 'setuser', 'reader', '+@all');
      expect(await cacheAt(`redis://reader:${PASSWORD}@127.0.0.1:${redis.port}`).problem()).toBeNull();
    },
  );

  test('gives the owner of each session, and never a value', async () => {
    const redis = await redisWith();
    redis.set(`${ENGINE}${key('a')}`, pickledSession(41), 60);
    redis.set(`${ENGINE}${key('b')}`, pickledSession(null), 60);
    redis.set(`${ENGINE}${key('c')}`, Buffer.from('compressed'), 60);
    redis.set('gateway:1:another', Buffer.from('x'), 60);
    const cache = cacheAt(`redis://127.0.0.1:${redis.port}`);
    expect(await cache.problem()).toBeNull();
    const found = await entriesOf(cache);
    expect(new Map(found.map((entry) => [entry.key, entry.userId]))).toEqual(
      new Map([
        [key('a'), 41],
        [key('b'), null],
        [key('c'), undefined],
      ]),
    );
    for (const { expires } of found) expect(expires.getTime() - Date.now()).toBeLessThanOrEqual(60_000);
  });

  test('can be a socket, with a database and a password in the parameters', async () => {
    const socket = join(temporaryFolder(), 'redis.sock');
    const options = { cli: ['-a', PASSWORD, '-n', '4'] };
    const redis = await redisWith(['--unixsocket', socket, '--requirepass', PASSWORD], options);
    redis.set(`${ENGINE}${key('a')}`, pickledSession(41), 60);
    const cache = cacheAt(`unix://${socket}?db=4&password=${PASSWORD}`);
    expect(await cache.problem()).toBeNull();
    expect(await entriesOf(cache)).toMatchObject([{ key: key('a'), userId: 41 }]);
    expect(await cacheAt(`unix://${socket}?password=${PASSWORD}`).problem()).toContain(
      'has no keys of a gateway',
    );
  });

  test('can be a cluster: its masters are asked', async () => {
    const redis = await redisWith(['--cluster-enabled', 'yes']);
    redis.cli('CLUSTER', 'ADDSLOTSRANGE', '0', '16382');
    expect(await cacheAt(`redis://127.0.0.1:${redis.port}`).problem()).toContain(
      'cannot be read: its cluster serves 16383 of 16384 slots',
    );
    redis.cli('CLUSTER', 'ADDSLOTS', '16383');
    await until(
      () => redis.cli('CLUSTER', 'INFO'),
      (info) => info.includes('cluster_state:ok'),
    );
    redis.set(`${ENGINE}${key('a')}`, pickledSession(41), 60);
    // A node that is down does not matter: another one tells which masters there are.
    const cache = cacheAt(`redis://127.0.0.1:1, redis://127.0.0.1:${redis.port}`);
    expect(await cache.problem()).toBeNull();
    const [entry] = await entriesOf(cache);
    expect(entry).toMatchObject({ key: key('a'), userId: 41 });
    await entry?.remove();
    expect(redis.cli('DBSIZE')).toBe('0');
  });

  test.skipIf(!HAS_OPENSSL)('is reached over TLS, and its certificate is verified', async () => {
    const { ca, cert, key: keyFile } = makeCertificate(temporaryFolder());
    const redis = await redisWith(
      ['--tls-cert-file', cert, '--tls-key-file', keyFile, '--tls-ca-cert-file', ca],
      { tls: true, cli: ['--tls', '--cacert', ca, '--cert', cert, '--key', keyFile] },
    );
    redis.set(`${ENGINE}${key('a')}`, pickledSession(41), 60);
    const client = { certFile: cert, keyFile };
    const at = (host: string, tls: object) => cacheAt(`rediss://${host}:${redis.port}`, tls).problem();
    expect(await at('localhost', { ...client, caFile: ca })).toBeNull();
    expect(await at('localhost', client)).toMatch(/cannot be read: (UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/);
    expect(await at('127.0.0.1', { ...client, caFile: ca })).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await at('127.0.0.1', { ...client, caFile: ca, verifyHostname: false })).toBeNull();
    // The server asks for a certificate of the client.
    expect(await at('localhost', { caFile: ca })).toContain('cannot be read');
  });
});

describe.skipIf(NO_REDIS !== null)('sessions of a gateway with its cache', () => {
  let place: TestDatabase;
  let redis: Redis;
  let target: Target;

  beforeEach(async () => {
    redis = await redisWith(['--requirepass', PASSWORD], { cli: ['-a', PASSWORD] });
    place = await createTestDatabase('gateway');
    for (const [name, owner] of [
      ['alice-1', ALICE],
      ['alice-2', ALICE],
      ['leaver', LEAVER],
    ] as const) {
      await place.session(key(name), owner);
      redis.set(`${ENGINE}${key(name)}`, pickledSession(owner), 3600);
    }
    target = await place.open({ sessionCache: cacheOptions() });
    return () => place.close();
  });

  const cacheOptions = (port = redis.port) => ({
    urls: new Secret(`redis://:${PASSWORD}@127.0.0.1:${port}`),
    keyPrefix: 'gateway',
    verifyHostname: true,
  });
  const cached = () =>
    redis
      .cli('--raw', 'KEYS', `${ENGINE}*`)
      .split('\n')
      .filter((name) => name !== '')
      .map((name) => name.slice(ENGINE.length).replace(/0+$/, ''))
      .sort();
  const usersOf = async (selector: SessionSelector) =>
    (await all(partOf(target, 'sessions').list(selector))).map(({ user }) => user?.username ?? null);

  test('the description says that it is used', async () => {
    const { capabilities, sessionCache } = await target.describe();
    expect(capabilities.sessionsCached).toBeUndefined();
    expect(sessionCache).toEqual({ addresses: [`redis://127.0.0.1:${redis.port}/0`], problem: null });
  });

  test('end in both', async () => {
    const ended = await all(partOf(target, 'sessions').end({ userIds: [ALICE] }));
    expect(ended).toHaveLength(2);
    expect(cached()).toEqual(['leaver']);
    expect(await usersOf({ all: true })).toEqual(['leaver']);
    expect(await all(partOf(target, 'sessions').end({ userIds: [ALICE] }))).toEqual([]);
  });

  test('that are left in the cache alone are listed, and ended', async () => {
    await place.database.execute('DELETE FROM aap_gateway_api_usersessionmembership');
    await place.database.execute('DELETE FROM django_session');
    expect(await usersOf({ userIds: [ALICE] })).toEqual(['alice', 'alice']);
    expect(await all(partOf(target, 'sessions').end({ userIds: [ALICE] }))).toHaveLength(2);
    expect(cached()).toEqual(['leaver']);
    expect(await usersOf({ all: true })).toEqual(['leaver']);
  });

  test('without a login, or with a row, are not touched', async () => {
    redis.set(`${ENGINE}${key('anonymous')}`, pickledSession(null), 60);
    expect(await usersOf({ userIds: [LEAVER] })).toEqual(['leaver']);
    await all(partOf(target, 'sessions').end({ userIds: [LEAVER] }));
    expect(cached()).toEqual(['alice-1', 'alice-2', 'anonymous']);
  });

  test('without a recorded owner have the owner of their entry in the cache', async () => {
    await place.database.execute('DELETE FROM aap_gateway_api_usersessionmembership');
    await place.session(key('anonymous'), null);
    redis.set(`${ENGINE}${key('anonymous')}`, pickledSession(null), 60);
    expect((await target.describe()).capabilities.sessionsUnowned).toBeUndefined();
    expect(await usersOf({ userIds: [ALICE] })).toEqual(['alice', 'alice']);
    expect((await usersOf({ all: true })).sort()).toEqual(['alice', 'alice', 'leaver', null].sort());
    expect(await all(partOf(target, 'sessions').end({ userIds: [ALICE] }))).toHaveLength(2);
    expect(cached()).toEqual(['anonymous', 'leaver']);
    const rows = await place.database.query<{ key: string }>('SELECT session_key AS key FROM django_session');
    expect(rows.map((row) => row.key).sort()).toEqual([key('anonymous'), key('leaver')]);
  });

  test('belong to every selection if nothing tells their owner', async () => {
    await place.session(key('nobody-knows'), null);
    expect(await usersOf({ userIds: [LEAVER] })).toEqual(['leaver', null]);
    expect(await all(partOf(target, 'sessions').end({ userIds: [LEAVER] }))).toHaveLength(2);
    expect(await usersOf({ all: true })).toEqual(['alice', 'alice']);
  });

  test('are not looked for in a cache that has none of them, and that is said', async () => {
    // Another database of the same server, with an older session of a gateway.
    const other = await redisWith();
    other.set(`${ENGINE}${key('older')}`, pickledSession(ALICE), 3600);
    const sessionCache = {
      urls: new Secret(`redis://127.0.0.1:${other.port}`),
      keyPrefix: 'gateway',
      verifyHostname: true,
    };
    const wrong = await place.open({ sessionCache });
    expect((await wrong.describe()).capabilities.sessionsCached).toBe(true);
    const { warnings } = await checkTarget({ target: wrong, clock: { now: () => new Date() } });
    expect(warnings).toContainEqual(expect.stringContaining('contains none of the sessions in the database'));
    await place.database.execute('DELETE FROM aap_gateway_api_usersessionmembership');
    await place.database.execute('DELETE FROM django_session');
    // Without sessions in the database, nothing speaks against it.
    const later = await place.open({ sessionCache });
    expect((await later.describe()).sessionCache?.problem).toBeNull();
  });

  test('are said to be read in part where the cache does not answer', async () => {
    const other = await place.open({ sessionCache: cacheOptions(1) });
    const description = await other.describe();
    const failure = {
      code: 'partly_done',
      message: expect.stringContaining('Not read: The session cache at'),
    };
    const listed = sessionListing(listSessions({ target: other }), unreadSessions(description));
    expect(listed.failure?.()).toMatchObject(failure);
    const clock = { now: () => new Date() };
    const shown = await showUser({ target: other, name: 'alice', clock, description });
    expect(shownUserResult(shown, description).failure).toMatchObject(failure);
    expect(unreadSessions(await target.describe())).toBeUndefined();
  });

  test('end in the database alone where the cache does not answer, and that is said', async () => {
    const other = await place.open({ sessionCache: cacheOptions(1) });
    const { capabilities, warnings } = await checkTarget({ target: other, clock: { now: () => new Date() } });
    expect(capabilities.sessionsCached).toBe(true);
    expect(warnings).toContainEqual(
      expect.stringContaining('The session cache at redis://127.0.0.1:1/0 cannot be read'),
    );
    expect(await all(partOf(other, 'sessions').end({ userIds: [ALICE] }))).toHaveLength(2);
    expect(cached()).toEqual(['alice-1', 'alice-2', 'leaver']);
  });

  test('are an error where the cache stops answering', async () => {
    await target.describe();
    await redis.stop();
    servers.length = 0;
    await expect(all(partOf(target, 'sessions').list({ all: true }))).rejects.toMatchObject({
      code: 'target_unreachable',
    });
  });
});

test('a cache goes with a gateway only', async () => {
  const place = await createTestDatabase('service');
  const sessionCache = {
    urls: new Secret('redis://127.0.0.1:1'),
    keyPrefix: 'gateway',
    verifyHostname: true,
  };
  await expect(place.open({ sessionCache })).rejects.toMatchObject({ code: 'configuration' });
  await place.close();
});
