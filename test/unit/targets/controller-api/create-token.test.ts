import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { FakeController, type Fault, json, pastRoot } from '../../../support/fake-controller.ts';
import { errorOf, openTestTarget } from '../../../support/test-target.ts';

const request = { scope: 'read', description: 'for the job' } as const;

async function creating(fault: Fault) {
  const fake = await FakeController.start();
  fake.fault = pastRoot(fault);
  const target = openTestTarget(fake.address);
  const close = async () => {
    await target.close();
    await fake[Symbol.asyncDispose]();
  };
  return { work: target.createToken(request), fake, [Symbol.asyncDispose]: close };
}

const created = {
  id: 7,
  user: 1,
  scope: 'read',
  description: 'for the job',
  created: '2026-11-20T00:00:00Z',
  expires: '2027-11-20T00:00:00Z',
  refresh_token: null,
  application: null,
};

test('returns the value as a Secret, and its fingerprint', async () => {
  await using at = await creating((_, response) => json(response, 201, { ...created, token: 'the-value' }));
  const { token, value } = await at.work;
  expect(value.reveal()).toBe('the-value');
  expect(token).toMatchObject({ id: 7, hasRefreshToken: false });
  expect(token.fingerprint).toBe(createHash('sha256').update('the-value').digest('hex').slice(0, 12));
  expect(JSON.stringify({ token, value })).not.toContain('the-value');
});

test('creates a token for the caller by name', async () => {
  await using fake = await FakeController.start();
  fake.fault = (request, response) =>
    request.method === 'POST' && json(response, 201, { ...created, token: 'the-value' });
  const target = openTestTarget(fake.address);
  expect((await target.createToken({ ...request, user: 'admin' })).token.id).toBe(7);
  await target.close();
});

test('names the setting that an external user needs', async () => {
  const detail =
    '(access_denied) OAuth2 Tokens cannot be created by users associated with an external authentication provider (ldap)';
  await using at = await creating((_, response) => json(response, 403, { detail }));
  expect(await errorOf(at.work)).toMatchObject({
    code: 'permission_refused',
    hint: expect.stringContaining('settings external-tokens allow'),
  });
});

test.each([
  ['without the value', created],
  ['of something else', { token: 'secret-value' }],
])('an answer %s is told, and that a token may have been made', async (_, body) => {
  await using at = await creating((_request, response) => json(response, 201, body));
  expect(await errorOf(at.work)).toMatchObject({
    code: 'target_misbehaved',
    hint: expect.stringContaining('tokens list'),
  });
});

test('is not retried, because a broken connection may have created a token', async () => {
  await using at = await creating((incoming) => incoming.socket.destroy() !== null);
  expect((await errorOf(at.work)).code).toBe('target_unreachable');
  expect(at.fake.requests).toEqual(['GET /api/', 'POST /api/v2/tokens/']);
});
