import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** The service, or a controller behind the same interface, and one of its superusers. */
export interface Site {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Logs in on the login page that is shown: the service's or a controller's. */
export async function logIn(
  page: Page,
  { username, password }: Pick<Site, 'username' | 'password'>,
): Promise<void> {
  await page.locator('input[name=username]').fill(username);
  await page.locator('input[name=password]').fill(password);
  await page.locator('input[name=password]').press('Enter');
}

/** Removes cookies of the page once no answer is under way, which would set them again. Without a name, all. */
export async function loseCookies(page: Page, name?: string): Promise<void> {
  await page.waitForLoadState('networkidle');
  await page.context().clearCookies(name === undefined ? {} : { name });
}

/** Repeats a request until its status is the expected one: the workers of a controller keep settings for some seconds. */
async function waitForStatus(use: () => Promise<number>, status: number): Promise<void> {
  await expect.poll(use, { interval: 500 }).toBe(status);
}

function statusWith(site: Site, authorization: string): Promise<number> {
  return fetch(`${site.url}/api/v2/me/`, { headers: { authorization } }).then(({ status }) => status);
}

/**
 * Creates a token in the Tokens tab of the logged-in superuser, uses it, deletes it, and finds both in the activity stream.
 * Its description would run a script if it were not escaped.
 */
export async function createAndDeleteToken(page: Page, site: Site): Promise<void> {
  const description = '<img src=x onerror=alert(1)>';
  await page.getByRole('button', { name: site.username, exact: true }).click();
  await page.getByRole('menuitem', { name: 'My tokens' }).click();
  await page.getByRole('link', { name: 'Create token' }).click();
  await page.getByLabel('Scope').selectOption('write');
  await page.getByLabel('Description').fill(description);
  await page.getByRole('button', { name: 'Create token' }).click();
  const dialog = page.getByRole('dialog', { name: 'Token created' });
  const token = await dialog.getByRole('textbox', { name: 'Token' }).inputValue();
  expect(token).toMatch(/^\w{30}$/);
  const use = () => statusWith(site, `Bearer ${token}`);
  expect(await use()).toBe(200);
  await dialog.getByRole('button', { name: 'Close' }).click();
  const row = page.getByRole('row').filter({ hasText: description });
  await row.getByText('Last 24 hours').waitFor();
  const kept = await page.evaluate(() =>
    [document.documentElement.outerHTML, location.href, ...Object.values(localStorage)].join(' '),
  );
  expect(kept).not.toContain(token);
  await row.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByRole('button', { name: 'Revoke token', exact: true }).click();
  await page.getByText('Revoked 1 token.').waitFor();
  await row.waitFor({ state: 'detached' });
  expect(await use()).toBe(401);
  await page.getByRole('link', { name: 'Activity stream' }).click();
  await page.getByRole('row').nth(1).getByText(`Deleted token ${description}`).waitFor();
  await page.getByRole('row').nth(2).getByText(`Created token ${description}`).waitFor();
}

/** Presses Tab until the focus is on what has this label or text, and checks that it is seen there. */
export async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 150; presses += 1) {
    const focused = await page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement | null;
      const isSeen = element !== null && getComputedStyle(element).outlineStyle !== 'none';
      const text = element?.ariaLabel ?? element?.labels?.[0]?.textContent ?? element?.textContent ?? '';
      return { text: text.trim(), isSeen };
    });
    if (name.test(focused.text)) return expect([name, focused.isSeen]).toEqual([name, true]);
    await page.keyboard.press('Tab');
  }
  throw new Error(`nothing to focus is called ${name}`);
}

/** Turns Basic authentication off and on in the settings, after values that the API refuses. */
export async function turnBasicOffAndOn(page: Page, site: Site): Promise<void> {
  await page.getByRole('link', { name: 'Settings' }).click();
  const basic = page.getByRole('checkbox', { name: /HTTP Basic/ });
  const timeout = page.locator('[name=SESSION_COOKIE_AGE]');
  const lifetime = page.locator('[name="OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS"]');
  const save = () => page.getByRole('button', { name: 'Save', exact: true }).click();
  const credentials = Buffer.from(`${site.username}:${site.password}`).toString('base64');
  const use = () => statusWith(site, `Basic ${credentials}`);
  const before = await timeout.inputValue();
  await timeout.fill('5');
  await lifetime.fill('soon');
  await save();
  await page.getByText('Ensure this value is greater than or equal to 60.').waitFor();
  expect(await page.getByText('A valid integer is required.').count()).toBe(1);
  await timeout.fill(before);
  await lifetime.fill('3600');
  await basic.uncheck();
  await save();
  await page.getByText('will be rejected').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).last().click();
  expect(await use()).toBe(200);
  await save();
  await page.getByRole('button', { name: 'Disable', exact: true }).click();
  await page.getByText('Saved the settings.').waitFor();
  await waitForStatus(use, 401);
  await basic.check();
  await save();
  await waitForStatus(use, 200);
  await page.getByText('Saved the settings.').waitFor();
}

/** Has the demo job template ask for a limit, and launches it with one. */
export async function launchWithLimit(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Job templates' }).first().click();
  await page.getByRole('link', { name: 'Demo Job Template', exact: true }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('checkbox', { name: 'Prompt for limit on launch' }).check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Launch Demo Job Template' }).click();
  await page.getByLabel('Limit').fill('localhost');
  await page.getByRole('button', { name: 'Launch', exact: true }).click();
  await page.getByRole('heading', { name: /^Job \d+: Demo Job Template$/ }).waitFor();
  await page.getByRole('link', { name: 'Details', exact: true }).click();
  await page
    .getByRole('definition')
    .filter({ hasText: /^localhost$/ })
    .waitFor();
}
