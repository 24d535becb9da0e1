import { kinds } from '@tokenctl/testing/runs.ts';
import { until } from '@tokenctl/testing/until.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { fakeAnsible } from './support/fake-ansible.ts';
import { type Body, useService } from './support/service.ts';

const PROGRAM = '/bin/sh -c id';

/** Texts with a name that has a meaning for Ansible, which a host's variables must not have. */
const HOSTILE: readonly string[] = [
  // Ansible's YAML merges what is below such a key.
  JSON.stringify({ '<<': { ansible_python_interpreter: PROGRAM } }),
  `'<<': {ansible_python_interpreter: ${PROGRAM}}`,
  `"\\x3c<": {size: 1}`,
  `a: &a {ansible_python_interpreter: ${PROGRAM}}\nb: {<<: *a}`,
  `x: &x {ansible_ssh_executable: ${PROGRAM}}\n<<: *x`,
  '{"\\u0061nsible_python_interpreter": "id"}',
  '? ansible_python_interpreter\n: id',
  `ansible_ssh_common_args: -oProxyCommand=id`,
  'ansible_host: -oProxyCommand=id',
  'ansible_user: "-oProxyCommand=id"',
  'ansible_port: "22 -oProxyCommand=id"',
  'ansible_connection: docker',
  // The ssh plugin reads an option from the variable of exactly this name.
  `{"delegated_vars['ansible_host']": "-oProxyCommand=id"}`,
  '{"delegated_vars": {"host": {}}}',
  '{"a": [[{"b": {"ansible_become_exe": "id"}}]]}',
  '{"discovered_interpreter_python": "id"}',
  '{"a": {"__ansible_vault": "x"}}',
  '{"a": {"__ansible_unsafe": "x"}}',
  '{"_ansible_no_log": false}',
  '{"a": {"{{ lookup(\'pipe\', \'id\') }}": 1}}',
  '{"inventory_hostname": "other"}',
  '{"a": {"hostvars": {}}}',
  'groups: {all: []}',
  'vars: {a: 1}',
  'omit: text',
  'a: !vault "$ANSIBLE_VAULT;1.1;AES256"',
  'a: &a [*a]',
  'a: 1\na: 2',
  'a: .nan',
];

/** Texts that mean nothing for Ansible, with the JSON that it gets. */
const HARMLESS: readonly (readonly [string, string])[] = [
  ['a: &a {b: yes}\nc: {<<: *a, d: 010}', '{"a":{"b":true},"c":{"b":true,"d":8}}'],
  [
    '{"users": [{"groups": ["wheel"]}], "my_ansible_size": 1}',
    '{"users":[{"groups":[{"__ansible_unsafe":"wheel"}]}],"my_ansible_size":1}',
  ],
  [
    'ansible_host: fe80::1\nansible_port: 22',
    '{"ansible_host":{"__ansible_unsafe":"fe80::1"},"ansible_port":22}',
  ],
  ["text: \"{{ lookup('pipe', 'id') }}\"", `{"text":{"__ansible_unsafe":"{{ lookup('pipe', 'id') }}"}}`],
];

