import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMIN, basic, Client } from '@tokenctl/service/testing/service.ts';
import { barriers, startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TheftConsole, theftConsole } from '../support/theft.ts';

const PASSWORD = 'long enough for it';

const chromium = findChromium();
describe.skipIf(chromium === null)('a stolen token in the console', () => {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-theft-'));
  let browser: Browser;
  let stage: TheftConsole;
  let page: Page;
  /** Of all requests of the page. */
  const addresses: string[] = [];

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    stage = await theftConsole(home);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    page.on('request', (request) => addresses.push(request.url()));
    await page.goto(await stage.opened.listen());
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
  afterAll(async () => {
    await browser.close();
    await stage.close();
    rmSync(home, { recursive: true });
  });

  const start = async () => {
    await page.goto(new URL('/', page.url()).href);
    await page.getByRole('link', { name: 'Respond to a stolen token' }).click();
    await page.getByRole('heading', { name: 'A token was stolen' }).waitFor();
  };
  const field = () => page.getByLabel(/^User or token/);

  it('has the cursor in its field, and says what a mistyped name may mean', async () => {
    await start();
    await page.keyboard.type('moel');
    expect(await field().inputValue()).toBe('moel');
    await page.getByText('No matching token or account.').waitFor();
    await page.getByRole('button', { name: 'mole', exact: true }).click();
    await page.getByRole('button', { name: 'Select mole, token not known' }).waitFor();
    await field().fill('x'.repeat(300));
    await page.getByText('Too long for a name or a description').waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
  });

  it('finds whose a pasted value is, and has it in no address', async () => {
    const bob = new Client(stage.service.url, basic('bob', PASSWORD));
    const { token: value } = (await bob.post('/api/v2/tokens/', { scope: 'read', description: 'pasted' }))
      .json;
    await start();
    await field().fill(` ${value}`);
    await page.getByText('This looks like a token value').waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-theft-value');
    await page.getByRole('button', { name: 'Find its owner in east-db' }).click();
    await page.getByText(/^It is token \d+ of bob at east-db\./).waitFor();
    await page.getByRole('button', { name: 'Choose bob' }).click();
    await page.waitForURL(/user=bob&token=\d+|token=\d+.*user=bob/);
    expect(addresses.filter((address) => address.includes(value))).toEqual([]);
    expect(
      await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])),
    ).not.toContain(value);
    // A name that only looks like one is searched for.
    await start();
    await field().fill('Deployment2OfAllOfProduction');
    await page.getByRole('button', { name: 'It is a name' }).click();
    await page.getByText('No matching token or account.').waitFor();
  });

  it('leads from the name to the lockdown, stops whom the thief made, and comes back to the case', async () => {
    await start();
    await page.keyboard.type('bob');
    await page
      .getByRole('button', { name: /^Select token \d+ of bob: without a description, write$/ })
      .click();
    // Its button is gone: the keyboard goes on where the account is named.
    expect(await page.evaluate(() => document.activeElement?.textContent)).toMatch(/^bob: /);
    // What is decided by is in a line, the rest ready.
    await page.getByText(/^Plan: deactivates bob, ends \d+ access tokens$/).click();
    const plan = page.getByLabel('Plan', { exact: true });
    const [incident = ''] = /inc-[0-9a-f]{8}/.exec((await plan.textContent()) ?? '') ?? [];
    await page.getByLabel('Reason').fill('stolen laptop');
    await page.getByLabel('Ticket').fill('SEC-7');
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-theft-form');
    await page.getByRole('button', { name: 'Lock down…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`as ${incident}.`, { exact: false }).waitFor();
    await page.keyboard.type('bob');
    await page.keyboard.press('Enter');
    await dialog.getByText(/^Locked down: the access of bob/).waitFor();

    // With the usual measures, reason and ticket, the plan comes at once.
    await dialog.getByRole('button', { name: 'Stop mole…' }).click();
    await dialog.getByText(/^Would lock down the access of mole, as inc-[0-9a-f]{8}\.$/).waitFor();
    await dialog.getByText('Deactivates mole, ends 1 access token').waitFor();
    await dialog.getByText('Command', { exact: true }).click();
    expect(await dialog.getByRole('code').last().textContent()).toMatch(
      /--user mole --deactivate .*--reason 'stolen laptop' --ticket SEC-7/,
    );
    await dialog.getByLabel('Type mole to confirm').fill('mole');
    await page.keyboard.press('Enter');
    await dialog.getByText(/^Locked down: the access of mole/).waitFor();
    const [admin, mole] = [basic(ADMIN.username, ADMIN.password), basic('mole', PASSWORD)].map(
      (login) => new Client(stage.service.url, login),
    );
    expect((await mole?.get('/api/v2/me/'))?.status).toBe(401);
    expect((await admin?.get('/api/v2/tokens/?user__username=mole'))?.json.count).toBe(0);

    await dialog.getByRole('button', { name: 'Open the case' }).click();
    await page.getByRole('heading', { name: `Case ${incident}` }).waitFor();
    await page.getByText('mole: locked down,', { exact: false }).waitFor();
    // Where something is to be filled in first, a form: what the case has is not asked again.
    await page.goto(new URL(`/theft?user=mole&place=east-db&of=${incident}`, page.url()).href);
    await page.getByRole('heading', { name: `Stop mole, in the case ${incident}` }).waitFor();
    await page.getByText(/^Plan: deactivates mole, /).waitFor();
    expect(await page.getByLabel('Start of the incident, if known').count()).toBe(0);
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-theft-stop');
    // Someone who comes again is led to the case, not to a second one.
    await page.goto(new URL('/theft?user=mole&place=east-db', page.url()).href);
    await page.getByText(/inc-[0-9a-f]{8} is already open for it\./).waitFor();
    await page.getByRole('link', { name: 'Continue with the case' }).waitFor();
  });

  it('has the way to a new lockdown in sight beside open cases, in both widths', async () => {
    onTestFinished(() => page.setViewportSize({ width: 1280, height: 800 }));
    await page.goto(new URL('/incidents', page.url()).href);
    await page
      .getByRole('table', { name: 'Open incidents' })
      .or(page.getByRole('grid', { name: 'Open incidents' }))
      .waitFor();
    for (const size of [
      { width: 1280, height: 800 },
      { width: 375, height: 800 },
    ]) {
      await page.setViewportSize(size);
      const button = page.getByRole('button', { name: 'New lockdown' });
      const box = await button.boundingBox();
      expect((box?.y ?? size.height) + (box?.height ?? 0)).toBeLessThan(size.height);
      await button.click();
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('names');
      await page.evaluate(() => document.querySelector('main')?.scrollTo(0, 0));
    }
  });

  it('tells an account that may not lock down what it may do', async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    onTestFinished(() => context.close());
    const admin = new Client(stage.service.url, basic(ADMIN.username, ADMIN.password));
    await admin.post('/api/v2/users/', { username: 'olga', password: PASSWORD });
    const olga = new Client(stage.service.url, basic('olga', PASSWORD));
    const { id } = (await olga.post('/api/v2/tokens/', { scope: 'write', description: 'own' })).json;
    const other = await stage.consoleAs('olga', PASSWORD);
    onTestFinished(other.close);
    const tab = await context.newPage();
    await tab.goto(await other.opened.listen());
    await tab.getByRole('link', { name: 'Respond to a stolen token' }).click();
    await expect.poll(() => tab.evaluate(() => document.activeElement?.id)).toBe('theft-search');
    await tab.keyboard.type('nobody');
    await tab.getByText('Nothing found in what was read.').waitFor();
    await tab.getByLabel(/^User or token/).fill('olga');
    await tab.getByRole('button', { name: /^Select token \d+ of olga: “own”, write$/ }).click();
    await tab.getByText(/This account is not allowed to lock down\./).waitFor();
    expect(await tab.getByRole('button', { name: 'Lock down…' }).count()).toBe(0);
    expect(await barriers(tab, 'minor')).toEqual([]);
    await takePictures(tab, 'console-theft-refused');
    await tab.getByRole('link', { name: `Revoke token ${id}` }).click();
    await tab.getByRole('button', { name: 'Revoke it…' }).waitFor();
  });
});
