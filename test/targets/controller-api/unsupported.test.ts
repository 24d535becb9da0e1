import { expect, test } from 'vitest';
import { FakeController } from './fake-controller.ts';
import { collected, failureOf, opened } from './opened.ts';

const all = { all: true } as const;

test('refresh tokens and sessions are refused with an alternative, after one request', async () => {
  await using fake = await FakeController.start(1);
  const target = opened(fake.address);
  for (const work of [
    collected(target.refreshTokens({})),
    collected(target.revokeRefreshTokens([1])),
    collected(target.deleteRefreshTokens([1])),
    collected(target.revoke([1], { withRefreshTokens: true })),
  ]) {
    const { code, hint } = await failureOf(work);
    expect(code).toBe('unsupported');
    expect(hint).toMatch(/database.*awx-manage revoke_oauth2_tokens/);
  }
  for (const work of [collected(target.sessions(all)), collected(target.endSessions(all))]) {
    const { code, hint } = await failureOf(work);
    expect(code).toBe('unsupported');
    expect(hint).toMatch(/database.*awx-manage expire_sessions/);
  }
  expect(fake.requests).toEqual(['GET /api/']);
  expect(fake.tokens.size).toBe(1);
  await target.close();
});

test('tokens are created only for the caller', async () => {
  await using fake = await FakeController.start();
  const target = opened(fake.address);
  const { code, hint } = await failureOf(
    target.createToken({ scope: 'read', description: '', user: 'alice' }),
  );
  expect(code).toBe('unsupported');
  expect(hint).toContain('create_oauth2_token --user alice');
  expect(fake.requests).toEqual(['GET /api/', 'GET /api/v2/me/']);
  await target.close();
});
