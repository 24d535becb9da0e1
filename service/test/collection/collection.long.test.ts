import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import type { RunningService } from '../../src/server.ts';
import { readPlaybookOutput } from '../../web/jobs/playbook-output.ts';
import { fakeAnsible } from '../support/fake-ansible.ts';
import { ADMIN, basic, Client, startTestService } from '../support/service.ts';
import { playRequests, type Task } from './module-requests.ts';

const PLAYBOOK = join(import.meta.dirname, 'playbook.yml');
const PATH = process.env['PATH'] ?? '';

const SAY = `---
- hosts: all
  gather_facts: false
  tasks:
    - name: Say
      ansible.builtin.debug:
        msg: "{{ text | default('nothing') }} on {{ inventory_hostname }}"
      tags: [say]
`;

/** What the name of a task ends with if its module always creates or deletes something. */
const ALWAYS = '(always changes)';

/** Starts a service with the project of the playbook. */
function start(searchPath: string): Promise<RunningService> {
  const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
  const folder = join(projects, 'collection_project');
  mkdirSync(folder);
  writeFileSync(join(folder, 'say.yml'), SAY);
  return startTestService({ searchPath, projects });
}

function tasks(): readonly Task[] {
  const [play] = parse(readFileSync(PLAYBOOK, 'utf8')) as [{ tasks: Record<string, unknown>[] }];
  return play.tasks.map(({ name, register, ...modules }) => {
    const [[module = '', options] = []] = Object.entries(modules);
    const task = { name: String(name), module: module.replace('awx.awx.', ''), options: options as object };
    return { ...task, ...(register !== undefined && { register: String(register) }) } as Task;
  });
}

/** The tasks that change something although the installation is as they describe it. */
const ALWAYS_CHANGE = tasks()
  .map(({ name }) => name)
  .filter((name) => name.endsWith(ALWAYS));

describe('the requests of the collection awx.awx', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await start(fakeAnsible());
  });
  afterAll(() => service?.close());

  it('describe an installation, and find nothing to change the second time', async () => {
    const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const first = await playRequests(admin, tasks());
    expect(first.length).toBeGreaterThan(35);
    expect(await playRequests(admin, tasks())).toEqual(ALWAYS_CHANGE);
    // What is different is changed, and only that.
    const edited = tasks().map((task) =>
      task.name === 'A second host' ? { ...task, options: { ...task.options, enabled: false } } : task,
    );
    const again = await playRequests(admin, edited);
    expect(again.filter((name) => !name.endsWith(ALWAYS))).toEqual(['A second host']);
  });
});

/** Ansible finds collections in its own folders and in those of ANSIBLE_COLLECTIONS_PATH. */
function isInstalled(): boolean {
  const { stdout } = spawnSync('ansible-galaxy', ['collection', 'list', 'awx.awx'], { encoding: 'utf8' });
  return /^awx\.awx\s/m.test(stdout ?? '');
}

const found = inject('longTests') && isInstalled();

describe.skipIf(!found)(
  `the collection awx.awx${found ? '' : ' is not installed (set ANSIBLE_COLLECTIONS_PATH), or this is no soak test: nothing'}`,
  () => {
    let service: RunningService;

    beforeAll(async () => {
      service = await start(PATH);
    });
    afterAll(() => service?.close());

    /** Plays the playbook, and returns the tasks that changed something. */
    async function play(credentials: Readonly<Record<string, string>>): Promise<readonly string[]> {
      const { stdout } = await promisify(execFile)('ansible-playbook', ['-i', 'localhost,', PLAYBOOK], {
        env: {
          ...{ PATH, HOME: mkdtempSync(join(tmpdir(), 'tokenctl-home-')), LANG: 'C.UTF-8' },
          ANSIBLE_COLLECTIONS_PATH: process.env['ANSIBLE_COLLECTIONS_PATH'],
          ...{ CONTROLLER_HOST: service.url, ...credentials },
        },
        maxBuffer: 10_000_000,
      }).catch(({ stdout, stderr }: { stdout: string; stderr: string }) => {
        throw new Error(`${stdout}\n${stderr}`);
      });
      return readPlaybookOutput(stdout).results.flatMap(({ task, result }) =>
        result === 'changed' ? [task] : [],
      );
    }

    it('describes an installation, and finds nothing to change the second time', async () => {
      const password = { CONTROLLER_USERNAME: ADMIN.username, CONTROLLER_PASSWORD: ADMIN.password };
      expect((await play(password)).length).toBeGreaterThan(35);
      const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
      const { token } = (await admin.post('/api/v2/tokens/', { scope: 'write' })).json;
      expect(await play({ CONTROLLER_OAUTH_TOKEN: token })).toEqual(ALWAYS_CHANGE);
    });
  },
);
