import { describe, expect, test } from 'vitest';
import { TokenctlError } from '../../../../src/domain/errors.ts';
import type { RemedyPlace, RemedySelection } from '../../../../src/domain/remedies.ts';
import { staysAlive } from '../../../../src/targets/controller-api/unsupported.ts';
import { FakeController } from '../../../support/fake-controller.ts';
import { installed } from '../../../support/memory-target.ts';
import { collected, errorOf, openTestTarget } from '../../../support/test-target.ts';

const all = { all: true } as const;

test('refresh tokens and sessions are refused with an alternative, after one request', async () => {
  await using fake = await FakeController.start(1);
  const target = openTestTarget(fake.address);
  for (const work of [
    collected(target.refreshTokens({})),
    collected(target.revokeRefreshTokens([1])),
    collected(target.deleteRefreshTokens([1])),
    collected(target.authorizationCodes({ state: 'live' })),
    collected(target.deleteAuthorizationCodes([1])),
    collected(target.revoke([1], { withRefreshTokens: true })),
  ]) {
    const { code, hint } = await errorOf(work);
    expect(code).toBe('unsupported');
    expect(hint).toBe('Use a database context.');
  }
  for (const work of [collected(target.sessions(all)), collected(target.endSessions(all))]) {
    const { code, hint } = await errorOf(work);
    expect(code).toBe('unsupported');
    expect(hint).toBe('Use a database context.');
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

const reach = { refreshTokens: false, authorizationCodes: false, sessions: false };

function factsOf(
  selection: RemedySelection,
  place: Partial<RemedyPlace> = {},
): Parameters<typeof staysAlive>[0] {
  return {
    tokensWithRefreshToken: 3,
    reach,
    selection,
    place: { dialect: 'controller', context: 'production', ...place },
  };
}

const ALL: RemedySelection = { kind: 'all', names: [], owners: [] };
const BOB: RemedySelection = { kind: 'users', names: ['bob'], owners: ['bob'] };

describe('staysAlive', () => {
  const settings = () => Promise.resolve(installed);
  const left = async (facts: Parameters<typeof staysAlive>[0], read = settings) =>
    (await staysAlive(facts, read)).map(({ what, count, lifetime }) => [what, count, lifetime]);

  test('lists what the REST API cannot show, and passwords while they are accepted', async () => {
    expect(await left(factsOf(BOB))).toEqual([
      ['refresh_tokens', 3, undefined],
      ['authorization_codes', null, 600],
      ['sessions', null, undefined],
      ['basic_authentication', null, undefined],
    ]);
  });

  test('keeps saying that refresh tokens are not checked when no token with one is left', async () => {
    const facts = { ...factsOf(BOB), tokensWithRefreshToken: 0 };
    expect((await left(facts))[0]).toEqual(['refresh_tokens', null, undefined]);
  });

  test('counts with codes from before the setting was lowered, and says how many refresh tokens are expired', async () => {
    const lifetimes = { ...installed.OAUTH2_PROVIDER, AUTHORIZATION_CODE_EXPIRE_SECONDS: 60 };
    const lowered = () => Promise.resolve({ ...installed, OAUTH2_PROVIDER: lifetimes });
    expect((await left(factsOf(BOB), lowered))[1]).toEqual(['authorization_codes', null, 600]);
    const [refresh] = await staysAlive({ ...factsOf(BOB), expiredRefreshTokens: 2 }, lowered);
    expect(refresh?.why).toMatch(
      /2 of them are expired: refused, unless REFRESH_TOKEN_EXPIRE_SECONDS is raised\.$/,
    );
    const [unknown] = await staysAlive({ ...factsOf(BOB), expiredRefreshTokens: null }, lowered);
    expect(unknown?.why).not.toContain('expired');
  });

  test('omits codes that no single token has, and passwords that are not accepted', async () => {
    const off = () => Promise.resolve({ ...installed, AUTH_BASIC_ENABLED: false });
    const tokens: RemedySelection = { kind: 'tokens', names: [], owners: ['bob'] };
    expect((await left(factsOf(tokens), off)).map(([what]) => what)).toEqual(['refresh_tokens', 'sessions']);
  });

  test('names the management commands of the dialect', async () => {
    const remedies = async (dialect: 'controller' | 'gateway') =>
      (await staysAlive(factsOf(ALL, { dialect }), settings)).map(({ remedy }) => remedy).join('\n');
    expect(await remedies('controller')).toMatch(
      /`awx-manage revoke_oauth2_tokens --all`.*`awx-manage expire_sessions`/s,
    );
    const gateway = await remedies('gateway');
    expect(gateway).toContain('`aap-gateway-manage revoke_oauth2_tokens --all`');
    // It has no command that ends a session before its time.
    expect(gateway).toMatch(/requires a recent release.*clearsessions` only removes expired sessions/);
    // Its web interface logs local accounts in with Basic authentication.
    expect(gateway).toContain('local accounts cannot log in');
    expect(gateway).not.toMatch(/(?<!gateway-)awx-manage/);
  });

  test('says that passwords may be accepted if the account may not read the setting', async () => {
    const refused = () => Promise.reject(new TokenctlError('permission_refused', 'not you'));
    const alive = await staysAlive(factsOf(BOB), refused);
    expect(alive.at(-1)).toMatchObject({
      what: 'basic_authentication',
      why: expect.stringContaining('may not read'),
    });
  });

  test('fails if the controller cannot be reached', async () => {
    const away = () => Promise.reject(new TokenctlError('target_unreachable', 'away'));
    await expect(staysAlive(factsOf(BOB), away)).rejects.toMatchObject({ code: 'target_unreachable' });
  });
});
