import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { RunningService } from '../../src/service/server.ts';
import { type TestConsole, testConsole } from '../support/console.ts';
import { basic, Client } from '../support/service.ts';
import { theft } from '../support/theft.ts';
import { barriers, findChromium, startChromium, takePictures } from './chromium.ts';
import { tabTo } from './web-stories.ts';

const chromium = findChromium();
describe.skipIf(chromium === null)('a case in the console', { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-console-'));
  let service: RunningService;
  let browser: Browser;
  let opened: TestConsole;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    service = await theft(home);
    // What no cleaning ends, and what gives no access.
    const bob = new Client(service.url, basic('bob', 'long enough for it'));
    await bob.post('/api/v2/inventories/', { name: 'copy of production', organization: 1 });
    await bob.patch('/api/v2/organizations/1/', { description: 'looked after by nobody' });
    await bob.post('/api/v2/tokens/', { scope: 'read', description: 'dashboard' });
    opened = await testConsole({ home, allContexts: true });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.setDefaultTimeout(15_000);
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) problems.push(message.text());
    });
    await page.goto(await opened.listen());
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });
  afterAll(async () => {
    await browser.close();
    await opened.operations.close();
    await opened.app.close();
    await service.close();
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
    await page.getByRole('button', { pressed: false }).filter({ hasText: 'bob' }).first().click();
    await page.waitForURL(/user=bob/);
    await page
      .getByRole('button', { name: /^Trace token/ })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('link', { name: 'Lock down bob…' }).click();
    await page.getByText('what takes the REST API goes through east', { exact: false }).waitFor();
    // What else goes with the stolen token is named before it goes.
    await page.getByText(/^token \d+ of bob: "dashboard", scope read$/).waitFor();
    const planned = (await page.getByText(/^Would lock down the access of bob/).textContent()) ?? '';
    const [incident = ''] = /inc-[0-9a-f]{8}/.exec(planned) ?? [];
    await page.getByText('This is the plan. Nothing is changed yet.').waitFor();
    await page.getByLabel('Reason').fill('token of bob stolen');
    await page.getByLabel('Ticket').fill('SEC-7');
    await page.getByRole('button', { name: 'Lock down…' }).click();
    // What is confirmed is the incident that the plan on the page had.
    await page.getByRole('dialog').getByText(`as ${incident}.`, { exact: false }).waitFor();
    await page.getByLabel(/^Type bob to lock down/).fill('bob');
    await page.keyboard.press('Enter');
    await page.getByText(/^Locked down.*: the access of bob/).waitFor();
    // What is closed is not all that the thief had: what was made in the last hour is named, as far as it was read.
    const ended = page.getByRole('dialog');
    await ended.getByText('The thief may still have access').waitFor();
    await ended.getByText(/^bob made the superuser mole with 1 token$/).waitFor();
    // One control is the loudest: what still works is stopped first.
    expect(await ended.locator('.pf-m-danger:not(.pf-m-secondary), .pf-m-primary').allTextContents()).toEqual(
      ['Stop mole…'],
    );
    await ended.getByRole('button', { name: 'Find out what was done' }).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-case-not-over-dialog');
    await page.getByRole('button', { name: 'Go on with the case' }).click();
    await page.getByRole('heading', { name: `Case ${incident}` }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: /^Case inc-/ }).waitFor();
    await section('Lockdown').getByText('Access tokens', { exact: true }).waitFor();
    await page.getByText('Next:').getByRole('link', { name: 'find out what was done' }).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
  });

  it('investigates, and shows who made what as a tree that the keyboard walks', async () => {
    await page.getByText('This lockdown ends the access of bob only:', { exact: false }).waitFor();
    await page.getByText(/^bob made the superuser mole with 1 token$/).waitFor();
    await takePictures(page, 'console-case-not-over');
    // The stolen token is one of those that the lockdown found; a name is no number.
    const stolen = page.getByLabel('The stolen token', { exact: true });
    const [dashboard = ''] = (await stolen.locator('option').allTextContents()).filter((text) =>
      /^\d+: “dashboard”, scope read, made /.test(text),
    );
    await stolen.selectOption({ label: dashboard });
    expect(await stolen.inputValue()).toMatch(/^\d+$/);
    await stolen.selectOption({ label: 'Another one, by number' });
    await page.getByLabel('Number of the stolen token').fill('laptop');
    await page.getByText('“laptop” is no number. Enter the number of the token', { exact: false }).waitFor();
    expect(await section('Investigation').getByRole('button', { name: 'Investigate' }).isDisabled()).toBe(
      true,
    );
    expect(await barriers(page, 'minor')).toEqual([]);
    await stolen.selectOption({ label: 'Not known' });
    // The button of the warning begins what the form has; once it was made, the warning is gone.
    await page.getByRole('button', { name: 'Find out what was done' }).click();
    await page.getByText('The thief may still have access').waitFor({ state: 'detached' });
    const tree = page.getByRole('tree', { name: 'Who made what' });
    await tree.getByText('mole', { exact: true }).waitFor();
    await section('Cleaning')
      .getByText(/^Found .*: \d+ items\. As of .*: \d+ to clean or to mark, /)
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
    expect(await wide()).toEqual([
      ...['Mark as honest work', 'Mark as done by hand', 'Hand over…', 'Close'].map((text) => [text, 0]),
    ]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await dialog.getByRole('button', { name: 'Close' }).last().click();
  });

  it('leaves what is marked as honest, and cleans what is picked', async () => {
    const items = page.getByRole('grid', { name: 'Items of the investigation' });
    const colleague = items.getByRole('row', { name: /created the user colleague/ });
    const honest = colleague.getByRole('checkbox', { name: /^Honest work/ });
    const placeOf = async () =>
      (await items.getByRole('row').allTextContents()).findIndex((text) => text.includes('user colleague'));
    const place = await placeOf();
    // The row stays under the pointer, says what it is now, and the mark can be taken back there.
    await honest.click();
    await colleague.getByText('Marked as honest work.').waitFor();
    await colleague.getByText('honest work', { exact: true }).waitFor();
    expect(await placeOf()).toBe(place);
    await takePictures(page, 'console-case-marked');
    await colleague.getByRole('button', { name: /^Undo the mark of/ }).click();
    await colleague.getByText('remains', { exact: true }).waitFor();
    // The keyboard keeps its place as well.
    await honest.focus();
    await page.keyboard.press('Space');
    await colleague.getByText('Marked as honest work.').waitFor();
    expect(await honest.evaluate((box) => box === document.activeElement)).toBe(true);
    // What is shown is chosen again: then it is among what is marked.
    await page.getByLabel('Which items').selectOption('all');
    await page.getByLabel('Which items').selectOption('remains');
    await colleague.waitFor({ state: 'detached' });
    await page.getByLabel('Which items').selectOption('marked');
    await items.getByText('honest work').first().waitFor();
    await page.getByLabel('Which items').selectOption('remains');
    // Nothing is picked by itself, and what no cleaning ends cannot be picked.
    expect(await page.getByRole('button', { name: 'Clean what is picked…' }).isDisabled()).toBe(true);
    expect(await items.getByRole('checkbox', { name: /^Clean .*copy of production/ }).isDisabled()).toBe(
      true,
    );
    await items.getByText(/^By hand: Others may use it/).waitFor();
    await items.getByRole('checkbox', { name: /^Clean changed the organization Default/ }).waitFor();
    await items
      .getByText('Cleaning keeps it, and sets back: description: "looked after by nobody" → back to ""')
      .waitFor();
    await page.getByRole('button', { name: /^Pick all \d+ that can be cleaned/ }).click();
    await page.getByRole('button', { name: /^Clean \d+ items…$/ }).click();
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.getByRole('button', { name: 'Show the plan' }).click();
    const answer = page.getByLabel(/^Type \d+ to clean \d+ items? that can be undone later/);
    await answer.waitFor();
    await page.getByRole('heading', { name: /question 1 of 2: what can be undone later$/ }).waitFor();
    await page.getByText(/^Question 2 is about the \d+ items? that cannot be undone/).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('confirm-answer');
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.getByText('description: "looked after by nobody" -> back to ""').waitFor();
    await takePictures(page, 'console-case-plan');
    // The plan has one clock with the page.
    const plan = page.getByRole('dialog').getByLabel('Plan', { exact: true });
    await plan.getByText(/by bob, \d{4}-\d\d-\d\d \d\d:\d\d \[user:/).waitFor();
    expect(await plan.textContent()).not.toMatch(/\dT\d\d:\d\d/);
    const [, number = ''] =
      /^Type (\d+)/.exec((await page.getByText(/^Type \d+ to clean/).textContent()) ?? '') ?? [];
    await answer.fill(number);
    await page.keyboard.press('Enter');
    // What cannot be undone is asked on its own, and can be left.
    const final = page.getByLabel(/^Type \d+ for good to also do what cannot be undone/);
    await final.waitFor();
    await page.getByRole('heading', { name: /question 2 of 2: what cannot be undone$/ }).waitFor();
    await page.getByRole('button', { name: 'No: clean the rest only' }).waitFor();
    await takePictures(page, 'console-case-final');
    const asked = (await page.getByText(/^Type \d+ for good to also/).textContent()) ?? '';
    // The answer to the first question is none to the second.
    const [, answered = '', count = ''] = /^Type ((\d+) for good)/.exec(asked) ?? [];
    await final.fill(count);
    expect(await page.getByRole('button', { name: /^Also do what cannot be undone/ }).isDisabled()).toBe(
      true,
    );
    await page.getByText(`Type exactly: ${answered}`).waitFor();
    await final.fill(answered);
    await page.getByText('Type exactly:', { exact: false }).waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.getByText(/^Verified: none of these items remains/).waitFor();
    await takePictures(page, 'console-case-cleaned');
    await close();
    // Only what takes a person is left: there is nothing to clean.
    await items.getByRole('row', { name: /copy of production/ }).waitFor();
    await page.getByRole('button', { name: /^Clean / }).waitFor({ state: 'detached' });
    await page.getByLabel('Which items').selectOption('all');
    await items
      .getByText(/^cleaned, verified/)
      .first()
      .waitFor();
    await page.getByLabel('Which items').selectOption('remains');
    await page
      .getByText('Next:')
      .getByRole('button', { name: 'investigate again, to see what remains' })
      .waitFor();
    // Where the closing misses an investigation, it is begun there.
    await section('Close the case').getByRole('button', { name: 'Investigate again' }).click();
    await page
      .getByText('Next:')
      .getByRole('link', { name: 'deal with 1 item by hand, or hand over' })
      .waitFor();
    // The way by hand: what to do, where, and what to say afterwards.
    const copy = items.getByRole('row', { name: /copy of production/ });
    const link = copy.getByRole('link', { name: 'Open its page in the web interface' });
    expect(await link.getAttribute('href')).toBe(new URL('/inventories/2', service.url).href);
    await copy.getByText('Then mark it as done by hand, or hand it over.', { exact: false }).waitFor();
    await copy.getByRole('checkbox', { name: /^Done by hand/ }).click();
    await page.getByText('Next:').getByRole('link', { name: 'lift the lockdown and close the case' }).click();
    await section('Cleaning').getByText('by hand, not checked', { exact: true }).first().waitFor();
    await takePictures(page, 'console-case-by-hand');
  });

  it('shows what was said beside what an investigation finds, and hands over what others decide', async () => {
    const items = page.getByRole('grid', { name: 'Items of the investigation' });
    const copy = items.getByRole('row', { name: /copy of production/ });
    await page.getByRole('button', { name: 'Investigate again' }).click();
    await copy.getByText('still there', { exact: true }).waitFor();
    await copy.getByText(/^marked as done by hand .*, still there \d/).waitFor();
    const closing = section('Close the case');
    await closing.getByText('Marked as done by hand, and found again or not checked:').waitFor();
    await copy.getByRole('button', { name: /^Hand over/ }).click();
    const dialog = page.getByRole('dialog');
    expect(await barriers(page, 'minor')).toEqual([]);
    await takePictures(page, 'console-case-hand-over');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('hand-over-to');
    await dialog.getByLabel('Who decides').fill('platform team');
    expect(await dialog.getByRole('button', { name: 'Hand it over' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox', { name: 'Why' }).fill('their hosts are in it');
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await copy.getByText('handed over', { exact: true }).waitFor();
    await copy.getByText('Marked as handed over.').waitFor();
    await closing.getByText('Handed over, so that others decide:').waitFor();
    await page
      .getByText('Next:')
      .getByRole('link', { name: 'lift the lockdown and close the case' })
      .waitFor();
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
    await section('Close the case')
      .getByRole('button', { name: 'Lift the lockdown and close the case…' })
      .click();
    const lifting = page.getByRole('dialog');
    await lifting.getByText('bob stays deactivated.').waitFor();
    await page.getByRole('heading', { name: /^Lift the lockdown and close the case at/ }).waitFor();
    await lifting.getByText(/^This closes the case inc-.*this is left:$/).waitFor();
    await lifting.getByText(/copy of production.*, to platform team$/).waitFor();
    const answer = page.getByLabel(/^Type .* to lift .* and close the case/);
    const [, word = ''] =
      /^Type (\S+)/.exec((await page.getByText(/^Type .* to lift/).textContent()) ?? '') ?? [];
    await answer.fill(word);
    await page.keyboard.press('Enter');
    await page
      .getByText(/^Lifted/)
      .first()
      .waitFor();
    await page.getByText('Done. The lockdown is lifted: the case is closed.').waitFor();
    await close();
    await page.getByText('It was open for', { exact: false }).waitFor();
    await page.getByRole('list', { name: 'The users now' }).getByText('stays deactivated').waitFor();
    const download = page.waitForEvent('download');
    await page
      .getByText('Next:')
      .getByRole('link', { name: 'download the report of the closed case' })
      .click();
    await section('Report').getByRole('button', { name: 'Download the report' }).click();
    await section('Report')
      .getByText(/your browser saves it as inc-.*\.html/)
      .waitFor();
    const file = join(home, 'report.html');
    await (await download).saveAs(file);
    expect(readFileSync(file, 'utf8')).toMatch(/<title>Incident inc-.*mole/s);
    expect(readFileSync(file, 'utf8')).toContain('handed over to platform team by');
    const kept = (await section('Report').locator('code').textContent()) ?? '';
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    await page.getByText('This case is closed', { exact: false }).waitFor();
    // What the lockdown closed is still told, as of then.
    await section('Lockdown').getByText('Access tokens', { exact: true }).waitFor();
    await section('Lockdown').getByText('nothing of this is checked now', { exact: false }).waitFor();
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
    await section('Close the case').getByRole('button', { name: 'Give access back…' }).click();
    await page.getByRole('dialog').getByText('Activate bob.').waitFor();
    await page
      .getByLabel(/^Type inc-\w+ to give back what was left by/)
      .fill(/inc-\w+/.exec(page.url())?.[0] ?? '');
    await page.keyboard.press('Enter');
    await page
      .getByText(/^Gave back/)
      .first()
      .waitFor();
    await close();
    await page.getByRole('list', { name: 'The users now' }).getByText('active again').waitFor();
    expect(problems).toEqual([]);
  });

  it('investigates a user without an incident, from the form of a lockdown', async () => {
    const casePage = page.url();
    await page.goto(new URL('/incidents?user=bob', casePage).href);
    await page.getByRole('link', { name: 'Investigate bob first' }).click();
    await page.getByRole('heading', { name: 'Investigation of bob' }).waitFor();
    await section('Investigate').getByRole('button', { name: 'Investigate' }).click();
    await page.getByRole('tree', { name: 'Who made what' }).getByText('mole', { exact: true }).waitFor();
    await section('What was found')
      .getByText(/^Found .*: \d+ items\. At that time: /)
      .waitFor();
    await section('What was found').getByText('What is not known').click();
    await section('What was found').getByText('Who did it', { exact: true }).waitFor();
    await section('What was found').getByRole('link', { name: 'lock down bob' }).waitFor();
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
    await page.getByText('what takes the REST API goes through east', { exact: false }).waitFor();
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
});
