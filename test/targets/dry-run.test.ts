import { expect, test } from 'vitest';
import { dryRun } from '../../src/targets/dry-run.ts';
import { MemoryTarget } from '../operations/memory-target.ts';
import { collected } from './controller-api/opened.ts';

test('reads what the target reads', async () => {
  const target = new MemoryTarget(3);
  target.own = [2];
  target.programs.push({ id: 1, name: 'CI' });
  const dry = dryRun(target);
  expect(await dry.describe()).toEqual(await target.describe());
  expect(await collected(dry.tokens({ all: true }))).toHaveLength(3);
  expect(await collected(dry.users())).toEqual(target.people);
  expect(await dry.applications(['CI'])).toEqual(target.programs);
  expect(await dry.ownTokenIds()).toEqual([2]);
  expect(await dry.staysAlive({ tokensWithRefreshToken: 1 })).toHaveLength(1);
  await dry.close();
});

test('changes nothing: every token stays unchanged, settings only look changed, no token is made', async () => {
  const target = new MemoryTarget(3);
  const before = target.values;
  const dry = dryRun(target);
  expect(await collected(dry.revoke([1, 2]))).toEqual([
    { tokenId: 1, result: 'unchanged' },
    { tokenId: 2, result: 'unchanged' },
  ]);
  expect(await dry.settings.write({ AUTH_BASIC_ENABLED: false })).toEqual({
    ...before,
    AUTH_BASIC_ENABLED: false,
  });
  expect((await dry.settings.read()).AUTH_BASIC_ENABLED).toBe(false);
  await expect(dry.createToken({ scope: 'read', description: '' })).rejects.toMatchObject({
    code: 'unsupported',
  });
  expect(target.alive.size).toBe(3);
  expect(target.values).toBe(before);
});