describe('the variables of a job', () => {
  const { admin, service } = useService(() => ({ searchPath: fakeAnsible() }));
  let template: Body;
  let host: Body;
  let group: Body;
  let inventory: Body;

  async function made(path: string, body: Record<string, unknown>): Promise<Body> {
    const { status, json } = await admin.post(`/api/v2/${path}/`, body);
    expect([status, json]).toEqual([201, expect.anything()]);
    return json;
  }

  beforeAll(async () => {
    inventory = await made('inventories', { name: 'Variables', organization: 1 });
    host = await made('hosts', { name: 'web1', inventory: inventory.id });
    group = await made('groups', { name: 'web', inventory: inventory.id });
    const body = { inventory: inventory.id, project: 1, playbook: 'hello_world.yml' };
    template = await made('job_templates', { name: 'Variables', ...body, ask_variables_on_launch: true });
  });

  const launches = () => `${template['url']}launch/`;

  /** Runs a job to its end, and returns its explanation and what the program was given. */
  async function run(url: string, body: Record<string, unknown> = {}) {
    const { id } = (await admin.post(url, body)).json;
    const job = await until(
      async () => (await admin.get(`/api/v2/jobs/${id}/`)).json,
      ({ finished }) => finished !== null,
    );
    return { job, output: (await admin.get(`/api/v2/jobs/${id}/stdout/?format=txt`)).text };
  }

  it.each(HOSTILE)('are refused wherever they are written: %s', async (text) => {
    const fields = [
      await admin.post(launches(), { extra_vars: text }),
      await admin.patch(String(template['url']), { extra_vars: text }),
      ...(await Promise.all(
        [host, group, inventory].map(({ url }) => admin.patch(String(url), { variables: text })),
      )),
      await admin.post('/api/v2/hosts/', { name: 'web2', inventory: inventory.id, variables: text }),
    ];
    expect(fields.map(({ status, json }) => [status, Object.keys(json)])).toEqual([
      [400, ['extra_vars']],
      [400, ['extra_vars']],
      ...Array.from({ length: 4 }, () => [400, ['variables']]),
    ]);
    if (!text.startsWith('{')) return;
    const mapping = JSON.parse(text) as Record<string, unknown>;
    const answers = await Promise.all([
      admin.post(launches(), { extra_vars: mapping }),
      ...[host, group, inventory].map(({ url }) => admin.put(`${url}variable_data/`, mapping)),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  });

  it.each(HARMLESS)('are passed on as JSON: %s', async (text, json) => {
    expect((await admin.patch(String(host['url']), { variables: text })).status).toBe(200);
    const { job, output } = await run(launches(), { extra_vars: text });
    expect(job['status']).toBe('successful');
    expect(output).toContain(`"hosts":{"web1":${json}}`);
    expect(output).toContain(`\n${json}`.trimStart());
    await admin.patch(String(host['url']), { variables: '' });
  });

  it.each(kinds(HOSTILE.filter((_text, index) => index % 7 === 0)))(
    'do not reach Ansible if they were stored earlier: %s',
    async (text) => {
      for (const [table, of] of [
        ['main_host', host],
        ['main_group', group],
        ['main_inventory', inventory],
      ] as const) {
        const set = `UPDATE ${table} SET variables = $2 WHERE id = $1`;
        await service.database.execute(set, [of.id, text]);
        const { job, output } = await run(launches());
        await service.database.execute(set, [of.id, '']);
        expect([table, job['status'], output]).toEqual([table, 'error', '']);
        expect(job['job_explanation']).toMatch(/^The variables of .* are invalid\. /);
      }
      const set = (table: string) => `UPDATE ${table} SET extra_vars = $2 WHERE id = $1`;
      await service.database.execute(set('service_job_template'), [template.id, text]);
      const launched = await admin.post(launches());
      await service.database.execute(set('service_job_template'), [template.id, '']);
      expect([launched.status, Object.keys(launched.json)]).toEqual([400, ['extra_vars']]);
      const { job: before } = await run(launches());
      await service.database.execute(set('service_job'), [before.id, text]);
      const { job, output } = await run(`/api/v2/jobs/${before.id}/relaunch/`);
      expect([job['status'], output]).toEqual(['error', '']);
    },
  );

  it.each(['1:2:3', 'yes', '0x1F', '<<', '~', '!web', 'web*', 'a,b', '@file', '_meta', '{{ a }}'])(
    'end the job in error for a group that Ansible could read as another: %s',
    async (name) => {
      const set = 'UPDATE main_group SET name = $2 WHERE id = $1';
      await service.database.execute(set, [group.id, name]);
      const { job, output } = await run(launches());
      await service.database.execute(set, [group.id, 'web']);
      expect([job['status'], output]).toEqual(['error', '']);
      expect(job['job_explanation']).toContain(JSON.stringify(name));
    },
  );
});
