import { barriers, startChromium } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import {
  createAndDeleteToken,
  launchWithLimit,
  logIn,
  loseCookies,
  tabTo,
  turnBasicOffAndOn,
} from '@tokenctl/testing/web-stories.ts';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { ADMIN, type Body, startTestService } from '../support/service.ts';
import { adminOf } from '../support/sso/world.ts';

const chromium = findChromium();

describe.skipIf(chromium === null)('the web interface', () => {
  let service: RunningService;
  let browser: Browser;

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    service = await startTestService();
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  /** Opens a page of the interface as the superuser, by way of the login. */
  async function open<T>(
    path: string,
    work: (page: Page) => Promise<T>,
    options: BrowserContextOptions = {},
    credentials = ADMIN,
  ): Promise<T> {
    const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
    const problems: string[] = [];
    try {
      const page = await context.newPage();
      page.on('pageerror', ({ message }) => problems.push(message));
      page.on('console', (message) => {
        if (/content security policy/i.test(message.text())) problems.push(message.text());
      });
      await page.goto(`${service.url}${path}`);
      await logIn(page, credentials);
      const result = await work(page);
      expect(problems).toEqual([]);
      return result;
    } finally {
      await context.close();
    }
  }

  it('leads by way of the login to the page that was asked for', () =>
    open('/users?username__icontains=adm', async (page) => {
      await page.getByRole('link', { name: 'admin' }).waitFor();
      expect(page.url()).toBe(`${service.url}/users?username__icontains=adm`);
      await page.getByRole('button', { name: 'Remove the filter Username: adm' }).click();
      await page.waitForURL(`${service.url}/users`);
      await page.getByRole('button', { name: 'admin' }).click();
      await page.getByRole('menuitem', { name: 'Log out' }).waitFor();
      expect(await barriers(page, 'minor')).toEqual([]);
      await page.getByRole('button', { name: 'Help' }).click();
      await page.getByRole('heading', { name: 'Version 0.0.0' }).waitFor();
      await page.getByRole('menuitem', { name: 'API reference (OpenAPI)' }).waitFor();
      expect(await barriers(page, 'minor')).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'admin' }).click();
      await page.getByRole('menuitem', { name: 'Log out' }).click();
      await page.waitForURL(`${service.url}/api/login/?next=%2F`);
    }));

  it('the title of a dialog is whole on a phone, and what was saved is said without a barrier', () =>
    open('/organizations/1', async (page) => {
      await page.setViewportSize({ width: 375, height: 812 });
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      const title = page.getByRole('dialog').getByText('Delete organization?');
      expect(await title.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('link', { name: 'Edit' }).click();
      await page.getByLabel('Description').fill('All that we run');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved Default.').waitFor();
      expect(await barriers(page, 'minor')).toEqual([]);
    }));

  it('says what is wrong with a form at the field that it is about, in sight, with the buttons at hand', () =>
    open('/applications/add', async (page) => {
      await page.setViewportSize({ width: 1200, height: 500 });
      const focused = () => page.evaluate(() => (document.activeElement as HTMLInputElement).name);
      const isInSight = (name: string) =>
        page.getByText(name).evaluate((element) => {
          const { top, bottom } = element.getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
        });
      await page.getByLabel('Description').fill('Reports');
      await page.getByRole('button', { name: 'Create application' }).click();
      await page.getByText('Enter a name.').waitFor();
      expect(await focused()).toBe('name');
      expect(await isInSight('Enter a name.')).toBe(true);
      await page.getByRole('textbox', { name: 'Name' }).fill('Reports');
      await page.locator('[name=organization]').selectOption('Default');
      await page.getByRole('button', { name: 'Create application' }).click();
      await page.getByText('Enter at least one redirect URI.').waitFor();
      expect(await focused()).toBe('redirect_uris');
      expect(await isInSight('Enter at least one redirect URI.')).toBe(true);
      // Messages of the API about several values at once name the field.
      await page.locator('[name=redirect_uris]').fill('nowhere');
      await page.locator('main').evaluate((main) => main.scrollTo(0, 0));
      await page.getByRole('button', { name: 'Create application' }).click();
      await page.locator('#field-redirect_uris-help').getByText('The redirect URI').waitFor();
      expect(await isInSight('is not an absolute')).toBe(true);
      await page.goto(`${service.url}/settings/authentication`);
      await page.getByRole('heading', { level: 2, name: 'Sessions' }).waitFor();
      expect(await isInSight('Save')).toBe(true);
      expect(await barriers(page, 'minor')).toEqual([]);
      // What was saved before is not said beside what was refused.
      await page.locator('[name=SESSION_COOKIE_AGE]').fill('1700');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved the settings.').waitFor();
      await page.locator('[name=SESSION_COOKIE_AGE]').fill('some');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('A valid integer is required.').waitFor();
      expect(await page.getByText('Saved the settings.').count()).toBe(0);
    }));

  it('shows tokens by their expiry, and revokes all that match a filter', async () => {
    const admin = adminOf(service);
    for (let number = 1; number <= 25; number += 1) {
      await admin.post('/api/v2/tokens/', { scope: 'read', description: `batch ${number}` });
    }
    await service.database.execute(
      `UPDATE main_oauth2accesstoken SET expires = now() + id * interval '1 hour' WHERE description LIKE 'batch %'`,
    );
    await open('/', async (page) => {
      const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
      await page.getByRole('link', { name: 'Expire within 30 days: 25' }).click();
      await page.getByRole('columnheader', { name: 'Expires', exact: true }).waitFor();
      expect(new URL(page.url()).searchParams.get('order_by')).toBe('expires');
      const chips = page.getByRole('button', { name: /^Remove the filter / });
      await page.getByRole('button', { name: 'Remove the filter Expires: Within 30 days' }).waitFor();
      expect(await chips.count()).toBe(1);
      await press(/^Filter by: /);
      await page.getByRole('option', { name: 'Expires' }).click();
      await press(/^Filter by expires/);
      await page.getByRole('option', { name: 'Custom dates' }).click();
      await page.getByLabel('Expires from').fill('2026-12-01');
      await page.getByLabel('Expires to').fill('9998-12-31');
      await page
        .getByRole('button', { name: 'Remove the filter Expires: 2026-12-01 – 9998-12-31' })
        .waitFor();
      await page.goto(`${service.url}/tokens?description__icontains=batch`);
      const boxes = page.locator('.select-box, .pf-v6-c-label__actions button');
      await boxes.nth(2).waitFor();
      const sizes = await boxes.evaluateAll((all) =>
        all.map((each) => Math.min(...[each.clientWidth, each.clientHeight])),
      );
      expect(Math.min(...sizes)).toBeGreaterThanOrEqual(24);
      await page.getByRole('link', { name: 'batch 25' }).click();
      await page.getByRole('heading', { name: 'batch 25' }).waitFor();
      await press('Revoke');
      await press('Revoke token');
      await page.waitForURL(`${service.url}/tokens`);
      await page.goto(`${service.url}/tokens?description__icontains=batch`);
      await press('Revoke batch 24 (read) of admin');
      await press('Revoke token');
      await page.getByText('Revoked 1 token.').waitFor();
      await page.getByRole('checkbox', { name: 'Select all rows on this page' }).check();
      await page.getByText('20 tokens selected').waitFor();
      await press('Select all 23 matching');
      await press('Revoke');
      await press('Revoke 23 tokens');
      await page.getByText('Revoked 23 tokens.').waitFor();
      expect((await admin.get('/api/v2/tokens/?description__icontains=batch')).json.count).toBe(0);
      await page.goto(`${service.url}/users/1/tokens/add`);
      await page.getByText('By default, a new token never expires.').waitFor();
    });
  });

  it('says at the login that the session has expired, and leads back', () =>
    open('/users', async (page) => {
      await page.getByRole('link', { name: 'admin' }).waitFor();
      await loseCookies(page);
      await page.getByRole('navigation').getByRole('link', { name: 'Teams' }).click();
      await page.getByText('Your session has expired. Log in to continue.').waitFor();
      await logIn(page, ADMIN);
      await page.waitForURL(`${service.url}/teams`);
      // Who comes without a session is only asked to log in.
      await loseCookies(page);
      await page.goto(`${service.url}/users`);
      await page.locator('input[name=username]').waitFor();
      expect(await page.getByText('Your session has expired').count()).toBe(0);
      await logIn(page, ADMIN);
    }));

  it('reads what the dashboard shows once, while its script is loaded', () =>
    open('/', async (page) => {
      await page.getByText('Recent activity').waitFor();
      await page.waitForLoadState('networkidle');
      const paths: string[] = [];
      page.on('request', (request) => {
        if (request.url().includes('/api/v2/')) paths.push(request.url());
      });
      // The application comes late: the page itself has begun its reads, whose answers the application takes.
      const [script = ''] = await page.evaluate(() =>
        [...document.scripts].map(({ src }) => src).filter((src) => src.includes('/main-')),
      );
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route(script, async (route) => {
        await held;
        await route.continue();
      });
      await page.goto(`${service.url}/`, { waitUntil: 'commit' });
      await expect.poll(() => paths.length).toBe(4);
      release();
      await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
      await page
        .getByText('No activity yet.')
        .or(page.getByRole('link', { name: 'admin' }))
        .first()
        .waitFor();
      await page.waitForLoadState('networkidle');
      expect(new Set(paths).size).toBe(paths.length);
    }));

  it('counts tokens and jobs by their lists on a controller, whose dashboard has no such numbers', () =>
    open('/', async (page) => {
      await page.route('**/api/v2/dashboard/', async (route) => {
        const response = await route.fetch();
        const { tokens: _tokens, jobs: _jobs, ...resources } = (await response.json()) as Body;
        await route.fulfill({ response, json: resources });
      });
      await page.goto(`${service.url}/`);
      await page.getByRole('link', { name: /^Never used: \d+$/ }).waitFor();
      await page.getByRole('link', { name: /^Failed: \d+$/ }).waitFor();
    }));

  it('gives a personal token an end, and shows at the field why one is refused', () =>
    open('/users/1/tokens/add', async (page) => {
      await page.getByLabel('Description').fill('for a week');
      await page.getByRole('combobox', { name: 'Expires' }).selectOption('At the end of a day …');
      await page.getByLabel('Last day').fill('2020-01-01');
      await page.getByRole('button', { name: 'Create token' }).click();
      await page.getByText('This time is in the past.').waitFor();
      await page.getByRole('combobox', { name: 'Expires' }).selectOption('In 7 days');
      await page.getByRole('button', { name: 'Create token' }).click();
      const dialog = page.getByRole('dialog', { name: 'Token created' });
      await dialog.getByText('It expires').waitFor();
    }));

  it('shows an expiry in a thousand years as never, everywhere', () =>
    open('/users/1/tokens/add', async (page) => {
      await page.getByLabel('Description').fill('for ever');
      await page.getByRole('button', { name: 'Create token' }).click();
      const dialog = page.getByRole('dialog', { name: 'Token created' });
      await dialog.getByText('It never expires.').waitFor();
      const text = [await dialog.textContent()];
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('row').filter({ hasText: 'for ever' }).getByText('Never').first().waitFor();
      text.push(await page.getByRole('main').textContent());
      expect(text.join(' ')).not.toMatch(/\b30\d\d-\d\d/);
    }));

  it('counts no fewer jobs that were not successful than its graph', () =>
    open('/', async (page) => {
      await service.database.execute(
        `INSERT INTO service_job (created, modified, name, status, finished, playbook, runner)
         SELECT now(), now(), 'ended', status, now(), 'x.yml', gen_random_uuid()
         FROM unnest(ARRAY['successful', 'error', 'error', 'canceled']) status`,
      );
      await page.goto(`${service.url}/`);
      await page.getByRole('link', { name: 'Error: 2', exact: true }).waitFor();
      await page.getByRole('link', { name: 'Canceled: 1', exact: true }).waitFor();
      await page.getByRole('img', { name: '1 successful, 0 failed, 2 error, 1 canceled' }).waitFor();
      await page.getByRole('link', { name: 'Error: 2', exact: true }).click();
      await expect.poll(() => page.getByRole('row').count()).toBe(3);
      await service.database.execute("DELETE FROM service_job WHERE name = 'ended'");
    }));

  it('says what is not there, and leads from a page past the end of a list to its first one', () =>
    open('/users/99999', async (page) => {
      await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
      expect(await page.title()).toBe('Not found');
      await page.getByRole('link', { name: 'Back to the list' }).click();
      await page.getByRole('link', { name: 'admin', exact: true }).waitFor();
      await page.goto(`${service.url}/users?page=9&order_by=username`);
      await page.getByRole('link', { name: 'admin', exact: true }).waitFor();
      expect(page.url()).toBe(`${service.url}/users?order_by=username`);
      await page.goto(`${service.url}/users?order_by=nonsense`);
      await page.getByText('nonsense: no such field.').waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    }));

  it('shows an unknown address within its frame, with a way back', async () => {
    // Without a session, nothing is told but that.
    const outside = await fetch(`${service.url}/nothing/here`, { headers: { accept: 'text/html' } });
    expect(outside.status).toBe(404);
    const text = await outside.text();
    expect(text).toContain('There is no page at this address.');
    expect(text).toContain('href="/"');
    await open('/users', async (page) => {
      await page.getByRole('link', { name: 'admin', exact: true }).waitFor();
      for (const path of ['/nothing/here', '/users/1/nothing/here']) {
        const answer = await page.goto(`${service.url}${path}`);
        expect(answer?.headers()['content-type']).toMatch(/^text\/html/);
        if (!path.startsWith('/users')) expect(answer?.status()).toBe(404);
        await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
        await page.getByRole('navigation').getByRole('link', { name: 'Users' }).waitFor();
        await page.getByRole('link', { name: 'Go to the dashboard' }).click();
        await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
      }
      // What is no page of its own stays a plain answer.
      const script = await page.request.get(`${service.url}/assets/none.js`);
      expect([script.status(), await script.text()]).toEqual([404, expect.not.stringContaining('main-')]);
    });
  });

  it('has its navigation beside the page, above it in a narrow window, and a menu for keyboards', () =>
    open('/', async (page) => {
      const button = page.getByRole('button', { name: 'Navigation', exact: true });
      const users = page.getByRole('navigation').getByRole('link', { name: 'Users' });
      const reachable = () =>
        users.evaluate((link) => {
          link.focus();
          return document.activeElement === link;
        });
      expect(await reachable()).toBe(true);
      await button.click();
      await expect.poll(reachable).toBe(false);
      await page.setViewportSize({ width: 375, height: 800 });
      await expect.poll(() => button.getAttribute('aria-expanded')).toBe('false');
      await button.click();
      await users.click();
      await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
      // It makes way for the page.
      await expect.poll(reachable).toBe(false);
      await page.setViewportSize({ width: 1200, height: 800 });
      const menu = page.getByRole('button', { name: 'admin', exact: true });
      await menu.press('Enter');
      await page.getByRole('menuitem', { name: 'My account' }).waitFor();
      await menu.press('Escape');
      await page.getByRole('menuitem', { name: 'My account' }).waitFor({ state: 'detached' });
      expect(await menu.evaluate((element) => element === document.activeElement)).toBe(true);
    }));

  it('is enough for a token, a job with a limit, and Basic authentication off and on', () =>
    open('/', async (page) => {
      const site = { url: service.url, ...ADMIN };
      await createAndDeleteToken(page, site);
      await launchWithLimit(page);
      await turnBasicOffAndOn(page, site);
    }));

  it('is used with the keyboard alone: a token is made, copied and deleted', () =>
    open(
      '/users/1',
      async (page) => {
        const press = (key: string) => page.keyboard.press(key);
        const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
        await page.getByRole('heading', { level: 1, name: 'admin' }).waitFor();
        await press('Tab');
        expect(await focused()).toBe('Skip to content');
        await press('Enter');
        await tabTo(page, /^Tokens$/);
        await press('Enter');
        await page.waitForURL(/\/users\/1\/tokens$/);
        await tabTo(page, /^Create token$/);
        await press('Enter');
        await page.getByRole('heading', { name: 'Create token' }).waitFor();
        expect(await page.title()).toBe('Create token · Automation service');
        await tabTo(page, /^Description/);
        await page.keyboard.type('made without a mouse');
        await press('Enter');
        const dialog = page.getByRole('dialog', { name: 'Token created' });
        const token = await dialog.getByRole('textbox', { name: 'Token' }).inputValue();
        await tabTo(page, /^Copy token$/);
        await press('Enter');
        await dialog.getByText('Copied', { exact: true }).waitFor();
        expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);
        // It is not shown again: Escape leaves it there.
        await press('Escape');
        await tabTo(page, /^Close$/);
        await press('Enter');
        const row = page.getByRole('row').filter({ hasText: 'made without a mouse' });
        await row.waitFor();
        await tabTo(page, /^Select made without a mouse/);
        await press('Space');
        await tabTo(page, /^Revoke$/);
        await press('Enter');
        const question = page.getByRole('dialog', { name: 'Revoke token?' });
        await question.waitFor();
        await press('Escape');
        await question.waitFor({ state: 'detached' });
        await expect.poll(focused).toBe('Revoke');
        await press('Enter');
        await question.getByText('made without a mouse (read) of admin').waitFor();
        await tabTo(page, /^Revoke token$/);
        await press('Enter');
        await page.getByText('Revoked 1 token.').waitFor();
        await row.waitFor({ state: 'detached' });
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    ));

  it('keeps what was entered when the session expires, and goes on after a login elsewhere', () =>
    open('/organizations/add', async (page) => {
      await page.getByLabel('Name').fill('Kept');
      await loseCookies(page, 'svc_sessionid');
      await page.getByRole('button', { name: 'Create organization' }).click();
      const dialog = page.getByRole('dialog', { name: 'Your session has expired' });
      const [other] = await Promise.all([
        page.context().waitForEvent('page'),
        dialog.getByRole('link', { name: 'Log in in a new tab' }).click(),
      ]);
      await logIn(other, ADMIN);
      await other.getByRole('heading', { name: 'Dashboard' }).waitFor();
      await page.getByRole('button', { name: 'Create organization' }).click();
      await page.getByRole('heading', { name: 'Kept' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'Kept' }).waitFor();
      // A page that only reads leads to the login, and back to where the user was.
      await loseCookies(page, 'svc_sessionid');
      // In the page itself: a click of the browser gives it the focus, which reads everything again first.
      await page.getByRole('link', { name: 'Members' }).evaluate((link) => (link as HTMLElement).click());
      await page.waitForURL(/\/api\/login\//);
      await logIn(page, ADMIN);
      await page.getByRole('heading', { name: 'Kept' }).waitFor();
      expect(new URL(page.url()).pathname).toMatch(/^\/organizations\/\d+\/users$/);
    }));

  it('shows a normal user what is for this user only', async () => {
    const admin = adminOf(service);
    await admin.post('/api/v2/users/', { username: 'ned', password: 'ned-password' });
    await open(
      '/',
      async (page) => {
        await page.getByRole('heading', { name: 'Dashboard' }).waitFor();
        expect(await page.getByRole('link', { name: 'Settings' }).count()).toBe(0);
        await page.goto(`${service.url}/settings`);
        await page.getByText('Access denied').waitFor();
        await page.goto(`${service.url}/users/1/tokens`);
        await page.getByText('Only admin can create tokens for this account').waitFor();
        await page.goto(`${service.url}/users`);
        await page.getByRole('link', { name: 'ned' }).click();
        await page.getByRole('link', { name: 'Tokens' }).last().click();
        await page.getByRole('link', { name: 'Create token' }).waitFor();
      },
      {},
      { username: 'ned', password: 'ned-password' },
    );
  });

  it('is compressed, may be cached but for the page itself, and runs no script of others', async () => {
    const cookies = await open('/', (page) => page.context().cookies());
    const headers = {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
      'accept-encoding': 'br',
    };
    const page = await fetch(`${service.url}/users/1`, { headers });
    const html = await page.text();
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('content-security-policy')).toMatch(/script-src 'self'; style-src 'self';/);
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|style=/);
    const [script = ''] = /\/assets\/[^"]+\.js/.exec(html) ?? [];
    const file = await fetch(`${service.url}${script}`, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'Accept-Encoding',
    });
    const plain = await fetch(`${service.url}${script}`, { headers: { 'accept-encoding': 'br;q=0' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    for (const path of ['/assets/none.js', '/assets/..%2Findex.html', '/nothing']) {
      expect([path, (await fetch(`${service.url}${path}`, { headers })).status]).toEqual([path, 404]);
    }
  });
});
