import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startChromium, takePictures } from '@tokenctl/testing/chromium.ts';
import { WAIT_LIMIT_MS } from '@tokenctl/testing/limits.ts';
import { findChromium } from '@tokenctl/testing/tools.ts';
import { logIn } from '@tokenctl/testing/web-stories.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { printRun } from '../../src/sample/output.ts';
import { PLAYBOOKS } from '../../src/sample/playbooks.ts';
import type { RunningService } from '../../src/server.ts';
import { ADMIN, type Body, basic, Client, startTestService } from '../support/service.ts';

const chromium = findChromium();
const PATH = process.env['PATH'] ?? '';
const hasAnsible = PATH.split(delimiter).some((folder) => existsSync(join(folder, 'ansible-playbook')));

const HOSTS = Array.from({ length: 30 }, (_, index) => `web${String(index + 1).padStart(2, '0')}`);

/** A PATH with an `ansible-playbook` that prints a run which fails on a host; with the limit `stream`, a line each moment. */
function printingAnsible(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-ansible-'));
  const trouble = { result: 'failed', host: 'web07', task: 2, cause: 'No space left on device' } as const;
  writeFileSync(join(folder, 'output'), printRun(PLAYBOOKS['deploy.yml'], HOSTS, trouble));
  const script = `#!/bin/sh
case "$*" in
  *--limit=stream*) n=0; while [ ! -e ${folder}/stop ]; do n=$((n+1)); echo "line $n"; sleep 0.02; done ;;
  *) cat ${folder}/output; exit 2 ;;
esac
`;
  writeFileSync(join(folder, 'ansible-playbook'), script, { mode: 0o755 });
  return `${folder}:/usr/bin:/bin`;
}

/** A service with a template that asks for everything, and a browser that is logged in. */
class World {
  readonly projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
  service!: RunningService;
  browser!: Browser;
  admin!: Client;

  async start(searchPath: string, playbook: string): Promise<void> {
    mkdirSync(join(this.projects, 'web'));
    writeFileSync(join(this.projects, 'web', 'site.yml'), playbook);
    this.browser = await startChromium(chromium ?? '');
    this.service = await startTestService({ searchPath, projects: this.projects });
    this.admin = new Client(this.service.url, basic(ADMIN.username, ADMIN.password));
  }

  async made(path: string, json: unknown): Promise<Body> {
    const answer = await this.admin.post(`/api/v2/${path}/`, json);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.json;
  }

  async open(path: string, work: (page: Page) => Promise<void>): Promise<void> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 } });
    const problems: string[] = [];
    const page = await context.newPage();
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) problems.push(message.text());
    });
    await page.goto(`${this.service.url}${path}`);
    await logIn(page, ADMIN);
    await work(page);
    expect(problems).toEqual([]);
    await context.close();
  }

  async close(): Promise<void> {
    await this.browser?.close();
    await this.service?.close();
  }
}

const ASKS = [
  'limit',
  'inventory',
  'job_type',
  'variables',
  'tags',
  'skip_tags',
  'verbosity',
  'forks',
  'timeout',
  'diff_mode',
];

const output = (page: Page) => page.getByRole('log', { name: 'Output' });
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
const follow = (page: Page, name: string) =>
  page.getByRole('main').getByRole('link', { name, exact: true }).click();

