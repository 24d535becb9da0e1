import { TokenctlError } from '@tokenctl/common/errors.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, test } from 'vitest';
import { closedPath } from '../../../../src/domain/access.ts';
import { lockDown } from '../../../../src/operations/incident/lock-down.ts';
import { stillClock } from '../../../support/drafts.ts';
import { failingFrom } from '../../../support/fixture.ts';
import {
  ALL,
  EVERY_MEASURE,
  incidentFixture,
  NO_MEASURE,
  pathsThat,
} from '../../../support/incident-fixture.ts';
import { refreshToken } from '../../../support/memory-refresh-tokens.ts';
import { description, installed, user } from '../../../support/memory-target.ts';
import { token } from '../../../support/tokens.ts';

describe('a lockdown of everything', () => {
  test('in a database shuts every door, and clears every room', async () => {
    await using at = await incidentFixture('database');
    const report = await at.lockDown({ reason: 'stolen', ticket: 'SEC-1' });
    expect(report).toMatchObject({ result: 'locked', interrupted: false, stopped: null });
    expect(report.steps.map(({ step, result }) => [step, result])).toEqual([
      ['settings', 'done'],
      ['users', 'done'],
      ['snapshot', 'done'],
      ['tokens', 'done'],
      ['lifetimes', 'done'],
    ]);
    expect(pathsThat('closed', report.accessPaths)).toEqual([
      'access_tokens',
      'authorization_codes',
      'refresh_tokens',
      'sessions',
      'basic_authentication',
      'external_tokens',
      'users',
    ]);
    expect(report.accessPaths.filter(({ covered }) => covered)).toHaveLength(7);
    expect(at.target.alive.size).toBe(0);
    expect([...at.target.refresh.rows.values()].every(({ revoked }) => revoked !== null)).toBe(true);
    expect(at.target.people.every(({ isActive }) => isActive === false)).toBe(true);
    expect(at.target.values).toMatchObject({
      AUTH_BASIC_ENABLED: false,
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
      OAUTH2_PROVIDER: {
        ACCESS_TOKEN_EXPIRE_SECONDS: 3600,
        REFRESH_TOKEN_EXPIRE_SECONDS: 3600,
        AUTHORIZATION_CODE_EXPIRE_SECONDS: 60,
      },
    });
  });

  test('of more than a thousand tokens writes them as every other number', async () => {
    await using at = await incidentFixture('rest', 1200);
    const { steps } = await at.lockDown();
    expect(steps.find(({ step }) => step === 'tokens')?.message).toMatch(
      /^Pass 1: revoked 1,\d{3} of 1,\d{3} access tokens/,
    );
  });

  test.each(['rest', 'database'] as const)('names the first ten tokens of its plan (%s)', async (kind) => {
    await using at = await incidentFixture(kind, 12);
    at.target.alive.set(
      2,
      token({ id: 2, description: 'dashboard', scope: 'read', application: { id: 4, name: 'grafana' } }),
    );
    const { tokens, revocation } = await at.plan();
    expect(revocation?.tokenIds).toHaveLength(12);
    expect(tokens?.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(tokens?.[1]).toEqual({
      ...{ id: 2, description: 'dashboard', scope: 'read', application: 'grafana' },
      user: expect.any(String),
    });
    // Without a count, the plan reads no token.
    expect((await at.plan({ count: false })).tokens).toBeNull();
  });

  test('records each step before and after, with the values from before', async () => {
    await using at = await incidentFixture('database');
    const { incident, run } = await at.lockDown({ reason: 'stolen', ticket: 'SEC-1' });
    const entries = (await at.entries()).filter((entry) => entry.run === run);
    expect(entries.map(({ kind, data }) => `${kind} ${String(data['step'])}`)).toEqual([
      'intent operation',
      ...['settings', 'users', 'snapshot', 'tokens', 'lifetimes'].flatMap((step) => [
        `intent ${step}`,
        `outcome ${step}`,
      ]),
      'outcome operation',
    ]);
    expect(entries[0]?.data).toMatchObject({ incident, reason: 'stolen', ticket: 'SEC-1', scope: ALL });
    expect(
      entries.find(({ kind, data }) => kind === 'intent' && data['step'] === 'settings')?.data,
    ).toMatchObject({
      locks: [
        { what: 'setting', name: 'AUTH_BASIC_ENABLED', before: true, locked: false },
        { what: 'setting', name: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS', before: true, locked: false },
      ],
    });
    expect(entries.at(-1)?.open).toEqual([]);
  });

  test('writes down what there was, without a secret', async () => {
    await using at = await incidentFixture('database');
    await at.lockDown();
    const [text = ''] = at.files.written.values();
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const kinds = Map.groupBy(lines, ({ kind }) => kind);
    expect(kinds.get('access_token')).toHaveLength(5);
    expect(kinds.get('refresh_token')).toHaveLength(2);
    expect(kinds.get('user')).toHaveLength(3);
    expect(kinds.get('settings')).toMatchObject([{ AUTH_BASIC_ENABLED: true }]);
  });

  test('over REST keeps its own token and user, tries a revoked token, and says what it cannot do', async () => {
    await using at = await incidentFixture('rest');
    at.target.own = [3];
    const report = await at.lockDown();
    expect(report).toMatchObject({ result: 'locked', kept: [3] });
    expect([...at.target.alive.keys()]).toEqual([3]);
    expect(at.target.people.map(({ username, isActive }) => [username, isActive])).toEqual([
      ['admin', true],
      ['alice', false],
      ['bob', false],
    ]);
    const paths = Object.fromEntries(report.accessPaths.map(({ path, state }) => [path, state]));
    expect(report.accessPaths.find(({ path }) => path === 'authorization_codes')).toMatchObject({
      state: 'not_checked',
      until: expect.stringMatching(/Z$/),
    });
    expect(paths).toMatchObject({
      revoked_token: 'closed',
      refresh_tokens: 'not_checked',
      sessions: 'not_checked',
      access_tokens: 'closed',
    });
  });

  test('tells of a target that accepts a revoked token', async () => {
    await using at = await incidentFixture('rest');
    at.target.secrets.set('secret-value', { kind: 'access_token', ids: [3] });
    at.target.identify = async function* () {
      yield await Promise.resolve({
        ...{ index: 0, kind: 'access_token' as const, live: true },
        ...{ ids: [100], user: null, fingerprint: 'abc', usedAt: null },
      });
    };
    const report = await at.lockDown();
    expect(report.result).toBe('partly');
    expect(report.accessPaths).toContainEqual(
      expect.objectContaining({ path: 'revoked_token', state: 'open' }),
    );
  });

  test('is refused to who signs in with a password, before anything is done', async () => {
    await using at = await incidentFixture('rest');
    at.target.self = description({ credential: 'password' });
    await expect(at.lockDown()).rejects.toMatchObject({ code: 'lockout_refused' });
    expect(await at.entries()).toEqual([]);
    const measures = { ...EVERY_MEASURE, basicAuthentication: false };
    expect(await at.lockDown({ measures })).toMatchObject({ result: 'locked' });
  });

  test('warns of passwords only where a user stays active', async () => {
    await using at = await incidentFixture('database');
    const warned = async (keepActive: readonly string[], deactivate: boolean) => {
      const measures = { ...NO_MEASURE, deactivate, keepActive };
      const { accessPaths } = await at.plan({ measures });
      const left = accessPaths.find(({ path }) => path === 'login');
      return [accessPaths.some(({ path }) => path === 'basic_authentication'), left?.how.split(' active')[0]];
    };
    expect(await warned([], true)).toEqual([false, undefined]);
    expect(await warned(['bob'], true)).toEqual([true, 'bob stays']);
    expect(await warned(['admin', 'bob'], true)).toEqual([true, 'admin, bob stay']);
    expect(await warned([], false)).toEqual([true, 'The users stay']);
  });

  test('does not call a way in closed that a running server may not have closed yet', async () => {
    await using at = await incidentFixture('database');
    const { capabilities } = at.target.self;
    const cached = { ...capabilities, settingsHold: 'within_a_minute' as const };
    at.target.self = { ...at.target.self, capabilities: cached };
    const later = (seconds: number) => ({
      ...stillClock,
      now: () => new Date(stillClock.now().getTime() + seconds * 1000),
    });
    const stateOf = async (clock = stillClock) => {
      const { accessPaths } = await at.lockDown({ clock });
      return accessPaths.find(({ path }) => path === 'basic_authentication');
    };
    const until = later(60).now().toISOString();
    expect(await stateOf()).toMatchObject({ state: 'not_checked', until });
    const [status] = await at.status();
    expect(status?.holds).toBe(true);
    expect(pathsThat('not_checked', status?.accessPaths)).toEqual([
      'basic_authentication',
      'external_tokens',
    ]);
    expect(await stateOf(later(59))).toMatchObject({ state: 'not_checked' });
    const other = { scope: { kind: 'users', names: ['bob'] } as const, measures: EVERY_MEASURE };
    const { accessPaths } = await at.lockDown({ ...other, clock: later(10) });
    expect(accessPaths.find(({ path }) => path === 'basic_authentication')).toMatchObject({ until });
    expect(await stateOf(later(61))).toMatchObject({ state: 'closed' });
  });

  test.each([
    ['revoke', 'revoke tokens'],
    ['sessions', 'end sessions'],
    ['settings', 'change settings'],
  ] as const)(
    'is refused to a role without the rights to %s, before anything is done',
    async (purpose, what) => {
      await using at = await incidentFixture('database');
      at.target.self = { ...at.target.self, missingRights: [{ purpose, grant: 'GRANT …' }] };
      await expect(at.lockDown()).rejects.toMatchObject(
        refused('permission_refused', `it is not allowed to ${what}`),
      );
      expect(await at.entries()).toEqual([]);
    },
  );

  test('a second time is the same incident, and finds all unchanged', async () => {
    await using at = await incidentFixture('database');
    const first = await at.lockDown();
    const again = await at.lockDown();
    expect(again.incident).toBe(first.incident);
    expect(again.steps.map(({ step, result }) => [step, result])).toEqual([
      ['settings', 'unchanged'],
      ['users', 'unchanged'],
      ['snapshot', 'done'],
      ['lifetimes', 'unchanged'],
    ]);
    await at.lift(first.incident);
    expect(at.target.values).toEqual({ ...installed, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
  });

  test('that is not counted beforehand does the same', async () => {
    await using at = await incidentFixture('database');
    at.target.own = [3];
    const plan = await at.plan({ count: false });
    expect(plan).toMatchObject({ counted: false, revocation: { tokenIds: [], kept: [{ tokenId: 3 }] } });
    const report = await lockDown({ ...at.common, files: at.files, plan });
    expect(report).toMatchObject({ result: 'locked', kept: [3] });
    expect([...at.target.alive.keys()]).toEqual([3]);
  });

  test('planned only changes nothing and records nothing', async () => {
    await using at = await incidentFixture('database');
    const plan = await at.plan();
    expect(plan).toMatchObject({ continues: false, users: { length: 3 }, switches: { length: 2 } });
    expect(plan.revocation?.tokenIds).toHaveLength(5);
    expect(await at.entries()).toEqual([]);
    expect(at.target.alive.size).toBe(5);
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(true);
  });
});

describe('a lockdown of a part', () => {
  test('of a user leaves everyone else as they are', async () => {
    await using at = await incidentFixture('database');
    at.target.alive.set(9, token({ id: 9, user: { id: 3, username: 'bob' } }));
    const measures = { ...NO_MEASURE, deactivate: true };
    const report = await at.lockDown({ scope: { kind: 'users', names: ['alice'] }, measures });
    expect(report.result).toBe('locked');
    expect([...at.target.alive.keys()]).toEqual([9]);
    expect(at.target.people.map(({ isActive }) => isActive)).toEqual([true, false, true]);
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(true);
  });

  test('of an identity provider means the users that it has when their turn comes', async () => {
    await using at = await incidentFixture('database', 0);
    at.target.people.push(
      user(4, 'lena', { externalAccount: 'ldap' }),
      user(5, 'sam', { externalAccount: 'social' }),
    );
    at.target.alive.set(1, token({ id: 1, user: { id: 4, username: 'lena' } }));
    at.target.alive.set(2, token({ id: 2, user: { id: 5, username: 'sam' } }));
    at.target.refresh.rows.clear();
    // An account that the provider makes while the first pass is at work.
    at.target.onRevoke = () => {
      if (at.target.people.length < 6) {
        at.target.people.push(user(6, 'late', { externalAccount: 'ldap' }));
        at.target.alive.set(3, token({ id: 3, user: { id: 6, username: 'late' } }));
      }
      return undefined;
    };
    const scope = { kind: 'identity_provider', provider: 'ldap' } as const;
    const report = await at.lockDown({ scope, measures: NO_MEASURE });
    expect(report.result).toBe('locked');
    expect([...at.target.alive.keys()]).toEqual([2]);
  });

  test('of a provider without users shuts the doors and finds nobody', async () => {
    await using at = await incidentFixture('rest');
    const scope = { kind: 'identity_provider', provider: 'enterprise' } as const;
    const report = await at.lockDown({ scope, measures: { ...NO_MEASURE, externalTokens: true } });
    expect(report.result).toBe('locked');
    expect(at.target.alive.size).toBe(5);
    expect(at.target.values.ALLOW_OAUTH2_FOR_EXTERNAL_USERS).toBe(false);
  });

  test('of a user that does not exist is refused', async () => {
    await using at = await incidentFixture('rest');
    const scope = { kind: 'users', names: ['nobody'] } as const;
    await expect(at.plan({ scope, measures: NO_MEASURE })).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a lockdown that meets resistance', () => {
  test('over REST is in effect only as far as it can be checked, and compares what new tokens get', async () => {
    await using at = await incidentFixture('rest');
    const { accessPaths } = await at.lockDown({ measures: { ...EVERY_MEASURE, deactivate: false } });
    const until = accessPaths.find(({ path }) => path === 'authorization_codes')?.until;
    const [before] = await at.status();
    expect(before).toMatchObject({
      holds: true,
      ends: { authorization_codes: until },
      lifetimes: { set: 3600, issued: 0, longer: 0 },
    });
    expect(pathsThat('not_checked', before?.accessPaths)).toEqual([
      'authorization_codes',
      'refresh_tokens',
      'sessions',
      'requests',
    ]);
    const created = new Date(Date.parse(before?.locked ?? '') + 1000);
    const year = new Date(created.getTime() + 31_536_000_000);
    at.target.alive.set(70, token({ id: 70, created, expires: year }));
    expect((await at.status())[0]).toMatchObject({
      holds: false,
      lifetimes: { set: 3600, issued: 1, longer: 1 },
    });
  });

  test('repeated over REST, still counts with the lifetime of codes that it lowered itself', async () => {
    await using at = await incidentFixture('rest');
    const { OAUTH2_PROVIDER: lifetimes } = installed;
    const OAUTH2_PROVIDER = { ...lifetimes, AUTHORIZATION_CODE_EXPIRE_SECONDS: 3600 };
    at.target.values = { ...at.target.values, OAUTH2_PROVIDER };
    const lastCode = async () => {
      const { accessPaths } = await at.lockDown({ measures: { ...NO_MEASURE, lifetimes: true } });
      const until = accessPaths.find(({ path }) => path === 'authorization_codes')?.until ?? '';
      return Date.parse(until) - stillClock.now().getTime();
    };
    expect([await lastCode(), await lastCode()]).toEqual([3_600_000, 3_600_000]);
    expect(at.target.values.OAUTH2_PROVIDER?.AUTHORIZATION_CODE_EXPIRE_SECONDS).toBe(60);
  });

  test('deletes authorization codes of its users first, and leaves those of others', async () => {
    await using at = await incidentFixture('database');
    const code = (id: number, userId: number, username: string) => ({
      id,
      user: { id: userId, username },
      application: { id: 1, name: 'CI' },
      created: new Date('2026-11-20T09:58:00Z'),
      expires: new Date('2026-11-20T10:08:00Z'),
    });
    at.target.codes.set(31, code(31, 2, 'alice')).set(32, code(32, 3, 'bob'));
    const scope = { kind: 'users', names: ['alice'] } as const;
    const report = await at.lockDown({ scope, measures: NO_MEASURE });
    expect(report.steps.find(({ step }) => step === 'tokens')?.message).toContain(
      'deleted 1 of 1 authorization codes',
    );
    expect([...at.target.codes.keys()]).toEqual([32]);
    expect(report.accessPaths).toContainEqual(closedPath('authorization_codes', 'Verified: none is left.'));
  });

  test('catches what a refresh mints while the first pass is at work', async () => {
    await using at = await incidentFixture('database');
    let minted = 0;
    at.target.onRevoke = () => {
      if (minted < 3) {
        minted += 1;
        at.target.alive.set(50 + minted, token({ id: 50 + minted, hasRefreshToken: true }));
        at.target.refresh.rows.set(
          50 + minted,
          refreshToken({ id: 50 + minted, accessTokenId: 50 + minted }),
        );
      }
      return undefined;
    };
    const report = await at.lockDown();
    expect(report.result).toBe('locked');
    expect(at.target.alive.size).toBe(0);
    expect([...at.target.refresh.rows.values()].filter(({ revoked }) => revoked === null)).toEqual([]);
  });

  test('keeps count of refresh tokens that were revoked before the target was lost', async () => {
    await using at = await incidentFixture('database');
    const { refresh } = at.target;
    let passes = 0;
    // Two come while the first pass is at work; the target is lost at the second of them.
    at.target.onRevoke = () => {
      passes += 1;
      if (passes === 1) for (const id of [51, 52]) refresh.rows.set(id, refreshToken({ id }));
      return undefined;
    };
    refresh.onChange = (id) => {
      if (id === 52) throw new TokenctlError('target_unreachable', 'The connection was lost');
      return undefined;
    };
    const report = await at.lockDown();
    expect(report).toMatchObject({ result: 'partly', stopped: { code: 'target_unreachable' } });
    expect(refresh.rows.get(51)?.revoked).not.toBeNull();
    const drained = report.steps.find(({ step }) => step === 'refresh_tokens');
    expect(drained).toMatchObject({ result: 'partly' });
    expect(drained?.message).toBe(
      'Revoked 1 more refresh token that clients obtained in the meantime, in 1 attempt; 1 was live when last listed.',
    );
  });

  test('goes on where a step is refused, and says so', async () => {
    await using at = await incidentFixture('database');
    at.target.onSettings = () => {
      throw new TokenctlError('permission_refused', 'No');
    };
    const report = await at.lockDown();
    expect(report.result).toBe('partly');
    expect(report.steps.map(({ step, result }) => [step, result])).toEqual([
      ['settings', 'failed'],
      ['users', 'done'],
      ['snapshot', 'done'],
      ['tokens', 'done'],
      ['lifetimes', 'failed'],
    ]);
    expect(at.target.alive.size).toBe(0);
    const [status] = await at.status();
    expect(status?.values.every(({ what }) => what === 'user')).toBe(true);
  });

  test('says in the file of what was there which part could not be read', async () => {
    await using at = await incidentFixture('database');
    at.target.activity.list = () => {
      throw new TokenctlError('permission_refused', 'No');
    };
    const report = await at.lockDown();
    expect(report.steps.find(({ step }) => step === 'snapshot')?.message).toMatch(
      /Not included because they cannot be read: activity\.$/,
    );
    const [text = ''] = at.files.written.values();
    const missing = text.split('\n').filter((line) => line.includes('"missing"'));
    expect(missing.map((line) => JSON.parse(line))).toEqual([
      { kind: 'missing', part: 'activity', why: 'No' },
    ]);
  });

  test('tells of a user that cannot be deactivated', async () => {
    await using at = await incidentFixture('database');
    at.target.onUser = (id) => {
      if (id === 3) throw new TokenctlError('permission_refused', 'No');
    };
    const report = await at.lockDown();
    expect(report.result).toBe('partly');
    expect(report.steps.find(({ step }) => step === 'users')).toMatchObject({ result: 'partly' });
    expect(report.accessPaths).toContainEqual(expect.objectContaining({ path: 'users', state: 'open' }));
  });

  test('tells of settings that are lost', async () => {
    await using at = await incidentFixture('database');
    at.target.forgetful = true;
    const report = await at.lockDown();
    expect(report.accessPaths).toContainEqual(
      expect.objectContaining({ path: 'basic_authentication', state: 'open' }),
    );
  });

  test('stops where the target cannot be reached, and goes on with the next run', async () => {
    await using at = await incidentFixture('database');
    at.target.onUser = () => {
      throw new TokenctlError('target_unreachable', 'Gone');
    };
    const report = await at.lockDown();
    expect(report).toMatchObject({ result: 'partly', stopped: { code: 'target_unreachable' } });
    expect(report.steps.map(({ result }) => result)).toEqual([
      'done',
      'failed',
      'not_tried',
      'not_tried',
      'not_tried',
      'not_tried',
    ]);
    at.target.onUser = () => undefined;
    expect(await at.lockDown()).toMatchObject({ result: 'locked', incident: report.incident });
  });

  test('does nothing where the log cannot be written', async () => {
    await using at = await incidentFixture('database');
    await expect(at.lockDown({ log: failingFrom(at.log, 1) })).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    expect(at.target.alive.size).toBe(5);
    expect(at.target.values.AUTH_BASIC_ENABLED).toBe(true);
    expect(at.target.people.every(({ isActive }) => isActive)).toBe(true);
  });

  test.each([3, 4, 5, 6, 7, 8, 9, 10, 12, 14])(
    'whose log fails at append %d ends with the same state after the next run',
    async (attempt) => {
      await using at = await incidentFixture('database');
      await expect(at.lockDown({ log: failingFrom(at.log, attempt) })).rejects.toBeInstanceOf(TokenctlError);
      const again = await at.lockDown();
      expect(again.result).toBe('locked');
      expect(at.target.alive.size).toBe(0);
      await at.lift(again.incident);
      expect(at.target.values).toEqual({ ...installed, ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
      expect(at.target.people.every(({ isActive }) => isActive)).toBe(true);
    },
  );
});

describe('a lockdown of a user who has since been deleted', () => {
  const scope = { kind: 'users', names: ['alice', 'bob'] } as const;

  test('can be finished, and says that no one can tell a deleted user from a renamed one', async () => {
    await using at = await incidentFixture('database');
    const first = await at.lockDown({ scope, measures: NO_MEASURE });
    at.target.people.splice(
      at.target.people.findIndex(({ username }) => username === 'bob'),
      1,
    );
    at.target.alive.set(50, token({ id: 50, user: { id: 2, username: 'alice' } }));
    const again = await at.lockDown({ scope, measures: NO_MEASURE });
    expect(again).toMatchObject({ incident: first.incident, result: 'locked' });
    expect(at.target.alive.has(50)).toBe(false);
    expect(again.accessPaths).toContainEqual({
      path: 'users',
      state: 'not_checked',
      basis: 'not_checked',
      covered: true,
      how: 'bob no longer exists: deleted (along with its tokens) or renamed.',
      remedy: 'If it was renamed, lock down the new name.',
    });
  });

  test('is refused as a new one', async () => {
    await using at = await incidentFixture('database');
    const names = ['alice', 'nosuch'];
    const refused = at.lockDown({ scope: { kind: 'users', names }, measures: NO_MEASURE });
    await expect(refused).rejects.toMatchObject({ code: 'not_found' });
  });
});
