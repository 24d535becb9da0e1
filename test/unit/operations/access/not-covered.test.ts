import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import type { RemedySelection } from '../../../../src/domain/remedies.ts';
import { pathsNotCovered, type RevocationFacts } from '../../../../src/operations/access/not-covered.ts';
import { description, installed } from '../../../support/memory-target.ts';

const reach = { refreshTokens: false, authorizationCodes: false, sessions: false };

type Facts = Omit<RevocationFacts, 'target'>;

function factsOf(selection: RemedySelection, place: Partial<RevocationFacts['description']> = {}): Facts {
  return { tokensWithRefreshToken: 3, reach, selection, description: description(place) };
}

const ALL: RemedySelection = { kind: 'all', names: [], owners: [] };
const BOB: RemedySelection = { kind: 'users', names: ['bob'], owners: ['bob'] };

const settings = () => Promise.resolve(installed);

/** What is left open where the settings are read so. */
function leftBy(facts: Facts, read: () => Promise<typeof installed> = settings) {
  const write = () => Promise.reject(new Error('Nothing is written'));
  return pathsNotCovered({ ...facts, target: { settings: { read, write } } });
}

describe('what a revocation over REST leaves open', () => {
  const left = async (facts: Facts, read = settings) =>
    (await leftBy(facts, read)).map(({ path, count, lifetime }) => [path, count, lifetime]);

  test('lists what the REST API cannot show, and passwords while they are accepted', async () => {
    expect(await left(factsOf(BOB))).toEqual([
      ['refresh_tokens', 3, undefined],
      ['authorization_codes', undefined, 600],
      ['sessions', undefined, undefined],
      ['basic_authentication', undefined, undefined],
    ]);
  });

  test('keeps saying that refresh tokens are not checked when no token with one is left', async () => {
    const facts = { ...factsOf(BOB), tokensWithRefreshToken: 0 };
    expect((await left(facts))[0]).toEqual(['refresh_tokens', undefined, undefined]);
  });

  test('counts with codes from before the setting was lowered, and says how many refresh tokens are expired', async () => {
    const lifetimes = { ...installed.OAUTH2_PROVIDER, AUTHORIZATION_CODE_EXPIRE_SECONDS: 60 };
    const lowered = () => Promise.resolve({ ...installed, OAUTH2_PROVIDER: lifetimes });
    expect((await left(factsOf(BOB), lowered))[1]).toEqual(['authorization_codes', undefined, 600]);
    const [refresh] = await leftBy({ ...factsOf(BOB), expiredRefreshTokens: 2 }, lowered);
    expect(refresh?.how).toMatch(
      /2 of them are expired: rejected, unless REFRESH_TOKEN_EXPIRE_SECONDS is raised\.$/,
    );
    const [unknown] = await leftBy({ ...factsOf(BOB), expiredRefreshTokens: null }, lowered);
    expect(unknown?.how).not.toContain('expired');
  });

  test('omits codes that no single token has, and passwords that are not accepted', async () => {
    const off = () => Promise.resolve({ ...installed, AUTH_BASIC_ENABLED: false });
    const tokens: RemedySelection = { kind: 'tokens', names: [], owners: ['bob'] };
    expect((await left(factsOf(tokens), off)).map(([path]) => path)).toEqual(['refresh_tokens', 'sessions']);
  });

  test('names the management commands of the dialect', async () => {
    const remedies = async (dialect: 'controller' | 'gateway') =>
      (await leftBy(factsOf(ALL, { dialect }))).map(({ remedy }) => remedy).join('\n');
    expect(await remedies('controller')).toMatch(
      /`awx-manage revoke_oauth2_tokens --all`.*`awx-manage expire_sessions`/s,
    );
    const gateway = await remedies('gateway');
    expect(gateway).toContain('`aap-gateway-manage revoke_oauth2_tokens --all`');
    // It has no command that ends a session before its time.
    expect(gateway).toMatch(
      /requires a recent gateway release.*clearsessions` only removes expired sessions/,
    );
    // Its web interface logs local accounts in with Basic authentication.
    expect(gateway).toContain('local accounts cannot log in');
    expect(gateway).not.toMatch(/(?<!gateway-)awx-manage/);
  });

  test('says that passwords may be accepted if the account may not read the setting', async () => {
    const refused = () => Promise.reject(new TokenctlError('permission_refused', 'not you'));
    const paths = await leftBy(factsOf(BOB), refused);
    expect(paths.at(-1)).toMatchObject({
      path: 'basic_authentication',
      how: expect.stringContaining('is not allowed to read'),
    });
  });

  test.each([
    ['target_unreachable', 'away'],
    ['target_misbehaved', 'a page'],
    ['not_found', 'nothing there'],
    ['unsupported', 'no such method'],
  ] as const)('says so too if the settings end with %s', async (code, message) => {
    const hidden = () => Promise.reject(new TokenctlError(code, message));
    expect((await leftBy(factsOf(BOB), hidden)).at(-1)).toMatchObject({
      path: 'basic_authentication',
      state: 'not_checked',
      how: `The API may accept passwords: the settings could not be read (${message}).`,
    });
  });
});
