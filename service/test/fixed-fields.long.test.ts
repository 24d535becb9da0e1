import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Answer, type Body, useService } from './support/service.ts';

const RECORDED = new URL('../../../shared/recordings/awx-24.6.1/raw.jsonl.gz', import.meta.url);

/** What requests cannot write on a controller either, or what only links and summarizes. */
const READ_ONLY = [
  ...[
    'id',
    'type',
    'url',
    'related',
    'summary_fields',
    'created',
    'modified',
    'last_login',
    'auth',
    'ldap_dn',
  ],
  ...[
    'external_account',
    'custom_virtualenv',
    'managed',
    'kind of credential',
    'cloud',
    'kubernetes',
    'status',
  ],
  ...[
    'last_job_run',
    'last_job_failed',
    'next_job_run',
    'last_update_failed',
    'last_updated',
    'scm_revision',
  ],
  ...[
    'has_active_failures',
    'has_inventory_sources',
    'hosts_with_active_failures',
    'total_groups',
    'total_hosts',
  ],
  ...['total_inventory_sources', 'inventory_sources_with_failures', 'pending_deletion', 'last_job'],
  ...[
    'last_job_host_summary',
    'ansible_facts_modified',
    'client_id',
    'client_secret',
    'token',
    'refresh_token',
  ],
  ...['expires', 'password'],
];

const READ_ONLY_OF: Readonly<Record<string, readonly string[]>> = {
  job_template: ['organization'],
  credential: ['kind'],
  o_auth2_access_token: ['user'],
};

/** The columns of what no recording shows. */
const COLUMNS_OF: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  group: { name: '', description: '', inventory: 1, variables: '' },
};

/** The values that the recorded controller shows of a resource of each type. */
function recorded(): Map<string, Record<string, unknown>> {
  const found = new Map<string, Record<string, unknown>>();
  const add = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    const { type } = value as { type?: unknown };
    if (typeof type === 'string' && 'related' in value) found.set(type, { ...found.get(type), ...value });
    for (const member of Object.values(value)) add(member);
  };
  const lines = gunzipSync(readFileSync(RECORDED)).toString('utf8').trim().split('\n');
  for (const line of lines) add(JSON.parse(line).response);
  return found;
}

/** Another value of the same kind. */
function another(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'object' && value !== null) return { some: 'thing' };
  return value === null ? 1 : 'something';
}

