import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../../src/domain/plan.ts';
import { pathsNotCovered } from '../../../../src/operations/access/not-covered.ts';
import { type CheckedCapabilities, checkTarget } from '../../../../src/operations/contexts/check-target.ts';
import type { Target, TargetDescription } from '../../../../src/operations/ports/target.ts';
import type { UserSelector } from '../../../../src/operations/ports/target-parts.ts';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import type { Administered } from './contract-service.ts';

/** A place to try a target in. */
export interface Place {
  /** What it administers. */
  readonly service: Administered;
  /** A target that may do everything. */
  readonly target: Target;
  /** What it says of itself. */
  readonly expected: Partial<TargetDescription>;
  /** A target whose account may not read the settings. */
  readonly limited: Target;
  /** Calls with a wrong credential. */
  readonly strangers: readonly (() => Promise<unknown>)[];
  /** The target authenticated with a token, and the token's id; null if it does not use tokens. */
  readonly withToken: (() => Promise<{ target: Target; tokenId: number }>) | null;
  /** Unsupported operations that its capabilities do not cover. */
  readonly cannot: Readonly<Record<string, () => Promise<unknown>>>;
}

/** What every target must do, and what it must refuse without the capability. */
export function targetContract(
  place: () => Place,
  can: Pick<
    CheckedCapabilities,
    'refreshTokens' | 'sessions' | 'lastUsed' | 'deactivateUsers' | 'settingsHold'
  >,
): void {
  const makeTokens = (count: number, scope?: 'read' | 'write') => place().service.makeTokens(count, scope);
  const age = (tokenId: number, days: number) => place().service.age(tokenId, days);

  test('describes itself, the caller and its capabilities', async () => {
    const { target } = place();
    expect(await target.describe()).toMatchObject(place().expected);
    expect(await checkTarget({ target, clock: { now: () => new Date() } })).toMatchObject({
      context: 'contract',
      capabilities: { ...can, settings: true, createTokens: true, changes: true },
      missingRights: [],
    });
  });

  test('lists each selected token once, ascending, over several pages', async () => {
    const made = await makeTokens(230);
    const listed = await idsOf(place().target.tokens({ users: ['alice'] }));
    expect(listed).toEqual([...listed].sort((a, b) => a - b));
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed).toEqual(expect.arrayContaining(made));
    expect(await idsOf(place().target.tokens({ ids: made }))).toEqual(made);
  });

  test('selects by scope, age, expiry and several criteria together', async () => {
    const { target } = place();
    const [reading = 0] = await makeTokens(1, 'read');
    const [writing = 0] = await makeTokens(1, 'write');
    const among = async (criteria: object) => idsOf(target.tokens({ ids: [reading, writing], ...criteria }));
    const [past, future] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)];
    expect(await among({ scope: 'read' })).toEqual([reading]);
    expect(await among({ scope: 'write' })).toEqual([writing]);
    expect(await among({ createdBefore: past })).toEqual([]);
    expect(await among({ createdBefore: future })).toEqual([reading, writing]);
    expect(await among({ expiredAt: future })).toEqual([]);
    expect(await among({ users: ['admin'] })).toEqual([]);
    expect(await among({ users: ['alice', 'admin'], scope: 'write' })).toEqual([writing]);
  });

  test('selects by the ids of users, whatever name stands beside them', async () => {
    const { target } = place();
    const made = await makeTokens(2);
    const [alice] = await all(target.users.list({ names: ['alice'] }));
    const id = alice?.id ?? 0;
    const among = async (userIds: readonly number[]) =>
      idsOf(target.tokens({ ids: made, users: userIds.map(() => 'a former name'), userIds }));
    expect(await among([id])).toEqual(made);
    expect(await among([id, 987_654])).toEqual(made);
    expect(await among([987_654])).toEqual([]);
    expect(await all(target.users.list({ ids: [id, 987_654] }))).toEqual([alice]);
    expect(await all(target.users.list({ ids: [] }))).toEqual([]);
    const [application] = await target.applications.list();
    const of = { ids: made, applications: ['a former name'], applicationIds: [application?.id ?? 0] };
    expect(await idsOf(target.tokens(of))).toEqual([]);
    if (target.refreshTokens) {
      const whose = { users: ['a former name'], userIds: [id] };
      const named = await idsOf(target.refreshTokens.list({ users: ['alice'] }));
      expect(await idsOf(target.refreshTokens.list(whose))).toEqual(named);
    }
    if (target.authorizationCodes) {
      const codes = { users: ['a former name'], userIds: [987_654], state: 'live' } as const;
      expect(await idsOf(target.authorizationCodes.list(codes))).toEqual([]);
    }
  });

  test('selects by creation, expiry and what is left out', async () => {
    const { target } = place();
    const made = await makeTokens(2);
    const among = async (criteria: object) => idsOf(target.tokens({ ids: made, ...criteria }));
    const [past, future] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)];
    expect(await among({ createdSince: past })).toEqual(made);
    expect(await among({ createdSince: future })).toEqual([]);
    expect(await among({ expiresAfter: future })).toEqual(made);
    expect(await among({ expiresAfter: new Date('9999-01-01T00:00:00Z') })).toEqual([]);
    expect(await among({ notUsers: ['al*'] })).toEqual([]);
    expect(await among({ notUsers: ['alice'] })).toEqual([]);
    expect(await among({ notUsers: ['alic\\*', 'bob'], notApplications: ['*'] })).toEqual(made);
    expect(await among({ none: true })).toEqual([]);
  });

  test('selects by description, exactly or by a pattern', async () => {
    const { target } = place();
    const texts = ['nightly build', 'nightly_build', '100% (a+b) \\d', 'two\nlines', '🙂', '*'];
    const made: number[] = [];
    for (const description of texts)
      made.push((await target.createToken({ scope: 'read', description, user: 'admin' })).token.id);
    const found = async (...descriptions: string[]) => {
      const ids = await idsOf(target.tokens({ ids: made, descriptions }));
      return ids.map((id) => texts[made.indexOf(id)]);
    };
    expect(await found('nightly build')).toEqual(['nightly build']);
    expect(await found('nightly_*', 'nightly*')).toEqual(['nightly build', 'nightly_build']);
    expect(await found('nightly_*')).toEqual(['nightly_build']);
    expect(await found('100% (a+b) \\d')).toEqual([texts[2]]);
    expect(await found('*% (a+b) \\d')).toEqual([texts[2]]);
    expect(await found('two*lines')).toEqual([texts[3]]);
    expect(await found('?')).toEqual(['🙂', '*']);
    expect(await found('\\*', 'NIGHTLY*')).toEqual(['*']);
    expect(await found('')).toEqual([]);
    await all(target.revoke(made));
  });

  test('selects by last use: used before, or never used and older', async () => {
    const [used = 0, unused = 0, never = 0] = await makeTokens(3);
    await age(used, 1);
    await age(unused, 100);
    const since = (days: number) => new Date(Date.now() - days * 86_400_000);
    const among = (unusedSince: Date) =>
      idsOf(place().target.tokens({ ids: [used, unused, never], unusedSince }));
    expect(await among(since(90))).toEqual([unused]);
    expect(await among(since(0))).toEqual([used, unused, never]);
  });

  test('revokes existing tokens, and reports missing ones as unchanged', async () => {
    const { target } = place();
    const made = await makeTokens(150);
    const gone = made.slice(0, 5);
    await all(target.revoke(gone));
    const outcomes = await all<Outcome>(target.revoke(made));
    expect(outcomes).toHaveLength(made.length);
    expect(outcomes.filter(({ result }) => result === 'unchanged').map(({ tokenId }) => tokenId)).toEqual(
      expect.arrayContaining(gone),
    );
    expect(outcomes.filter(({ result }) => result === 'revoked')).toHaveLength(145);
    expect(await idsOf(target.tokens({ ids: made }))).toEqual([]);
  });

  test('includes the caller’s own token in the candidates', async () => {
    const { withToken } = place();
    expect(await place().target.ownTokenIds()).toEqual([]);
    if (withToken === null) return;
    const { target, tokenId } = await withToken();
    expect(await target.ownTokenIds()).toContain(tokenId);
    await all(target.revoke([tokenId]));
    await expect(target.describe()).rejects.toMatchObject({ code: 'credentials_refused' });
  });

  test('identifies the owner of a token value, and nothing for other values', async () => {
    const { service, target } = place();
    const pair = await service.makePair();
    const values = [new Secret('nobody-ever-made-this-value'), pair.access, new Secret('not a token')];
    const found = await all(target.identify(values));
    expect(found).toMatchObject([
      { index: 1, kind: 'access_token', live: true, ids: [pair.accessTokenId], user: { username: 'alice' } },
    ]);
    expect(JSON.stringify(found)).not.toContain(pair.access.reveal());
    await all(target.revoke([pair.accessTokenId]));
    expect(await all(target.identify(values))).toEqual([]);
    const refresh = await all(target.identify([new Secret((await service.makePair()).refresh)]));
    if (can.refreshTokens) expect(refresh).toMatchObject([{ kind: 'refresh_token', live: true }]);
    else expect(refresh).toEqual([]);
  });

  test.runIf(can.deactivateUsers)('deactivates a user, and activates the user again', async () => {
    const { service, target } = place();
    const { access, accessTokenId } = await service.makePair();
    const [alice] = await all(target.users.list({ names: ['alice'] }));
    const id = alice?.id ?? 0;
    expect(await target.users.setActive(id, false)).toBe(true);
    expect(await target.users.setActive(id, false)).toBe(false);
    expect(await service.accepts(access)).toBe(service.acceptsInactiveUsers);
    expect((await all(target.users.list({ inactive: true }))).map(({ username }) => username)).toContain(
      'alice',
    );
    expect(await target.users.setActive(id, true)).toBe(true);
    expect(await service.accepts(access)).toBe(true);
    await expect(target.users.setActive(987_654, false)).rejects.toMatchObject({ code: 'not_found' });
    await all(target.revoke([accessTokenId]));
  });

  test.runIf(!can.deactivateUsers)('refuses to deactivate a user', async () => {
    const { target } = place();
    const [alice] = await all(target.users.list({ names: ['alice'] }));
    await expect(target.users.setActive(alice?.id ?? 0, false)).rejects.toMatchObject({
      code: 'unsupported',
    });
    await expect(target.users.setActive(987_654, false)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('creates a token that is accepted until it is revoked', async () => {
    const { service, target } = place();
    const request = { scope: 'read', description: 'contract', user: 'admin' } as const;
    const { token, value } = await target.createToken(request);
    expect(token).toMatchObject({ scope: 'read', description: 'contract', application: null });
    expect(token.user?.username).toBe('admin');
    expect(token.fingerprint).toMatch(/^[0-9a-f]{12}$/);
    expect(await service.accepts(value)).toBe(true);
    expect(await all(target.revoke([token.id]))).toEqual([expect.objectContaining({ result: 'revoked' })]);
    expect(await service.accepts(value)).toBe(false);
  });

  test('shows the last use if it can', async () => {
    const [used = 0, never = 0] = await makeTokens(2);
    await age(used, 3);
    const told = (await all(place().target.tokens({ ids: [used, never] }))).map(({ lastUsed }) => lastUsed);
    expect(told).toEqual(can.lastUsed ? [expect.any(Date), null] : [undefined, undefined]);
  });

  test('keeps the refresh token of a revoked token unless requested', async () => {
    const { service, target } = place();
    const pair = await service.makePair();
    const [token] = await all(target.tokens({ ids: [pair.accessTokenId] }));
    expect(token).toMatchObject({ hasRefreshToken: true, application: { name: 'pipeline' } });
    await all(target.revoke([pair.accessTokenId]));
    expect(await service.accepts(pair.access)).toBe(false);
    const reach = { refreshTokens: false, authorizationCodes: false, sessions: false };
    const paths = await pathsNotCovered({
      target,
      description: await target.describe(),
      selection: { kind: 'all' as const, names: [], owners: [] },
      tokensWithRefreshToken: 1,
      reach,
    });
    expect(paths.map(({ path }) => path)).toEqual([
      'refresh_tokens',
      'authorization_codes',
      'sessions',
      'basic_authentication',
    ]);
  });

  describe.runIf(can.refreshTokens)('refresh tokens', () => {
    test('are revoked with their access tokens, and create no new ones', async () => {
      const { service, target } = place();
      const [kept, gone] = [await service.makePair(), await service.makePair()];
      const [outcome] = await all(target.revoke([gone.accessTokenId], { withRefreshTokens: true }));
      expect(outcome?.refreshToken?.fingerprint).toMatch(/^[0-9a-f]{12}$/);
      expect(await service.refreshes(gone.refresh)).toBe(false);
      expect(await service.refreshes(kept.refresh)).toBe(true);
    });

    test('are listed, revoked with their access tokens, and deleted', async () => {
      const { service, target } = place();
      const pair = await service.makePair();
      const mine = async () =>
        (
          await all(partOf(target, 'refreshTokens').list({ users: ['alice'], applications: ['pipeline'] }))
        ).at(-1);
      const listed = await mine();
      expect(listed).toMatchObject({ accessTokenId: pair.accessTokenId, revoked: null });
      const id = listed?.id ?? 0;
      expect(await all(partOf(target, 'refreshTokens').revoke([id]))).toEqual([
        { tokenId: id, result: 'revoked', fingerprint: listed?.fingerprint },
      ]);
      expect(await service.accepts(pair.access)).toBe(false);
      expect(await service.refreshes(pair.refresh)).toBe(false);
      expect(await all(partOf(target, 'refreshTokens').revoke([id]))).toEqual([
        { tokenId: id, result: 'unchanged' },
      ]);
      expect(await mine()).toMatchObject({ id, accessTokenId: null, revoked: expect.any(Date) });
      expect(await all(partOf(target, 'refreshTokens').delete([id]))).toEqual([
        expect.objectContaining({ tokenId: id, result: 'revoked' }),
      ]);
      expect((await mine())?.id).not.toBe(id);
    });
  });

  test.runIf(!can.refreshTokens)('has no refresh tokens to revoke along', async () => {
    const { target } = place();
    expect([target.refreshTokens, target.authorizationCodes]).toEqual([undefined, undefined]);
    await expect(all(target.revoke([1], { withRefreshTokens: true }))).rejects.toMatchObject({
      code: 'unsupported',
    });
  });

  describe.runIf(can.sessions)('sessions', () => {
    test('are listed and ended by user', async () => {
      const { service, target } = place();
      const isLoggedIn = await service.logIn();
      const [alice] = await all(target.users.list({ names: ['alice'] }));
      const userIds = [alice?.id ?? 0];
      const sessions = await all(partOf(target, 'sessions').list({ userIds }));
      expect(sessions.length).toBeGreaterThan(0);
      expect(sessions.every(({ user }) => user?.username === 'alice')).toBe(true);
      expect(await isLoggedIn()).toBe(true);
      expect(await all(partOf(target, 'sessions').end({ userIds }))).toHaveLength(sessions.length);
      expect(await isLoggedIn()).toBe(false);
      expect(await all(partOf(target, 'sessions').list({ userIds }))).toEqual([]);
    });
  });

  test.runIf(!can.sessions)('has no sessions', () => {
    expect(place().target.sessions).toBeUndefined();
  });

  test('refuses unsupported operations', async () => {
    for (const attempt of Object.values(place().cannot)) {
      await expect(attempt()).rejects.toMatchObject({ code: 'unsupported' });
    }
  });

  test('shows the activity of a token, even after its deletion, and the last change of a user', async () => {
    const { target } = place();
    const since = new Date(Date.now() - 60_000);
    const { token } = await target.createToken({ scope: 'read', description: 'traced', user: 'admin' });
    const operations = async () =>
      (await all(target.activity.list({ tokenIds: [token.id], since }))).map(({ operation }) => operation);
    expect(await operations()).toEqual(['create']);
    await all(target.revoke([token.id]));
    expect(await operations()).toContain('delete');
    const [admin, leaver] = await all(target.users.list({ names: ['admin', 'leaver'] }));
    const changes = await target.activity.lastChanges([admin?.id ?? 0, leaver?.id ?? 0]);
    expect([...changes.keys()]).toEqual([admin?.id]);
    expect((await all(target.activity.list({ actorIds: [admin?.id ?? 0] }))).length).toBeGreaterThan(0);
    expect(await all(target.activity.list({ until: new Date('2020-01-01T00:00:00Z') }))).toEqual([]);
  });

  test('lists applications, all or by name', async () => {
    const [application] = await place().target.applications.list(['pipeline', 'gone']);
    expect(application).toMatchObject({ name: 'pipeline', clientType: 'public', grantType: 'password' });
    expect(await place().target.applications.list(['gone'])).toEqual([]);
    expect((await place().target.applications.list()).map(({ name }) => name)).toContain('pipeline');
  });

  test('lists users, by name and by inactivity', async () => {
    const { target } = place();
    const names = async (selector?: UserSelector) => {
      const found: string[] = [];
      for await (const { username } of target.users.list(selector)) found.push(username);
      return found;
    };
    expect(await names()).toEqual(expect.arrayContaining(['admin', 'alice', 'leaver']));
    expect(await names({ names: ['alice', 'nobody'] })).toEqual(['alice']);
    expect(await names({ inactive: true })).toEqual(['leaver']);
  });

  test('reads and writes settings', async () => {
    const { settings } = place().target;
    const before = await settings.read();
    const changed = { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: !before.ALLOW_OAUTH2_FOR_EXTERNAL_USERS };
    expect(await settings.write(changed)).toEqual({ ...before, ...changed });
    expect(await settings.read()).toEqual({ ...before, ...changed });
    expect(await settings.write(before)).toEqual(before);
  });

  test('reports a rejected credential and a missing permission', async () => {
    for (const attempt of place().strangers) {
      await expect(attempt()).rejects.toMatchObject({ code: 'credentials_refused' });
    }
    await expect(place().limited.settings.read()).rejects.toMatchObject({ code: 'permission_refused' });
  });

  test('reveals no secret in its errors', async () => {
    for (const attempt of place().strangers) {
      const error: unknown = await attempt().catch((reason: unknown) => reason);
      if (!(error instanceof TokenctlError)) throw error;
      expect(JSON.stringify([error.message, error.hint, error.details])).not.toContain('secret');
    }
  });
}

/** All that a stream gives. */
export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function idsOf(items: AsyncIterable<{ readonly id: number }>): Promise<number[]> {
  return (await all(items)).map(({ id }) => id);
}
