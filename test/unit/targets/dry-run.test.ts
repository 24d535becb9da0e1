import { expect, test } from 'vitest';
import { partOf } from '../../../src/operations/scope/target-parts.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { refreshToken } from '../../support/memory-refresh-tokens.ts';
import { session } from '../../support/memory-sessions.ts';
import { databaseDescription, MemoryTarget } from '../../support/memory-target.ts';
import { collected } from '../../support/test-target.ts';

const _reach = { refreshTokens: false, authorizationCodes: false, sessions: false };
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
  expect(await collected(dry.users.list())).toEqual(target.people);
  expect(await dry.applications.list(['CI'])).toEqual(target.programs);
  expect(await dry.ownTokenIds()).toEqual([2]);
  expect(await collected(dry.activity.list({}))).toEqual([change]);
  expect(await dry.activity.lastChanges([2])).toEqual(new Map([[2, change.at]]));
  expect(await collected(partOf(dry, 'refreshTokens').list({}))).toHaveLength(1);
  expect(await collected(partOf(dry, 'sessions').list({ all: true }))).toHaveLength(1);
  await dry.close();
});

test('changes nothing: tokens stay unchanged, settings only appear changed, no token is created', async () => {
  const target = new MemoryTarget(3);
  target.self = databaseDescription();
  const before = target.values;
  target.refresh.rows.set(1, refreshToken());
  target.logins.live.push(session());
  const dry = dryRun(target);
  const left = [{ tokenId: 1, result: 'unchanged' }];
  expect(await collected(partOf(dry, 'refreshTokens').revoke([1]))).toEqual(left);
  expect(await collected(partOf(dry, 'refreshTokens').delete([1]))).toEqual(left);
  expect(await collected(partOf(dry, 'sessions').end({ all: true }))).toEqual([]);
  expect(await collected(dry.revoke([1, 2]))).toEqual([
    { tokenId: 1, result: 'unchanged' },
    { tokenId: 2, result: 'unchanged' },
  ]);
  expect(await dry.users.setActive(2, false)).toBe(false);
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
