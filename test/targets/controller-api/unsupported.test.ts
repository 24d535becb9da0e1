import { describe, expect, test } from 'vitest';
import { TokenctlError } from '../../../src/domain/errors.ts';
import { staysAlive } from '../../../src/targets/controller-api/unsupported.ts';
import { installed } from '../../operations/memory-target.ts';
import { FakeController } from './fake-controller.ts';
import { collected, errorOf, openTestTarget } from './test-target.ts';

const all = { all: true } as const;

test('refresh tokens and sessions are refused with an alternative, after one request', async () => {
  await using fake = await FakeController.start(1);
  const target = openTestTarget(fake.address);
  for (const work of [
    collected(target.refreshTokens({})),
    collected(target.revokeRefreshTokens([1])),
    collected(target.deleteRefreshTokens([1])),
    collected(target.revoke([1], { withRefreshTokens: true })),
  ]) {
    const { code, hint } = await errorOf(work);
    expect(code).toBe('unsupported');
    expect(hint).toMatch(/database.*awx-manage revoke_oauth2_tokens/);
  }
  for (const work of [collected(target.sessions(all)), collected(target.endSessions(all))]) {
    const { code, hint } = await errorOf(work);
    expect(code).toBe('unsupported');
    expect(hint).toMatch(/database.*awx-manage expire_sessions/);
  }
  expect(fake.requests).toEqual(['GET /api/']);
  expect(fake.tokens.size).toBe(1);
  await target.close();
});

test('tokens are created only for the caller', async () => {
  await using fake = await FakeController.start();
  const target = openTestTarget(fake.address);
  const { code, hint } = await errorOf(target.createToken({ scope: 'read', description: '', user: 'alice' }));
  expect(code).toBe('unsupported');
  expect(hint).toContain('create_oauth2_token --user alice');
  expect(fake.requests).toEqual(['GET /api/', 'GET /api/v2/me/']);
  await target.close();
});

const dialect = 'controller';

async function left(tokensWithRefreshToken: number, readSettings = () => Promise.resolve(installed)) {
  const alive = await staysAlive({ tokensWithRefreshToken, dialect }, readSettings);
  for (const { why, remedy } of alive) expect(`${why} ${remedy}`).toMatch(/\w+ \w+/);
  return alive.map(({ what, count }) => [what, count]);
}

describe('staysAlive', () => {
  test('lists the number of refresh tokens, sessions, and passwords while they are accepted', async () => {
    expect(await left(3)).toEqual([
      ['refresh_tokens', 3],
      ['sessions', null],
      ['basic_authentication', null],
    ]);
  });

  test('names the management commands of the dialect', async () => {
    const remedies = async (of: 'controller' | 'gateway') =>
      (await staysAlive({ tokensWithRefreshToken: 1, dialect: of }, () => Promise.resolve(installed)))
        .map(({ remedy }) => remedy)
        .join('\n');
    expect(await remedies('controller')).toMatch(
      /`awx-manage revoke_oauth2_tokens --all`.*`awx-manage expire_sessions`/s,
    );
    const gateway = await remedies('gateway');
    expect(gateway).toContain('`aap-gateway-manage revoke_oauth2_tokens --all`');
    // It has no command that ends a session before its time.
    expect(gateway).toMatch(
      /database, which requires a recent release.*: `aap-gateway-manage clearsessions` only removes expired sessions/,
    );
    // Its web interface logs local accounts in with Basic authentication.
    expect(gateway).toContain('local accounts cannot log in');
    expect(await remedies('controller')).not.toContain('local accounts');
    expect(gateway).not.toContain('expire_sessions');
    expect(gateway).not.toMatch(/(?<!gateway-)awx-manage/);
  });

  test('omits what does not exist', async () => {
    const off = () => Promise.resolve({ ...installed, AUTH_BASIC_ENABLED: false });
    expect(await left(0, off)).toEqual([['sessions', null]]);
  });

  test('says that passwords may be accepted if the account may not read the setting', async () => {
    const refused = () => Promise.reject(new TokenctlError('permission_refused', 'not you'));
    const alive = await staysAlive({ tokensWithRefreshToken: 0, dialect }, refused);
    expect(alive.at(-1)).toMatchObject({
      what: 'basic_authentication',
      why: expect.stringContaining('may not read'),
    });
  });

  test('fails if the controller cannot be reached', async () => {
    const away = () => Promise.reject(new TokenctlError('target_unreachable', 'away'));
    await expect(staysAlive({ tokensWithRefreshToken: 0, dialect }, away)).rejects.toMatchObject({
      code: 'target_unreachable',
    });
  });
});
