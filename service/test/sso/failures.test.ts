import { listenOnLoopback } from '@tokenctl/testing/sso/http-server.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { SECRET_KEY, startTestService } from '../support/service.ts';
import { Browser, type Stop } from '../support/sso/browser.ts';
import { expectRefused, LogLines, set, untilReturn, whoIs } from '../support/sso/world.ts';
import { type ForgingProvider, startForgingProvider } from './forging-provider.ts';

const SECRET = 'a-client-secret-of-the-tests';

describe('failed logins', () => {
  const log = new LogLines();
  let service: RunningService;
  let provider: ForgingProvider;
  const logIn = async (query: (back: URL) => void = () => undefined) => {
    const { browser, back } = await untilReturn(service, { backend: 'google-oauth2', account: 'mallory' });
    const url = new URL(back);
    query(url);
    return { browser, stop: await browser.open(url.href) };
  };

  beforeAll(async () => {
    service = await startTestService({ secretKey: SECRET_KEY, logLevel: 'warn', logTo: log });
    provider = await startForgingProvider({ hasUserinfo: true });
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: SECRET,
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
    });
  });
  beforeEach(() => {
    provider.forgery = {};
  });
  afterAll(async () => {
    await service.close();
    await provider.close();
  });

  it.each<readonly [string, ForgingProvider['forgery'], (back: URL) => void, string, RegExp]>([
    [
      'a wrong secret',
      { tokenAnswer: [401, { error: 'invalid_client', error_description: 'x' }] },
      () => undefined,
      'unverified',
      /error invalid_client/,
    ],
    [
      'a code that was used',
      {},
      (back) => back.searchParams.set('code', 'used'),
      'unverified',
      /error invalid_grant/,
    ],
    [
      'a claim for another client',
      { claims: (claims) => ({ ...claims, aud: 'other' }) },
      () => undefined,
      'unverified',
      /claim aud/,
    ],
    [
      'a claim of another issuer',
      { claims: (claims) => ({ ...claims, iss: 'https://other.example.org' }) },
      () => undefined,
      'unverified',
      /claim iss/,
    ],
    ['a server error', { tokenAnswer: [503, {}] }, () => undefined, 'unreachable', /status 503/],
    ['a rate limit', { tokenAnswer: [429, {}] }, () => undefined, 'unreachable', /status 429/],
    [
      'a refusal',
      {},
      (back) => {
        back.searchParams.delete('code');
        back.searchParams.set('error', 'access_denied');
      },
      'refused_by_provider',
      /error access_denied/,
    ],
  ])(
    'because of %s are logged with the cause, under the id on the page',
    async (_name, forgery, query, reason, cause) => {
      provider.forgery = forgery;
      const { browser, stop } = await logIn(query);
      await expectRefused(service, { browser, stop }, reason);
      expect(log.ofFailure(stop)).toMatchObject({ reason, detail: expect.stringMatching(cause) });
      expect(JSON.stringify(log.lines)).not.toContain(SECRET);
    },
  );

  it('because a provider cannot be reached are logged with the error of the system', async () => {
    const closed = await listenOnLoopback(() => () => undefined);
    await closed.close();
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: closed.url });
    const stop = await new Browser().open(`${service.url}/sso/login/google-oauth2/`);
    expect(log.ofFailure(stop)).toMatchObject({
      reason: 'unreachable',
      detail: expect.stringContaining('ECONNREFUSED'),
    });
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url });
  });

  it('show an id only if it has the form of one', async () => {
    const page = await new Browser().open(`${service.url}/sso/error/?reason=unverified&request=<script>`);
    expect(page.text).not.toMatch(/script|Request ID/);
  });

  it.each(['', 'a\0b'])('because of the subject %j end at the page, without a user', async (sub) => {
    provider.forgery = { claims: (claims) => ({ ...claims, sub }) };
    await expectRefused(service, await logIn(), 'unverified');
  });

  it('because of a NUL in a name end at the page, and the log names the value', async () => {
    provider.forgery = { claims: (claims) => ({ ...claims, given_name: 'Ma\0llory' }) };
    const { browser, stop } = await logIn();
    await expectRefused(service, { browser, stop }, 'unverified');
    expect(log.ofFailure(stop)).toMatchObject({ detail: 'the first name contains a NUL character' });
  });

  it('are no users called "user" of a provider that sends claims only in userinfo', async () => {
    const claims = (more: object) => (given: Record<string, unknown>) => ({
      ...given,
      sub: 'lemon',
      ...more,
    });
    provider.forgery = {
      claims: claims({}),
      userinfo: { sub: 'lemon', preferred_username: 'dwho', email: 'dwho@example.org', email_verified: true },
    };
    const first: { browser: Browser; stop: Stop } = await logIn();
    expect(await whoIs(service, first.browser)).toMatchObject({
      username: 'dwho',
      email: 'dwho@example.org',
    });
    // A role by a claim that only userinfo has, and a claim of the signed token that userinfo contradicts.
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {
        is_system_auditor_attr: 'groups',
        is_system_auditor_value: 'audit',
      },
    });
    provider.forgery = {
      claims: claims({ preferred_username: 'dwho', given_name: 'Signed' }),
      userinfo: { sub: 'lemon', groups: ['audit'], given_name: 'Unsigned' },
    };
    const second = await logIn();
    expect(await whoIs(service, second.browser)).toMatchObject({
      is_system_auditor: true,
      first_name: 'Signed',
    });
    // Of another user.
    provider.forgery = { claims: claims({}), userinfo: { sub: 'root', groups: ['audit'] } };
    await expectRefused(service, await logIn(), 'unverified');
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {} });
  });

  it('take no role away if the provider did not send the groups that it has', async () => {
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {
        is_system_auditor_attr: 'groups',
        is_system_auditor_value: 'audit',
      },
      SOCIAL_AUTH_GOOGLE_OAUTH2_ORGANIZATION_MAP: { Default: { users: { groups: ['audit'] } } },
    });
    const claims = (more: object) => (given: Record<string, unknown>) => ({
      ...given,
      sub: 'many',
      preferred_username: 'many',
      ...more,
    });
    const roles = async (browser: Browser) => {
      const user = await whoIs(service, browser);
      const path = `${service.url}/api/v2/users/${user?.id}/organizations/`;
      const { count } = JSON.parse((await browser.open(path)).text) as { count: number };
      return { auditor: user?.['is_system_auditor'], organizations: count };
    };
    const held = { auditor: true, organizations: 1 };
    provider.forgery = { claims: claims({ groups: ['audit'] }) };
    expect(await roles((await logIn()).browser)).toEqual(held);
    provider.forgery = {
      claims: claims({
        _claim_names: { groups: 'src1' },
        _claim_sources: { src1: { endpoint: 'https://graph.example' } },
      }),
    };
    expect(await roles((await logIn()).browser)).toEqual(held);
    expect(log.lines.at(-1)).toMatchObject({
      claims: ['groups'],
      msg: expect.stringContaining('stay unchanged'),
    });
    provider.forgery = { claims: claims({ groups: ['other'] }) };
    expect(await roles((await logIn()).browser)).toEqual({ auditor: false, organizations: 0 });
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_USER_FLAGS_BY_ATTR: {},
      SOCIAL_AUTH_GOOGLE_OAUTH2_ORGANIZATION_MAP: null,
    });
  });
});
