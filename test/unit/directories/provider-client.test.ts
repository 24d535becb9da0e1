import { generateKeyPairSync } from 'node:crypto';
import type { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { until } from '@tokenctl/testing/until.ts';
import { importSPKI, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { clientCredentialsToken, serviceAccountToken } from '../../../src/directories/access-tokens.ts';
import { ProviderClient } from '../../../src/directories/provider-client.ts';
import { type Answer, providerServer } from '../../support/provider-server.ts';

/** An error as the Admin SDK of Google answers it. */
const google = (status: number, reason: string) => ({
  status,
  body: { error: { code: status, status: 'PERMISSION_DENIED', errors: [{ reason, domain: 'usageLimits' }] } },
});
/** Okta's header of a limit that ends this many seconds after `clock`, and the time of its own clock. */
const limitedUntil = (seconds: number, clock = Date.now()) => ({
  status: 429,
  headers: {
    date: new Date(clock).toUTCString(),
    'x-rate-limit-reset': String(Math.ceil(clock / 1000) + seconds),
  },
});

/** Answers in this order, the last one again and again. */
async function answering(...answers: readonly Answer[]) {
  let next = 0;
  return await providerServer(() => answers[Math.min(next++, answers.length - 1)] ?? {});
}

describe('requests to a provider', () => {
  test.each([
    ['a limit of the rate', { status: 429, headers: { 'retry-after': '0' } }],
    ['a proxy without its server', { status: 503 }],
    ['a limit of a user at Google', google(403, 'userRateLimitExceeded')],
    ['a limit of Google', google(403, 'rateLimitExceeded')],
    ['a quota of Google', google(403, 'quotaExceeded')],
    ['a fault of Google', google(500, 'backendError')],
    [
      'a limit that ended by the clock of the provider, an hour ahead',
      limitedUntil(-2, Date.now() + 3_600_000),
    ],
    ['a connection that is cut in the middle of a page', { body: { users: 'x'.repeat(100_000) }, cut: true }],
  ])('are repeated after %s', async (_, first) => {
    const server = await answering(first, { body: { fine: true } });
    expect((await server.client().get('users')).body).toEqual({ fine: true });
    expect(server.asked).toHaveLength(2);
  });

  test.each([
    ['429 for good', { status: 429 }, 3, 'target_unreachable'],
    ['a delay of an hour', { status: 429, headers: { 'retry-after': '3600' } }, 1, 'target_unreachable'],
    [
      'a limit that is reset tomorrow',
      { status: 429, headers: { 'x-rate-limit-reset': String(Math.ceil(Date.now() / 1000) + 86_400) } },
      1,
      'target_unreachable',
    ],
    [
      'a limit that lasts two minutes by the clock of the provider, an hour behind',
      limitedUntil(120, Date.now() - 3_600_000),
      1,
      'target_unreachable',
    ],
    ['a limit of Google for good', google(403, 'userRateLimitExceeded'), 3, 'target_unreachable'],
    ['a fault of Google for good', google(500, 'backendError'), 3, 'target_unreachable'],
    ['a fault without a reason', { status: 500 }, 1, 'target_unreachable'],
    ['a right that Google denies', google(403, 'forbidden'), 1, 'permission_refused'],
    ['a refused credential', { status: 401 }, 2, 'credentials_refused'],
    [
      'a missing right',
      { status: 403, body: { error: { code: 'Authorization_RequestDenied' } } },
      1,
      'permission_refused',
    ],
    ['a redirect', { status: 302, headers: { location: 'https://evil.example/' } }, 1, 'target_misbehaved'],
    ['half a page, each time', { body: 'x'.repeat(100_000), cut: true }, 3, 'target_unreachable'],
    ['a page of HTML', { body: '<html>secret</html>' }, 1, 'target_misbehaved'],
    ['a page that is too long', { body: 'x'.repeat(33 * 1024 * 1024) }, 1, 'target_misbehaved'],
  ])('end at %s', async (_, answer, requests, code) => {
    const server = await answering(answer);
    const error = await server
      .client('', 'Bearer hidden-token')
      .get('users')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toMatch(/secret|hidden-token|evil/);
    const rights = /Grant the permission/;
    const { hint } = error as TokenctlError;
    if (code === 'permission_refused') expect(hint).toMatch(rights);
    else expect(hint ?? '').not.toMatch(rights);
    expect(server.asked).toHaveLength(requests);
  });

  test.each(['https://x.example:99999/next', 'https://other.example/next'])(
    'are not sent to the next page %s',
    async (address) => {
      const server = await answering({ body: 1 });
      await expect(server.client().get(address)).rejects.toMatchObject({ code: 'target_misbehaved' });
      expect(server.asked).toEqual([]);
    },
  );

  test('take a new token once after a refusal', async () => {
    const server = await providerServer(({ headers }) =>
      headers.authorization === 'Bearer new' ? { body: 1 } : { status: 401 },
    );
    const tokens = ['Bearer old', 'Bearer new'];
    const client = new ProviderClient({
      name: 'x',
      url: server.url,
      authorization: () => Promise.resolve(new Secret(tokens.shift() ?? '')),
    });
    expect((await client.get('users')).body).toBe(1);
    await client.close();
  });

  test('end when all together take too long: a list may have pages without an end', async () => {
    const server = await answering({ body: [] });
    const authorization = () => Promise.resolve(new Secret('x'));
    const client = new ProviderClient({ name: 'It', url: server.url, authorization, whole: 60 });
    const pages = async () => {
      for (;;) await client.get('users');
    };
    await expect(pages()).rejects.toMatchObject({
      code: 'target_unreachable',
      message: 'It did not finish its list within 0.001 min',
    });
    await client.close();
  });

  test('are never sent unencrypted', () => {
    const authorization = () => Promise.resolve(new Secret('x'));
    const url = new URL('http://id.example.org/');
    expect(() => new ProviderClient({ name: 'x', url, authorization })).toThrow(/must start with https/);
  });

  test('end with the signal', async () => {
    const server = await answering({ status: 503, headers: { 'retry-after': '30' } });
    const stop = new AbortController();
    const options = { name: 'x', url: server.url, signal: stop.signal };
    const client = new ProviderClient({ ...options, authorization: () => Promise.resolve(new Secret('x')) });
    const reading = client.get('users');
    void until(() => server.asked.length > 0).then(() => stop.abort());
    await expect(reading).rejects.toMatchObject({ code: 'interrupted' });
    await client.close();
  });
});

describe('access tokens', () => {
  const token = { body: { access_token: 'at', token_type: 'Bearer', expires_in: 3600 } };
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const curve = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });

  test('by a client secret', async () => {
    const server = await answering(token);
    const tokenUrl = new URL('oauth2/v2.0/token', server.url);
    const credential = { secret: new Secret('s & t') };
    const made = await clientCredentialsToken({
      name: 'x',
      tokenUrl,
      clientId: 'c',
      credential,
      scope: 'a/.default',
    });
    expect(made.reveal()).toBe('Bearer at');
    expect(Object.fromEntries(server.asked[0]?.form ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'c',
      client_secret: 's & t',
      scope: 'a/.default',
    });
  });

  test.each([
    ['RS256', keys],
    ['ES256', curve],
  ])('by a private key, signed with %s', async (algorithm, { privateKey, publicKey }) => {
    const server = await answering(token);
    const tokenUrl = new URL('oauth2/v1/token', server.url);
    const credential = { privateKey: new Secret(privateKey), keyId: 'k1' };
    await clientCredentialsToken({
      name: 'x',
      tokenUrl,
      clientId: 'c',
      credential,
      scope: 'okta.users.read',
    });
    const assertion = server.asked[0]?.form.get('client_assertion') ?? '';
    const { payload, protectedHeader } = await jwtVerify(assertion, await importSPKI(publicKey, algorithm));
    expect(protectedHeader).toMatchObject({ alg: algorithm, kid: 'k1' });
    expect(payload).toMatchObject({ iss: 'c', sub: 'c', aud: tokenUrl.href });
  });

  test('of a service account that acts for an administrator', async () => {
    const server = await answering(token);
    const tokenUrl = new URL('token', server.url);
    const made = await serviceAccountToken({
      name: 'x',
      tokenUrl,
      email: 'reader@project.iam.example',
      privateKey: new Secret(keys.privateKey),
      keyId: 'k2',
      subject: 'admin@example.org',
      scope: 'users.readonly',
    });
    expect(made.reveal()).toBe('Bearer at');
    const { form } = server.asked[0] ?? {};
    expect(form?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload } = await jwtVerify(
      form?.get('assertion') ?? '',
      await importSPKI(keys.publicKey, 'RS256'),
    );
    expect(payload).toMatchObject({
      iss: 'reader@project.iam.example',
      sub: 'admin@example.org',
      scope: 'users.readonly',
      aud: tokenUrl.href,
    });
  });

  test.each([
    [
      'a refused client',
      { status: 401, body: { error: 'invalid_client', error_description: 'secret x' } },
      'credentials_refused',
      /invalid_client/,
    ],
    ['a page of HTML', { status: 502, body: '<html>' }, 'target_unreachable', /returned no access token$/],
    [
      'a token of another type',
      { body: { access_token: 'at', token_type: 'DPoP' } },
      'target_misbehaved',
      /other than Bearer/,
    ],
  ])('%s is reported', async (_, answer, code, text) => {
    const server = await answering(answer);
    const credential = { secret: new Secret('x') };
    const made = clientCredentialsToken({
      name: 'The provider',
      tokenUrl: server.url,
      clientId: 'c',
      credential,
    });
    await expect(made).rejects.toMatchObject({ code });
    await expect(made).rejects.toThrow(text);
    await expect(made).rejects.not.toThrow(/secret x/);
  });

  test('a key that is none is a mistake of the configuration', async () => {
    const credential = { privateKey: new Secret('no key') };
    const tokenUrl = new URL('http://127.0.0.1:9/');
    const made = clientCredentialsToken({ name: 'Okta', tokenUrl, clientId: 'c', credential });
    await expect(made).rejects.toThrow(/Cannot read the private key for Okta/);
  });
});
