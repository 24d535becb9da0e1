import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { fakeAnsible } from '../support/fake-ansible.ts';
import { ADMIN, type Body, basic, Client, startTestService } from '../support/service.ts';

const chromium = findChromium();
/** A name that shows whether it is taken for markup. */
const MARKUP = '<img src="/x" onerror="document.body.remove()">';

describe.skipIf(chromium === null)('the resources of the web interface', () => {
  let service: RunningService;
  let browser: Browser;
  let admin: Client;
  let odd: Record<'inventory' | 'host' | 'group' | 'project' | 'credential' | 'template' | 'job', number>;

  const made = async (path: string, json: unknown): Promise<Body> => {
    const answer = await admin.post(`/api/v2/${path}`, json);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.json;
  };

  beforeAll(async () => {
    const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
    for (const folder of ['web', 'odd']) mkdirSync(join(projects, folder));
    writeFileSync(join(projects, 'web', 'site.yml'), '- hosts: all\n');
    writeFileSync(join(projects, 'odd', 'odd.yml'), '- hosts: all\n');
    browser = await startChromium(chromium ?? '');
    service = await startTestService({ searchPath: fakeAnsible(), projects });
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const { id: organization } = await made('organizations/', { name: MARKUP });
    const owned = { name: MARKUP, description: MARKUP, organization };
    const inventory = await made('inventories/', { ...owned, variables: `text: '${MARKUP}'` });
    const host = await made('hosts/', { ...owned, inventory: inventory.id, variables: `text: '${MARKUP}'` });
    const group = await made('groups/', { name: `${MARKUP}.`, inventory: inventory.id });
    await admin.post(`/api/v2/groups/${group.id}/hosts/`, { id: host.id });
    const project = await made('projects/', { ...owned, local_path: 'odd' });
    const credential = await made('credentials/', owned);
    const template = await made('job_templates/', {
      ...owned,
      inventory: inventory.id,
      project: project.id,
      playbook: 'odd.yml',
      limit: MARKUP,
    });
    const job = await made(`job_templates/${template.id}/launch/`, {});
    odd = {
      inventory: inventory.id,
      host: host.id,
      group: group.id,
      project: project.id,
      credential: credential.id,
      template: template.id,
      job: job.id,
    };
    await made('users/', { username: 'auditor', password: 'a-password', is_system_auditor: true });
  });
  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  /** Opens a page by way of the login. */
  async function open(
    path: string,
    work: (page: Page) => Promise<void>,
    { username = ADMIN.username, password = ADMIN.password } = {},
  ): Promise<void> {
    const context = await browser.newContext({ viewport: { width: 1200, height: 800 } });
    const problems: string[] = [];
    try {
      const page = await context.newPage();
      page.on('pageerror', ({ message }) => problems.push(message));
      page.on('console', (message) => {
        if (/content security policy/i.test(message.text())) problems.push(message.text());
      });
      // What was deleted is not read again.
      page.on('response', (answer) => {
        if (answer.status() === 404) problems.push(`404 ${answer.url()}`);
      });
      await page.goto(`${service.url}${path}`);
      await page.getByLabel('Username').fill(username);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Log in' }).click();
      await work(page);
      expect(problems).toEqual([]);
    } finally {
      await context.close();
    }
  }

  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const follow = (page: Page, name: string) =>
    page.getByRole('main').getByRole('link', { name, exact: true }).click();
  const field = (page: Page, name: string) => page.locator('form').getByLabel(name);
  const heading = (page: Page, name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor();

  const names = async (collection: string) =>
    (await admin.get(`/api/v2/${collection}/?order_by=id`)).json.results.map(({ name }) => name);
  const inventoryOf = async (group: string) =>
    (await admin.get(`/api/v2/groups/?name=${group}`)).json.results[0]?.['inventory'];

  it('are made from nothing to a running job, which is canceled', () =>
    open('/inventories', async (page) => {
      await follow(page, 'Create inventory');
      await field(page, 'Name').fill('Web servers');
      await field(page, 'Organization').selectOption('Default');
      await field(page, 'Variables').fill('- no mapping');
      await press(page, 'Create inventory');
      await page.getByText('Must be a mapping in JSON or YAML.').waitFor();
      await field(page, 'Variables').fill('port: 80');
      await press(page, 'Create inventory');
      await heading(page, 'Web servers');

      await follow(page, 'Hosts');
      await page
        .getByText(/no hosts/i)
        .first()
        .waitFor();
      await page.getByRole('link', { name: 'Create host' }).click();
      await field(page, 'Name').fill('web1');
      await press(page, 'Create host');
      await heading(page, 'web1');
      await page.getByText('Enabled').waitFor();

      await page.locator('dl').getByRole('link', { name: 'Web servers' }).click();
      await follow(page, 'Groups');
      await page.getByRole('link', { name: 'Create group' }).click();
      await field(page, 'Name').fill('all');
      await press(page, 'Create group');
      await page.getByText('Invalid group name.').waitFor();
      await field(page, 'Name').fill('front');
      await field(page, 'Variables').fill('tier: 1');
      await press(page, 'Create group');
      await heading(page, 'front');
      await page.getByText('tier: 1').waitFor();
      await follow(page, 'Hosts');
      await press(page, 'Add host');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Host').selectOption('web1');
      await dialog.getByRole('button', { name: 'Add host' }).click();
      await page.getByText('Added a host to front.').waitFor();
      await follow(page, 'web1');
      await follow(page, 'front');
      await made('groups/', { name: 'caches', inventory: Number((await inventoryOf('front')) ?? 0) });
      await follow(page, 'Child groups');
      await press(page, 'Add group');
      await dialog.getByLabel('Group').selectOption('caches');
      await dialog.getByRole('button', { name: 'Add group' }).click();
      await page.getByText('Added a group to front.').waitFor();
      await press(page, 'Remove caches');
      await page.getByText('caches is no longer in front.').waitFor();
      await page
        .getByText(/no child groups/i)
        .first()
        .waitFor();
      await follow(page, 'Details');
      await follow(page, 'Edit');
      await field(page, 'Variables').fill('tier: 2');
      await press(page, 'Save');
      await page.getByText('tier: 2').waitFor();
      await press(page, 'Delete');
      await page.getByText('that belong to no other group are also deleted').waitFor();
      await press(page, 'Delete group');
      await heading(page, 'Web servers');
      await page.getByRole('link', { name: 'caches' }).waitFor();
      expect(await names('groups')).not.toContain('front');
      expect(await names('hosts')).not.toContain('web1');

      await page.goto(`${service.url}/projects/add`);
      await field(page, 'Name').fill('Site');
      await field(page, 'Organization').selectOption('Default');
      await field(page, 'Folder').selectOption('web');
      await press(page, 'Create project');
      await page.getByText('site.yml').waitFor();
      await page.goto(`${service.url}/projects/add`);
      await page.getByText('No folder is available').waitFor();
      await field(page, 'Name').fill('Without a folder');
      await field(page, 'Organization').selectOption('Default');
      await press(page, 'Create project');
      await page.getByText('Choose a folder.').waitFor();
      expect(await names('projects')).not.toContain('Without a folder');

      await page.goto(`${service.url}/templates/add`);
      await field(page, 'Name').fill('Deploy');
      await page.locator('form [name=inventory]').selectOption('Web servers');
      await page.locator('form [name=extra_vars]').fill('color: {');
      await field(page, 'Project').selectOption('Site');
      await field(page, 'Playbook').selectOption('site.yml');
      await page.getByRole('checkbox', { name: 'Prompt for limit on launch' }).check();
      await page.getByRole('checkbox', { name: 'Prompt for job type on launch' }).check();
      await press(page, 'Create job template');
      await page.getByText('Cannot parse as JSON or YAML.').waitFor();
      await page.locator('form [name=extra_vars]').fill('color: blue');
      await press(page, 'Create job template');
      await heading(page, 'Deploy');

      await press(page, 'Launch Deploy');
      await field(page, 'Limit').fill('@file');
      await field(page, 'Job type').selectOption('check');
      await press(page, 'Launch');
      await page.getByText('A limit cannot be read from a file').waitFor();
      await field(page, 'Limit').fill('slow');
      await press(page, 'Launch');
      await heading(page, /^Job \d+: Deploy$/);
      // While it runs: it would go on for a minute.
      const output = page.getByRole('log', { name: 'Output' });
      await expect.poll(() => output.textContent()).toContain('begun');
      await page.getByText('Running', { exact: true }).waitFor();
      await press(page, 'Cancel job');
      await page.getByText('Canceled', { exact: true }).waitFor();
      expect(await output.textContent()).toContain('argument: --limit=slow\n');
      expect(await output.textContent()).toContain('argument: --check\n');
      expect(await output.textContent()).toContain('"color":{"__ansible_unsafe":"blue"}');
      await takePictures(page, 'web-job-canceled');
      const first = page.url();
      await follow(page, 'Details');
      await page.getByText('{"color": "blue"}').waitFor();
      await press(page, 'Relaunch');
      await page.waitForURL((url) => !url.href.startsWith(first));
      await press(page, 'Cancel job');
      for (const url of [page.url(), first]) {
        await page.goto(url);
        await page.getByText('Canceled', { exact: true }).waitFor();
        // What is still being read would be missing.
        await page.locator('[role=log][aria-busy=false]').waitFor();
        await press(page, 'Delete');
        await press(page, 'Delete job');
        await heading(page, 'Jobs');
      }
      await page.getByRole('link', { name: 'Deploy' }).waitFor({ state: 'detached' });
    }));

  it('are changed, and deleted with others from the list', () =>
    open(`/credentials/${odd.credential}`, async (page) => {
      await follow(page, 'Edit');
      await field(page, 'Name').fill('');
      await field(page, 'Description').fill('Used by the web servers');
      await press(page, 'Save');
      await page.getByText('Enter a name.').waitFor();
      await field(page, 'Name').fill(MARKUP);
      await press(page, 'Save');
      await page.getByText('Used by the web servers').waitFor();
      for (const name of ['one', 'two']) await made('inventories/', { name: `old ${name}`, organization: 1 });
      await page.goto(`${service.url}/inventories?name__icontains=old`);
      await page.getByRole('checkbox', { name: /^Select all/ }).check();
      await press(page, 'Delete');
      await page.getByText('Its hosts and groups are also deleted.', { exact: false }).waitFor();
      await press(page, 'Delete 2 inventories');
      await page.getByText('Deleted 2 inventories.').waitFor();
      // The button of the list is disabled now: the focus goes to the page.
      await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
      expect((await admin.get('/api/v2/inventories/?name__startswith=old')).json.count).toBe(0);
    }));

  it('keep what others change meanwhile', () =>
    open('/organizations', async (page) => {
      const { id: organization } = await made('organizations/', { name: 'Shared' });
      const application = {
        ...{ name: 'Shared', organization, client_type: 'public', redirect_uris: 'https://a.example.com' },
        authorization_grant_type: 'authorization-code',
      };
      const user = { username: 'shared', password: 'long enough', last_name: 'Before' };
      for (const [path, body, label, meanwhile] of [
        ['organizations', { id: organization }, 'Description', { name: 'Renamed' }],
        [
          'applications',
          await made('applications/', application),
          'Description',
          { name: 'Renamed', client_type: 'confidential' },
        ],
        [
          'users',
          await made('users/', user),
          'First name',
          { last_name: 'Renamed', is_system_auditor: true },
        ],
        [
          'credentials',
          await made('credentials/', { name: 'Shared', organization }),
          'Description',
          { name: 'Renamed' },
        ],
      ] as const) {
        await page.clock.install();
        await page.goto(`${service.url}/${path}/${body.id}/edit`);
        if (path === 'applications') expect(await field(page, 'Grant type').isDisabled()).toBe(true);
        await field(page, label).fill('From the page');
        const changed = await admin.patch(`/api/v2/${path}/${body.id}/`, meanwhile);
        expect([path, changed.status]).toEqual([path, 200]);
        // The page reads again what is shown: what was changed meanwhile does not count as entered here.
        const readAgain = page.waitForResponse((answer) => answer.url().endsWith(`/${path}/${body.id}/`));
        await page.clock.fastForward(60_000);
        await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
        await readAgain;
        await press(page, 'Save');
        await page.waitForURL(`${service.url}/${path}/${body.id}`);
        const after = (await admin.get(`/api/v2/${path}/${body.id}/`)).json;
        expect([path, after]).toEqual([path, expect.objectContaining(meanwhile)]);
        expect(JSON.stringify(after)).toContain('From the page');
      }
    }));

  it('offer an auditor nothing that would be refused', () =>
    open(
      '/templates',
      async (page) => {
        await page.getByRole('link', { name: 'Demo Job Template' }).waitFor();
        for (const path of [
          ...['/templates', `/templates/${odd.template}`, '/projects', `/jobs/${odd.job}`, '/groups'],
          ...[`/groups/${odd.group}`, `/groups/${odd.group}/hosts`, `/inventories/${odd.inventory}/groups`],
        ]) {
          await page.goto(`${service.url}${path}`);
          await page.waitForLoadState('networkidle');
          await page.getByRole('heading', { level: 1 }).waitFor();
          const names = /^(Launch|Edit|Create|Cancel job|Add|Remove|Delete)/;
          const found = [
            ...(await page.getByRole('button', { name: names }).allTextContents()),
            ...(await page.getByRole('link', { name: names }).allTextContents()),
          ];
          expect([path, found]).toEqual([path, []]);
        }
      },
      { username: 'auditor', password: 'a-password' },
    ));
});
