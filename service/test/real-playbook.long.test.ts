import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../src/server.ts';
import { readPlaybookOutput } from '../web/jobs/playbook-output.ts';
import { ADMIN, type Body, basic, Client, startTestService } from './support/service.ts';

const PATH = process.env['PATH'] ?? '';
const found = PATH.split(delimiter).some((folder) => existsSync(join(folder, 'ansible-playbook')));

const PLAYBOOK = `---
- hosts: all
  gather_facts: false
  tasks:
    - name: Write
      ansible.builtin.copy:
        content: "{{ text }} in {{ region }}\\n"
        dest: "{{ folder }}/{{ inventory_hostname }}"
        mode: "0600"
      tags: [write]
    - name: Say
      ansible.builtin.debug:
        msg: "port {{ port }} of {{ inventory_hostname }}"
      tags: [say]
    - name: Never
      ansible.builtin.fail:
        msg: should be skipped
      tags: [broken]
`;

describe.skipIf(!found)(
  `ansible-playbook${found ? '' : ' is not installed (apt install ansible-core): nothing'} runs`,
  () => {
    let service: RunningService;
    let admin: Client;
    let template: Body;
    const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
    const written = mkdtempSync(join(tmpdir(), 'tokenctl-written-'));

    async function make(path: string, body: Record<string, unknown>): Promise<number> {
      const { status, json } = await admin.post(`/api/v2/${path}/`, body);
      expect([status, json]).toEqual([201, expect.anything()]);
      return json.id;
    }

    beforeAll(async () => {
      service = await startTestService({ searchPath: PATH, projects });
      admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
      writeFileSync(join(projects, 'demo_project', 'write.yml'), PLAYBOOK);
      const inventory = await make('inventories', {
        name: 'Local',
        organization: 1,
        variables: 'region: north\nansible_connection: local',
      });
      for (const [index, name] of ['web1', 'web2', 'db1'].entries()) {
        await make('hosts', { name, inventory, variables: `port: ${8000 + index}` });
      }
      const id = await make('job_templates', {
        name: 'Write',
        inventory,
        project: 1,
        playbook: 'write.yml',
        skip_tags: 'broken',
        extra_vars: { folder: written },
        ask_variables_on_launch: true,
        ask_limit_on_launch: true,
        ask_job_type_on_launch: true,
        ask_tags_on_launch: true,
        ask_diff_mode_on_launch: true,
      });
      template = (await admin.get(`/api/v2/job_templates/${id}/`)).json;
    });
    afterAll(() => service?.close());

    /** Launches the template, and returns the job with its output once it has finished. */
    async function run(given: Record<string, unknown>): Promise<{ job: Body; output: string }> {
      const { id } = (await admin.post(`${template['url']}launch/`, given)).json;
      const read = async () => (await admin.get(`/api/v2/jobs/${id}/`)).json;
      const job = await until(read, ({ finished }) => finished !== null);
      return { job, output: (await admin.get(`/api/v2/jobs/${id}/stdout/?format=txt`)).text };
    }

    const file = (host: string) => join(written, host);

    it('a check without changing anything', async () => {
      const { job, output } = await run({
        job_type: 'check',
        diff_mode: true,
        extra_vars: { text: 'checked' },
      });
      expect([job['status'], output]).toEqual(['successful', expect.stringContaining('+checked in north')]);
      expect(['web1', 'web2', 'db1'].filter((host) => existsSync(file(host)))).toEqual([]);
    });

    it('with extra variables, tags and a limit', async () => {
      const text = '{{ lookup("pipe", "id") }}';
      const { job, output } = await run({ limit: 'web*:!web2', extra_vars: { text } });
      expect([job['status'], output]).toEqual(['successful', expect.stringContaining('port 8000 of web1')]);
      // The web interface reads tasks and hosts from what Ansible prints.
      const read = readPlaybookOutput(output);
      expect(read.results.map(({ task, host, result, text: said }) => [task, host, result, said])).toEqual([
        ['Write', 'web1', 'changed', ''],
        ['Say', 'web1', 'ok', 'port 8000 of web1'],
      ]);
      expect(read.hosts).toMatchObject([{ host: 'web1', result: 'changed', counts: { ok: 2, changed: 1 } }]);
      expect(readFileSync(file('web1'), 'utf8')).toBe(`${text} in north\n`);
      expect([existsSync(file('web2')), existsSync(file('db1'))]).toEqual([false, false]);
      const tagged = await run({ limit: 'db1', job_tags: 'say', extra_vars: { text } });
      expect(tagged.output).toContain('port 8002 of db1');
      expect(existsSync(file('db1'))).toBe(false);
    });

    it('on a group of hosts, with its variables', async () => {
      const inventory = template['inventory'];
      const front = await make('groups', { name: 'front end', inventory, variables: 'region: south' });
      const all = await make('groups', { name: 'site', inventory });
      const host = (await admin.get(`/api/v2/hosts/?name=web2&inventory=${inventory}`)).json.results[0]?.id;
      await admin.post(`/api/v2/groups/${front}/hosts/`, { id: host });
      await admin.post(`/api/v2/groups/${all}/children/`, { id: front });
      const { job, output } = await run({ limit: 'site', extra_vars: { text: 'grouped' } });
      expect([job['status'], output]).toEqual(['successful', expect.stringContaining('web2')]);
      expect(readFileSync(file('web2'), 'utf8')).toBe('grouped in south\n');
      expect([output.includes('web1'), existsSync(file('db1'))]).toEqual([false, false]);
    });

    it('and fails on the hosts that fail, which a relaunch can take alone', async () => {
      writeFileSync(file('folder'), '');
      const given = { limit: 'web*', extra_vars: { text: 'x', folder: `${file('folder')}` } };
      const { job, output } = await run(given);
      expect(job['status']).toBe('failed');
      const { results, hosts } = readPlaybookOutput(output);
      expect(results).toMatchObject([
        { task: 'Write', result: 'failed', text: expect.stringMatching(/\S/) },
        { task: 'Write', result: 'failed' },
      ]);
      expect(hosts.map(({ host, result }) => [host, result])).toEqual([
        ['web1', 'failed'],
        ['web2', 'failed'],
      ]);
      const relaunch = `/api/v2/jobs/${job.id}/relaunch/`;
      expect((await admin.get(relaunch)).json['retry_counts']).toEqual({ all: 2, failed: 2 });
      expect((await admin.post(relaunch, { hosts: 'failed' })).json['limit']).toBe('web1,web2');
    });
  },
);
