import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { SECRET_KEY, startTestService } from '../support/service.ts';
import { Browser } from '../support/sso/browser.ts';
import { expectRefused, set, untilReturn, whoIs } from '../support/sso/world.ts';
import { type ForgingProvider, startForgingProvider } from './forging-provider.ts';

/** The parts of an address changed. */
function changed(address: string, parts: Readonly<Record<string, string | null>>): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parts)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
}

describe('attacks on OpenID Connect', () => {
  let service: RunningService;
  let provider: ForgingProvider;
  let other: ForgingProvider;
  const begin = (backend = 'google-oauth2') => untilReturn(service, { backend, account: 'mallory' });

  beforeAll(async () => {
    service = await startTestService({ secretKey: SECRET_KEY });
    provider = await startForgingProvider();
    other = await startForgingProvider();
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'secret',
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
    });
  });
  beforeEach(() => {
    provider.forgery = {};
  });
  afterAll(async () => {
    await service.close();
    await provider.close();
    await other.close();
  });

  it('do not concern an honest answer', async () => {
    const { browser, back } = await begin();
    expect((await browser.open(back)).url).toBe(`${service.url}/accounts/profile/`);
    expect(await whoIs(service, browser)).toMatchObject({ external_account: 'social' });
  });

  it.each<readonly [string, ForgingProvider['forgery']]>([
    ['without a nonce', { claims: ({ nonce: _, ...claims }) => claims }],
    ['with another nonce', { claims: (claims) => ({ ...claims, nonce: 'other' }) }],
    ['for another client', { claims: (claims) => ({ ...claims, aud: 'other' }) }],
    [
      'for several clients, issued to another',
      { claims: (claims) => ({ ...claims, aud: ['automation', 'x'], azp: 'x' }) },
    ],
    ['of another issuer', { claims: (claims) => ({ ...claims, iss: 'https://accounts.google.com' }) }],
    ['that has expired', { claims: (claims) => ({ ...claims, exp: Number(claims['iat']) - 120 }) }],
    ['without an end', { claims: ({ exp: _, ...claims }) => claims }],
    ['that is not valid yet', { claims: (claims) => ({ ...claims, nbf: Number(claims['iat']) + 600 }) }],
    ['without a subject', { claims: ({ sub: _, ...claims }) => claims }],
    ['that no one signed', { algorithm: 'none' }],
    ['signed with a key that is not published', { foreignKey: true }],
    ['whose header names another algorithm', { algorithm: 'HS256' }],
  ])('fail: an id token %s', async (_name, forgery) => {
    provider.forgery = forgery;
    const { browser, back } = await begin();
    await expectRefused(service, { browser, stop: await browser.open(back) }, 'unverified');
  });

  it('bear a clock that is half a minute off', async () => {
    provider.forgery = { claims: (claims) => ({ ...claims, nbf: Number(claims['iat']) + 30 }) };
    const { browser, back } = await begin();
    expect((await browser.open(back)).url).toBe(`${service.url}/accounts/profile/`);
  });

  it.each<readonly [string, ForgingProvider['forgery']]>([
    ['names another issuer', { answerIssuer: 'https://evil.invalid' }],
    ['names none, although the provider always does', { answerIssuer: null }],
  ])('fail: an answer that %s', async (_name, forgery) => {
    provider.forgery = forgery;
    const { browser, back } = await begin();
    await expectRefused(service, { browser, stop: await browser.open(back) }, 'unverified');
  });

  it.each<readonly [string, Readonly<Record<string, string | null>>, string]>([
    ['a changed state', { state: 'A'.repeat(43) }, 'no_such_login'],
    ['no state', { state: null }, 'no_such_login'],
    ['a code that was made up', { code: 'made-up' }, 'unverified'],
    ['no code', { code: null }, 'unverified'],
  ])('fail: %s', async (_name, parts, reason) => {
    const { browser, back } = await begin();
    await expectRefused(service, { browser, stop: await browser.open(changed(back, parts)) }, reason);
  });

  it('fail: a code that was used', async () => {
    const first = await begin();
    const code = new URL(first.back).searchParams.get('code');
    expect((await first.browser.open(first.back)).status).toBe(200);
    const second = await begin();
    const stop = await second.browser.open(changed(second.back, { code }));
    await expectRefused(service, { browser: second.browser, stop }, 'unverified');
  });

  it("fail: someone else's code in one's own login", async () => {
    const victim = await begin();
    const attacker = await begin();
    const code = new URL(victim.back).searchParams.get('code');
    const stop = await attacker.browser.open(changed(attacker.back, { code }));
    await expectRefused(service, { browser: attacker.browser, stop }, 'unverified');
  });

  it('fail: an answer that is carried into another browser, to log it in as someone else', async () => {
    const attacker = await begin();
    const victim = new Browser();
    await expectRefused(
      service,
      { browser: victim, stop: await victim.open(attacker.back) },
      'no_such_login',
    );
    const another = await begin();
    const stop = await another.browser.open(attacker.back);
    await expectRefused(service, { browser: another.browser, stop }, 'no_such_login');
  });

  it('fail: an answer of one provider at the address of the other', async () => {
    await set(service, 'azuread-oauth2', {
      SOCIAL_AUTH_AZUREAD_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_AZUREAD_OAUTH2_SECRET: 'secret',
      SOCIAL_AUTH_AZUREAD_OAUTH2_TENANT_ID: 'organizations',
      SOCIAL_AUTH_AZUREAD_OAUTH2_AUTHORITY_HOST: other.url,
    });
    const { browser, back } = await begin();
    const stop = await browser.open(back.replace('/google-oauth2/', '/azuread-oauth2/'));
    await expectRefused(service, { browser, stop }, 'no_such_login');
  });

  it('fail: a provider that names another issuer than the one configured', async () => {
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: `${provider.url}/other` });
    const browser = new Browser();
    const stop = await browser.open(`${service.url}/sso/login/google-oauth2/`);
    await expectRefused(service, { browser, stop }, 'unverified');
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url });
  });

  it('leave no login that lasts: what is not answered in ten minutes is over', async () => {
    let ahead = 0;
    const slow = await startTestService({ secretKey: SECRET_KEY, now: () => new Date(Date.now() + ahead) });
    await set(slow, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: 'secret',
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
    });
    const { browser, back } = await untilReturn(slow, { backend: 'google-oauth2', account: 'mallory' });
    ahead = 601_000;
    await expectRefused(slow, { browser, stop: await browser.open(back) }, 'no_such_login');
    await slow.close();
  });
});
