import { AUDIENCE, EVENTS, startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import { stopClocks } from '@tokenctl/testing/virtual-clock.ts';
import { SignJWT } from 'jose';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { IssuerKeys } from '../../src/security-events/issuer-keys.ts';
import { TransmitterKeys } from '../../src/security-events/transmitter-keys.ts';
import {
  signatureAlgorithms,
  unverifiedIssuer,
  verifyIdentity,
  verifyLogoutToken,
  verifyRevocationCaller,
  verifySecurityEvent,
} from '../../src/security-events/verify-token.ts';
import { KeysUnavailable, SignalRefusal } from '../../src/signals/signal-refusal.ts';

const ALICE = { format: 'email', email: 'alice@example.org' };
const DAY_S = 86_400;

let shared: Transmitter;
beforeAll(async () => {
  shared = await startTransmitter();
  return () => shared.close();
});

function expectedOf(transmitter: Transmitter, keys = new TransmitterKeys()) {
  return {
    issuer: transmitter.issuer,
    audiences: [AUDIENCE],
    algorithms: signatureAlgorithms,
    keys: keys.at(transmitter.jwks),
    maxAge: 7 * DAY_S,
  };
}

async function refusal(outcome: Promise<unknown>): Promise<string> {
  try {
    await outcome;
  } catch (error) {
    if (error instanceof SignalRefusal) return error.code;
    throw error;
  }
  return 'accepted';
}

const sharedKeys = new TransmitterKeys();
const verify = (token: string) => verifySecurityEvent(token, expectedOf(shared, sharedKeys));

describe('a security event token', () => {
  test('is read once it is verified', async () => {
    const token = await shared.event(EVENTS.sessionRevoked, ALICE, { jti: 'e-1' });
    expect(unverifiedIssuer(token)).toBe(shared.issuer);
    expect(await verify(token)).toMatchObject({
      issuer: shared.issuer,
      id: 'e-1',
      events: [{ kind: 'session-revoked', subject: ALICE }],
    });
  });

  test('is refused with the code of RFC 8935 that says why', async () => {
    const claims = { jti: 'e', aud: AUDIENCE, sub_id: ALICE, events: { [EVENTS.sessionRevoked]: {} } };
    const refused = async (change: object, signing = {}) =>
      await refusal(verify(await shared.sign({ ...claims, ...change }, signing)));
    expect(await refused({ aud: 'https://another.example.com' })).toBe('invalid_audience');
    expect(await refused({ iss: 'https://another.example.com' })).toBe('invalid_issuer');
    expect(await refused({ jti: undefined })).toBe('invalid_request');
    for (const events of [{}, [], { [EVENTS.sessionRevoked]: 'x' }, { [EVENTS.sessionRevoked]: null }])
      expect(await refused({ events })).toBe('invalid_request');
    expect(await refused({ sub: 'alice' })).toBe('invalid_request');
    expect(await refused({ exp: Math.floor(Date.now() / 1000) + 60 })).toBe('invalid_request');
    expect(await refused({ iat: undefined })).toBe('invalid_request');
    expect(await refused({}, { issuedAgo: -3600 })).toBe('invalid_request');
    await expect(refused({}, { issuedAgo: -300 })).rejects.toThrow("ahead of this machine's clock");
    expect(await refused({}, { issuedAgo: 8 * DAY_S })).toBe('invalid_request');
    expect(await refused({}, { issuedAgo: 6 * DAY_S })).toBe('accepted');
    expect(await refused({}, { typ: 'JWT' })).toBe('invalid_request');
    expect(await refused({}, { typ: undefined })).toBe('invalid_request');
    const fresh = expectedOf(shared, new TransmitterKeys());
    const unknown = await shared.sign(claims, { kid: 'unknown' });
    expect(await refusal(verifySecurityEvent(unknown, fresh))).toBe('invalid_key');
    expect(await refusal(verify('no token'))).toBe('invalid_request');
    expect(await refusal(verify(`${'a'.repeat(70_000)}.b.c`))).toBe('invalid_request');
  });

  test('is refused with a forged signature, a symmetric one, or none', async () => {
    const token = await shared.event(EVENTS.sessionRevoked, ALICE);
    const [header = '', payload = '', signature = ''] = token.split('.');
    const swapped = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
    expect(await refusal(verify(`${header}.${payload}.${swapped}`))).toBe('invalid_key');
    const unsigned = Buffer.from('{"alg":"none","typ":"secevent+jwt"}').toString('base64url');
    expect(await refusal(verify(`${unsigned}.${payload}.`))).toBe('invalid_key');
    const symmetric = await new SignJWT({ iss: shared.issuer, aud: AUDIENCE })
      .setProtectedHeader({ alg: 'HS256', typ: 'secevent+jwt' })
      .sign(Buffer.from('the public key, as a secret, of whoever'));
    expect(await refusal(verify(symmetric))).toBe('invalid_key');
  });
});

describe('the keys of a transmitter', () => {
  async function ownTransmitter(): Promise<Transmitter> {
    const transmitter = await startTransmitter();
    onTestFinished(() => transmitter.close());
    return transmitter;
  }

  test('are kept, and read again for a rotated key, but not for each unknown one', async () => {
    const pass = stopClocks();
    const transmitter = await ownTransmitter();
    const expected = expectedOf(transmitter, new TransmitterKeys());
    const before = await transmitter.event(EVENTS.sessionRevoked, ALICE);
    await verifySecurityEvent(before, expected);
    await verifySecurityEvent(before, expected);
    expect(transmitter.keyRequests()).toBe(1);

    await transmitter.rotate();
    const after = await transmitter.event(EVENTS.sessionRevoked, ALICE);
    await expect(verifySecurityEvent(after, expected)).rejects.toBeInstanceOf(KeysUnavailable);
    expect(transmitter.keyRequests()).toBe(1);
    pass(31_000);
    await verifySecurityEvent(after, expected);
    expect(transmitter.keyRequests()).toBe(2);
    pass(31_000);
    expect(await refusal(verifySecurityEvent(before, expected))).toBe('invalid_key');
  });

  test('are read again for a signature that fits none, and it is not refused for good before that', async () => {
    const pass = stopClocks();
    const transmitter = await ownTransmitter();
    const expected = expectedOf(transmitter, new TransmitterKeys());
    const next = async () => {
      await transmitter.rotate({ keepName: true });
      return await transmitter.event(EVENTS.sessionRevoked, ALICE);
    };
    const first = await next();
    await verifySecurityEvent(first, expected);
    await verifySecurityEvent(await next(), expected);
    expect(transmitter.keyRequests()).toBe(2);
    const newest = await next();
    await expect(verifySecurityEvent(newest, expected)).rejects.toBeInstanceOf(KeysUnavailable);
    expect(transmitter.keyRequests()).toBe(2);
    pass(31_000);
    await verifySecurityEvent(newest, expected);
    pass(31_000);
    expect(await refusal(verifySecurityEvent(first, expected))).toBe('invalid_key');
  });

  test('that cannot be read refuse nothing, and are not asked for with each token', async () => {
    const pass = stopClocks();
    const transmitter = await ownTransmitter();
    transmitter.answerKeysWith(503);
    const expected = expectedOf(transmitter, new TransmitterKeys());
    const token = await transmitter.event(EVENTS.sessionRevoked, ALICE);
    for (let tries = 0; tries < 5; tries += 1) {
      await expect(verifySecurityEvent(token, expected)).rejects.toBeInstanceOf(KeysUnavailable);
    }
    expect(transmitter.keyRequests()).toBe(1);
    transmitter.answerKeysWith(200);
    pass(5_000);
    expect(await verifySecurityEvent(token, expected)).toMatchObject({ issuer: transmitter.issuer });
  });

  test('are read over a protected connection only', async () => {
    const token = await shared.event(EVENTS.sessionRevoked, ALICE);
    const keys = new TransmitterKeys().at('http://keys.example.com/jwks');
    await expect(verifySecurityEvent(token, { ...expectedOf(shared), keys })).rejects.toBeInstanceOf(
      KeysUnavailable,
    );
  });
});

describe('a logout token', () => {
  const claims = () => ({
    jti: 'l-1',
    aud: AUDIENCE,
    sub: 'alice',
    sid: 's-1',
    exp: Math.floor(Date.now() / 1000) + 120,
    events: { [EVENTS.logout]: {} },
  });
  const verified = async (change: object, typ: string | undefined = 'logout+jwt') =>
    await verifyLogoutToken(await shared.sign({ ...claims(), ...change }, { typ }), expectedOf(shared));

  test('names a user, a session, or both', async () => {
    expect(await verified({})).toMatchObject({ issuer: shared.issuer, id: 'l-1', sub: 'alice', sid: 's-1' });
    expect(await verified({ sub: undefined })).toMatchObject({ sub: null, sid: 's-1' });
    expect(await verified({ sid: undefined }, 'JWT')).toMatchObject({ sub: 'alice', sid: null });
  });

  test('is no ID token and no security event', async () => {
    expect(await refusal(verified({ nonce: 'n' }))).toBe('invalid_request');
    expect(await refusal(verified({ events: { [EVENTS.sessionRevoked]: {} } }))).toBe('invalid_request');
    expect(await refusal(verified({ events: undefined }))).toBe('invalid_request');
    expect(await refusal(verified({}, 'secevent+jwt'))).toBe('invalid_request');
    expect(await refusal(verified({ sub: undefined, sid: undefined }))).toBe('invalid_request');
    expect(await refusal(verified({ exp: undefined }))).toBe('invalid_request');
    expect(await refusal(verified({ exp: 1_700_000_000 }))).toBe('invalid_request');
    expect(await refusal(verified({ aud: 'another' }))).toBe('invalid_audience');
  });
});

test('the caller of a global token revocation is a provider that signed for this address', async () => {
  const exp = Math.floor(Date.now() / 1000) + 60;
  const called = async (change: object, typ: string | undefined = 'global-token-revocation+jwt') => {
    const token = await shared.sign({ jti: 'c-1', aud: AUDIENCE, exp, ...change }, { typ });
    return await verifyRevocationCaller(token, expectedOf(shared));
  };
  expect(await called({})).toMatchObject({ issuer: shared.issuer, id: 'c-1' });
  expect(await refusal(called({ aud: 'https://another.example.com/global-token-revocation' }))).toBe(
    'invalid_audience',
  );
  expect(await refusal(called({}, 'secevent+jwt'))).toBe('invalid_request');
  expect(await refusal(called({ nonce: 'n' }, 'JWT'))).toBe('invalid_request');
  expect(await refusal(called({ exp: undefined }))).toBe('invalid_request');
});

describe('an identity', () => {
  /** An issuer that is found by its discovery document; `discovery` changes what that says, null leaves it out. */
  async function ownIssuer(discovery: object | null = {}): Promise<Transmitter> {
    const issuer = await startTransmitter(async ({ url }, base) =>
      url === '/.well-known/openid-configuration' && discovery !== null
        ? { status: 200, body: { issuer: base, jwks_uri: `${base}/jwks`, ...discovery } }
        : null,
    );
    onTestFinished(() => issuer.close());
    return issuer;
  }
  const soon = () => Math.floor(Date.now() / 1000) + 300;
  const claims = () => ({ aud: AUDIENCE, sub: 'repo:acme/infra', exp: soon() });
  const check = (issuer: Transmitter, token: string, keys = new IssuerKeys()) =>
    refusal(
      verifyIdentity(token, {
        ...{ issuer: issuer.issuer, audiences: [AUDIENCE], algorithms: signatureAlgorithms, maxAge: 600 },
        keys: keys.of({ url: issuer.issuer }),
      }),
    );

  test('is of its issuer, for one audience, of this time, and no token of another kind', async () => {
    const issuer = await ownIssuer();
    const keys = new IssuerKeys();
    const refused = async (change: object, signing = {}) =>
      await check(issuer, await issuer.sign({ ...claims(), ...change }, { typ: 'JWT', ...signing }), keys);
    expect(await refused({})).toBe('accepted');
    expect(await refused({ aud: [AUDIENCE] }, { typ: undefined })).toBe('accepted');
    expect(await refused({ aud: [AUDIENCE, 'https://other.example.com'] })).toBe('invalid_audience');
    expect(await refused({ aud: `${AUDIENCE}/` })).toBe('invalid_audience');
    expect(await refused({ aud: undefined })).toBe('invalid_audience');
    expect(await refused({ iss: `${issuer.issuer}/` })).toBe('invalid_issuer');
    for (const change of [
      { exp: undefined },
      { exp: soon() - 400 },
      { nbf: soon() },
      { iat: undefined },
      { iat: `${soon()}` },
      { sub: undefined },
      { nonce: 'of a login' },
      { events: {} },
    ])
      expect(await refused(change), JSON.stringify(change)).toBe('invalid_request');
    expect(await refused({}, { issuedAgo: 700 })).toBe('invalid_request');
    expect(await refused({}, { typ: 'logout+jwt' })).toBe('invalid_request');
    expect(await refused({ more: 'x'.repeat(17_000) })).toBe('invalid_request');
    expect(issuer.keyRequests()).toBe(1);
  });

  test('brings no key of its own, and is not signed with a public one', async () => {
    const issuer = await ownIssuer();
    const elsewhere = await ownTransmitterOf();
    const keys = new IssuerKeys();
    for (const header of [
      { jku: elsewhere.jwks },
      { x5u: elsewhere.jwks },
      { jwk: { kty: 'RSA' } },
      { x5c: ['AAAA'] },
    ])
      expect(await check(issuer, await issuer.sign(claims(), { typ: 'JWT', header }), keys)).toBe(
        'invalid_key',
      );
    const forged = await elsewhere.sign({ ...claims(), iss: issuer.issuer }, { typ: 'JWT' });
    await expect(check(issuer, forged, keys)).resolves.toBe('invalid_key');
    expect(elsewhere.keyRequests()).toBe(0);
    const published = await (await fetch(issuer.jwks)).text();
    for (const secret of [published, JSON.stringify(JSON.parse(published).keys[0])]) {
      const symmetric = await new SignJWT({ ...claims(), iss: issuer.issuer })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: 'key-0' })
        .setIssuedAt()
        .sign(Buffer.from(secret));
      expect(await check(issuer, symmetric, keys)).toBe('invalid_key');
    }
    const unsigned = [{ alg: 'none' }, { ...claims(), iss: issuer.issuer }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    expect(await check(issuer, `${unsigned}.`, keys)).toBe('invalid_key');
  });

  async function ownTransmitterOf(): Promise<Transmitter> {
    const transmitter = await startTransmitter();
    onTestFinished(() => transmitter.close());
    return transmitter;
  }

  test('has keys only where the document of its issuer says, which is read once an hour', async () => {
    for (const discovery of [
      null,
      { issuer: 'https://other.example.com' },
      { jwks_uri: 'http://keys.example.com/' },
      { jwks_uri: 'file:///etc/passwd' },
      { jwks_uri: 7 },
    ]) {
      const issuer = await ownIssuer(discovery);
      const token = await issuer.sign(claims(), { typ: 'JWT' });
      await expect(check(issuer, token)).rejects.toBeInstanceOf(KeysUnavailable);
      expect(issuer.keyRequests()).toBe(0);
    }
  });

  test('of an issuer whose keys drip waits with few others, and holds up no other issuer', async () => {
    const issuer = await ownIssuer();
    const asked = Promise.withResolvers<void>();
    const drips = await startTransmitter(async ({ url }) => {
      if (url !== '/.well-known/openid-configuration') return null;
      asked.resolve();
      return await new Promise<never>(() => undefined);
    });
    const keys = new IssuerKeys();
    const token = await drips.sign(claims(), { typ: 'JWT' });
    const all = Array.from({ length: 60 }, () => check(drips, token, keys));
    for (const each of all) each.catch(() => undefined);
    await asked.promise;
    expect(await check(issuer, await issuer.sign(claims(), { typ: 'JWT' }), keys)).toBe('accepted');
    await expect(all[59]).rejects.toThrow('are being read');
    await drips.close();
    await expect(all[0]).rejects.toBeInstanceOf(KeysUnavailable);
  });
});
