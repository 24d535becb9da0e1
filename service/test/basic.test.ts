import { createHook } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { describe, expect, it, test, vi } from 'vitest';
import { PASSWORD_ITERATIONS } from '../src/auth/secret-hashes.ts';
import { ADMIN, type Answer, basic, bearer, Client, useService } from './support/service.ts';

const CHALLENGE = 'Bearer realm=api authorization_url=/api/o/authorize/';

/** Counts the password hashes that this process computes. */
function countHashes() {
  let count = 0;
  const init = (_id: number, type: string) => {
    if (type === 'PBKDF2REQUEST') count += 1;
  };
  const hook = createHook({ init }).enable();
  return { count: () => count, [Symbol.dispose]: () => void hook.disable() };
}

test('a refusal takes as many iterations without a user, with an unusable hash, and with an older one', async () => {
  const derive = vi.spyOn(crypto, 'pbkdf2');
  syncBuiltinESMExports();
  vi.resetModules();
  const hashes = await import('../src/auth/secret-hashes.ts');
  derive.mockRestore();
  syncBuiltinESMExports();
  for (const stored of [
    null,
    '!y',
    await hashes.hashPassword('right', 1_000),
    await hashes.hashPassword('right', 400),
  ]) {
    derive.mockClear();
    expect(await hashes.verifyPassword('wrong', stored, 1_000)).toBe(false);
    expect(derive.mock.calls.reduce((sum, [, , iterations]) => sum + iterations, 0)).toBe(1_000);
  }
});

describe('passwords', () => {
  const { service } = useService(() => ({ passwordIterations: PASSWORD_ITERATIONS }));

  it('are stored with as many iterations as on the controller', async () => {
    const rows = await service.database.query<{ password: string }>('SELECT password FROM auth_user');
    expect(rows.map(({ password }) => password)).toEqual([
      expect.stringMatching(/^pbkdf2_sha256\$600000\$\w{22}\$/),
    ]);
  });
});

describe('Basic authentication', () => {
  const { service, admin } = useService();
  const me = (username: string, password: string) =>
    new Client(service.url, basic(username, password)).get('/api/v2/me/');
  const user = async (username: string, password: string) =>
    `/api/v2/users/${(await admin.post('/api/v2/users/', { username, password })).json.id}/`;

  it('answers the right name and password, and sets no cookie', async () => {
    const answer = await me(ADMIN.username, ADMIN.password);
    expect([answer.status, answer.json.results[0]?.username]).toEqual([200, 'admin']);
    expect(answer.cookies).toEqual([]);
  });

  it.each(['utf8', 'latin1'] as const)('reads credentials in %s', async (encoding) => {
    const [name, password] = [`zoë-${encoding}`, 'pässwörd'];
    await user(name, password);
    const authorization = `Basic ${Buffer.from(`${name}:${password}`, encoding).toString('base64')}`;
    const answer = await new Client(service.url, { authorization }).get('/api/v2/me/');
    expect([answer.status, answer.json.results?.[0]?.username]).toEqual([200, name]);
  });

  it('answers many first requests at a time', async () => {
    await user('parallel', 'parallel-password');
    const answers = await Promise.all(Array.from({ length: 40 }, () => me('parallel', 'parallel-password')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('answers every failure alike: one body, one challenge', async () => {
    const path = await user('idle', 'idle-password');
    await admin.patch(path, { is_active: false });
    await service.database.execute("INSERT INTO auth_user (username, password) VALUES ('unusable', '!x')");
    const headers = [
      {},
      basic('admin', 'wrong'),
      basic('nobody', 'wrong'),
      basic('idle', 'idle-password'),
      basic('unusable', '!x'),
      basic('unusable', ''),
      basic('', ''),
      basic('admin', ''),
      basic('ADMIN', ADMIN.password),
      basic('admin\0', ADMIN.password),
      basic('admin', `${ADMIN.password}\0`),
      { authorization: 'Basic' },
      { authorization: 'Basic !!!!' },
      { authorization: `Basic ${Buffer.from('no colon').toString('base64')}` },
      { authorization: `Digest ${Buffer.from(`admin:${ADMIN.password}`).toString('base64')}` },
    ];
    const answers = await Promise.all(
      headers.map((each) => new Client(service.url, each).get('/api/v2/me/')),
    );
    expect(answers.map(({ status }) => status)).toEqual(headers.map(() => 401));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.headers['www-authenticate']))).toEqual(
      new Set([CHALLENGE]),
    );
  });

  it('computes one hash to refuse an unknown user or an unusable password, as for a wrong one', async () => {
    await service.database.execute("INSERT INTO auth_user (username, password) VALUES ('external', '!y')");
    for (const username of ['admin', 'nobody', 'external']) {
      using computed = countHashes();
      expect((await me(username, 'wrong')).status).toBe(401);
      expect([username, computed.count()]).toEqual([username, 1]);
    }
  });

  it('checks the slow hash once, not with every request', async () => {
    await me(ADMIN.username, ADMIN.password);
    using computed = countHashes();
    for (let round = 0; round < 20; round += 1) await me(ADMIN.username, ADMIN.password);
    expect(computed.count()).toBe(0);
  });

  it('forgets a password at once when it is changed, and a user when deactivated', async () => {
    const path = await user('jo', 'first');
    expect((await me('jo', 'first')).status).toBe(200);
    await admin.patch(path, { password: 'second' });
    expect((await me('jo', 'first')).status).toBe(401);
    expect((await me('jo', 'second')).status).toBe(200);
    await admin.patch(path, { is_active: false });
    expect((await me('jo', 'second')).status).toBe(401);
    await admin.patch(path, { is_active: true });
    expect((await me('jo', 'second')).status).toBe(200);
    await admin.delete(path);
    expect((await me('jo', 'second')).status).toBe(401);
  });

  it('is ignored while AUTH_BASIC_ENABLED is off, also where the password was right a moment ago', async () => {
    const token = (await admin.post('/api/v2/tokens/')).json.token;
    const holder = new Client(service.url, bearer(token));
    const turn = (on: boolean): Promise<Answer> =>
      holder.patch('/api/v2/settings/authentication/', { AUTH_BASIC_ENABLED: on });
    expect((await me(ADMIN.username, ADMIN.password)).status).toBe(200);
    expect((await turn(false)).status).toBe(200);
    const refused = await me(ADMIN.username, ADMIN.password);
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, CHALLENGE]);
    expect((await new Client(service.url).logIn(ADMIN.username, ADMIN.password)).status).toBe(302);
    await turn(true);
    expect((await me(ADMIN.username, ADMIN.password)).status).toBe(200);
  });

  it('gives way to a bearer token and to a session', async () => {
    await user('kim', 'kim-password');
    const browser = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    await browser.logIn('kim', 'kim-password');
    expect((await browser.get('/api/v2/me/')).json.results[0]?.username).toBe('kim');
  });
});
