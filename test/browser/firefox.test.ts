import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, basic, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { WAIT_LIMIT_MS } from '@tokenctl/testing/limits.ts';
import { findFirefox } from '@tokenctl/testing/tools.ts';
import { type Browser, launch, type Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestConsole, testConsole } from '../support/console.ts';
import { configure } from '../support/drafts.ts';

const firefox = findFirefox();

/** Something on the page by its role and accessible name. */
function named(page: Page, role: string, name: string) {
  return page.locator(`::-p-aria([name="${name}"][role="${role}"])`);
}

/** Waits for a text on the page. */
function says(page: Page, text: string): Promise<unknown> {
  return page.locator(`::-p-text(${text})`).wait();
}

/** The main ways in a browser of another make, by WebDriver BiDi: all else is tried in Chromium. */
describe.skipIf(firefox === null)('in Firefox', () => {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-firefox-'));
  let service: RunningService;
  let opened: TestConsole;
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch({ browser: 'firefox', executablePath: firefox ?? '', headless: true });
    service = await startTestService();
    await storeEstate(service.database, sampleEstate({ users: 12, tokens: 60 }, { now: new Date() }));
    const secret = join(home, 'password');
    writeFileSync(secret, ADMIN.password, { mode: 0o600 });
    configure(
      home,
      `currentContext: east
contexts:
  east: { url: "${service.url}", username: admin, password: { file: "${secret}" } }
`,
    );
    opened = await testConsole({ home });
  });
  afterAll(async () => {
    await browser.close();
    await opened.operations.close();
    await opened.app.close();
    await service.close();
    rmSync(home, { recursive: true });
  });

  const admin = () => new Client(service.url, basic(ADMIN.username, ADMIN.password));

  async function openPage(url: string): Promise<Page> {
    const page = await browser.newPage();
    page.setDefaultTimeout(WAIT_LIMIT_MS);
    await page.setViewport({ width: 1280, height: 800 });
    await page.goto(url);
    return page;
  }

  it('one logs in at the service, creates a token and sees it once', async () => {
    const page = await openPage(`${service.url}/tokens`);
    await page.locator('#username').fill(ADMIN.username);
    await page.locator('#password').fill(ADMIN.password);
    await page.keyboard.press('Enter');
    await named(page, 'heading', 'Tokens').wait();
    await named(page, 'link', 'Create token').click();
    await named(page, 'textbox', 'Description').fill('made in Firefox');
    await page.keyboard.press('Enter');
    // Not its description, which stands in the field already.
    await named(page, 'dialog', 'Token created').wait();
    const { json } = await admin().get('/api/v2/tokens/?description=made%20in%20Firefox');
    expect(json.count).toBe(1);
    await page.close();
  });

  it('one locks a user down in the console, after its name was typed', async () => {
    const page = await openPage(await opened.listen());
    await named(page, 'heading', 'Overview').wait();
    await named(page, 'link', 'Tokens').click();
    await named(page, 'grid', 'Tokens').wait();
    await page.goto(new URL('/incidents?place=east&user=backup', page.url()).href);
    await says(page, 'Would lock down the access of backup');
    await named(page, 'button', 'Lock down…').click();
    await named(page, 'textbox', 'Type backup to confirm').fill('backup');
    await page.keyboard.press('Enter');
    await says(page, 'Locked down');
    const { json } = await admin().get('/api/v2/tokens/?user__username=backup');
    expect(json.count).toBe(0);
    await page.close();
  });
});
