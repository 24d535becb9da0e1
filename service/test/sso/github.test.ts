import type { LoopbackServer } from '@tokenctl/testing/sso/http-server.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { SECRET_KEY, startTestService } from '../support/service.ts';
import { type GithubAccount, type GithubTroubles, startGithub } from '../support/sso/github-server.ts';
import { expectRefused, LogLines, logInThrough, set, untilReturn, whoIs } from '../support/sso/world.ts';

const account = (id: number, more: Partial<GithubAccount> = {}): GithubAccount => ({
  id,
  name: null,
  emails: [],
  organizations: {},
  teams: [],
  ...more,
});

const ACCOUNTS: Record<string, GithubAccount> = {
  octo: account(583231, {
    name: 'Octo Cat',
    emails: [
      { email: 'octo@spam.example', verified: true, primary: false },
      { email: 'Octo@example.org', verified: true, primary: true },
    ],
    organizations: { Acme: 'active' },
    teams: [{ id: 7, slug: 'ops', organization: 'Acme' }],
  }),
  invited: account(2, { organizations: { Acme: 'pending' } }),
  unverified: account(3, {
    emails: [{ email: 'ceo@example.org', verified: false, primary: true }],
    organizations: { Acme: 'active' },
  }),
};

describe('GitHub', () => {
  let service: RunningService;
  let github: LoopbackServer;
  const log = new LogLines();
  const troubles: GithubTroubles = new Map();
  const logIn = (login: string) => logInThrough(service, { backend: 'github', account: login });

  beforeAll(async () => {
    service = await startTestService({ ...{ secretKey: SECRET_KEY, logLevel: 'warn', logTo: log } });
    github = await startGithub(
      { clientId: 'gh', clientSecret: 'gh-secret', redirectUri: `${service.url}/sso/complete/github/` },
      ACCOUNTS,
      troubles,
    );
    await set(service, 'github', {
      SOCIAL_AUTH_GITHUB_KEY: 'gh',
      SOCIAL_AUTH_GITHUB_SECRET: 'gh-secret',
      SOCIAL_AUTH_GITHUB_URL: `${github.url}/`,
      SOCIAL_AUTH_GITHUB_API_URL: `${github.url}/api/v3`,
    });
  });
  afterAll(async () => {
    await service.close();
    await github.close();
  });

  it('makes a user of the account with its verified primary address, and finds it again by its number', async () => {
    const { browser } = await logIn('octo');
    const user = await whoIs(service, browser);
    expect(user).toMatchObject({
      username: 'octo',
      email: 'octo@example.org',
      first_name: 'Octo',
      last_name: 'Cat',
      auth: [{ provider: 'github', uid: `${github.url}|583231` }],
    });
    // The name changed hands: the number is what counts.
    const { octo, ...others } = ACCOUNTS;
    if (octo === undefined) throw new Error('octo is gone');
    Object.assign(ACCOUNTS, { renamed: octo, octo: account(99) });
    expect((await whoIs(service, (await logIn('renamed')).browser))?.id).toBe(user?.id);
    expect(await whoIs(service, (await logIn('octo')).browser)).toMatchObject({
      username: 'octo-2',
      email: '',
    });
    Object.assign(ACCOUNTS, others, { octo });
  });

  it('takes no address that is not verified, and not the public one', async () => {
    expect(await whoIs(service, (await logIn('unverified')).browser)).toMatchObject({ email: '' });
  });

  it('lets members of the organization and the team in only', async () => {
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_ORG_NAME: 'acme' });
    expect((await logIn('octo')).stop.status).toBe(200);
    await expectRefused(service, await logIn('invited'), 'not_allowed');
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_TEAM_ID: '7' });
    expect((await logIn('octo')).stop.status).toBe(200);
    await expectRefused(service, await logIn('unverified'), 'not_allowed');
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_ORG_NAME: '', SOCIAL_AUTH_GITHUB_TEAM_ID: '' });
  });

  it('takes no role away by a list that GitHub does not show whole', async () => {
    const octo = ACCOUNTS['octo'] ?? account(1);
    const others = Array.from({ length: 1000 }, (_, id) => ({
      id: id + 100,
      slug: `t-${id}`,
      organization: 'Other',
    }));
    await set(service, 'github', {
      SOCIAL_AUTH_GITHUB_ORGANIZATION_MAP: { Default: { users: { teams: 'Acme/ops' } } },
    });
    const belongs = async () => {
      const { browser } = await logIn('octo');
      const path = `/api/v2/users/${(await whoIs(service, browser))?.id}/organizations/`;
      return (JSON.parse((await browser.open(service.url + path)).text) as { count: number }).count === 1;
    };
    expect(await belongs()).toBe(true);
    for (const more of [{ hidden: '21955855' }, { teams: others }]) {
      ACCOUNTS['octo'] = { ...octo, teams: [], ...more };
      expect(await belongs()).toBe(true);
      expect(log.lines.at(-1)).toMatchObject({ claims: expect.arrayContaining(['teams']) });
    }
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_TEAM_ID: '7' });
    const refused = await logIn('octo');
    await expectRefused(service, refused, 'not_allowed');
    expect(log.ofFailure(refused.stop)).toMatchObject({
      detail: 'the team 7 is not among those that GitHub listed, and the list is incomplete',
    });
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_TEAM_ID: '' });
    ACCOUNTS['octo'] = { ...octo, teams: others.slice(1) };
    expect(await belongs()).toBe(false);
    ACCOUNTS['octo'] = octo;
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_ORGANIZATION_MAP: null });
  });

  it('refuses a code that was used or belongs to another login', async () => {
    const first = await untilReturn(service, { backend: 'github', account: 'octo' });
    expect((await first.browser.open(first.back)).status).toBe(200);
    const second = await untilReturn(service, { backend: 'github', account: 'octo' });
    const third = await untilReturn(service, { backend: 'github', account: 'unverified' });
    for (const code of [first, third].map(({ back }) => new URL(back).searchParams.get('code') ?? '')) {
      const fresh = await untilReturn(service, { backend: 'github', account: 'octo' });
      const url = new URL(fresh.back);
      url.searchParams.set('code', code);
      await expectRefused(
        service,
        { browser: fresh.browser, stop: await fresh.browser.open(url.href) },
        'unverified',
      );
    }
    expect((await second.browser.open(second.back)).status).toBe(200);
  });

  it('takes an answer of GitHub itself only, whether or not it says who it is', async () => {
    const answer = async (issuer: string | null) => {
      const { browser, back } = await untilReturn(service, { backend: 'github', account: 'octo' });
      const url = new URL(back);
      expect(url.searchParams.get('iss')).toBe(`${github.url}/login/oauth`);
      if (issuer === null) url.searchParams.delete('iss');
      else url.searchParams.set('iss', issuer);
      return { browser, stop: await browser.open(url.href) };
    };
    expect((await answer(null)).stop.status).toBe(200);
    await expectRefused(service, await answer('https://evil.invalid/login/oauth'), 'unverified');
  });

  it('says so where GitHub refuses the client or the user', async () => {
    await expectRefused(service, await logIn('nobody'), 'refused_by_provider');
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_SECRET: 'wrong' });
    const wrong = await logIn('octo');
    await expectRefused(service, wrong, 'unverified');
    // GitHub's errors have the status 200.
    expect(log.ofFailure(wrong.stop)).toMatchObject({
      detail: 'GitHub rejected the code (error incorrect_client_credentials)',
    });
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_SECRET: 'gh-secret' });
  });

  it.each([
    ['/login/oauth/access_token', 503, {}, /503 for \/login\/oauth\/access_token$/],
    ['/login/oauth/access_token', 429, {}, /429 for .+: the rate limit is reached$/],
    ['/api/v3/user', 502, {}, /502 for \/api\/v3\/user$/],
    ['/api/v3/user/emails', 403, { 'x-ratelimit-remaining': '0' }, /403 for .+: the rate limit is reached$/],
    ['/api/v3/user/teams', 403, { 'retry-after': '60' }, /403 for .+: the rate limit is reached$/],
  ])('is unavailable if %s answers %i %j', async (path, status, headers, detail) => {
    troubles.set(path, { status, headers });
    const failed = await logIn('octo');
    troubles.clear();
    await expectRefused(service, failed, 'unreachable');
    expect(log.ofFailure(failed.stop)).toMatchObject({ detail: expect.stringMatching(detail) });
  });

  it('is refused, not unavailable, if the API forbids a request', async () => {
    troubles.set('/api/v3/user/emails', { status: 403, headers: { 'x-ratelimit-remaining': '4999' } });
    const failed = await logIn('octo');
    troubles.clear();
    await expectRefused(service, failed, 'unverified');
  });
});
