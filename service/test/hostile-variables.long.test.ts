import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { hasProgram } from '@tokenctl/testing/tools.ts';
import { until } from '@tokenctl/testing/until.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { readVariables } from '../src/playbooks/variables.ts';
import { type HostileDocument, hostileDocuments, MEANINGFUL, namesIn } from './support/hostile-variables.ts';
import { type Body, useService } from './support/service.ts';

const PATH = process.env['PATH'] ?? '';
const isInstalled = hasProgram('ansible-playbook');
/** The sources of another Ansible, to compare with it, too. */
const OTHER = process.env['TEST_ANSIBLE'] ?? '';
const COUNT = 200;
/** A job each, in turn by each way. */
const ALONE = 16;
const SEED = Number(process.env['SEED'] ?? 42);

/** Prints all variables of each host, as Ansible has them. */
const PLAYBOOK = `---
- hosts: all
  gather_facts: false
  tasks:
    - name: Print
      ansible.builtin.debug:
        msg: "{{ hostvars[inventory_hostname] | to_json }}"
`;

/** The magic variables that differ from host to host. */
const OF_HOSTS = ['inventory_hostname', 'inventory_hostname_short', 'group_names', 'ansible_facts'];

/** Values of variables, without the names of the folders of single jobs. */
function valuesOf(names: readonly string[], variables: Record<string, unknown>): string[] {
  return names.map((name) => `${name} ${JSON.stringify(variables[name])}`.replace(/tokenctl-job-\w+/, ''));
}

/** A PATH with the Ansible of a folder of sources. */
function pathOf(sources: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-other-ansible-'));
  const script = `#!/bin/sh\nPYTHONPATH='${sources}/lib' exec /usr/bin/python3 -m ansible playbook "$@"\n`;
  writeFileSync(join(folder, 'ansible-playbook'), script, { mode: 0o755 });
  return `${folder}${delimiter}${PATH}`;
}

