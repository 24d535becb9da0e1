import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, startTestService } from '@tokenctl/service/testing/service.ts';
import { barriers, startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { tabTo } from '@tokenctl/testing/web-stories.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { generateNoteKey, parseSigner } from '../../src/domain/note-key.ts';
import { type TestConsole, testConsole } from '../support/console.ts';
import { configure } from '../support/drafts.ts';
import { type Gate, startGate } from '../support/gate.ts';

const chromium = findChromium();

describe.skipIf(chromium === null)('changes in the console', () => {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-console-'));
  let service: RunningService;
  let gate: Gate;
  let browser: Browser;
  let opened: TestConsole;
  let page: Page;

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    service = await startTestService();
    await storeEstate(service.database, sampleEstate({ users: 12, tokens: 150 }, { now: new Date() }));
    gate = await startGate(service.url);
    const secret = join(home, 'password');
    writeFileSync(secret, ADMIN.password, { mode: 0o600 });
    const bob = parseSigner(generateNoteKey('bob')).verifier.text;
    configure(
      home,
      `currentContext: east
contexts:
  east: { url: "${gate.url}", username: admin, password: { file: "${secret}" } }
approval: { approvers: { bob: "${bob}" }, aloneUpTo: 100 }
`,
    );
    opened = await testConsole({ home });
    page = await (await browser.newContext({ viewport: { width: 1300, height: 900 } })).newPage();
    await page.goto(await opened.listen());
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
  afterAll(async () => {
    gate.open();
    await browser.close();
    await opened.operations.close();
    await opened.app.close();
    gate.close();
    await service.close();
    rmSync(home, { recursive: true });
  });

  async function go(name: string): Promise<void> {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, exact: true }).waitFor();
  }

  /** Something of the page that is wider than the page. */
  async function overflow(): Promise<readonly string[]> {
    return await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll('main')]
        .filter((element) => element.scrollWidth > element.clientWidth + 1)
        .map(({ tagName, scrollWidth, clientWidth }) => `${tagName}: ${scrollWidth} of ${clientWidth}`),
    );
  }

  it('goes on without the connection, and shows the report once it is back', async () => {
    await go('Tokens');
    await page.getByRole('button', { name: 'Charts and more filters' }).click();
    await page.getByRole('button', { pressed: false }).filter({ hasText: 'backup' }).click();
    await page.waitForURL(/user=backup/);
    await page.getByRole('button', { name: /^Revoke all \d+…$/ }).click();
    await page.getByText(/More than 100 tokens, .* requires a plan approved by bob\./).waitFor();
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    const label = page.getByText(/^Type \d+ to confirm$/);
    const [, total = ''] = /^Type (\d+)/.exec((await label.textContent()) ?? '') ?? [];
    gate.shut();
    await page.getByLabel(`Type ${total} to confirm`).fill(total);
    await page.getByRole('button', { name: `Revoke ${total} tokens` }).click();
    await page.getByText('Closing this page does not stop the work.').waitFor();
    const id = new URL(page.url()).searchParams.get('operation') ?? '';
    const connection = '**/api/operations/*/events';
    await page.route(connection, (route) => route.abort());
    opened.app.server.closeAllConnections();
    await page.getByText('The connection to the console is lost.', { exact: false }).waitFor();
    await page
      .getByRole('link', { name: '1 running change', includeHidden: true })
      .waitFor({ state: 'attached' });
    gate.open();
    await opened.reached(id, 'done');
    await page.unroute(connection);
    await page.getByText(`Revoked ${total} of ${total} tokens`).waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
    await page.getByText('0 tokens', { exact: true }).waitFor();
  });

  it('saves the plan of a lockdown, and shows that it needs an approval', async () => {
    await go('Incidents');
    await page.getByLabel('Who').selectOption('All users');
    await page.getByText(/Would lock down/).waitFor();
    // The password of this context would stop working.
    await page.getByLabel("New file for a rescue token, on the console's machine").fill(join(home, 'rescue'));
    await page
      .getByText(`First, a token with scope write for admin is created in ${join(home, 'rescue')}`, {
        exact: false,
      })
      .waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-lockdown-form');
    await page.getByLabel("New file for a rescue token, on the console's machine").fill('');
    await page.getByLabel('Turn basic authentication off').uncheck();
    await page.getByRole('button', { name: 'Save the plan to a file' }).click();
    const path = join(home, 'plan.json');
    await page.getByLabel("New file on the console's machine").fill(path);
    await page.getByRole('button', { name: 'Save the plan', exact: true }).click();
    await page.getByRole('link', { name: 'Show the saved plan with its approval' }).click();
    const plan = page.getByRole('region', { name: 'Saved plan', exact: true }).first();
    await plan.getByText('no approval yet').waitFor();
    await plan.getByRole('button', { name: 'Apply…' }).click();
    await page
      .getByText(/requires a second person's approval/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-saved-plan');
    expect([existsSync(path), existsSync(join(home, 'rescue'))]).toEqual([true, false]);
  });

  it('fits a narrow screen', async () => {
    onTestFinished(() => page.setViewportSize({ width: 1300, height: 900 }));
    await page.setViewportSize({ width: 375, height: 800 });
    for (const [path, heading] of [
      ['/', 'Overview'],
      ['/tokens', 'Tokens'],
      ['/incidents?user=monitoring', 'Incidents'],
      [`/plans?path=${join(home, 'plan.json')}`, 'Saved plans'],
      ['/operations', 'Changes'],
    ]) {
      await page.goto(new URL(path ?? '', page.url()).href);
      await page.getByRole('heading', { name: heading ?? '', exact: true }).waitFor();
      await page.waitForLoadState('networkidle');
      expect([path, await overflow()]).toEqual([path, []]);
    }
  });

  it('locks a user down with the keyboard alone', async () => {
    await page.goto(new URL('/', page.url()).href);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await tabTo(page, /^Incidents$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Incidents', exact: true }).waitFor();
    await page.getByLabel('Names, separated by commas').waitFor();
    await tabTo(page, /^Names, separated by commas/);
    await page.keyboard.type('monitoring');
    await page.getByText(/^Would lock down the access of monitoring/).waitFor();
    await tabTo(page, /^Lock down…$/);
    await page.keyboard.press('Enter');
    await page.getByLabel('Type monitoring to confirm').waitFor();
    await tabTo(page, /^Type monitoring to confirm/);
    await page.keyboard.type('monitoring');
    await page.keyboard.press('Enter');
    await page.getByText(/^Locked down.*: the access of monitoring/).waitFor();
    await tabTo(page, /^Close$/);
    await page.keyboard.press('Enter');
    await page.getByRole('grid', { name: /^Access paths of inc-/ }).waitFor();
  });
});