describe('fields that this service does not carry out', () => {
  const { admin } = useService(() => ({ searchPath: '/nonexistent' }));

  const TEMPLATE = { name: 'x', inventory: 1, project: 1, playbook: 'hello_world.yml' };
  const REFUSED: readonly (readonly [
    path: string,
    body: Record<string, unknown>,
    fields: Record<string, unknown>,
  ])[] = [
    [
      'job_templates',
      TEMPLATE,
      {
        survey_enabled: true,
        scm_branch: 'main',
        use_fact_cache: true,
        execution_environment: 1,
        host_config_key: 'key',
        ask_credential_on_launch: 'true',
        ask_labels_on_launch: 1,
        job_slice_count: 2,
        webhook_service: 'github',
        prevent_instance_group_fallback: true,
      },
    ],
    [
      'inventories',
      { name: 'x', organization: 1 },
      { kind: 'smart', host_filter: 'name=web', prevent_instance_group_fallback: true },
    ],
    ['inventories', { name: 'x', organization: 1 }, { kind: 'constructed' }],
    ['hosts', { name: 'x', inventory: 1 }, { instance_id: 'i-1' }],
    [
      'projects',
      { name: 'x', organization: 1 },
      {
        scm_type: 'git',
        scm_url: 'https://git.example.com/a.git',
        scm_branch: 'main',
        scm_update_on_launch: true,
      },
    ],
    [
      'projects',
      { name: 'x', organization: 1 },
      { scm_type: 'svn', credential: 1, allow_override: true, timeout: 5 },
    ],
    [
      'credentials',
      { name: 'x', organization: 1 },
      { credential_type: 2, inputs: { username: 'root', password: 'hush' }, user: 1, team: 1 },
    ],
    ['organizations', { name: 'x' }, { default_environment: 1 }],
  ];

  it.each(REFUSED)('of %s are refused by name: %j with %j', async (path, body, fields) => {
    const { actions } = (await admin.send('OPTIONS', `/api/v2/${path}/`)).json as unknown as {
      actions: Record<'POST', object>;
    };
    // awx import leaves out what is not there, and nothing would refuse it.
    expect(Object.keys(actions.POST)).toEqual(expect.arrayContaining(Object.keys(fields)));
    const created = await admin.post(`/api/v2/${path}/`, { ...body, ...fields });
    expect([created.status, Object.keys(created.json).toSorted()]).toEqual([
      400,
      Object.keys(fields).toSorted(),
    ]);
    for (const texts of Object.values(created.json))
      expect(texts).toEqual([expect.stringMatching(/^This service does not .+\.$/)]);
    const url = String((await admin.get(`/api/v2/${path}/`)).json.results[0]?.['url']);
    const changed = await admin.patch(url, fields);
    expect([changed.status, Object.keys(changed.json).toSorted()]).toEqual([
      400,
      Object.keys(fields).toSorted(),
    ]);
    expect(JSON.stringify([created.json, changed.json])).not.toContain('hush');
  });

  it('are taken with their defaults, and shown with them', async () => {
    const shown = (await admin.get('/api/v2/job_templates/1/')).json;
    expect(shown).toMatchObject({
      survey_enabled: false,
      job_slice_count: 1,
      webhook_credential: null,
      host_config_key: '',
    });
    const { name, inventory, project, playbook, ...rest } = shown;
    const again = { ...TEMPLATE, ...rest, name: 'again', job_slice_count: '1', survey_enabled: null };
    expect((await admin.post('/api/v2/job_templates/', again)).status).toBe(201);
    const made = await admin.post('/api/v2/inventories/', {
      name: 'again',
      organization: 1,
      kind: '',
      host_filter: null,
    });
    expect(made.json).toMatchObject({ kind: '', host_filter: null, prevent_instance_group_fallback: false });
    const credential = await admin.post('/api/v2/credentials/', {
      name: 'again',
      organization: 1,
      inputs: {},
    });
    expect(credential.status).toBe(201);
    expect(credential.json).toMatchObject({ inputs: {}, kind: 'ssh', managed: false });
  });

  it('are in OPTIONS with their defaults and the reason', async () => {
    const { actions } = (await admin.send('OPTIONS', '/api/v2/job_templates/')).json as unknown as {
      actions: Record<string, Body>;
    };
    expect(actions['GET']?.['survey_enabled']).toMatchObject({ type: 'boolean' });
    for (const method of ['POST', 'GET']) {
      expect(actions[method]?.['survey_enabled']).toMatchObject({
        help_text: expect.stringContaining('surveys'),
      });
    }
    expect(actions['POST']?.['job_slice_count']).toMatchObject({
      type: 'integer',
      required: false,
      default: 1,
    });
    const credentials = (await admin.send('OPTIONS', '/api/v2/credentials/')).json['actions'];
    expect(credentials).toMatchObject({ POST: { inputs: {}, credential_type: { default: 1 } } });
  });

  it('of hosts: a port in the name becomes a variable, as on the controller', async () => {
    const made = await admin.post('/api/v2/hosts/', { name: 'web1:2222', inventory: 1, variables: 'a: 1' });
    expect(made.json).toMatchObject({ name: 'web1', variables: '{"a": 1, "ansible_ssh_port": 2222}' });
    for (const name of ['web2:0', 'web2:70000', 'web2:ssh', ':22']) {
      const answer = await admin.post('/api/v2/hosts/', { name, inventory: 1 });
      expect([name, answer.status, Object.keys(answer.json)]).toEqual([name, 400, ['name']]);
    }
    const renamed = await admin.patch(String(made.json['url']), { name: 'web3:22' });
    expect(renamed.json).toMatchObject({ name: 'web3', variables: '{"a": 1, "ansible_ssh_port": 22}' });
    expect((await admin.post('/api/v2/hosts/', { name: '::1', inventory: 1 })).json).toMatchObject({
      name: '::1',
    });
  });

  it('of organizations: the maximum number of hosts holds', async () => {
    const { id } = (await admin.post('/api/v2/organizations/', { name: 'Small', max_hosts: 1 })).json;
    const inventory = (await admin.post('/api/v2/inventories/', { name: 'Small', organization: id })).json.id;
    expect((await admin.post('/api/v2/hosts/', { name: 'one', inventory })).status).toBe(201);
    const refused = await admin.post('/api/v2/hosts/', { name: 'two', inventory });
    expect([refused.status, refused.json['detail']]).toEqual([
      403,
      expect.stringContaining('maximum number of 1 host'),
    ]);
  });

  it.skipIf(!existsSync(RECORDED)).each([
    ['job_template', 'job_templates', TEMPLATE],
    ['inventory', 'inventories', { name: 'x', organization: 1 }],
    ['host', 'hosts', { name: 'x', inventory: 1 }],
    ['group', 'groups', { name: 'x', inventory: 1 }],
    ['project', 'projects', { name: 'x', organization: 1 }],
    ['credential', 'credentials', { name: 'x', organization: 1 }],
    ['organization', 'organizations', { name: 'x' }],
    ['team', 'teams', { name: 'x', organization: 1 }],
    ['user', 'users', { username: 'x', password: 'long enough' }],
    [
      'o_auth2_application',
      'applications',
      { name: 'x', organization: 1, client_type: 'public', authorization_grant_type: 'password' },
    ],
    ['o_auth2_access_token', 'tokens', {}],
  ])('of a recorded %s are all known', async (type, path, body) => {
    const unwritable = [...READ_ONLY, ...(READ_ONLY_OF[type] ?? [])];
    const fields = Object.entries(recorded().get(type) ?? COLUMNS_OF[type] ?? {}).filter(
      ([name]) => !unwritable.includes(name),
    );
    expect(fields.length).toBeGreaterThan(2);
    const unique = (suffix: string) =>
      Object.fromEntries(
        Object.entries(body).map(([key, text]) => [key, text === 'x' ? `x${type}${suffix}` : text]),
      );
    const made = await admin.post(`/api/v2/${path}/`, unique('changed'));
    expect([made.text, made.status]).toEqual([made.text, 201]);
    for (const [index, [name, value]] of fields.entries()) {
      const given = { [name]: another(value) };
      const created = await admin.post(`/api/v2/${path}/`, { ...unique(String(index)), ...given });
      expect([name, outcome(created, given)]).not.toEqual([name, 'dropped']);
      const changed = await admin.patch(String(made.json['url']), given);
      const isKept = KEPT_OF[type]?.includes(name) === true;
      expect([name, outcome(changed, given)]).not.toEqual([name, isKept ? 'stored' : 'dropped']);
    }
  });
});

/** What only the creation takes: a change ignores it, as recorded of the controller. */
const KEPT_OF: Readonly<Record<string, readonly string[]>> = {
  o_auth2_application: ['authorization_grant_type'],
  o_auth2_access_token: ['application'],
};

/** What became of a field: refused by its name, stored, or dropped. */
function outcome({ status, json }: Answer, given: Readonly<Record<string, unknown>>): string {
  const [[name, value] = ['']] = Object.entries(given);
  if (status === 403) return `refused: ${json.detail}`;
  if (status === 400) {
    expect([name, '__all__']).toEqual(expect.arrayContaining(Object.keys(json)));
    return 'refused';
  }
  return isDeepStrictEqual(json[name], value) ? 'stored' : 'dropped';
}