describe.each([
  { which: 'the installed Ansible', searchPath: PATH, isThere: isInstalled },
  {
    which: 'the Ansible of TEST_ANSIBLE',
    searchPath: OTHER === '' ? '' : pathOf(OTHER),
    isThere: OTHER !== '',
  },
])('hostile variables and $which', ({ which, searchPath, isThere }) => {
  const { admin } = useService(() => ({ searchPath }));
  const documents = hostileDocuments(COUNT, SEED);
  const accepted: HostileDocument[] = [];
  let inventory: Body;
  let host: Body;
  let group: Body;
  let template: Body;

  async function made(path: string, body: Record<string, unknown>): Promise<Body> {
    const { status, json } = await admin.post(`/api/v2/${path}/`, body);
    expect([status, json]).toEqual([201, expect.anything()]);
    return json;
  }

  beforeAll(async () => {
    inventory = await made('inventories', { name: 'Hostile', organization: 1 });
    host = await made('hosts', { name: 'first', inventory: inventory.id });
    group = await made('groups', { name: 'web', inventory: inventory.id });
    await admin.post(`/api/v2/groups/${group.id}/hosts/`, { id: host.id });
    const body = {
      inventory: inventory.id,
      project: 1,
      playbook: 'print.yml',
      ask_variables_on_launch: true,
    };
    const projects = (await admin.get('/api/v2/config/')).json['project_base_dir'];
    writeFileSync(join(String(projects), 'demo_project', 'print.yml'), PLAYBOOK);
    template = await made('job_templates', { name: 'Hostile', ...body });
  });

  it('get no meaningful name in, by any way', async () => {
    for (const document of documents) {
      const { text, isMeaningful } = document;
      const answers = [
        await admin.patch(String(host['url']), { variables: text }),
        await admin.patch(String(group['url']), { variables: text }),
        await admin.patch(String(inventory['url']), { variables: text }),
        await admin.patch(String(template['url']), { extra_vars: text }),
      ].map(({ status }) => status);
      const read = readVariables(text);
      if (typeof read === 'object') {
        answers.push((await admin.put(`${host['url']}variable_data/`, read)).status);
      }
      const isAccepted = answers.every((status) => status === 200);
      expect([text, answers]).toEqual([text, answers.map(() => (isAccepted ? 200 : 400))]);
      if (isMeaningful) expect([text, isAccepted]).toEqual([text, false]);
      if (isAccepted) accepted.push(document);
      else
        expect([text, (await admin.post(`${template['url']}launch/`, { extra_vars: text })).status]).toEqual([
          text,
          400,
        ]);
    }
    const none = [
      await admin.patch(String(group['url']), { variables: '' }),
      await admin.patch(String(inventory['url']), { variables: '' }),
      await admin.patch(String(template['url']), { extra_vars: '' }),
      await admin.patch(String(host['url']), { variables: '' }),
    ];
    expect(none.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(accepted.length).toBeGreaterThan(0);
  });

  /** Runs the template, and returns the variables of each host as Ansible has them. */
  async function seen(given: Record<string, unknown> = {}): Promise<Map<string, Record<string, unknown>>> {
    const { id } = (await admin.post(`${template['url']}launch/`, given)).json;
    const job = await until(
      async () => (await admin.get(`/api/v2/jobs/${id}/`)).json,
      ({ finished }) => finished !== null,
    );
    const output = (await admin.get(`/api/v2/jobs/${id}/stdout/?format=txt`)).text;
    expect([job['status'], output]).toEqual(['successful', expect.anything()]);
    const results = output.matchAll(/^ok: \[(\S+)\] => \{\s*"msg": (".*")\s*\}$/gm);
    return new Map([...results].map(([, name = '', text = '']) => [name, JSON.parse(JSON.parse(text))]));
  }

  it.skipIf(!isThere)(
    `arrive as they were checked${isThere ? '' : ` (${which} is missing: skipped)`}`,
    async () => {
      const before = (await seen()).get('first') ?? {};
      const own = new Set(Object.keys(before));
      const check = (text: string, variables: Record<string, unknown>) => {
        const added = Object.fromEntries(Object.entries(variables).filter(([name]) => !own.has(name)));
        expect([text, added]).toEqual([text, readVariables(text)]);
        expect(namesIn(added).filter((name) => MEANINGFUL.includes(name))).toEqual([]);
        const magic = MEANINGFUL.filter((name) => own.has(name) && !OF_HOSTS.includes(name));
        expect(valuesOf(magic, variables)).toEqual(valuesOf(magic, before));
      };
      // As variables of hosts, all at once; then one after the other as those of the group, the inventory and the launch.
      for (const [index, { text }] of accepted.entries()) {
        await made('hosts', { name: `host${index}`, inventory: inventory.id, variables: text });
      }
      const hosts = await seen();
      for (const [index, { text }] of accepted.entries()) check(text, hosts.get(`host${index}`) ?? {});
      await Promise.all(
        [...hosts.keys()].map(async (name) => {
          const { results } = (await admin.get(`/api/v2/hosts/?name=${name}&inventory=${inventory.id}`)).json;
          if (name !== 'first') await admin.delete(String(results[0]?.['url']));
        }),
      );
      const ways = [
        async (text: string) => seen({ extra_vars: text }),
        async (text: string) => {
          await admin.patch(String(group['url']), { variables: text });
          const variables = await seen();
          await admin.patch(String(group['url']), { variables: '' });
          return variables;
        },
        async (text: string) => {
          await admin.patch(String(inventory['url']), { variables: text });
          const variables = await seen();
          await admin.patch(String(inventory['url']), { variables: '' });
          return variables;
        },
        async (text: string) => {
          await admin.patch(String(template['url']), { extra_vars: text });
          const variables = await seen();
          await admin.patch(String(template['url']), { extra_vars: '' });
          return variables;
        },
      ];
      for (const [index, { text }] of accepted.slice(0, ALONE).entries()) {
        const way = ways[index % ways.length] as (typeof ways)[number];
        check(text, (await way(text)).get('first') ?? {});
      }
    },
  );
});
