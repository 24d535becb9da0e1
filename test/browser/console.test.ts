import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleEstate } from '@tokenctl/service/sample/estate.ts';
import { storeEstate } from '@tokenctl/service/sample/store-estate.ts';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, basic, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { barriers, paleTexts, startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tokenctl } from '../process/cli/program.ts';
import { type TestConsole, testConsole } from '../support/console.ts';
import { configure } from '../support/drafts.ts';

const chromium = findChromium();

describe.skipIf(chromium === null)('the console', () => {
  const home = mkdtempSync(join(tmpdir(), 'tokenctl-console-'));
  let service: RunningService;
  let browser: Browser;
  let opened: TestConsole;
  let page: Page;
  const problems: string[] = [];
  const visited: string[] = [];

  beforeAll(async () => {
    browser = await startChromium(chromium ?? '');
    service = await startTestService();
    await storeEstate(service.database, sampleEstate({ users: 20, tokens: 400 }, { now: new Date() }));
    const secret = join(home, 'password');
    writeFileSync(secret, ADMIN.password, { mode: 0o600 });
    configure(
      home,
      `currentContext: east\ncontexts:\n  east: { url: "${service.url}", username: admin, password: { file: "${secret}" } }\n` +
        'jobs: { nightly: { job: revocation-sweep, contexts: [east], parameters: { rules: [never-used] } } }\n',
    );
    opened = await testConsole({ home });
    page = await (await browser.newContext({ viewport: { width: 1300, height: 900 } })).newPage();
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) problems.push(message.text());
    });
    page.on('framenavigated', (frame) => visited.push(frame.url()));
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

  /** Follows an entry of the navigation. */
  async function go(name: string): Promise<void> {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, exact: true }).waitFor();
  }

  it('shows the contexts, and leaves no secret in the address', async () => {
    const card = page.getByRole('region', { name: 'east' });
    await card.getByText('admin (superuser)').waitFor();
    await card.getByRole('link', { name: '400', exact: true }).waitFor();
    await card.getByText(/^\d+ high$/).waitFor();
    await card.getByText('never run').waitFor();
    const problems = page.getByRole('region', { name: 'Needs attention' });
    const remedy = problems.getByRole('link', { name: 'Show the remedy: basic authentication on' });
    expect(await remedy.getAttribute('href')).toBe('/audit?place=east&rule=basic-auth-on');
    expect(
      await problems
        .getByRole('link', { name: 'Show the jobs: no scheduler is running' })
        .getAttribute('href'),
    ).toBe('/jobs');
    await card.getByText(/^Expiries by day: [1-9]/).click();
    await card.getByRole('img', { name: /^Expiries in the coming year: [1-9]/ }).waitFor();
    await card.getByText('Settings (2 weak), departed users').click();
    await card.getByText('new tokens live 1,000 years').waitFor();
    expect(page.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    const key = await page.evaluate(() => localStorage.getItem('console-key'));
    expect(key).toMatch(/^[\w-]{43}$/);
    // Also not in one that was replaced: the history of a browser has all of them.
    expect(visited.filter((address) => address.includes(key ?? ''))).toEqual([]);
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-overview');
  });

  it('changes between light and dark with each click, and follows the browser where that is the same', async () => {
    const isDark = () => page.evaluate(() => document.documentElement.classList.contains('pf-v6-theme-dark'));
    const stored = () => page.evaluate(() => localStorage.getItem('theme'));
    const click = (theme: string) =>
      page.getByRole('button', { name: `Switch to the ${theme} theme` }).click();
    for (const colorScheme of ['light', 'dark'] as const) {
      const other = colorScheme === 'light' ? 'dark' : 'light';
      await page.emulateMedia({ colorScheme });
      await page.getByRole('button', { name: `Switch to the ${other} theme` }).waitFor();
      expect([await isDark(), await stored()]).toEqual([colorScheme === 'dark', null]);
      await click(other);
      expect([await isDark(), await stored()]).toEqual([other === 'dark', other]);
      await page.reload();
      expect(await isDark()).toBe(other === 'dark');
      await click(colorScheme);
      expect([await isDark(), await stored()]).toEqual([colorScheme === 'dark', null]);
    }
    await page.emulateMedia({ colorScheme: null });
  });

  it('revokes what a filter shows, and finds the work again after the page was loaded anew', async () => {
    await go('Tokens');
    const whole = page.getByText('400 tokens', { exact: true });
    await whole.waitFor();
    // A text that is cut off is shown whole where it is tapped.
    const wide = page.viewportSize() ?? { width: 1280, height: 900 };
    await page.setViewportSize({ width: 800, height: 800 });
    const cells = page.locator('td[title]');
    const cutOff = await cells.evaluateAll((all) =>
      all.findIndex(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth),
    );
    const cut = (await cells.nth(cutOff).getAttribute('title')) ?? '';
    await cells.nth(cutOff).click();
    const popover = page.getByRole('dialog', { name: 'Full text' });
    await popover.getByText(cut, { exact: true }).waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await page.keyboard.press('Escape');
    await popover.waitFor({ state: 'detached' });
    await page.setViewportSize(wide);
    await page.getByRole('button', { name: 'Charts and more filters' }).click();
    const expiry = page.getByRole('region', { name: 'Expiry' });
    const bar = (label: string) => expiry.getByRole('button', { name: new RegExp(`^${label}`) });
    const chosen = () =>
      expiry.getByRole('button', { pressed: true }).locator('.bar-label').allTextContents();
    await bar('within a year').hover();
    await page.mouse.down();
    await bar('within 3 months').hover();
    await page.mouse.up();
    await whole.waitFor({ state: 'detached' });
    expect(await chosen()).toEqual(['within 3 months', 'within a year']);
    await bar('within a year').focus();
    await page.keyboard.press('Shift+ArrowDown');
    await expiry.getByRole('button', { pressed: true }).nth(2).waitFor();
    expect(await chosen()).toEqual(['within 3 months', 'within a year', 'within 5 years']);
    await page.keyboard.press('Escape');
    await whole.waitFor();
    const counted = page.getByRole('paragraph').filter({ hasText: /^\d+ tokens$/ });
    const owner = page.getByRole('button', { pressed: false }).filter({ hasText: 'backup' });
    await owner.click();
    await whole.waitFor({ state: 'detached' });
    await counted.waitFor();
    expect(new URL(page.url()).searchParams.get('user')).toBe('backup');
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-tokens');
    const total = Number((await counted.textContent())?.split(' ')[0]);
    expect(total).toBeGreaterThan(1);
    await page.getByRole('button', { name: `Revoke all ${total}…` }).click();
    await page.getByRole('dialog').getByText(`${total} tokens match.`, { exact: true }).waitFor();
    await page.getByLabel('Ticket').fill('OPS-1');
    await page.getByRole('button', { name: 'Plan', exact: true }).click();
    const answer = page.getByLabel(`Type ${total} to confirm`);
    await answer.waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-plan');
    await page.reload();
    await answer.fill(String(total));
    await page.getByRole('button', { name: `Revoke ${total} tokens` }).click();
    await page.reload();
    await page.getByText(`Revoked ${total} of ${total} tokens`).waitFor();
    await page.getByText('Command', { exact: true }).click();
    expect(await page.getByRole('code').last().textContent()).toBe(
      'tokenctl tokens revoke --user backup --context east --ticket OPS-1',
    );
    await takePictures(page, 'console-report');
    await page.getByRole('button', { name: 'Close' }).first().click();
    await page.getByText('0 tokens', { exact: true }).waitFor();
  });

  it('filters by scope, shows it in a narrow window as well, and says what to do where no token matches', async () => {
    await go('Tokens');
    await page.getByLabel('Scope', { exact: true }).selectOption('read');
    await page.waitForURL(/scope=read/);
    await page.getByRole('button', { name: 'Remove Scope' }).waitFor();
    const scopes = () => page.getByRole('grid', { name: 'Tokens' }).locator('.in-narrow').allTextContents();
    await expect.poll(async () => (await scopes()).length).toBeGreaterThan(10);
    // The first is that of the title.
    expect((await scopes()).slice(1).filter((text) => !/\bread\b/.test(text))).toEqual([]);
    await page.setViewportSize({ width: 375, height: 812 });
    await page.locator('.rows td .in-narrow').first().waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.setViewportSize({ width: 1300, height: 900 });
    await page.getByLabel('Owner, application, text or ID', { exact: true }).fill('no such text');
    await page.keyboard.press('Enter');
    await page.getByText('No loaded token matches the filters.').waitFor();
    expect(await page.getByRole('region', { name: 'Expiry' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Remove the filters' }).click();
    await page
      .getByRole('paragraph')
      .filter({ hasText: /^\d+ tokens$/ })
      .waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('leads from the count of tokens that expire to the list of just these, which says when the next ones do', async () => {
    await go('Overview');
    // It expires in 30 hours.
    await service.database.execute(
      "UPDATE main_oauth2accesstoken SET expires = now() + interval '30 hours' WHERE id = 1",
    );
    await page.getByRole('button', { name: 'Refresh' }).click();
    const tile = page.locator('.tile', { hasText: 'Expire in 30 days' });
    await tile.getByText(/^[1-9]\d* within a week$/).waitFor();
    const counted = (await tile.getByRole('link').textContent()) ?? '';
    await tile.getByRole('link').click();
    await page.getByText(counted, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove Expires by' }).click();
    await page.waitForURL((url) => !url.searchParams.has('expiresBefore'));
    await page.getByRole('combobox', { name: 'Expiry' }).selectOption('Expires within 7 days');
    await page.getByRole('button', { name: 'Remove Expires within days' }).waitFor();
    await page.getByText('Expires within 7 days', { exact: true }).nth(1).waitFor();
    const next = page.locator('.rows tr', {
      has: page.getByRole('button', { name: 'Trace token 1', exact: true }),
    });
    await next.getByText(/^ ?in (29|30) hours$/).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.getByRole('combobox', { name: 'Expiry' }).selectOption('Expired');
    await page.getByRole('button', { name: 'Remove Expiry' }).waitFor();
    expect(new URL(page.url()).search).toBe('?expiry=expired');
  });

  it('says which tokens are expired, and revokes one from its history', async () => {
    await go('Tokens');
    const expired = page.getByRole('region', { name: 'Expiry' }).getByRole('button', { name: /^expired/ });
    const count = Number((await expired.locator('.bar-count').textContent())?.split(' ')[0]);
    expect(count).toBeGreaterThan(1);
    const marked = () =>
      page.locator('.rows tr', { has: page.locator('.remark', { hasText: 'expired' }) }).count();
    await expect
      .poll(async () => (await page.locator('.rows tr[aria-rowindex]').count()) - (await marked()))
      .toBeGreaterThan(0);
    await expired.hover();
    await page.mouse.down();
    await page.mouse.up();
    // Another bar may have as many by chance.
    await page.getByText(`${count} tokens`, { exact: true }).first().waitFor();
    await expect
      .poll(async () => (await page.locator('.rows tr[aria-rowindex]').count()) - (await marked()))
      .toBe(0);
    expect(await barriers(page, 'minor')).toEqual([]);
    const [id] = await page
      .locator('.rows')
      .getByRole('button', { name: /^Trace/ })
      .allTextContents();
    await page.getByRole('button', { name: `Trace token ${id}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke this token…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke tokens' });
    await dialog.getByText(new RegExp(`^1 token: token ${id} of [\\w.]+\\.$`)).waitFor();
    // What a context of the REST API cannot do is not there to be chosen, with the reason.
    await dialog
      .getByText('Not available in this context: requires a database context', { exact: false })
      .waitFor();
    expect(await dialog.getByLabel("Also end the users' sessions").isDisabled()).toBe(true);
    expect(await dialog.getByLabel('Keep refresh tokens valid').isDisabled()).toBe(true);
    expect(await barriers(page, 'minor')).toEqual([]);
    await dialog.getByRole('button', { name: 'Plan', exact: true }).click();
    await page.getByLabel(/^Type 1 to confirm/).fill('1');
    await page.getByRole('button', { name: 'Revoke 1 token' }).click();
    await page.getByText('Revoked 1 of 1 token', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
    // The button that led here is gone with its row: the keyboard goes on in the page.
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
    await page.goto(new URL('/tokens', page.url()).href);
  });

  it('tells an account with fewer rights once what it lacks, and offers it no lockdown', async () => {
    const password = 'long enough for it';
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const made = await admin.post('/api/v2/users/', {
      username: 'auditor',
      password,
      is_system_auditor: true,
    });
    expect(made.status).toBe(201);
    expect((await admin.post('/api/v2/users/', { username: 'alice', password })).status).toBe(201);
    const secret = join(home, 'other-password');
    writeFileSync(secret, password, { mode: 0o600 });
    const file = join(home, 'fewer-rights.yaml');
    const context = (name: string) =>
      `  ${name}: { url: "${service.url}", username: ${name}, password: { file: "${secret}" } }\n`;
    writeFileSync(
      file,
      `currentContext: alice\ncontexts:\n${context('alice')}${context('auditor')}${context('nobody')}`,
    );
    const open = async (name: string) => {
      const other = await testConsole({ home, config: file, context: name });
      const tab = await (await browser.newContext()).newPage();
      onTestFinished(async () => {
        await tab.context().close();
        await other.operations.close();
        await other.app.close();
      });
      await tab.goto(await other.listen());
      await tab.getByRole('heading', { name: 'Overview' }).waitFor();
      return tab;
    };
    for (const [name, refusal] of [
      [
        'alice',
        'Cannot lock down: A lockdown requires an account that can see all tokens and users: alice can see only their own tokens.',
      ],
      ['auditor', 'Cannot lock down: auditor is a system auditor, which can only change its own tokens.'],
    ] as const) {
      const tab = await open(name);
      if (name === 'alice') {
        await tab.getByText('alice can see only their own tokens, and no settings.').waitFor();
        expect(await tab.getByText('can see only their own tokens').count()).toBe(1);
      }
      await tab.goto(new URL('/tokens?user=chatops', tab.url()).href);
      await tab.getByText(refusal, { exact: true }).waitFor();
      expect(await tab.getByRole('link', { name: 'Lock down chatops…' }).count()).toBe(0);
      await tab.goto(new URL('/audit', tab.url()).href);
      await tab
        .getByText(/rules were not checked|Not checked: /)
        .first()
        .waitFor();
      // One of what is not included, and one of what was not checked.
      expect(await tab.locator('main .pf-v6-c-alert').count()).toBe(name === 'alice' ? 2 : 1);
      expect(await barriers(tab, 'minor')).toEqual([]);
    }
    // The controller refuses this one: no number of tokens is known, and it is not the person who may not see them.
    const tab = await open('nobody');
    await tab.goto(new URL('/tokens', tab.url()).href);
    await tab.getByText('No token was read. See above for what is missing.').waitFor();
    expect(await tab.getByText(/0 tokens|Revoke all/).count()).toBe(0);
    await tab.goto(new URL('/audit', tab.url()).href);
    await tab.getByRole('heading', { name: 'Could not load this' }).waitFor();
    expect(await tab.getByRole('button', { name: 'Try again' }).count()).toBe(1);
  });

  it('locks a user down from a plan that follows the form, and shows the ways in', async () => {
    await go('Incidents');
    await page.getByText('No lockdown is open in east.').waitFor();
    await page.getByLabel('Names, separated by commas').fill('monitoring');
    await page.getByText(/^Would lock down the access of monitoring/).waitFor();
    await page.getByRole('button', { name: /^Measures: / }).click();
    await page.getByLabel('Stop external users from creating tokens').check();
    await page
      .getByText(/Set ALLOW_OAUTH2_FOR_EXTERNAL_USERS|Keep ALLOW_OAUTH2_FOR_EXTERNAL_USERS/)
      .waitFor();
    await page.getByRole('button', { name: 'Lock down…' }).click();
    await page.getByLabel(/^Type monitoring to confirm/).fill('monitoring');
    await page.getByRole('button', { name: 'Lock down the access of monitoring' }).click();
    await page.getByText(/^Locked down.*: the access of monitoring/).waitFor();
    await takePictures(page, 'console-lockdown');
    await page.getByRole('button', { name: 'Close' }).first().click();
    const board = page.getByRole('grid', { name: /^Access paths of inc-/ });
    await board.getByText('ALLOW_OAUTH2_FOR_EXTERNAL_USERS').waitFor();
    // Over REST, codes, refresh tokens and sessions are not listed: the lockdown is not called in effect without that.
    await page
      .getByRole('heading', {
        name: /^inc-.* in effect as far as this context can check \d access paths not checked$/,
      })
      .waitFor();
    await page.getByRole('heading', { name: 'Incidents', exact: true }).scrollIntoViewIfNeeded();
    await takePictures(page, 'console-board');
    await page.getByRole('link', { name: /^Continue with the case inc-/ }).click();
    await page.getByRole('heading', { name: /^Case inc-/ }).waitFor();
    await page.getByText('Runbook', { exact: true }).click();
    await page.getByLabel(/^Select the runbook for inc-/).selectOption('stolen-token');
    // It is ticked once the audit log has it.
    const step = page.getByRole('checkbox', { name: "2. End all of monitoring's access" });
    await step.click();
    await page.getByText(/, entry \d+ of the audit log$/).waitFor();
    expect(await step.isChecked()).toBe(true);
    await page.getByRole('button', { name: 'How' }).nth(1).click();
    // There is no database context here: such a command does not run.
    await page
      .getByText('incident lockdown --context <database-context> --user monitoring --deactivate', {
        exact: false,
      })
      .waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await page.route('**/api/incidents?*', async (route) => {
      await page.getByLabel('Names, separated by commas').waitFor();
      await route.continue();
    });
    await page.goto(new URL('/incidents', page.url()).href);
    const form = page.getByRole('heading', { name: 'Lock down', exact: true });
    const before = await form.boundingBox();
    await page.getByRole('grid', { name: 'Open incidents' }).waitFor();
    // The form is where it was: a click meant for one of its fields lands on it.
    expect((await form.boundingBox())?.y).toBe(before?.y);
    await page.unroute('**/api/incidents?*');
  });

  it('lists the incidents of all contexts, and says which others have some', async () => {
    const config = join(home, 'several.yaml');
    writeFileSync(
      config,
      `contexts:\n  away: { url: "http://127.0.0.1:9", username: admin, password: { file: "${join(home, 'password')}" } }\n` +
        `  east: { url: "${service.url}", username: admin, password: { file: "${join(home, 'password')}" } }\n`,
    );
    const several = await testConsole({ home, config, allContexts: true });
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    onTestFinished(async () => {
      await context.close();
      await several.operations.close();
      await several.app.close();
    });
    const tab = await context.newPage();
    await tab.goto(await several.listen());
    await tab.getByText('checked at 1 of 2', { exact: false }).waitFor();
    await tab.locator('.tile', { hasText: 'Open incidents' }).getByRole('link', { name: '1' }).click();
    await tab.getByText('away is not checked now: ', { exact: false }).waitFor();
    await tab.getByRole('link', { name: /^inc-[0-9a-f]{8}$/ }).waitFor();
    expect(await barriers(tab, 'moderate')).toEqual([]);
    await tab.getByLabel('Context', { exact: true }).selectOption('away');
    await tab.getByText('The audit log contains no open lockdown in away.').waitFor();
    await tab.getByRole('link', { name: '1 in east' }).click();
    await tab.getByRole('link', { name: /^inc-[0-9a-f]{8}$/ }).waitFor();
    // The choice goes with the reader to the next page, and one context that failed hides no other.
    await tab.getByRole('link', { name: 'Audit', exact: true }).click();
    await tab.waitForURL(/\/audit\?place=east$/);
    await tab.getByLabel('Compare with a baseline').waitFor();
    await tab.getByLabel('Context', { exact: true }).selectOption('All contexts');
    await tab.getByText('away: not in this list. ', { exact: false }).waitFor();
    await tab.getByRole('button', { name: /^\d+ high$/ }).click();
    await tab.getByRole('button', { name: /^\d+ high$/, pressed: true }).waitFor();
    expect(await barriers(tab, 'moderate')).toEqual([]);
    await takePictures(tab, 'console-audit-of-all');
    await tab.getByRole('link', { name: 'Overview', exact: true }).click();
    await tab.getByText('checked at 1 of 2', { exact: false }).waitFor();
    await takePictures(tab, 'console-overview-of-all');
  });

  it('shows findings, the audit log and the jobs', async () => {
    await go('Audit');
    const rule = page.getByRole('button', { name: /^never-expires/ });
    const count = await rule.locator('.bar-count').textContent();
    await rule.click();
    // What is counted is what is listed.
    await page.getByText(`${count?.replace(/ .*/, '')} findings of never-expires. All rules: `).waitFor();
    await page.getByRole('heading', { name: 'By owner, of never-expires' }).waitFor();
    const owner = page.locator('a.bar-row').first();
    expect(new URLSearchParams((await owner.getAttribute('href'))?.split('?')[1]).get('finding')).toBe(
      'never-expires',
    );
    // One severity at a time, and not together with a rule.
    const low = page.getByRole('region', { name: 'By severity' }).getByRole('button', { name: /low$/ });
    await low.click();
    await page.waitForURL(/\?severity=low$/);
    await rule.waitFor({ state: 'detached' });
    const severities = page.getByRole('grid', { name: 'Findings' }).locator('tbody tr td:first-child');
    expect(new Set(await severities.allTextContents())).toEqual(new Set(['low']));
    await low.click();
    await rule.click();
    // What to do about it is in sight.
    const about = page.getByRole('region', { name: 'About this rule' });
    expect((await about.boundingBox())?.y).toBeLessThan((await rule.boundingBox())?.y ?? 0);
    // A token of the list leads to this token, and not to others with its digits in a name.
    const token = page.getByRole('link', { name: /^token \d+$/ }).first();
    const id = (await token.textContent())?.replace('token ', '');
    await token.click();
    await page.getByText(`Token: ${id}`, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Revoke it…' }).waitFor();
    await page.goBack();
    await about.waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    const made = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download: HTML' }).click();
    const file = join(home, 'audit.html');
    await (await made).saveAs(file);
    const report = await page.context().newPage();
    await report.goto(`file://${file}`);
    for (const width of [1300, 375]) {
      await report.setViewportSize({ width, height: 900 });
      expect(await barriers(report, 'minor')).toEqual([]);
      for (const colorScheme of ['light', 'dark'] as const) {
        await report.emulateMedia({ colorScheme });
        expect(await paleTexts(report)).toEqual([]);
      }
    }
    await report.close();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download: Baseline' }).click();
    const baseline = join(home, 'audit.baseline');
    await (await saving).saveAs(baseline);
    await page.getByLabel('Compare with a baseline').setInputFiles(baseline);
    await page.getByText(/^Compared with the baseline: 0 new, \d+ known, 0 fixed\.$/).waitFor();
    await page.getByRole('button', { name: /^known/ }).click();
    await takePictures(page, 'console-audit');
    // Nothing is new, so no chart shows the rule that was chosen before.
    await page.getByText('Rule: never-expires').waitFor();
    const listed = page.getByText(/^200 (of [\d,]+ )?are listed/);
    const narrowed = await listed.textContent();
    await page.getByRole('button', { name: 'Show all rules' }).click();
    await expect.poll(() => listed.textContent()).not.toBe(narrowed);
    await page.goBack();
    await expect.poll(() => listed.textContent()).toBe(narrowed);
    await page.getByRole('button', { name: 'Remove the baseline' }).click();
    await page.getByRole('button', { name: 'Add an exception…' }).click();
    await page.getByLabel('Excuses').selectOption({ index: 1 });
    await page.getByLabel('Reason').fill('deployments, OPS-2');
    await page.getByText('reason: deployments, OPS-2').waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-exception');
    await page.getByRole('button', { name: 'Close' }).first().click();
    await go('Audit log');
    await page
      .getByText(/revoked \d+ tokens of backup at east/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    await page.getByText(/Intact: each entry from 1 to \d+ follows from the previous one/).waitFor();
    await page.getByText(/^Not checked: whether entries are missing at the end, .*Select it below/).waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-log');
    await page
      .getByRole('button', { name: /^Details of run/ })
      .first()
      .click();
    const facts = page.getByRole('dialog').locator('.facts');
    await facts.getByText('Entries', { exact: true }).waitFor();
    expect(await facts.textContent()).not.toMatch(/\dT\d/);
    await page.getByRole('button', { name: 'Close' }).first().click();
    await go('Jobs');
    await page.getByRole('button', { name: 'Dry run of nightly@east' }).click();
    await page
      .getByRole('region', { name: 'Result' })
      .getByText(/^nightly@east \(dry run\): /)
      .waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
    await page.getByRole('grid', { name: 'Job runs' }).getByText('dry run, by hand').waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-jobs');
    // A dry run revoked nothing: it is not told as a sweep.
    await go('Overview');
    await page.getByText('completed, dry run', { exact: true }).waitFor();
    await go('Changes');
    await page.getByText(/tokenctl incident lockdown --user monitoring/).waitFor();
    expect(problems).toEqual([]);
  });

  it('shows what is left of a sunset, and moves the end of a token once the plan is confirmed', async () => {
    await go('Token lifetimes');
    await page.getByText('No open leases.').waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    const sunset = [
      'tokens',
      'sunset',
      '--over',
      '30d',
      '--user',
      'patching',
      '--user',
      'terraform',
      '--yes',
    ];
    expect(await tokenctl(sunset, { env: { HOME: home } })).toMatchObject({ code: 0 });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByRole('heading', { name: /^Remaining after the week of/ }).waitFor();
    const leases = page.getByRole('grid', { name: 'Leases' });
    expect(await leases.getByText('sunset', { exact: true }).count()).toBeGreaterThan(1);
    await page.getByText('lease end dates').waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
    await takePictures(page, 'console-lifetimes');
    await leases
      .getByRole('button', { name: /^Change the end of token/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog', { name: /^Change the end of token \d+ of / });
    await dialog.getByLabel('It ends').selectOption('In a week');
    expect(await barriers(page, 'moderate')).toEqual([]);
    await dialog.getByRole('button', { name: 'Show the plan' }).click();
    await page.getByText(/^Would change the end of /).waitFor();
    await takePictures(page, 'console-lease-plan');
    await page.getByRole('button', { name: 'Move its end' }).click();
    await page.getByText('Done. The text below shows what was checked.').waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
  });

  it('asks another browser to open an address of the terminal', async () => {
    const other = await (await browser.newContext()).newPage();
    await other.goto(new URL('/tokens', page.url()).href);
    await other.getByRole('heading', { name: 'Open the console from its terminal' }).waitFor();
    expect(await barriers(other, 'minor')).toEqual([]);
    await other.goto(new URL('/no-such-page', page.url()).href);
    await other.getByRole('heading', { name: 'Open the console from its terminal' }).waitFor();
    await other.goto(new URL('/api/console', page.url()).href);
    await other.getByRole('link', { name: 'Go to the console' }).waitFor();
    expect(await barriers(other, 'minor')).toEqual([]);
  });

  it('shows times in the zone of the browser and says which, and the whole year in a narrow window', async () => {
    const narrow = { viewport: { width: 375, height: 812 }, timezoneId: 'Asia/Kolkata' };
    const other = await (await browser.newContext(narrow)).newPage();
    onTestFinished(() => other.context().close());
    await other.goto(new URL(`/open?code=${opened.access.newCode()}`, page.url()).href);
    await other.getByText('Times: UTC+05:30', { exact: true }).waitFor();
    await other.getByText(/^Expiries by day: [1-9]/).click();
    await other.getByRole('img', { name: /^Expiries in the coming year: [1-9]/ }).waitFor();
    const days = await other.locator('.calendar rect').evaluateAll((each) =>
      each.map((day) => {
        const { left, right } = day.getBoundingClientRect();
        return left >= 0 && right <= innerWidth;
      }),
    );
    expect([days.length > 360, days.every(Boolean)]).toEqual([true, true]);
    const shown = await other
      .locator('main time')
      .evaluateAll((times) =>
        times.map((time) => [time.textContent, time.getAttribute('datetime')] as const),
      );
    expect(shown.length).toBeGreaterThan(0);
    for (const [text, at] of shown) {
      expect(text).toBe(
        new Date(Date.parse(at ?? '') + 19_800_000).toISOString().slice(0, 16).replace('T', ' '),
      );
    }
    expect(await barriers(other, 'minor')).toEqual([]);
  });

  it('has its version and the way to the documentation on each page', async () => {
    await page.getByRole('link', { name: 'Help', exact: true }).click();
    await page.getByText('tokenctl 0.0.0', { exact: true }).waitFor();
    expect(await barriers(page, 'moderate')).toEqual([]);
  });

  it('says of an address without a page that there is none', async () => {
    await page.goto(new URL('/no-such-page', page.url()).href);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    expect(await barriers(page, 'minor')).toEqual([]);
    await page.getByRole('link', { name: 'Go to the overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('says on each page that the console has ended, also on those that were not opened before', async () => {
    const ending = await testConsole({ home });
    const other = await (await browser.newContext()).newPage();
    onTestFinished(() => other.context().close());
    // The code of the other pages is loaded a second after the first one.
    const rest = other.waitForResponse(/\/saved-plans-[^/]*\.js/);
    await other.goto(await ending.listen());
    await other.getByRole('heading', { name: 'Overview' }).waitFor();
    await rest;
    await other.waitForLoadState('networkidle');
    await ending.operations.close();
    await ending.app.close();
    for (const name of [
      'Tokens',
      'Token lifetimes',
      'Incidents',
      'Audit',
      'Changes',
      'Audit log',
      'Jobs',
      'Saved plans',
    ]) {
      await other.getByRole('navigation').getByRole('link', { name, exact: true }).click();
      await other.getByText('The page shows data not newer than', { exact: false }).waitFor();
      expect(await other.getByText('dynamically imported', { exact: false }).count()).toBe(0);
    }
    expect(await barriers(other, 'minor')).toEqual([]);
  });
});
