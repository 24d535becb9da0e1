import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService, ServiceOptions } from '../src/server.ts';
import { ADMIN, basic, Client, startTestService } from './support/service.ts';

const METADATA = '/.well-known/oauth-authorization-server';
const PUBLIC = 'https://automation.example.org';

/** A client that reaches the service under another name, directly or through a proxy. */
const named = (service: RunningService, headers: Readonly<Record<string, string>>) =>
  new Client(service.url, { ...basic(ADMIN.username, ADMIN.password), ...headers });

/** The status of a request with exactly these headers, in their order. */
const statusOf = (url: string, headers: string[]) =>
  new Promise<number | undefined>((resolve, reject) => {
    const sent = request(url, { headers, agent: false }, (answer) => resolve(answer.resume().statusCode));
    sent.on('error', reject).end();
  });

describe('a service', () => {
  let local: RunningService;
  let published: RunningService;

  beforeAll(async () => {
    [local, published] = await Promise.all([
      startTestService({ behindProxy: true }),
      startTestService({ behindProxy: true, publicUrl: `${PUBLIC}/` }),
    ]);
  });
  afterAll(() => Promise.all([local.close(), published.close()]));

  it.each([
    { host: 'attacker.example' },
    { host: 'localhost.attacker.example' },
    { host: '10.0.0.7:8052' },
    { host: '127.0.0.1@attacker.example' },
    { host: 'attacker.example:99999' },
    { 'x-forwarded-host': 'attacker.example' },
  ])('without a public URL refuses requests for %o', async (headers) => {
    for (const path of ['/api/v2/me/', METADATA, '/api/login/', '/nothing']) {
      const answer = await named(local, headers).get(path);
      expect([path, answer.status]).toEqual([path, 421]);
      expect(answer.json.detail).toMatch(/--public-url/);
    }
  });

  it.each(['localhost', 'localhost:8052', '127.0.0.1:1', '127.8.0.1', '[::1]:8052', 'LOCALHOST'])(
    'without a public URL is issuer %s',
    async (host) => {
      const { status, json } = await named(local, { host }).get(METADATA);
      expect([status, json['issuer']]).toEqual([200, `http://${host}`.toLowerCase()]);
    },
  );

  it.each([
    { host: 'automation.example.org' },
    { host: 'AUTOMATION.example.org:443', 'x-forwarded-proto': 'https' },
    { 'x-forwarded-host': 'automation.example.org', 'x-forwarded-proto': 'https' },
    { host: '10.0.0.7:8052' },
    { host: 'localhost' },
  ])('with a public URL has that issuer for %o', async (headers) => {
    const { status, json } = await named(published, headers).get(METADATA);
    expect([status, json['issuer'], json['token_endpoint']]).toEqual([200, PUBLIC, `${PUBLIC}/api/o/token/`]);
  });

  it.each([{ host: 'attacker.example' }, { 'x-forwarded-host': 'automation.example.org.attacker.example' }])(
    'with a public URL refuses requests for %o',
    async (headers) => {
      expect((await named(published, headers).get('/api/v2/ping/')).status).toBe(421);
    },
  );

  it.each([
    ['/api/v2/ping/', ['Host', 'localhost', 'host', 'attacker.example']],
    ['/api/v2/ping/', ['Host', 'localhost', 'Host', 'localhost']],
    ['/api/o/token/', ['Host', 'localhost', 'Host', 'localhost']],
    ['/nothing', ['Host', 'localhost', 'HOST', '']],
  ])('refuses a request for %s with the headers %o (RFC 9112 section 3.2)', async (path, headers) => {
    expect(await statusOf(local.url + path, headers)).toBe(400);
    expect(await statusOf(local.url + path, headers.slice(0, 2))).not.toBe(400);
  });

  it('takes forms of its public URL, and of no other site', async () => {
    const logIn = (headers: Readonly<Record<string, string>>) =>
      new Client(published.url, headers).logIn(ADMIN.username, ADMIN.password);
    const proxied = { 'x-forwarded-host': 'automation.example.org', 'x-forwarded-proto': 'https' };
    expect((await logIn({ ...proxied, origin: PUBLIC })).status).toBe(302);
    expect((await logIn({ origin: published.url })).status).toBe(302);
    for (const origin of ['https://attacker.example', 'http://automation.example.org', 'null']) {
      expect([origin, (await logIn({ ...proxied, origin })).status]).toEqual([origin, 403]);
    }
  });
});

describe('the start of a service', () => {
  const start = (options: Partial<ServiceOptions>) =>
    startTestService({ kind: 'the embedded database', ...options });

  it.each([
    'http://automation.example.org',
    'automation.example.org',
    `${PUBLIC}/api/`,
    'https://a:b@c.example',
  ])('refuses the public URL %s', async (publicUrl) => {
    await expect(start({ publicUrl })).rejects.toMatchObject({ code: 'usage' });
  });

  it('on an address for others requires a public URL', async () => {
    await expect(start({ host: '0.0.0.0', behindProxy: true })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('public URL'),
    });
  });
});
