import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/service/server.ts';
import { ADMIN, startTestService } from '../support/service.ts';
import { findChromium, startChromium, takePictures } from './chromium.ts';

const chromium = findChromium();

describe.skipIf(chromium === null)('the web interface', () => {
  let service: RunningService;
  let browser: Browser;

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    service = await startTestService('PostgreSQL');
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
      await page.getByLabel('User name').fill(ADMIN.username);
      await page.getByLabel('Password').fill(ADMIN.password);
      await page.getByRole('button', { name: 'Log in' }).click();
      const result = await work(page);
      expect(problems).toEqual([]);
      return result;
    } finally {
      await context.close();
    }
  }

  /** What axe finds in the page as it is, of the impacts that keep users out. */
  async function barriers(page: Page): Promise<readonly string[]> {
    // Past the page's Content-Security-Policy, which allows no script of others.
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axe.source });
    const { violations } = await page.evaluate(() =>
      (globalThis as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ['violations'] }),
    );
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  }

  it('leads by way of the login to the page that was asked for', () =>
    open('/users?username__icontains=adm', async (page) => {
      await page.getByRole('link', { name: 'admin' }).waitFor();
      expect(page.url()).toBe(`${service.url}/users?username__icontains=adm`);
      await page.getByRole('button', { name: 'Remove the filter Username: adm' }).click();
      await page.waitForURL(`${service.url}/users`);
      await page.getByRole('button', { name: 'admin' }).click();
      await page.getByRole('menuitem', { name: 'Log out' }).click();
      await page.waitForURL(`${service.url}/api/login/?next=%2F`);
    }));

  it('creates a token that works, shows its value once, and deletes it', () =>
    open('/users/1/tokens', async (page) => {
      await page.getByText('No tokens yet').waitFor();
      await page.getByRole('link', { name: 'Create token' }).click();
      await page.getByLabel('Scope').selectOption('write');
      await page.getByLabel('Description').fill('<img src=x onerror=alert(1)>');
      await page.getByRole('button', { name: 'Create token' }).click();
      const dialog = page.getByRole('dialog', { name: 'Token created' });
      const token = await dialog.getByRole('textbox', { name: 'Token' }).inputValue();
      expect(token).toMatch(/^\w{30}$/);
      const use = () =>
        fetch(`${service.url}/api/v2/me/`, { headers: { authorization: `Bearer ${token}` } }).then(
          ({ status }) => status,
        );
      expect(await use()).toBe(200);
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('row', { name: '<img src=x onerror=alert(1)>' }).waitFor();
      await page.getByText('In the last day').waitFor();
      const kept = await page.evaluate(() =>
        [document.documentElement.outerHTML, location.href, ...Object.values(localStorage)].join(' '),
      );
      expect(kept).not.toContain(token);
      await page.getByRole('checkbox', { name: 'Select row 0' }).check();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete token' }).click();
      await page.getByText('Deleted 1 token.').waitFor();
      await page.getByText('No tokens yet').waitFor();
      expect(await use()).toBe(401);
    }));

  it.each([375, 1200])('has pages without barriers, that fit %d pixels', (width) =>
    open(
      '/',
      async (page) => {
        for (const [name, path] of [
          ['dashboard', '/'],
          ['users', '/users'],
          ['user', '/users/1'],
          ['user-edit', '/users/1/edit'],
          ['tokens', '/users/1/tokens'],
          ['token-add', '/users/1/tokens/add'],
          ['organization-members', '/organizations/1/users'],
          ['applications', '/applications'],
          ['application-add', '/applications/add'],
        ]) {
          await page.goto(`${service.url}${path}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.waitForLoadState('networkidle');
          expect([path, await barriers(page)]).toEqual([path, []]);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
          expect([path, wide]).toEqual([path, false]);
          await takePictures(page, `web-${name}-${width}`);
        }
      },
      { viewport: { width, height: 800 } },
    ),
  );

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
