import { until } from '@tokenctl/testing/until.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { fakeAnsible } from './support/fake-ansible.ts';
import { type Body, useService } from './support/service.ts';

const ASKS = {
  ask_job_type_on_launch: true,
  ask_inventory_on_launch: true,
  ask_limit_on_launch: true,
  ask_variables_on_launch: true,
  ask_forks_on_launch: true,
  ask_verbosity_on_launch: true,
  ask_tags_on_launch: true,
  ask_skip_tags_on_launch: true,
  ask_diff_mode_on_launch: true,
  ask_timeout_on_launch: true,
};

describe('what decides how a job runs', () => {
  const { admin } = useService(() => ({ searchPath: fakeAnsible() }));
  let base: Body;

  beforeAll(async () => {
    base = (await admin.get('/api/v2/job_templates/')).json.results[0] as Body;
  });

  let count = 0;
  /** A template with these values. */
  async function template(values: Record<string, unknown> = {}) {
    const { inventory, project, playbook } = base;
    const body = { name: `template ${count++}`, inventory, project, playbook, ...values };
    const { status, json } = await admin.post('/api/v2/job_templates/', body);
    expect([status, json]).toEqual([201, expect.objectContaining(values)]);
    const url = String(json['url']);
    return { launch: `${url}launch/`, url, json };
  }

  async function ended(id: number): Promise<Body> {
    const read = async () => (await admin.get(`/api/v2/jobs/${id}/`)).json;
    return await until(read, ({ finished }) => finished !== null);
  }

  /** What the program that runs playbooks was given. */
  async function argumentsOf(id: number): Promise<{ list: string[]; text: string }> {
    await ended(id);
    const { text } = await admin.get(`/api/v2/jobs/${id}/stdout/?format=txt`);
    return { list: [...text.matchAll(/^argument: (.*)$/gm)].map((match) => match[1] ?? ''), text };
  }

  it('is stored with the template, and passed to ansible-playbook', async () => {
    const options = {
      job_type: 'check',
      forks: 7,
      limit: 'web*',
      verbosity: 3,
      job_tags: 'a,b',
      skip_tags: 'slow',
      start_at_task: 'Install',
      force_handlers: true,
      become_enabled: true,
      diff_mode: true,
      timeout: 600,
    };
    const { launch, json } = await template({
      ...options,
      extra_vars: 'size: 3\nflag: yes\ntext: "{{ 1 }}"',
    });
    const job = (await admin.post(launch)).json;
    expect(job).toMatchObject({ ...options, status: 'pending', passwords_needed_to_start: [] });
    expect(JSON.parse(String(job['extra_vars']))).toEqual({ size: 3, flag: true, text: '{{ 1 }}' });
    const { list, text } = await argumentsOf(job.id);
    for (const argument of [
      ...['--check', '--diff', '--become', '--force-handlers', '--forks=7', '-vvv'],
      ...['--limit=web*', '--tags=a,b', '--skip-tags=slow', '--start-at-task=Install'],
    ]) {
      expect(list).toContain(argument);
    }
    expect(text).toContain('{"size":3,"flag":true,"text":{"__ansible_unsafe":"{{ 1 }}"}}');
    const defaults = {
      job_type: 'run',
      forks: 0,
      limit: '',
      verbosity: 0,
      extra_vars: '',
      become_enabled: false,
    };
    const { id, created, modified, ...rest } = (
      await admin.put(String(json['url']), {
        name: json['name'],
        project: json['project'],
        inventory: json['inventory'],
        playbook: json['playbook'],
      })
    ).json;
    expect(rest).toMatchObject(defaults);
  });

  it('has no arguments without options', async () => {
    const { launch } = await template();
    const { id, extra_vars } = (await admin.post(launch)).json;
    expect(extra_vars).toBe('{}');
    const { list } = await argumentsOf(id);
    expect(list.filter((argument) => argument.startsWith('-'))).toEqual([
      '-i',
      expect.stringMatching(/^--extra-vars=@/),
    ]);
  });

  const BAD: readonly (readonly [string, unknown])[] = [
    ['extra_vars', '{a: ['],
    ['extra_vars', '- a'],
    ['extra_vars', 'text'],
    ['extra_vars', ['a']],
    ['extra_vars', 'when: 2020-01-01'],
    ['extra_vars', { ansible_ssh_common_args: '-oProxyCommand=id' }],
    ['extra_vars', { ansible_host: '-oProxyCommand=id' }],
    ['extra_vars', { ansible_connection: 'docker' }],
    ['verbosity', 12],
    ['verbosity', -1],
    ['verbosity', null],
    ['forks', -1],
    ['forks', 201],
    ['forks', 'many'],
    ['timeout', -1],
    ['timeout', 21_601],
    ['job_tags', 'a\nb'],
    ['skip_tags', ['a']],
    ['diff_mode', 'maybe'],
    ['job_type', 'scan'],
    ['inventory', 99_999],
    ['limit', '@/etc/passwd'],
  ];

  it.each(BAD)('is refused where it is wrong: %s %j', async (name, value) => {
    const { url } = await template();
    const changed = await admin.patch(url, { [name]: value });
    expect([changed.status, Object.keys(changed.json)]).toEqual([400, [name]]);
    const launched = await admin.post(`${url}launch/`, { [name]: value });
    expect([launched.status, Object.keys(launched.json)]).toEqual([400, [name]]);
  });

  it('is taken as a mapping or a text, as on the controller', async () => {
    const { json } = await template({ extra_vars: '---' });
    expect(json['extra_vars']).toBe('---');
    const mapping = await admin.patch(String(json['url']), {
      extra_vars: { a: [1, 'b, c'], d: { e: null } },
    });
    expect(mapping.json['extra_vars']).toBe('{"a": [1, "b, c"], "d": {"e": null}}');
    expect((await admin.patch(String(json['url']), { verbosity: '2' })).json['verbosity']).toBe(2);
    expect((await admin.get('/api/v2/job_templates/?extra_vars__contains=b')).status).toBe(403);
    expect((await admin.get('/api/v2/job_templates/?verbosity=2')).json.count).toBe(1);
  });

  it('is overridden at launch where the template asks for it', async () => {
    const other = (await admin.post('/api/v2/inventories/', { name: 'Other', organization: 1 })).json;
    const { launch } = await template({ ...ASKS, extra_vars: 'a: 1\nb: 1', limit: 'web' });
    expect((await admin.get(launch)).json).toMatchObject({
      ...ASKS,
      can_start_without_user_input: false,
      passwords_needed_to_start: [],
      ask_credential_on_launch: false,
      survey_enabled: false,
      defaults: {
        limit: 'web',
        extra_vars: 'a: 1\nb: 1',
        verbosity: 0,
        job_type: 'run',
        inventory: { id: 1 },
      },
    });
    const given = { job_type: 'check', forks: 3, limit: 'db', verbosity: 1, job_tags: 't', skip_tags: 's' };
    const more = { diff_mode: true, timeout: 60, inventory: other.id };
    const answer = await admin.post(launch, { ...given, ...more, extra_vars: { b: 2, c: 3 } });
    expect(answer.json).toMatchObject({ ...given, ...more, ignored_fields: {} });
    expect(JSON.parse(String(answer.json['extra_vars']))).toEqual({ a: 1, b: 2, c: 3 });
    const { list } = await argumentsOf(answer.json.id);
    expect(list).toContain('--check');
    expect(list).toContain('--limit=db');
  });

  it('is ignored and reported where the template does not ask for it', async () => {
    const { launch } = await template({ extra_vars: 'a: 1', verbosity: 1 });
    const given = { job_type: 'check', limit: 'db', extra_vars: { a: 1, b: 2 }, become_enabled: true };
    const others = { credentials: [1], scm_branch: 'main', labels: [], job_slice_count: 1, nonsense: 1 };
    const answer = await admin.post(launch, { ...given, ...others, verbosity: 1 });
    expect(answer.json).toMatchObject({ job_type: 'run', limit: '', extra_vars: '{"a": 1}', verbosity: 1 });
    // Neither what is the same as in the template, nor what the controller does not know.
    expect(answer.json['ignored_fields']).toEqual({
      job_type: 'check',
      limit: 'db',
      extra_vars: { b: 2 },
      credentials: [1],
      scm_branch: 'main',
    });
  });

  it('has an inventory from the template or from the launch', async () => {
    const { inventory: _none, ...without } = ASKS as Record<string, unknown>;
    const { project, playbook } = base;
    const refused = await admin.post('/api/v2/job_templates/', { name: 'No inventory', project, playbook });
    expect([refused.status, Object.keys(refused.json)]).toEqual([400, ['inventory']]);
    const { launch, url } = await template({ ...without, inventory: null });
    expect((await admin.get(launch)).json).toMatchObject({
      inventory_needed_to_start: true,
      can_start_without_user_input: false,
    });
    expect((await admin.post(launch)).json).toEqual({
      resources_needed_to_start: ['Job Template inventory is missing or undefined.'],
    });
    expect((await admin.post(launch, { inventory: base['inventory'] })).status).toBe(201);
    expect((await admin.patch(url, { ask_inventory_on_launch: false })).status).toBe(400);
  });

  it('belongs to a playbook that the project has', async () => {
    const { project, inventory } = base;
    const answers = await Promise.all(
      [undefined, '', 'missing.yml', '../outside.yml'].map((playbook) =>
        admin.post('/api/v2/job_templates/', { name: 'No playbook', project, inventory, playbook }),
      ),
    );
    for (const { status, json } of answers) expect([status, Object.keys(json)]).toEqual([400, ['playbook']]);
    const missing = await admin.post('/api/v2/job_templates/', { name: 'Nothing else' });
    expect([missing.status, Object.keys(missing.json)]).toEqual([400, ['project']]);
  });

  it('stops a job at its timeout', async () => {
    const { launch } = await template({ timeout: 1, limit: 'slow' });
    const job = await ended((await admin.post(launch)).json.id);
    expect(job).toMatchObject({ status: 'failed', job_explanation: 'Job terminated due to timeout' });
  });

  it('has the variables of the inventory', async () => {
    const made = await admin.post('/api/v2/inventories/', {
      name: 'With variables',
      organization: 1,
      variables: { region: 'north' },
    });
    expect(made.json['variables']).toContain('region');
    const { launch } = await template({ inventory: made.json.id });
    const { text } = await argumentsOf((await admin.post(launch)).json.id);
    expect(text).toContain('"vars":{"region":{"__ansible_unsafe":"north"}}');
  });

  it('is the same in a relaunch, on all or on the failed hosts', async () => {
    const { launch, url } = await template({ limit: 'recap', verbosity: 2, extra_vars: 'a: 1' });
    const first = await ended((await admin.post(launch)).json.id);
    await admin.patch(url, { limit: 'other', verbosity: 0 });
    const relaunch = String((first['related'] as Body)['relaunch']);
    expect((await admin.get(relaunch)).json).toEqual({
      passwords_needed_to_start: [],
      retry_counts: { all: 3, failed: 2 },
    });
    const again = await admin.post(relaunch);
    expect([again.status, again.headers.location]).toEqual([201, again.json['url']]);
    expect(again.json).toMatchObject({
      job: again.json.id,
      launch_type: 'relaunch',
      limit: 'recap',
      verbosity: 2,
      extra_vars: '{"a": 1}',
      job_template: first['job_template'],
    });
    const failed = await admin.post(relaunch, { hosts: 'failed' });
    expect(failed.json).toMatchObject({ limit: 'web2,web3' });
    const none = `/api/v2/jobs/${(await ended(failed.json.id)).id}/relaunch/`;
    expect((await admin.get(none)).json['retry_counts']).toEqual({ all: 0, failed: 0 });
    expect((await admin.post(none, { hosts: 'failed' })).json).toMatchObject({
      hosts: [expect.stringContaining('not available')],
    });
    expect((await admin.post(relaunch, { hosts: 'some' })).status).toBe(400);
    expect((await admin.delete(url)).status).toBeLessThan(500);
  });
});
