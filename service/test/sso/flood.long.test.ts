import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { ADMIN, Client, SECRET_KEY, startTestService } from '../support/service.ts';
import type { Browser } from '../support/sso/browser.ts';
import { LogLines, set, untilReturn, whoIs } from '../support/sso/world.ts';
import { type ForgingProvider, startForgingProvider } from './forging-provider.ts';
import { idpFor, idpSettings, logInWithSaml, samlKeys } from './saml-world.ts';

const keys = samlKeys();

/** More than the allowance of refused responses of one network. */
const FLOOD = 130;
const STATE = 'A'.repeat(43);

describe('a web page that sends the browsers of a network to the addresses of logins', () => {
  const log = new LogLines();
  let service: RunningService;
  let provider: ForgingProvider;

  beforeAll(async () => {
    service = await startTestService({ secretKey: SECRET_KEY, logLevel: 'warn', logTo: log });
    provider = await startForgingProvider();
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'secret',
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
    });
    await set(service, 'saml', {
      SOCIAL_AUTH_SAML_SP_ENTITY_ID: 'https://automation.example.org',
      SOCIAL_AUTH_SAML_ENABLED_IDPS: { corporate: idpSettings(keys, { allow_idp_initiated: true }) },
    });
  });
  afterAll(async () => {
    await service.close();
    await provider.close();
  });

  /** Requests as of images, some with the cookie of a login that is under way in the same browser. */
  async function flood(victim: Browser): Promise<void> {
    const cookie = `sso_login=${victim.cookies.get('sso_login') ?? ''}`;
    for (let sent = 0; sent < FLOOD; sent += 1) {
      const { status } = await fetch(
        `${service.url}/sso/complete/google-oauth2/?state=${STATE}&code=${sent}`,
        { redirect: 'manual', headers: sent % 2 === 0 ? { cookie } : {} },
      );
      expect(status).toBe(302);
      if (sent % 10 !== 0) continue;
      const body = new URLSearchParams({ SAMLResponse: 'PGEvPg==', RelayState: STATE });
      await fetch(`${service.url}/sso/complete/saml/`, { method: 'POST', redirect: 'manual', body });
    }
  }

  it('does not keep anybody of that network from logging in: 20 of 20', async () => {
    const idp = await idpFor(service, keys);
    let succeeded = 0;
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const pending = await untilReturn(service, { backend: 'google-oauth2', account: 'mallory' });
      if (attempt % 10 === 0) await flood(pending.browser);
      await pending.browser.open(pending.back);
      const saml = await logInWithSaml(service, { idp, nameId: 'lin' });
      if ((await whoIs(service, pending.browser)) !== null && (await whoIs(service, saml.browser)) !== null) {
        succeeded += 1;
      }
    }
    expect(succeeded).toBe(20);
  });

  it('fills no log: after a hundred refusals, a line every three seconds', () => {
    const refusals = log.lines.filter(({ reason }) => reason === 'no_such_login');
    expect(refusals.length).toBeGreaterThan(0);
    expect(refusals.length).toBeLessThan(2 * FLOOD);
  });

  it('sends no end of messages to the single logout, whose refusals are logged as seldom', async () => {
    log.lines.length = 0;
    for (let sent = 0; sent < FLOOD; sent += 1) {
      await fetch(`${service.url}/sso/logout/saml/?SAMLResponse=x`, { redirect: 'manual' });
    }
    expect(log.lines.length).toBeLessThan(FLOOD);
  });

  it.each(['image', 'script', 'iframe', 'empty'])('is refused as a request for: %s', async (destination) => {
    for (const path of ['login', 'complete']) {
      const answer = await fetch(`${service.url}/sso/${path}/google-oauth2/?state=${STATE}`, {
        redirect: 'manual',
        headers: { 'sec-fetch-dest': destination },
      });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8']);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    const [rows] = await service.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM service_sso_login',
    );
    expect(rows?.count).toBe(0);
  });

  it('opens a login that a browser says is a page', async () => {
    const answer = await fetch(`${service.url}/sso/login/google-oauth2/`, {
      redirect: 'manual',
      headers: { 'sec-fetch-dest': 'document' },
    });
    expect(answer.headers.get('location')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?/);
  });

  it('gets a page in HTML once responses without a request were refused too often', async () => {
    const send = () =>
      fetch(`${service.url}/sso/complete/saml/`, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({ SAMLResponse: 'PGEvPg==' }),
      });
    let answer = await send();
    for (let sent = 0; sent < FLOOD && answer.status === 302; sent += 1) answer = await send();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8']);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-3]$/);
    expect(await answer.text()).toMatch(/Too many logins failed\. Try again in [1-3] seconds?\./);
    const { browser } = await logInWithSaml(service, { idp: await idpFor(service, keys), nameId: 'lin' });
    expect(await whoIs(service, browser)).not.toBeNull();
  });

  it('is slowed down where it fails logins that it started', async () => {
    provider.forgery = { tokenAnswer: [401, { error: 'invalid_client' }] };
    let status = 0;
    for (let sent = 0; sent < FLOOD && status !== 429; sent += 1) {
      const { browser, back } = await untilReturn(service, { backend: 'google-oauth2', account: 'mallory' });
      ({ status } = await browser.open(back, (url) => url.includes('/sso/error/')));
    }
    expect(status).toBe(429);
    provider.forgery = {};
  });

  it('that leaves logins unfinished does not keep a browser that logged in before from starting one', async () => {
    const browser = new Client(service.url);
    await browser.logIn(ADMIN.username, ADMIN.password);
    const cookie = `known_device=${browser.cookies.get('known_device') ?? ''}`;
    const start = (headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${service.url}/sso/login/google-oauth2/`, { redirect: 'manual', headers });
    let flood = await start();
    for (let rounds = 0; rounds < 20 && flood.status === 302; rounds += 1) {
      [flood = flood] = (await Promise.all(Array.from({ length: 100 }, () => start()))).slice(-1);
    }
    expect([flood.status, flood.headers.get('retry-after')]).toEqual([429, '1']);
    const known = await Promise.all(Array.from({ length: 20 }, () => start({ cookie })));
    expect(known.map(({ status }) => status)).toEqual(Array(20).fill(302));
    const forged = cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    const refused = await Promise.all(
      [forged, cookie, ''].flatMap((each) => Array.from({ length: 10 }, () => start({ cookie: each }))),
    );
    // Two a second are forgiven meanwhile.
    expect(refused.filter(({ status }) => status === 302).length).toBeLessThan(10);
  });
});