describe.skipIf(chromium === null)('the page of a job', () => {
  const world = new World();
  let template: Body;

  beforeAll(async () => {
    await world.start(printingAnsible(), '- hosts: all\n');
    const inventory = await world.made('inventories', { name: 'Web servers', organization: 1 });
    await world.made('inventories', { name: 'Others', organization: 1 });
    const project = await world.made('projects', { name: 'Site', organization: 1, local_path: 'web' });
    template = await world.made('job_templates', {
      name: 'Deploy',
      inventory: inventory.id,
      project: project.id,
      playbook: 'site.yml',
      extra_vars: 'color: blue',
      ...Object.fromEntries(ASKS.map((name) => [`ask_${name}_on_launch`, true])),
    });
  });
  afterAll(() => world.close());

  const launched = async (limit: string) =>
    (await world.made(`job_templates/${template.id}/launch`, { limit })).id;

  it('asks at the launch for all that the template asks for', () =>
    world.open(`/templates/${template.id}`, async (page) => {
      await press(page, 'Launch Deploy');
      const field = (name: string) => page.locator(`form [name=${name}]`);
      expect(await field('extra_vars').inputValue()).toBe('color: blue');
      await field('limit').fill('web0*');
      await field('inventory').selectOption('Others');
      await field('job_type').selectOption('check');
      await field('extra_vars').fill('color: green');
      await field('job_tags').fill('deploy,check');
      await field('skip_tags').fill('slow');
      await field('verbosity').selectOption('1');
      await field('forks').fill('7');
      await field('timeout').fill('90');
      await field('diff_mode').check();
      await press(page, 'Launch');
      await page.getByRole('heading', { level: 1, name: /^Job \d+: Deploy$/ }).waitFor();
      const id = Number(/\/jobs\/(\d+)/.exec(page.url())?.[1]);
      const job = (await world.admin.get(`/api/v2/jobs/${id}/`)).json;
      expect(job).toMatchObject({
        ...{ limit: 'web0*', job_type: 'check', job_tags: 'deploy,check', skip_tags: 'slow' },
        ...{ verbosity: 1, forks: 7, timeout: 90, diff_mode: true },
        summary_fields: { inventory: { name: 'Others' } },
      });
      expect(JSON.parse(String(job['extra_vars']))).toEqual({ color: 'green' });
      await follow(page, 'Details');
      for (const text of ['web0*', 'deploy,check', 'Others', '1 (Verbose)', /\d\d:\d\d:\d\d$/]) {
        await page.getByRole('definition').filter({ hasText: text }).first().waitFor();
      }
    }));

  it('searches the output, and leads from results to their lines', async () => {
    const id = await launched('all');
    await world.open(`/jobs/${id}`, async (page) => {
      await expect.poll(() => output(page).textContent()).toContain('PLAY RECAP');
      await page.getByText('Failed', { exact: true }).waitFor();
      const { text } = await world.admin.get(`/api/v2/jobs/${id}/stdout/?format=txt`);
      expect(await output(page).textContent()).toBe(text);

      const search = page.getByRole('textbox', { name: 'Search the output' });
      await search.fill('WEB07');
      const lines = text.split('\n').filter((line) => line.includes('web07')).length;
      await page.getByText(`1 / ${lines}`).waitFor();
      expect(await page.locator('mark').allTextContents()).toEqual(Array(lines).fill('web07'));
      const current = page.locator('.output-current');
      const first = await current.textContent();
      await search.press('Enter');
      await page.getByText(`2 / ${lines}`).waitFor();
      expect(await current.textContent()).not.toBe(first);
      await expect.poll(() => isSeen(page, '.output-current')).toBe(true);
      await search.press('Shift+Enter');
      await page.getByText(`1 / ${lines}`).waitFor();
      await search.fill('nothing like it');
      await page.getByText('0 / 0').waitFor();
      await takePictures(page, 'job-output');

      const asterisks = page.locator('.output-filler').first();
      expect(await asterisks.isVisible()).toBe(true);
      await page.setViewportSize({ width: 375, height: 812 });
      expect(await asterisks.isVisible()).toBe(false);
      await page.setViewportSize({ width: 1280, height: 900 });

      await follow(page, 'Hosts and tasks');
      const hosts = page.getByRole('grid', { name: 'hosts' });
      await hosts.getByRole('row').nth(30).waitFor();
      await hosts.getByRole('link', { name: 'web07' }).click();
      const results = page.getByRole('grid', { name: 'task results' });
      await expect.poll(() => results.getByRole('row').count()).toBe(4);
      await page.getByRole('combobox', { name: 'Result' }).selectOption('Failed');
      await expect.poll(() => results.getByRole('row').count()).toBe(2);
      await results.getByText('No space left on device').waitFor();
      await takePictures(page, 'job-results');
      await results.getByRole('link', { name: /^Line / }).click();
      await expect.poll(() => page.locator('.output-current').textContent()).toContain('fatal: [web07]');
      await expect.poll(() => isSeen(page, '.output-current')).toBe(true);

      await press(page, 'Relaunch on the failed host');
      await page.waitForURL((url) => !url.pathname.startsWith(`/jobs/${id}`));
      await follow(page, 'Details');
      await page
        .getByRole('definition')
        .filter({ hasText: /^web07$/ })
        .waitFor();
    });
  });

  it('follows the output of a running job until its reader scrolls up', async () => {
    const id = await launched('stream');
    await world.open(`/jobs/${id}`, async (page) => {
      const box = output(page);
      const place = () =>
        box.evaluate(({ scrollTop, scrollHeight, clientHeight }) => ({
          top: scrollTop,
          isAtEnd: scrollHeight > clientHeight && scrollTop + clientHeight >= scrollHeight - 20,
        }));
      const follows = () => page.getByRole('switch', { name: 'Follow' }).isChecked();
      await expect.poll(async () => (await place()).isAtEnd && (await place()).top > 1_000).toBe(true);
      expect(await follows()).toBe(true);
      await box.evaluate((element) => element.scrollTo({ top: 100 }));
      await expect.poll(follows).toBe(false);
      const before = await box.textContent();
      await expect.poll(async () => (await box.textContent()) !== before).toBe(true);
      expect((await place()).top).toBe(100);
      await page.getByText('Follow', { exact: true }).click();
      await expect.poll(async () => (await place()).isAtEnd).toBe(true);
      await press(page, 'Cancel job');
      await page.getByText('Canceled', { exact: true }).waitFor();
      await page.getByRole('switch', { name: 'Follow' }).waitFor({ state: 'detached' });
    });
  });
});

