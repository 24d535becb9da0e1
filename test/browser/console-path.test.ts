import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { basic, Client } from '@tokenctl/service/testing/service.ts';
import { barriers, startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TheftConsole, theftConsole } from '../support/theft.ts';

const chromium = findChromium();
describe.skipIf(chromium === null)('from a theft to the report', () => {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-console-'));
  let browser: Browser;
  let stage: TheftConsole;
  let page: Page;

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    stage = await theftConsole(home);
    const bob = new Client(stage.service.url, basic('bob', 'long enough for it'));
    await bob.post('/api/v2/inventories/', { name: 'copy of production', organization: 1 });
    await bob.patch('/api/v2/organizations/1/', { description: 'looked after by nobody' });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    await page.goto(await stage.opened.listen());
  });
  afterAll(async () => {
    await browser.close();
    await stage.close();
    rmSync(home, { recursive: true });
  });

  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const dialog = () => page.getByRole('dialog');
  /** Types the name, and presses the button that says what is done. */
  const confirm = async (name: string, act: string) => {
    await page.getByLabel(`Type ${name} to confirm`).fill(name);
    await dialog().getByRole('button', { name: act, exact: true }).click();
  };
  /** The loudest control there is. */
  const loudest = () =>
    dialog().locator('.pf-m-danger:not(.pf-m-secondary), .pf-m-primary').allTextContents();

  it('leads from each step to the next one', async () => {
    await page.getByRole('link', { name: 'Respond to a stolen token' }).click();
    await page.getByRole('searchbox').fill('bob');
    await button('Select bob, token not known').click();
    await page.getByText(/^Otherwise from one day before the lockdown/).waitFor();
    await button('Choose another').click();
    await page.getByRole('searchbox').fill('bob');
    await page.getByRole('row', { name: /write/ }).getByRole('button').first().click();
    await page.getByText(/^Plan: deactivates bob, ends \d+ access tokens?$/).waitFor();
    // From when it counts is said before it does.
    await page.getByText(/^Otherwise from .*, when the token was created\.$/).waitFor();
    await page.getByLabel('Start of the incident, if known').fill('2020-01-01T00:00');
    await page.getByText(/^Counted from .*, when the token was created\./).waitFor();
    await page.getByLabel('Start of the incident, if known').fill('');
    await page.getByLabel('Reason').fill('stolen');
    await page.getByLabel('Ticket').fill('SEC-7');
    await button('Lock down…').click();
    await confirm('bob', 'Lock down the access of bob');
    // The plan, without a form: reason and ticket are those of this lockdown.
    await button('Stop mole…').click();
    await page.getByLabel('Type mole to confirm').waitFor();
    await dialog().getByText('Command', { exact: true }).click();
    expect(await page.getByRole('code').last().textContent()).toMatch(
      /^tokenctl incident lockdown --user mole --deactivate .*--reason stolen --ticket SEC-7$/,
    );
    await confirm('mole', 'Lock down the access of mole');
    await button('Find out what was done').waitFor();
    // What is known of mole is read again first.
    await expect.poll(loudest).toEqual(['Find out what was done']);
    await button('Find out what was done').click();

    // What is found is decided about in the case of bob, from when the stolen token was made.
    await button(/^End all \d that were recorded$/).click();
    await page.getByText('Lockdown of bob:').waitFor();
    await page
      .getByText(/items found .*user mole deactivated, access token \d+ gone/)
      .first()
      .waitFor();
    await page.getByLabel(/^Action for: .*copy of production/).selectOption('handed_over');
    await page.getByLabel(/^Assignee of: .*copy of production/).fill('platform team');
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-path-decide');
    await button(/^End \d, reassign 1…$/).click();
    await dialog()
      .getByText(/^Cleans only actions since .*, when the stolen token was created\.$/)
      .waitFor();
    await page.getByLabel('Type bob to confirm').fill('bob');
    await page.keyboard.press('Enter');
    // The lockdown of the user that the thief made is an incident of its own, and is closed with the case.
    await button('Close the case: bob and mole stay deactivated…').click();
    await confirm('bob', 'Close the case: bob and mole stay deactivated');
    await dialog().getByText('Case closed. bob and mole stay deactivated.').waitFor();
    expect(await dialog().getByText('is still open').count()).toBe(0);
    const download = page.waitForEvent('download');
    await dialog().getByRole('button', { name: 'Download the report' }).click();
    await dialog()
      .getByText(/^Saved as inc-.*\.html/)
      .waitFor();
    const file = join(home, 'report.html');
    await (await download).saveAs(file);
    expect(readFileSync(file, 'utf8')).toContain('reassigned to platform team by');
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-path-closed');
    await dialog().getByRole('button', { name: 'Close', exact: true }).last().click();
    await page.getByText('lifted, but bob stays deactivated').waitFor();
    await page.getByRole('link', { name: 'Incidents' }).click();
    await page.getByRole('row', { name: /mole/ }).getByRole('link').first().click();
    await page.getByText('The actions belong to the case').first().waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: 'mole' })
      .getByText('stays deactivated', { exact: true })
      .waitFor();
    expect(await page.getByText('Not investigated').count()).toBe(0);
  });
});
