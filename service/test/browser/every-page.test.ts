import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { barriers, startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { until } from '@tokenctl/testing/until.ts';
import {
  createAndDeleteToken,
  launchWithLimit,
  logIn,
  turnBasicOffAndOn,
} from '@tokenctl/testing/web-stories.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { fakeAnsible } from '../support/fake-ansible.ts';
import { ADMIN, type Body, type Client, SECRET_KEY, startTestService } from '../support/service.ts';
import { adminOf, set } from '../support/sso/world.ts';

const chromium = findChromium();

/** Shows the text after it from right to left. */
const OVERRIDE = '\u202e';
/**
 * Counts in `window.hits` wherever it is taken for markup, and then turns the direction of text. No slash: it is the name of a folder as
 * well.
 */
const PAYLOAD = `<img src=x onerror=hits++>${OVERRIDE}`;

const TABLE = readFileSync(new URL('../../web/pages.tsx', import.meta.url), 'utf8');

/** The routes of the interface, as its table of pages has them: single ones, and those of kinds of resources with their tabs. */
const ROUTES = [
  ...[...TABLE.matchAll(/\{ path: '([^']+)', page:/g)].map(([, path = '']) => path),
  ...[...TABLE.matchAll(/kindPages\('([^']+)',.*?'[A-Z]+'(?:, \[([^\]]*)\])?/g)].flatMap(
    ([, path = '', tabs = '']) => [
      ...['', '/add', '/:id', '/:id/edit'].map((end) => `${path}${end}`),
      ...[...tabs.matchAll(/'(\w+)'/g)].map(([, tab]) => `${path}/:id/${tab}`),
    ],
  ),
];

describe.skipIf(chromium === null)('every page of the web interface, on the embedded database', () => {
  let service: RunningService;
  let browser: Browser;
  let admin: Client;
  /** The texts that were stored, of which each has to be shown as it is. */
  const stored: string[] = [];
  /** The ids of the resources by the first segment of their pages. */
  const ids: Record<string, number> = {};

  /** A text for a field that would run a script if it were taken for markup. */
  const hostile = (field: string, before = '') => {
    const text = `${before}${PAYLOAD}${field}`;
    stored.push(text);
    return text;
  };
  const named = (kind: string) => ({
    name: hostile(`${kind} name`),
    description: hostile(`${kind} description`),
  });
  const made = async (path: string, json: unknown, segment = path): Promise<Body> => {
    const answer = await admin.post(`/api/v2/${path}/`, json);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    ids[segment] = answer.json.id;
    return answer.json;
  };

  beforeAll(async () => {
    const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
    const folder = hostile('folder');
    const playbook = hostile('playbook').concat('.yml');
    mkdirSync(join(projects, folder));
    writeFileSync(join(projects, folder, playbook), '- hosts: all\n');
    [browser, service] = await Promise.all([
      startChromium(chromium ?? ''),
      startTestService({
        kind: 'the embedded database',
        searchPath: fakeAnsible(),
        projects,
        secretKey: SECRET_KEY,
      }),
    ]);
    admin = adminOf(service);
    const { id: organization } = await made('organizations', named('organization'));
    const { id: user } = await made('users', {
      username: 'hostile',
      first_name: hostile('first name'),
      last_name: hostile('last name'),
      password: 'a-long-password',
    });
    // The API refuses such a name, and takes no account of an identity provider.
    await service.database.execute('UPDATE auth_user SET username = $1 WHERE id = $2', [
      hostile('username'),
      user,
    ]);
    await service.database.execute(
      "INSERT INTO social_auth_usersocialauth (provider, uid, user_id) VALUES ('github', $1, $2)",
      [hostile('account'), user],
    );
    for (const role of ['users', 'admins', 'auditors']) {
      await admin.post(`/api/v2/organizations/${organization}/${role}/`, { id: user });
    }
    const { id: application } = await made('applications', {
      ...named('application'),
      organization,
      client_type: 'confidential',
      authorization_grant_type: 'authorization-code',
      redirect_uris: hostile('redirect', 'https://a.example/?').replaceAll(' ', '/'),
    });
    stored.splice(-1, 1, stored.at(-1)?.replaceAll(' ', '/') ?? '');
    await made('tokens', { description: hostile('token description'), scope: 'read', application });
    const owned = (kind: string) => ({ ...named(kind), organization });
    const { id: team, summary_fields } = await made('teams', owned('team'));
    await admin.post(`/api/v2/teams/${team}/users/`, { id: user });
    const { admin_role: role } = (summary_fields as { object_roles: { admin_role: Body } }).object_roles;
    await admin.post(`/api/v2/roles/${role.id}/users/`, { id: user });
    const { id: inventory } = await made('inventories', {
      ...owned('inventory'),
      variables: `text: '${hostile('inventory variables')}'`,
    });
    await made('hosts', { ...named('host'), inventory, variables: `text: '${hostile('host variables')}'` });
    // The API refuses braces in the name of a group; these texts have none.
    const { id: group } = await made('groups', {
      ...named('group'),
      inventory,
      variables: `text: '${hostile('group variables')}'`,
    });
    await admin.post(`/api/v2/groups/${group}/hosts/`, { id: ids['hosts'] });
    await admin.post(`/api/v2/groups/${group}/children/`, named('child group'));
    const { id: project } = await made('projects', { ...owned('project'), local_path: folder });
    await made('credentials', owned('credential'));
    const limit = hostile('limit');
    const template = { ...named('template'), inventory, project, playbook, limit, ask_limit_on_launch: true };
    const { id: templateId } = await made('job_templates', template, 'templates');
    // The name of the host ends the first job; the second one prints what it is given.
    await made(`job_templates/${templateId}/launch`, {}, 'failedJob');
    const { id: empty } = await made('inventories', { name: 'Empty', organization }, 'emptyInventory');
    await admin.patch(`/api/v2/job_templates/${templateId}/`, { inventory: empty });
    await made(`job_templates/${templateId}/launch`, { limit: hostile('output') }, 'jobs');
    await admin.patch(`/api/v2/job_templates/${templateId}/`, { inventory });
    const isDone = async () => (await admin.get(`/api/v2/jobs/${ids['jobs']}/`)).json.status === 'successful';
    await until(isDone);
    await set(service, 'github', {
      SOCIAL_AUTH_GITHUB_KEY: hostile('client id'),
      SOCIAL_AUTH_GITHUB_SECRET: 'a-secret',
      SOCIAL_AUTH_GITHUB_LABEL: hostile('label'),
      SOCIAL_AUTH_GITHUB_ORGANIZATION_MAP: { [hostile('map')]: { users: true } },
    });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  /** The addresses of all pages. */
  const addresses = () => [
    ...ROUTES.flatMap((route) => {
      const [, segment = ''] = route.split('/');
      if (segment === 'jobs' && route.includes(':')) {
        return [ids['jobs'], ids['failedJob']].map((id) => route.replace(':id', String(id)));
      }
      if (segment === 'settings' && route.includes(':')) return ['/settings/github', '/settings/saml'];
      const own = /tokens\/add$/.test(route) && segment === 'users' ? 1 : ids[segment];
      if (route.includes(':') && own === undefined) throw new Error(`Store something for ${route}`);
      return [route.replace(':id', String(own))];
    }),
    `/users?username__icontains=${'x'.repeat(80)}`,
  ];

  it('shows what is stored as text, fits 375 pixels, and has no barriers', async () => {
    // Without the policy of the page, which would refuse the scripts of markup.
    const context = await browser.newContext({ bypassCSP: true, reducedMotion: 'reduce' });
    await context.addInitScript('globalThis.hits = 0');
    const page = await context.newPage();
    const problems: string[] = [];
    let waiting = 0;
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('request', () => waiting++);
    page.on('requestfailed', () => waiting--);
    page.on('requestfinished', () => waiting--);
    page.on('response', (answer) => {
      if (answer.status() >= 400) problems.push(`${answer.status()} ${answer.url()}`);
    });
    const seen = new Set<string>();
    const look = async (path: string) => {
      const texts = await shownTexts(page);
      // A field to edit has the text as it is.
      for (const text of stored)
        if (texts.includes(text) || texts.includes(text.replaceAll(OVERRIDE, '\\u202e'))) seen.add(text);
      expect([path, await page.evaluate('hits')]).toEqual([path, 0]);
      const text = await page.evaluate('document.body.innerText');
      expect([path, String(text).includes(OVERRIDE)]).toEqual([path, false]);
    };

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${service.url}/api/login/`);
    await look('/api/login/');
    await logIn(page, ADMIN);
    await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
    let width = 1280;
    for (const path of addresses()) {
      await show(page, path, () => waiting);
      await look(path);
      width = await examine(page, path, width);
    }
    expect(stored.filter((text) => !seen.has(text))).toEqual([]);
    expect(problems).toEqual([]);
    // The texts do run where they are markup.
    await page.evaluate((text) => document.body.insertAdjacentHTML('beforeend', text), PAYLOAD);
    await expect.poll(() => page.evaluate('hits')).toBe(1);
    await context.close();
  });

  it('is enough for a token, a job with a limit, and Basic authentication off and on', async () => {
    const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 } })).newPage();
    await page.goto(service.url);
    await logIn(page, ADMIN);
    const site = { url: service.url, ...ADMIN };
    await createAndDeleteToken(page, site);
    await launchWithLimit(page);
    await turnBasicOffAndOn(page, site);
    await page.close();
  });
});

/** Shows another page without loading the interface again, and waits until it has read everything. */
async function show(page: Page, path: string, waiting: () => number): Promise<void> {
  await page.evaluate((next) => {
    // The last page stays until the next one is loaded.
    if (location.pathname !== next) document.querySelector('h1')?.setAttribute('data-last-page', '');
    history.pushState({}, '', next);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await expect
    .poll(async () => [
      path,
      await page.locator('h1:not([data-last-page])').count(),
      await page.locator('h1[data-last-page]').count(),
      await page.getByRole('progressbar').count(),
      waiting(),
    ])
    .toEqual([path, 1, 0, 0, 0]);
}

/**
 * Compares the page of an address with what is asked of every page, in a wide and a narrow window. It begins with the
 * given width, which the page before ended with, since each change takes its time, and returns the last one.
 */
async function examine(page: Page, path: string, begin: number): Promise<number> {
  const end = begin === 375 ? 1280 : 375;
  for (const width of [begin, ...(process.env['TEST_SCREENSHOTS'] ? [768] : []), end]) {
    if (width !== begin) await page.setViewportSize({ width, height: 900 });
    if (width === 375) await expect.poll(() => page.evaluate(overflow)).toEqual([]);
    if (width === 1280) expect([path, await barriers(page)]).toEqual([path, []]);
    await takePictures(page, `${nameOf(path)}-${width}`);
  }
  return end;
}

/** The texts of the page and of its fields. */
function shownTexts(page: Page): Promise<string> {
  return page.evaluate(() =>
    [
      document.body.textContent ?? '',
      ...[...document.querySelectorAll('input, textarea, option')].map(
        (each) => (each as HTMLInputElement).value,
      ),
    ].join('\n'),
  );
}

function nameOf(path: string): string {
  return path === '/' ? 'dashboard' : path.slice(1).replace(/\?.*/, '-filtered').replaceAll('/', '-');
}

/** What is wider than the window, and not within something that scrolls. */
function overflow(): readonly string[] {
  const scrolls = (element: Element | null): boolean =>
    element !== null &&
    (/auto|scroll/.test(getComputedStyle(element).overflowX)
      ? element.tagName !== 'MAIN'
      : scrolls(element.parentElement));
  return [...document.querySelectorAll('header *, main *')]
    .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1)
    .filter((element) => !scrolls(element.parentElement))
    .map(
      (element) =>
        `${location.pathname}: ${element.tagName}.${element.className} ${element.textContent?.slice(0, 40)}`,
    )
    .slice(0, 3);
}