function isSeen(page: Page, selector: string): Promise<boolean> {
  return page.locator(selector).evaluate((element) => {
    const box = element.closest('[role=log]')?.getBoundingClientRect();
    const { top, bottom } = element.getBoundingClientRect();
    return box !== undefined && top >= box.top && bottom <= box.bottom;
  });
}

const PLAYBOOK = `---
- name: Configure
  hosts: all
  gather_facts: false
  tasks:
    - name: Write the greeting
      ansible.builtin.copy:
        content: "{{ greeting }} on {{ inventory_hostname }}\\n"
        dest: "{{ folder }}/{{ inventory_hostname }}"
        mode: "0600"
      tags: [greeting]
    - name: Say the port
      ansible.builtin.debug:
        msg: "port {{ port }}"
      tags: [port]
`;

describe.skipIf(chromium === null || !hasAnsible)(
  `ansible-playbook${hasAnsible ? '' : ' is not installed (apt install ansible-core): nothing'} runs from the page`,
  () => {
    const world = new World();
    const written = mkdtempSync(join(tmpdir(), 'tokenctl-written-'));

    beforeAll(async () => {
      await world.start(PATH, PLAYBOOK);
      const inventory = await world.made('inventories', {
        name: 'Local',
        organization: 1,
        variables: 'ansible_connection: local\nport: 8000',
      });
      const variables = 'port: 8443';
      const group = await world.made('groups', { name: 'frontend', inventory: inventory.id, variables });
      for (const name of ['web1', 'web2', 'db1']) {
        const { id } = await world.made('hosts', { name, inventory: inventory.id });
        if (name === 'db1') continue;
        const { status } = await world.admin.post(`/api/v2/groups/${group.id}/hosts/`, { id });
        expect(status).toBe(204);
      }
      const project = await world.made('projects', { name: 'Site', organization: 1, local_path: 'web' });
      await world.made('job_templates', {
        name: 'Configure',
        inventory: inventory.id,
        project: project.id,
        playbook: 'site.yml',
        extra_vars: { folder: written, greeting: 'hello' },
        ...Object.fromEntries(ASKS.map((name) => [`ask_${name}_on_launch`, true])),
      });
    });
    afterAll(() => world.close());

    /** Launches the template in the page, and waits until the job is successful. */
    async function launch(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
      await page.goto(`${world.service.url}/templates`);
      await press(page, 'Launch Configure');
      for (const [name, value] of Object.entries(values)) {
        const field = page.locator(`form [name=${name}]`);
        await (name === 'job_type' ? field.selectOption(value) : field.fill(value));
      }
      await press(page, 'Launch');
      await page.getByRole('heading', { level: 1, name: /^Job \d+: Configure$/ }).waitFor();
      await page.getByText('Successful', { exact: true }).waitFor({ timeout: WAIT_LIMIT_MS });
      await expect.poll(() => output(page).textContent()).toContain('PLAY RECAP');
    }

    it('as a check with tags on a group of hosts, which changes nothing, and then for real', () =>
      world.open('/templates', async (page) => {
        const variables = `{"folder": ${JSON.stringify(written)}, "greeting": "hi"}`;
        const chosen = { extra_vars: variables, limit: 'frontend', job_tags: 'greeting' };
        await launch(page, { ...chosen, job_type: 'check' });
        const text = (await output(page).textContent()) ?? '';
        expect(text).toContain('changed: [web1]');
        for (const absent of ['db1', 'Say the port']) expect(text).not.toContain(absent);
        expect(['web1', 'web2', 'db1'].filter((host) => existsSync(join(written, host)))).toEqual([]);

        await launch(page, chosen);
        expect(readFileSync(join(written, 'web2'), 'utf8')).toBe('hi on web2\n');
        expect(existsSync(join(written, 'db1'))).toBe(false);
        await takePictures(page, 'job-real');
        await follow(page, 'Hosts and tasks');
        const results = page.getByRole('grid', { name: 'task results' });
        await results.getByRole('row').filter({ hasText: 'web2' }).getByText('Changed').waitFor();
        expect(await results.getByRole('row').count()).toBe(3);
        await launch(page, { limit: 'frontend', job_tags: 'port' });
        expect(await output(page).textContent()).toContain('port 8443');
      }));
  },
);
