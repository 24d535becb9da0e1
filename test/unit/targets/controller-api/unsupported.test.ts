import { expect, test } from 'vitest';
import { partOf } from '../../../../src/operations/scope/target-parts.ts';
import { FakeController } from '../../../support/fake-controller.ts';
import { collected, errorOf, openTestTarget } from '../../../support/test-target.ts';

const _all = { all: true } as const;

test('refresh tokens, codes and sessions are absent, and revoking them along is refused', async () => {
  await using fake = await FakeController.start(1);
  const target = openTestTarget(fake.address);
  const lacks = ['refreshTokens', 'authorizationCodes', 'sessions'] as const;
  for (const part of lacks) {
    expect(target).not.toHaveProperty(part);
    expect(() => partOf(target, part)).toThrow(
      expect.objectContaining({
        code: 'unsupported',
        hint: expect.stringMatching(/^Use a database context\. /),
      }),
    );
  }
  const { code, hint } = await errorOf(collected(target.revoke([1], { withRefreshTokens: true })));
  expect([code, hint]).toEqual(['unsupported', expect.stringMatching(/^Use a database context\. /)]);
  expect(fake.requests).toEqual([]);
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
