import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrokerWorld, brokerWorld, exchange } from '../../support/broker-world.ts';

let world: BrokerWorld;
let url: string;
beforeAll(async () => {
  world = await brokerWorld();
  ({ url } = await world.serve());
});
afterAll(() => world[Symbol.asyncDispose]());

const post = (path: string, form: Readonly<Record<string, string>>) =>
  fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form) });

test('an identity gets a token once, which is recorded before, ends when it is given back, and is written nowhere', async () => {
  const identity = await world.identity();
  const { status, headers, answer, token } = await exchange(url, identity);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(answer).toEqual({
    access_token: token,
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'write',
    controller_host: world.service.url,
  });
  expect(await world.status(token)).toBe(200);
  const again = await exchange(url, identity);
  expect([again.status, again.answer['error']]).toEqual([400, 'invalid_request']);
  expect(again.answer['error_description']).toBe('This identity was used before');
  const [intent, outcome] = world.entries();
  expect(intent).toMatchObject({ kind: 'intent', operation: 'tokens.create', actor: { broker: 'deploy' } });
  expect(intent?.data).toMatchObject({
    user: 'robot',
    lease: { why: 'broker', seconds: 900, origin: { rule: 'deploy', claims: { run_id: '4711' } } },
  });
  expect(outcome).toMatchObject({ kind: 'outcome', data: { result: 'done' } });
  expect((await post('/revoke', { token })).status).toBe(200);
  expect(await world.status(token)).toBe(401);
  expect((await post('/revoke', { token: 'no-token-of-this-broker' })).status).toBe(200);
  const text = JSON.stringify(world.entries());
  expect([text.includes(token), text.includes(identity)]).toEqual([false, false]);
});
