import { createHmac, createPublicKey } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { AUDIENCE, EVENTS, startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import { until } from '@tokenctl/testing/until.ts';
import { stopClocks } from '@tokenctl/testing/virtual-clock.ts';
import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { RefusedRequests } from '../../../src/http/request-limits.ts';
import {
  type RunningReceiver,
  receiverProgram,
  type SignalWorld,
  signalWorld,
} from '../../support/signal-world.ts';

const program = receiverProgram();
let world: SignalWorld;
let receiver: RunningReceiver;
let other: Transmitter;
beforeAll(async () => {
  other = await startTransmitter();
  world = await signalWorld({
    program,
    more: '  usersPerHour: 100\n  localUsers: act',
    transmitterLines: `      domains: [example.org]
    other:
      issuer: ${other.issuer}
      jwks: ${other.jwks}
      audience: ${AUDIENCE}
      push: {}
      domains: [other.example]
      accounts: { provider: elsewhere, uid: "{sub}" }`,
  });
  receiver = await world.receive();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await other.close();
});

const email = (address: string) => ({ format: 'email', email: address });
const signal = async (jti: string, issuer = world.transmitter.issuer) =>
  (await world.signals()).find((each) => each.jti === jti && each.issuer === issuer);
const ended = (jti: string, issuer?: string) =>
  until(async () => (await signal(jti, issuer))?.ended instanceof Date);

async function answer(token: string): Promise<string> {
  const response = await world.push(receiver, token);
  const body = await response.text();
  return body === ''
    ? `${response.status}`
    : `${response.status} ${(JSON.parse(body) as { err: string }).err}`;
}

async function pushFromOther(uri: string, subject: unknown, jti: string): Promise<number> {
  const response = await fetch(`${receiver.url}/signals/other`, {
    method: 'POST',
    headers: { 'content-type': 'application/secevent+jwt' },
    body: await other.event(uri, subject, { jti }),
  });
  return response.status;
}

/** A token with this header, signed by `sign` over what it says. */
function forge(header: object, payload: object, sign: (input: string) => string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part(header)}.${part(payload)}`;
  return `${input}.${sign(input)}`;
}

test('keys that a token brings along, or asks for by a path, are not used', async () => {
  const victim = await world.member('victim');
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    ...{ iss: world.transmitter.issuer, aud: AUDIENCE, iat, jti: 'forged' },
    ...{ sub_id: email('victim@example.org'), events: { [EVENTS.accountDisabled]: {} } },
  };
  const typ = 'secevent+jwt';
  const { keys } = (await (await fetch(world.transmitter.jwks)).json()) as { keys: { kid: string }[] };
  const [published] = keys;
  const { keys: others } = (await (await fetch(other.jwks)).json()) as { keys: object[] };
  const kid = published?.kid ?? '';
  // Signed by a key of someone else, who is a transmitter too.
  const pem = createPublicKey({ key: published as never, format: 'jwk' }).export({
    type: 'spki',
    format: 'pem',
  });
  const hmac = (key: string | Buffer) => (input: string) =>
    createHmac('sha256', key).update(input).digest('base64url');
  const foreign = await other.sign({ ...claims }, { kid });
  expect(await answer(foreign)).toBe('400 invalid_key');
  const withHeader = async (more: object) => await other.sign(claims, { kid, header: more });
  // The published keys were read a moment ago for the one before: the key may be newer.
  expect(await answer(await withHeader({ jku: other.jwks }))).toBe('503');
  expect(await answer(await withHeader({ x5u: other.jwks }))).toBe('503');
  expect(await answer(await withHeader({ jwk: others[0] }))).toBe('503');
  expect(other.keyRequests()).toBe(1);
  expect(await answer(forge({ alg: 'none', typ }, claims, () => ''))).toBe('400 invalid_key');
  expect(await answer(forge({ alg: 'none', typ, kid }, claims, () => ''))).toBe('400 invalid_key');
  for (const key of [pem, JSON.stringify(published)])
    expect(await answer(forge({ alg: 'HS256', typ, kid }, claims, hmac(key)))).toBe('400 invalid_key');
  for (const injected of ['../../../../dev/null', "' UNION SELECT 'x", 'k'.repeat(10_000), '__proto__']) {
    const found = await answer(forge({ alg: 'RS256', typ, kid: injected }, claims, hmac('')));
    // Unknown keys may be new ones: the sender is to try again until they can be read again.
    expect(['503', '400 invalid_key']).toContain(found);
  }
  expect(await signal('forged')).toBeUndefined();
  expect(await world.accepts(victim.token)).toBe(true);
});

test('deep, wide and long content is refused, and the receiver goes on', async () => {
  const { transmitter } = world;
  const deep = JSON.parse(`${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`) as object;
  const sign = (more: object) =>
    transmitter.sign({
      ...{ jti: 'content', aud: AUDIENCE, sub_id: email('a@example.org') },
      events: { [EVENTS.sessionRevoked]: {} },
      ...more,
    });
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`urn:${index}`, {}]));
  expect(await answer(await sign({ sub_id: deep }))).toBe('400 invalid_request');
  expect(await answer(await sign({ events: many }))).toBe('400 invalid_request');
  expect(await answer(await sign({ jti: 'j'.repeat(257) }))).toBe('400 invalid_request');
  // The connection may close before the client has sent all of it, and so before it reads the answer.
  const long = answer(await sign({ jti: 'j'.repeat(1024 * 1024) })).catch(({ cause }) => cause?.code);
  expect(['413 invalid_request', 'EPIPE', 'ECONNRESET']).toContain(await long);
  expect(await answer(await sign({ jti: 'null\u0000byte' }))).toBe('400 invalid_request');
  expect(await answer(await sign({ sub_id: email(`${'a'.repeat(600)}@example.org`) }))).toBe(
    '400 invalid_request',
  );
  const aliases = {
    format: 'aliases',
    identifiers: Array.from({ length: 21 }, () => email('a@example.org')),
  };
  expect(await answer(await sign({ sub_id: aliases }))).toBe('400 invalid_request');
  expect(await answer(await sign({ sub: 'alice' }))).toBe('400 invalid_request');
  const two = {
    sub_id: undefined,
    events: {
      [EVENTS.sessionRevoked]: { subject: email('a@example.org') },
      [EVENTS.accountDisabled]: { subject: email('b@example.org') },
    },
  };
  expect(await answer(await sign(two))).toBe('400 invalid_request');
  // Deep content where nothing is read is none of our business.
  expect(await answer(await sign({ jti: 'deep-1', sub_id: email('nobody@example.org'), more: deep }))).toBe(
    '202',
  );
  expect((await fetch(`${receiver.url}/readyz`)).status).toBe(200);
});

test('clocks may differ by a minute, and events may be as old as maxAge', async () => {
  const { transmitter } = world;
  const sign = async (jti: string, issuedAgo: number) =>
    answer(
      await transmitter.sign(
        { jti, aud: AUDIENCE, sub_id: email('nobody@example.org'), events: { [EVENTS.sessionRevoked]: {} } },
        { issuedAgo },
      ),
    );
  expect(await sign('clock-1', -50)).toBe('202');
  // Valid in a moment: the sender is to try again.
  expect(await sign('clock-2', -90)).toBe('503');
  expect(await sign('clock-5', -900)).toBe('400 invalid_request');
  expect(await sign('clock-3', 7 * 86_400 - 10)).toBe('202');
  expect(await sign('clock-4', 7 * 86_400 + 90)).toBe('400 invalid_request');
});

test('a transmitter speaks for its own users only', async () => {
  const member = await world.member('ours');
  const cases = [
    ['foreign-1', email('ours@example.org'), 'a different mail domain: example.org'],
    [
      'foreign-2',
      { format: 'account', uri: 'acct:ours%40other.example@example.org' },
      'a different mail domain',
    ],
    [
      'foreign-3',
      { format: 'iss_sub', iss: world.transmitter.issuer, sub: 'uid-ours' },
      'a different issuer',
    ],
    // A Kelvin sign, which is a k in lower case.
    ['foreign-4', email('ours@other.example\u212a'), 'a different mail domain'],
  ] as const;
  for (const [jti, subject, reason] of cases) {
    expect(await pushFromOther(EVENTS.accountDisabled, subject, jti)).toBe(202);
    await ended(jti, other.issuer);
    const found = await signal(jti, other.issuer);
    expect(found).toMatchObject({ jti, state: 'held' });
    expect(found?.reason).toContain(reason);
  }
  // Its account of the same id is at another provider.
  await pushFromOther(EVENTS.accountDisabled, { format: 'opaque', id: 'uid-ours' }, 'foreign-5');
  await ended('foreign-5', other.issuer);
  expect(await signal('foreign-5', other.issuer)).toMatchObject({ state: 'ignored', users: [] });
  // A token of one stream is no token of the other.
  const token = await world.transmitter.event(EVENTS.accountDisabled, email('ours@example.org'));
  const swapped = await fetch(`${receiver.url}/signals/other`, {
    method: 'POST',
    headers: { 'content-type': 'application/secevent+jwt' },
    body: token,
  });
  expect(swapped.status).toBe(400);
  expect(await world.accepts(member.token)).toBe(true);
});

test('two transmitters may use the same jti', async () => {
  const member = await world.member('same-jti');
  expect(await pushFromOther(EVENTS.sessionRevoked, email('x@other.example'), 'shared-jti')).toBe(202);
  const token = await world.transmitter.event(EVENTS.sessionRevoked, email('same-jti@example.org'), {
    jti: 'shared-jti',
  });
  expect(await answer(token)).toBe('202');
  await ended('shared-jti');
  expect(await world.accepts(member.token)).toBe(false);
});

test('a look-alike of an address is another address, and case is none', async () => {
  const mark = await world.member('mark');
  const miki = await world.member('miki', { email: 'Miki@Example.org' });
  for (const [jti, address] of [
    ['alike-1', 'mar\u212a@example.org'],
    ['alike-2', 'm\u0131ki@example.org'],
    ['alike-3', 'm\u0430rk@example.org'],
    ['alike-4', 'mark@example.org\u200b'],
  ] as const) {
    await world.push(
      receiver,
      await world.transmitter.event(EVENTS.accountDisabled, email(address), { jti }),
    );
    await ended(jti);
  }
  expect(await world.accepts(mark.token)).toBe(true);
  expect(await world.accepts(miki.token)).toBe(true);
  await world.push(
    receiver,
    await world.transmitter.event(EVENTS.sessionRevoked, email('MIKI@example.ORG'), { jti: 'case-1' }),
  );
  await ended('case-1');
  expect(await world.accepts(miki.token)).toBe(false);
});

/** Opens connections that send `head` and nothing more. */
async function openConnections(count: number, head: string): Promise<void> {
  const { hostname, port } = new URL(receiver.url);
  const sockets = await Promise.all(
    Array.from({ length: count }, async (): Promise<Socket> => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(head);
      return socket;
    }),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
}

test('slow senders and guessers do not keep out the transmitter', async () => {
  const member = await world.member('in-time');
  const head = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
  await openConnections(
    250,
    `${head('/global-token-revocation')}Authorization: Bearer x\r\nContent-Length: 90000\r\n\r\n{`,
  );
  await openConnections(100, head('/signals/idp'));
  // As if all of them came from the transmitter's address.
  let guess = await world.push(receiver, 'x', { authorization: 'Bearer guess' });
  while (guess.status === 401) guess = await world.push(receiver, 'x', { authorization: 'Bearer guess' });
  expect([guess.status, guess.headers.get('retry-after')]).toEqual([429, '30']);
  const token = await world.transmitter.event(EVENTS.sessionRevoked, email('in-time@example.org'), {
    jti: 'in-time',
  });
  expect(await answer(token)).toBe('202');
  await ended('in-time');
  expect(await world.accepts(member.token)).toBe(false);
});

test('a guesser gains nothing from the many addresses of an IPv6 network: 100 refusals, then one a second', () => {
  const pass = stopClocks();
  const refusals = new RefusedRequests();
  const guess = (ip: string) => {
    if (refusals.blocks({ ip } as FastifyRequest)) return 429;
    refusals.count({ ip } as FastifyRequest);
    return 401;
  };
  const statuses = Array.from({ length: 130 }, (_, each) => guess(`2001:db8:1:2:${each.toString(16)}::1`));
  expect(statuses).toEqual([...Array(100).fill(401), ...Array(30).fill(429)]);
  expect(guess('2001:db8:1:3::1')).toBe(401);
  pass(1_000);
  expect([guess('2001:db8:1:2::ffff'), guess('2001:db8:1:2::ffff')]).toEqual([401, 429]);
});

test('tokens with an unknown key count as refused, and keep out no valid event of the same address', async () => {
  const push = async (token: string) =>
    (
      await fetch(`${receiver.url}/signals/other`, {
        method: 'POST',
        headers: { 'content-type': 'application/secevent+jwt', 'x-forwarded-for': '198.51.100.7' },
        body: token,
      })
    ).status;
  const claims = { jti: 'unknown-key', aud: AUDIENCE };
  const forged = await other.sign(claims, { typ: 'secevent+jwt', header: { kid: 'no-such-key' } });
  const said = receiver.said().length;
  let examined = 0;
  while ((await push(forged)) !== 429) examined += 1;
  expect(examined).toBeGreaterThan(0);
  // What is answered with 429 is not examined, and leaves one line at most.
  for (let time = 0; time < 100; time += 1) await push(forged);
  const lines = receiver.said().slice(said).split('\n').length;
  expect(lines).toBeLessThan(examined + 100);
  const subject = { format: 'email', email: 'nobody@other.example' };
  expect(await push(await other.event(EVENTS.sessionRevoked, subject, { jti: 'behind-a-proxy' }))).toBe(202);
});

test('a large body without the token of the stream is not waited for', async () => {
  const { hostname, port } = new URL(receiver.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  socket.write(
    'POST /signals/nobody HTTP/1.1\r\nHost: x\r\nContent-Type: application/secevent+jwt\r\nContent-Length: 100000\r\n\r\n',
  );
  expect(await answered).toMatch(/^HTTP\/1\.1 404 /);
});

test('the answer about readiness says nothing about what is inside', async () => {
  const response = await fetch(`${receiver.url}/readyz`);
  expect(await response.json()).toEqual({ ready: true });
});
