import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { basic, Client } from '@tokenctl/service/testing/service.ts';
import { barriers, startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { tabTo } from '@tokenctl/testing/web-stories.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TheftConsole, theftConsole } from '../support/theft.ts';

const chromium = findChromium();
describe.skipIf(chromium === null)('a case in the console', () => {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-console-'));
  let browser: Browser;
  let stage: TheftConsole;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    stage = await theftConsole(home);
    const { service, opened } = stage;
    // What no cleaning ends, and what gives no access.
    const bob = new Client(service.url, basic('bob', 'long enough for it'));
    await bob.post('/api/v2/inventories/', { name: 'copy of production', organization: 1 });
    await bob.patch('/api/v2/organizations/1/', { description: 'looked after by nobody' });
    await bob.post('/api/v2/tokens/', { scope: 'read', description: 'dashboard' });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) problems.push(message.text());
    });
    await page.goto(await opened.listen());
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
  afterAll(async () => {
    await browser.close();
    await stage.close();
    rmSync(home, { recursive: true });
  });

  const section = (name: string) => page.getByRole('region', { name, exact: true });
  /** What is wider than its place: a card shows nothing of the rest. */
  const cutOff = () =>
    page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll('main, .pf-v6-c-card')]
        .filter((element) => element.scrollWidth > element.clientWidth + 1)
        .map((element) => `${element.getAttribute('aria-label') ?? element.tagName} ${element.scrollWidth}`),
    );
  const close = () => page.getByRole('button', { name: 'Close' }).first().click();

  it('shows one controller once, though it has two contexts', async () => {
    const card = page.getByRole('region', { name: 'east-db' });
    await card.getByText(/^As .*, also through east$/).waitFor();
    expect(await page.getByRole('region', { name: 'east', exact: true }).count()).toBe(0);
  });

  it('goes from a token to the lockdown of its owner, through the better context of the controller', async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'Tokens', exact: true }).click();
    await page.getByRole('button', { name: 'Charts and more filters' }).click();
    await page.getByRole('button', { pressed: false }).filter({ hasText: 'bob' }).first().click();
    await page.waitForURL(/user=bob/);
    await page
      .getByRole('button', { name: /^Trace token/ })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('link', { name: 'Lock down bob…' }).click();
    await page.getByText('actions that require the REST API use east', { exact: false }).waitFor();
    // What else goes with the stolen token is named before it goes.
    await page.getByText(/^token \d+ of bob: "dashboard", scope read$/).waitFor();
    const planned = (await page.getByText(/^Would lock down the access of bob/).textContent()) ?? '';
    const [incident = ''] = /inc-[0-9a-f]{8}/.exec(planned) ?? [];
    await page.getByText('This is the plan. Nothing has been changed yet.').waitFor();
    await page.getByLabel('Reason').fill('token of bob stolen');
    await page.getByLabel('Ticket').fill('SEC-7');
    await page.getByRole('button', { name: 'Lock down…' }).click();
    // What is confirmed is the incident that the plan on the page had.
    await page.getByRole('dialog').getByText(`as ${incident}.`, { exact: false }).waitFor();
    await page.getByLabel(/^Type bob to confirm/).fill('bob');
    await page.keyboard.press('Enter');
    await page.getByText(/^Locked down.*: the access of bob/).waitFor();
    // What is closed is not all that the thief had: what was made in the last hour is named, as far as it was read.
    const ended = page.getByRole('dialog');
    const warning = ended.getByText('The attacker may still have access');
    await warning.waitFor();
    // The outcome comes first.
    const outcome = await ended.getByText(/^Locked down/).boundingBox();
    expect(outcome?.y).toBeLessThan((await warning.boundingBox())?.y ?? 0);
    await ended.getByText(/^bob made the superuser mole with 1 token$/).waitFor();
    // One control is the loudest: what still works is stopped first.
    expect(await ended.locator('.pf-m-danger:not(.pf-m-secondary), .pf-m-primary').allTextContents()).toEqual(
      ['Stop mole…'],
    );
    await ended.getByRole('button', { name: 'Find out what was done' }).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-case-not-over-dialog');
    await page.getByRole('button', { name: 'Open the case' }).click();
    await page.getByRole('heading', { name: `Case ${incident}` }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: /^Case inc-/ }).waitFor();
    // What is next is open, the rest folded.
    await page.getByRole('heading', { name: 'Find out what was done' }).waitFor();
    // A step leads to its stage, and opens it.
    await page.getByRole('link', { name: 'Lockdown', exact: true }).click();
    await section('Lockdown').getByText('Access tokens', { exact: true }).waitFor();
    // Its title is below the steps, which stay.
    const edges = async () => {
      const steps = await page.locator('.case-steps').boundingBox();
      const title = await section('Lockdown').getByRole('heading').first().boundingBox();
      return { steps: (steps?.y ?? 0) + (steps?.height ?? 0), title: title?.y ?? 0 };
    };
    await expect.poll(async () => (await edges()).title).toBeLessThan(900);
    expect((await edges()).title).toBeGreaterThan((await edges()).steps);
    // One stage is shown; the steps above it stay.
    expect(await section('Investigation').count()).toBe(0);
    const step = page.getByRole('link', { name: 'Report', exact: true });
    await expect.poll(async () => (await step.boundingBox())?.y ?? 0).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'Investigation', exact: true }).click();
    expect(await page.getByRole('link', { name: 'Incidents' }).getAttribute('aria-current')).toBe('page');
    expect(await barriers(page, 'minor')).toEqual([]);
  });

  it('investigates, and shows who made what as a tree that the keyboard walks', async () => {
    await page.getByText('This lockdown ends the access of bob only:', { exact: false }).waitFor();
    await page.getByText(/^bob made the superuser mole with 1 token$/).waitFor();
    await takePictures(page, 'console-case-not-over');
    // The stolen token is one of those that the lockdown found; a name is no number.
    await section('Investigation')
      .getByText(/^Since .*, stolen token not known: change$/)
      .click();
    const stolen = page.getByLabel('The stolen token', { exact: true });
    const [dashboard = ''] = (await stolen.locator('option').allTextContents()).filter((text) =>
      /^\d+: “dashboard”, scope read, made /.test(text),
    );
    await stolen.selectOption({ label: dashboard });
    expect(await stolen.inputValue()).toMatch(/^\d+$/);
    await stolen.selectOption({ label: 'Another token, by ID' });
    await page.getByLabel('ID of the stolen token').fill('laptop');
    await page.getByText("“laptop” is not an ID. Enter the token's ID", { exact: false }).waitFor();
    expect(await section('Investigation').getByRole('button', { name: 'Investigate' }).isDisabled()).toBe(
      true,
    );
    expect(await barriers(page, 'minor')).toEqual([]);
    await stolen.selectOption({ label: 'Not known' });
    // The button of the warning begins what the form has; once it was made, the warning is gone.
    await page.getByRole('button', { name: 'Find out what was done' }).click();
    await page.getByText('The attacker may still have access').waitFor({ state: 'detached' });
    const tree = page.getByRole('tree', { name: 'Who made what' });
    await section('Cleaning').getByText('Who made what', { exact: true }).click();
    await tree.getByText('mole', { exact: true }).waitFor();
    await section('Cleaning')
      .getByText(/^\d+ items found /)
      .waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-case');
    await section('Cleaning').scrollIntoViewIfNeeded();
    await takePictures(page, 'console-case-items');
    await tree.getByRole('treeitem').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('By', { exact: true }).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-case-item');
    // In a narrow window as well, the words of a button are within it, not over the next one.
    await page.setViewportSize({ width: 375, height: 800 });
    const wide = () =>
      dialog
        .locator('footer button')
        .evaluateAll((all) => all.map((each) => [each.textContent, each.scrollWidth - each.clientWidth]));
    expect(await wide()).toEqual([['Close', 0]]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await dialog.getByRole('button', { name: 'Close' }).last().click();
  });

  it('does what was chosen for each item after one confirmation', async () => {
    const items = page.getByRole('grid', { name: 'Investigation items' });
    const fateOf = (name: RegExp) =>
      items.getByRole('row', { name }).getByRole('combobox', { name: /^Action for: / });
    const bar = section('Cleaning').locator('.decide-bar');
    // Nothing is chosen by itself, and what no cleaning ends has only what is possible.
    expect(await bar.getByRole('button', { name: 'Choose an action' }).isDisabled()).toBe(true);
    const optionsOf = (name: RegExp) => fateOf(name).locator('option').allTextContents();
    const said = ['Legitimate', 'Resolved manually', 'Reassign'];
    expect(await optionsOf(/copy of production/)).toEqual(['Choose…', ...said]);
    expect(await optionsOf(/user mole/)).toEqual(['Choose…', 'Deactivate', ...said]);
    expect(await optionsOf(/application backdoor/)).toEqual(['Choose…', 'Delete for good', ...said]);
    await items.getByText('description: "looked after by nobody" -> back to ""').waitFor();
    await items
      .getByRole('button', { name: /^Manual only: show instructions for .*copy of production/ })
      .click();
    const link = page.getByRole('dialog').getByRole('link', { name: 'Open its page in the web interface' });
    expect(await link.getAttribute('href')).toBe(new URL('/inventories/2', stage.service.url).href);
    await page.getByRole('dialog').getByText('A cleanup cannot remove it.').waitFor();
    await close();
    await bar.getByRole('button', { name: /^End all \d+ that were recorded$/ }).click();
    await fateOf(/user colleague/).selectOption('legitimate');
    await bar.getByText('1 item not decided').waitFor();
    await fateOf(/copy of production/).selectOption('by_hand');
    const button = bar.getByRole('button', {
      name: /^End \d+, keep 1 as legitimate, mark 1 as resolved manually…$/,
    });
    await button.waitFor();
    // The button stays in sight, whatever is scrolled.
    await page.setViewportSize({ width: 1280, height: 500 });
    await section('Cleaning').getByRole('heading').first().scrollIntoViewIfNeeded();
    expect(await button.evaluate((each) => each.getBoundingClientRect().bottom < innerHeight)).toBe(true);
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-case-decide');
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await cutOff()).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    // Why is asked once, and nothing begins without it.
    await button.click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('decide-legitimate');
    await page.getByLabel('Why it is legitimate').fill('hired in May');
    await page.getByLabel('How it was resolved').fill('deleted by the platform team');
    await page.keyboard.press('Enter');
    const answer = page.getByLabel('Type bob to confirm');
    await answer.waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('confirm-answer');
    expect(await barriers(page, 'minor')).toEqual([]);
    const plan = page.getByRole('dialog').getByLabel('Plan', { exact: true });
    await plan.getByText('Cannot be undone:').waitFor();
    await plan.getByText('description: "looked after by nobody" -> back to ""').waitFor();
    await plan.getByText('Kept as legitimate:').waitFor();
    await plan.getByText('Order: record, end, investigate again').click();
    await plan.getByText(/^In this order: your decisions are recorded/).waitFor();
    // The plan has one clock with the page.
    expect(await plan.textContent()).not.toMatch(/\dT\d\d:\d\d/);
    await takePictures(page, 'console-case-plan');
    await answer.fill('4');
    await page.getByText('Type exactly: bob').waitFor();
    await answer.fill('bob');
    await page
      .getByRole('button', { name: /^End \d+ items, keep 1 as legitimate, mark 1 as resolved manually$/ })
      .click();
    await page.getByText(/^Verified: these items are ended/).waitFor();
    await page.getByText('Investigated again: nothing new was found.').waitFor();
    await takePictures(page, 'console-case-cleaned');
    await close();
    // What was said to be resolved manually was read again: it is still there, and someone else decides.
    const copy = items.getByRole('row', { name: /copy of production/ });
    await copy.getByText(/^marked as resolved manually by .*, still there at \d/).waitFor();
    await page.getByLabel('Which items').selectOption('all');
    await items
      .getByText(/^cleaned, verified/)
      .first()
      .waitFor();
    const colleague = items.getByRole('row', { name: /user colleague/ });
    await colleague.getByText('legitimate', { exact: true }).waitFor();
    // A mark is taken back in its place, and said again.
    await colleague.getByRole('button', { name: /^Remove the mark from/ }).click();
    await fateOf(/user colleague/).selectOption('legitimate');
    await fateOf(/copy of production/).selectOption('handed_over');
    await page.getByLabel('Why it is legitimate').fill('hired in May');
    // What is missing is shown above the bar, not under it.
    await bar.getByRole('button', { name: 'Keep 1 as legitimate, reassign 1…' }).click();
    await page.getByText('Fill in the highlighted fields.').waitFor();
    const receiver = page.getByLabel(/^Assignee of: .*copy of production/);
    expect(await receiver.evaluate((each) => each === document.activeElement)).toBe(true);
    const [missing, below] = [await receiver.boundingBox(), await bar.boundingBox()];
    expect((missing?.y ?? 0) + (missing?.height ?? 0)).toBeLessThanOrEqual(below?.y ?? 0);
    await receiver.fill('platform team');
    // Why no cleaning ends it is why others decide, unless someone says something else.
    expect(await page.getByLabel('Why others decide').inputValue()).toMatch(/^Others may use it/);
    await page.getByLabel('Why others decide').fill('their hosts are in it');
    await takePictures(page, 'console-case-hand-over');
    await bar.getByRole('button', { name: 'Keep 1 as legitimate, reassign 1…' }).click();
    // Nothing changes on the controller: one key is enough.
    await page.locator('button:focus', { hasText: 'Keep 1 as legitimate, reassign 1' }).waitFor();
    await page.keyboard.press('Enter');
    await page
      .getByText(/^Recorded: 1 item kept as legitimate; 1 item reassigned to platform team/)
      .waitFor();
    await close();
    await page.getByRole('heading', { name: 'Close the case' }).first().waitFor();
    await section('Close the case').getByText('Reassigned: others decide:').waitFor();
    await takePictures(page, 'console-case-handed-over');
  });

  it('ends the case without giving the account back, and gives the report once, at the end', async () => {
    // The lockdown took no roles.
    const stays = page.getByRole('radio', { name: 'stays deactivated', exact: true });
    expect(await stays.isChecked()).toBe(true);
    await page.getByRole('radio', { name: 'gets access back' }).click();
    await page.getByText('The old password works again', { exact: false }).waitFor();
    await takePictures(page, 'console-case-close');
    await stays.click();
    await page.setViewportSize({ width: 375, height: 800 });
    expect(await cutOff()).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(await barriers(page, 'minor')).toEqual([]);
    await section('Close the case').getByRole('button', { name: 'Close the case…' }).click();
    const lifting = page.getByRole('dialog');
    await page.getByRole('heading', { name: /^Close the case at .*: bob stays deactivated$/ }).waitFor();
    await lifting.getByText(/^Remaining, according to the investigation of \d/).waitFor();
    await lifting.getByText('Reassigned: others decide: 1 item', { exact: true }).click();
    await lifting.getByText(/copy of production.*, to platform team$/).waitFor();
    await page.getByRole('button', { name: 'Close the case: bob stays deactivated' }).waitFor();
    await page.getByLabel('Type bob to confirm').fill('bob');
    await page.keyboard.press('Enter');
    await page.getByText('Case closed. bob stays deactivated.').waitFor();
    await lifting.getByText('Steps', { exact: true }).click();
    await lifting.getByText(/^Lifted: inc-/).waitFor();
    await close();
    await section('About this case').getByRole('heading').click();
    await page.getByText('It was open for', { exact: false }).waitFor();
    await page
      .getByRole('list', { name: 'Current state of the users' })
      .getByText('stays deactivated')
      .waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('heading', { name: 'Download the report' }).waitFor();
    await section('Report').getByRole('button', { name: 'Download the report' }).click();
    await section('Report')
      .getByText(/^Saved as inc-.*\.html/)
      .waitFor();
    const file = join(home, 'report.html');
    await (await download).saveAs(file);
    expect(readFileSync(file, 'utf8')).toMatch(/<title>Incident inc-.*mole/s);
    expect(readFileSync(file, 'utf8')).toContain('reassigned to platform team by');
    await section('Report')
      .getByText(/^Last made /)
      .click();
    const kept = (await section('Report').locator('code').textContent()) ?? '';
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    await page.getByText('case closed', { exact: true }).waitFor();
    // What the lockdown closed is still told, as of then.
    await page.getByRole('link', { name: 'Lockdown', exact: true }).click();
    await section('Lockdown').getByText('Access tokens', { exact: true }).waitFor();
    await section('Lockdown').getByText('so this is no longer checked', { exact: false }).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.getByRole('heading', { name: /^Case inc-/ }).scrollIntoViewIfNeeded();
    await takePictures(page, 'console-case-lifted');
    // Going back opens no dialog of before, over none and over another.
    await section('Lockdown').getByRole('button', { name: 'Timeline of bob' }).click();
    const timeline = page.getByRole('dialog').getByRole('region', { name: 'Timeline', exact: true });
    await timeline.getByRole('row').nth(1).waitFor();
    // Its times are as all others on the page, to the second.
    expect(await timeline.textContent()).not.toMatch(/UTC|\dT\d/);
    await timeline
      .getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
      .first()
      .waitFor();
    await page.goBack();
    await page.waitForURL(/\/case\?/);
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(page.url()).not.toContain('operation=');
    await page.reload();
    await page.getByRole('link', { name: 'Close the case', exact: true }).click();
    await section('Close the case').getByRole('button', { name: 'Restore access…' }).click();
    await page.getByRole('dialog').getByText('Activate bob.').waitFor();
    await page.getByLabel('Type bob to confirm').fill('bob');
    await page.keyboard.press('Enter');
    await page
      .getByText(/^Restored what was left by the lift/)
      .first()
      .waitFor();
    await close();
    await page.getByRole('list', { name: 'Current state of the users' }).getByText('active again').waitFor();
    expect(problems).toEqual([]);
  });

  it('investigates a user without an incident, from the form of a lockdown', async () => {
    const casePage = page.url();
    await page.goto(new URL('/incidents?user=bob', casePage).href);
    await page.getByRole('link', { name: 'Investigate bob first' }).click();
    await page.getByRole('heading', { name: 'Investigation of bob' }).waitFor();
    await section('Investigate').getByRole('button', { name: 'Investigate' }).click();
    await page.getByRole('tree', { name: 'Who made what' }).getByText('mole', { exact: true }).waitFor();
    await section('Findings')
      .getByText(/ found .*: \d+ still there or not checked/)
      .waitFor();
    await section('Findings').getByText('Unknowns, for the record').click();
    await section('Findings').getByText('Who did it', { exact: true }).waitFor();
    await section('Findings').getByRole('link', { name: 'lock down bob' }).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-investigation');
    await page.goto(casePage);
    await page.getByRole('heading', { name: /^Case inc-/ }).waitFor();
  });

  it('goes on through the context that can take a measure, with what is filled in', async () => {
    const casePage = page.url();
    await page.goto(new URL('/incidents?user=bob', casePage).href);
    const box = (name: string) => page.getByRole('checkbox', { name, exact: true });
    const unfold = () => page.getByRole('button', { name: /^Measures: / }).click();
    await page.getByLabel('Reason').fill('kept');
    await page.getByText(/^Would lock down the access of bob/).waitFor();
    await unfold();
    expect(await box('Reset the passwords').isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Use east, and keep the form' }).first().click();
    await page.waitForURL(/only=east(&|$)/);
    await page.getByText(/^Would lock down the access of bob/).waitFor();
    await unfold();
    expect(await box('Reset the passwords').isChecked()).toBe(true);
    expect(await page.getByLabel('Reason').inputValue()).toBe('kept');
    await page.goBack();
    await page.getByText('actions that require the REST API use east', { exact: false }).waitFor();
    await page.getByText(/^Would lock down the access of bob/).waitFor();
    await unfold();
    expect(await box('Deactivate the users').isChecked()).toBe(true);
    expect(await page.getByLabel('Reason').inputValue()).toBe('kept');
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.goto(casePage);
    await page.getByRole('heading', { name: /^Case inc-/ }).waitFor();
  });

  it('fits a narrow screen, and is found again from the list', async () => {
    onTestFinished(() => page.setViewportSize({ width: 1280, height: 900 }));
    await page.setViewportSize({ width: 375, height: 800 });
    await page.waitForLoadState('networkidle');
    expect(await cutOff()).toEqual([]);
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.goto(new URL('/incidents', page.url()).href);
    await page.getByRole('heading', { name: 'Closed incidents' }).waitFor();
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual([
      ...['Open incidents', 'Lock down', 'Closed incidents', 'Runbooks'],
    ]);
    await tabTo(page, /^Show the case inc-/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Case inc-/ }).waitFor();
  });

  it('lists the tokens of a name once all are read, with the account alone last', async () => {
    await page.goto(new URL('/theft', page.url()).href);
    await page.getByLabel(/^User or token/).fill('bob');
    await page.getByRole('button', { name: 'Select bob, token not known' }).waitFor();
    // While tokens are read there are no rows to move, but a way to see them.
    expect(await page.getByText(/^Reading tokens: /).count()).toBe(0);
    await page.getByRole('row').last().getByText('not known which').waitFor();
  });
});
