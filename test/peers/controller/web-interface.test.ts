import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findChromium, startChromium } from '../../browser/chromium.ts';
import { createAndDeleteToken, logIn, type Site, turnBasicOffAndOn } from '../../browser/web-stories.ts';
import { describePeer } from '../peer.ts';
import { startWebFront, type WebFront } from './web-front.ts';

const chromium = findChromium();

/** Pages with what a controller shows there. */
const PAGES = [
  ['/', 'Recent activity'],
  ['/users', 'alice'],
  ['/users/1/organizations', 'Details'],
  ['/organizations/1/users', 'Members'],
  ['/teams', 'Create team'],
  ['/applications', 'AppCode'],
  ['/applications/1', 'Client ID'],
  ['/applications/1/tokens', 'In the last'],
  ['/tokens', 'Personal'],
  ['/settings/saml', 'sso/metadata/saml'],
  ['/activity?operation=create', 'Created token'],
  ['/inventories/1', 'Organization'],
  ['/inventories/1/hosts', 'localhost'],
  ['/hosts/1/edit', 'Variables'],
  ['/projects?order_by=-name', 'Demo Project'],
  ['/credentials', 'Demo Credential'],
  ['/templates?inventory__name__icontains=demo', 'Demo Job Template'],
  ['/jobs', 'No jobs'],
] as const;

/** Launches a job template with a limit, cancels the job, and deletes it. The peer runs no jobs: it stays pending. */
async function launchAndCancel(page: Page, { url }: Site): Promise<void> {
  await page.goto(`${url}/templates`);
  await page.getByRole('link', { name: 'Demo Job Template' }).click();
  await page.getByText('hello_world.yml').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Edit', exact: true }).click();
  await page.getByRole('checkbox', { name: 'Ask for the limit on launch' }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Asked for').waitFor();
  await page.getByRole('button', { name: 'Launch Demo Job Template' }).click();
  await page.locator('form').getByLabel('Limit').fill('localhost');
  await page.getByRole('button', { name: 'Launch', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: /^Job \d+: Demo Job Template$/ }).waitFor();
  await page.getByText('Nothing yet.').waitFor();
  await page.getByRole('button', { name: 'Cancel job' }).click();
  await page.getByText('Canceled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete job' }).click();
  await page.getByText('Deleted 1 job.').waitFor();
}

/** Creates a credential of a type with inputs, and changes one of them, which keeps the secret. */
async function createCredential(page: Page, { url }: Site): Promise<void> {
  const field = (name: string) => page.locator(`form [name="${name}"]`);
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  await page.goto(`${url}/credentials/add`);
  await field('name').fill('Racks');
  await field('credential_type').selectOption('Machine');
  await field('inputs.username').fill('deploy');
  await field('inputs.password').fill('a-secret');
  await press('Create credential');
  await page.getByText('username: deploy').waitFor();
  await page.getByText('password: stored, and never shown').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Edit', exact: true }).click();
  await field('inputs.username').fill('operator');
  await press('Save');
  await page.getByText('username: operator').waitFor();
  await page.getByText('password: stored, and never shown').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Edit', exact: true }).click();
  await press('Remove the stored value: Password');
  await press('Save');
  await page.getByText('username: operator').waitFor();
  await page.getByText('password: stored').waitFor({ state: 'detached' });
  await press('Delete');
  await press('Delete credential');
  await page.getByText('Deleted 1 credential.').waitFor();
}

/** Makes a user an auditor of the organization, and takes that back. */
async function changeAuditors(page: Page, { url }: Site): Promise<void> {
  await page.goto(`${url}/organizations/1/auditors`);
  await page.getByRole('button', { name: 'Add auditor' }).click();
  await page.locator('form').getByLabel('User').selectOption('bob');
  await page.getByRole('dialog').getByRole('button', { name: 'Add auditor' }).click();
  await page.getByRole('button', { name: 'Remove bob' }).click();
  await page.getByText('bob is no longer an auditor.').waitFor();
  await page.getByRole('button', { name: 'Remove bob' }).waitFor({ state: 'detached' });
}

describePeer('awx', 'the web interface on a controller', (peer) => {
  let front: WebFront;
  let browser: Browser;

  beforeAll(async () => {
    front = await startWebFront(peer().url);
    browser = await startChromium(chromium ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await front?.[Symbol.asyncDispose]();
  });

  it.skipIf(chromium === null)(
    'shows its pages, creates a token, launches a job, and turns Basic authentication off and on',
    async () => {
      const site: Site = { url: front.url, username: 'admin', password: 'adminpw' };
      const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
      const failures: string[] = [];
      await page.goto(`${front.url}/users?username__icontains=ali`);
      await logIn(page, site);
      await page.getByRole('link', { name: 'alice' }).waitFor();
      expect(page.url()).toBe(`${front.url}/users?username__icontains=ali`);
      page.on('response', (answer) => {
        if (answer.status() >= 400) failures.push(`${answer.status()} ${answer.url()}`);
      });
      for (const [path, text] of PAGES) {
        await page.goto(`${front.url}${path}`);
        const shown = page.getByText(text).or(page.locator(`input[value*="${text}"]`));
        await shown.first().waitFor();
        await page.waitForLoadState('networkidle');
      }
      expect(failures).toEqual([]);
      await createAndDeleteToken(page, site);
      await launchAndCancel(page, site);
      await createCredential(page, site);
      await changeAuditors(page, site);
      await turnBasicOffAndOn(page, site);
    },
  );
});
