import { expect, test } from 'vitest';
import { dryRun } from '../../../src/app/open-target.ts';
import { refreshToken } from '../../support/memory-refresh-tokens.ts';
import { session } from '../../support/memory-sessions.ts';
import { databaseDescription, MemoryTarget } from '../../support/memory-target.ts';
import { collected } from '../../support/test-target.ts';

const reach = { refreshTokens: false, authorizationCodes: false, sessions: false };
const ci = {
  id: 1,
  name: 'CI',
  clientType: 'confidential',
  grantType: 'password',
  created: new Date('2026-01-01'),
} as const;
const change = {
  id: 1,
  at: new Date('2026-11-01'),
  operation: 'update',
  actor: { id: 2, username: 'alice' },
  object: 'job_template',
  changes: {},
};

test('reads the same as the target', async () => {
  const target = new MemoryTarget(3);
  target.own = [2];
  target.self = databaseDescription();
  target.refresh.rows.set(1, refreshToken());
  target.logins.live.push(session());
  target.programs.push(ci);
  target.stream.push(change);
  const dry = dryRun(target);
  expect(await dry.describe()).toEqual(await target.describe());
  expect(await collected(dry.tokens({ all: true }))).toHaveLength(3);
  expect(await collected(dry.users())).toEqual(target.people);
  expect(await dry.applications(['CI'])).toEqual(target.programs);
  expect(await dry.ownTokenIds()).toEqual([2]);
  const selection = { kind: 'all' as const, names: [], owners: [] };
  const facts = { selection, tokensWithRefreshToken: 1, reach };
  expect(await dry.staysAlive(facts)).toEqual(await target.staysAlive(facts));
  expect(await collected(dry.activity({}))).toEqual([change]);
  expect(await dry.lastChanges([2])).toEqual(new Map([[2, change.at]]));
  expect(await collected(dry.refreshTokens({}))).toHaveLength(1);
  expect(await collected(dry.sessions({ all: true }))).toHaveLength(1);
  await dry.close();
});

test('changes nothing: tokens stay unchanged, settings only appear changed, no token is created', async () => {
  const target = new MemoryTarget(3);
  const before = target.values;
  target.refresh.rows.set(1, refreshToken());
  target.logins.live.push(session());
  const dry = dryRun(target);
  const left = [{ tokenId: 1, result: 'unchanged' }];
  expect(await collected(dry.revokeRefreshTokens([1]))).toEqual(left);
  expect(await collected(dry.deleteRefreshTokens([1]))).toEqual(left);
  expect(await collected(dry.endSessions({ all: true }))).toEqual([]);
  expect(await collected(dry.revoke([1, 2]))).toEqual([
    { tokenId: 1, result: 'unchanged' },
    { tokenId: 2, result: 'unchanged' },
  ]);
  expect(await dry.setUserActive(2, false)).toBe(false);
  expect(target.people[1]?.isActive).toBe(true);
  expect(await dry.settings.write({ AUTH_BASIC_ENABLED: false })).toEqual({
    ...before,
    AUTH_BASIC_ENABLED: false,
  });
  expect((await dry.settings.read()).AUTH_BASIC_ENABLED).toBe(false);
  await expect(dry.createToken({ scope: 'read', description: '' })).rejects.toMatchObject({
    code: 'unsupported',
  });
  expect(target.alive.size).toBe(3);
  expect(target.refresh.rows.get(1)).toEqual(refreshToken());
  expect(target.logins.live).toHaveLength(1);
  expect(target.values).toBe(before);
});
