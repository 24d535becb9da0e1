import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../src/server.ts';
import { ADMIN, type Body, basic, Client, DATABASES, startTestService } from './support/service.ts';

const NOW = new Date('2026-05-31T12:00:00Z');

describe.each(DATABASES)('resources on %s', (kind) => {
  let service: RunningService;
  let admin: Client;
  /** An administrator, an auditor and a member of the organization, and a user without one. */
  const people: Record<'boss' | 'auditor' | 'member' | 'stranger', Client> = {} as never;
  let organization: number;
  let other: number;
  const projects = mkdtempSync(join(tmpdir(), 'tokenctl-projects-'));
  const made = async (path: string, json: unknown, client = admin): Promise<Body> => {
    const answer = await client.post(`/api/v2/${path}`, json);
    expect([path, answer.status, answer.text]).toEqual([path, 201, expect.any(String)]);
    expect(answer.headers.location).toBe(answer.json['url']);
    return answer.json;
  };
  const get = async (path: string, client = admin) =>
    (await client.get(`/api/v2/${path.replaceAll(' ', '%20')}`)).json;
  const names = (page: Body) => page.results.map(({ name }) => name);

  beforeAll(async () => {
    for (const folder of ['web', 'web/deep', 'web/.git', 'mail', '.hidden'])
      mkdirSync(join(projects, folder));
    writeFileSync(join(projects, 'web', 'site.yml'), '---\n- name: Site\n  hosts: all\n');
    writeFileSync(join(projects, 'web', 'all.yml'), '- import_playbook: site.yml\n');
    writeFileSync(join(projects, 'web', 'vars.yml'), 'port: 80\n');
    writeFileSync(join(projects, 'web', 'deep', 'run.yaml'), '- hosts: web\n');
    writeFileSync(join(projects, 'web', '.git', 'hook.yml'), '- hosts: web\n');
    symlinkSync('/etc/passwd', join(projects, 'web', 'link.yml'));
    service = await startTestService({ kind, projects, now: () => NOW, searchPath: '/nonexistent' });
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    organization = (await made('organizations/', { name: 'One' })).id;
    other = (await made('organizations/', { name: 'Two' })).id;
    for (const [username, role] of [
      ['boss', 'admins'],
      ['auditor', 'auditors'],
      ['member', 'users'],
      ['stranger', null],
    ] as const) {
      const { id } = await made('users/', { username, password: 'a-password' });
      if (role !== null) await admin.post(`/api/v2/organizations/${organization}/${role}/`, { id });
      people[username] = new Client(service.url, basic(username, 'a-password'));
    }
  });
  afterAll(() => service.close());

  it.each([
    ['inventories', { variables: 'a: 1' }, { variables: '{"a": 2}' }],
    ['credentials', {}, { description: 'changed' }],
    ['projects', { local_path: 'mail' }, { description: 'changed' }],
  ])(
    '%s: are created, changed and deleted by who administers the organization',
    async (path, more, change) => {
      const values = { name: `a ${path}`, description: 'first', organization, ...more };
      const { boss, auditor, member, stranger } = people;
      for (const client of [auditor, member, stranger]) {
        expect((await client.post(`/api/v2/${path}/`, values)).status).toBe(403);
      }
      expect((await boss.post(`/api/v2/${path}/`, { ...values, organization: other })).status).toBe(403);
      const resource = await made(`${path}/`, values, boss);
      expect(resource).toMatchObject({
        ...values,
        summary_fields: {
          organization: { id: organization, name: 'One' },
          user_capabilities: { edit: true, delete: true },
        },
      });
      const url = resource['url'] as string;
      const again = await boss.post(`/api/v2/${path}/`, { ...values, local_path: '' });
      expect([again.status, again.json['__all__']]).toEqual([400, [expect.stringMatching(/already exists/)]]);
      expect((await auditor.get(url)).json['summary_fields']).toMatchObject({
        user_capabilities: { edit: false, delete: false },
      });
      for (const client of [member, stranger]) {
        expect((await client.get(url)).status).toBe(403);
        expect((await get(`${path}/?name__icontains=a ${path}`, client)).count).toBe(0);
      }
      for (const client of [auditor, member, stranger]) {
        expect((await client.patch(url, change)).status).toBe(403);
        expect((await client.delete(url)).status).toBe(403);
      }
      expect((await boss.patch(url, { organization: other })).status).toBe(403);
      const changed = await boss.patch(url, change);
      expect([changed.status, changed.json]).toEqual([
        200,
        expect.objectContaining({ ...values, ...change }),
      ]);
      const replaced = await boss.put(url, { name: 'replaced' });
      expect(replaced.json).toMatchObject({ name: 'replaced', description: '', organization });
      expect((await get(`${path}/?organization__name=One&name=replaced`, auditor)).count).toBe(1);
      expect((await boss.patch(url, { name: '' })).json).toEqual({ name: ['This field may not be blank.'] });
      expect((await admin.patch(url, { organization: 999 })).status).toBe(400);
      expect((await boss.delete(url)).status).toBe(path === 'inventories' ? 202 : 204);
      expect((await boss.get(url)).status).toBe(404);
      const about = encodeURIComponent(`"id":${resource.id}}`);
      const type = resource['type'];
      const entries = await get(`activity_stream/?object1=${type}&changes__contains=${about}&order_by=id`);
      expect(entries.results.map(({ operation }) => operation)).toEqual(['create', 'delete']);
    },
  );

  it('hosts: belong to an inventory, which they keep', async () => {
    const { boss, auditor, member } = people;
    const inventory = await made('inventories/', { name: 'hosts', organization }, boss);
    const list = `inventories/${inventory.id}/hosts/`;
    const host = await made(list, { name: 'web1', variables: 'ansible_host: web1' }, boss);
    expect(host).toMatchObject({
      inventory: inventory.id,
      enabled: true,
      related: { inventory: inventory['url'] },
      summary_fields: { inventory: { id: inventory.id, name: 'hosts' } },
    });
    await made('hosts/', { name: 'db1', inventory: inventory.id, enabled: false }, boss);
    expect(names(await get(`${list}?order_by=-name`, auditor))).toEqual(['web1', 'db1']);
    expect(names(await get(`hosts/?inventory__name=hosts&enabled=false`, auditor))).toEqual(['db1']);
    expect((await get(`inventories/${inventory.id}/`))['total_hosts']).toBe(2);
    expect((await member.get(`/api/v2/${list}`)).status).toBe(403);
    expect((await auditor.post(`/api/v2/${list}`, { name: 'x' })).status).toBe(403);
    const url = host['url'] as string;
    const foreign = (await get('inventories/?name=Demo Inventory')).results[0]?.id;
    expect((await boss.patch(url, { inventory: foreign })).status).toBe(403);
    expect((await boss.post('/api/v2/hosts/', { name: 'x', inventory: foreign })).status).toBe(403);
    expect((await boss.patch(url, { name: 'db1' })).json['__all__']).toBeDefined();
    for (const variables of ['- a', 'a: [', '"text"', '&a [*a, *a]']) {
      expect((await boss.patch(url, { variables })).json['variables']).toHaveLength(1);
    }
    expect((await boss.put(url, { name: 'web2' })).json).toMatchObject({ name: 'web2', variables: '' });
    expect((await boss.delete(url)).status).toBe(204);
    expect((await boss.delete(inventory['url'] as string)).status).toBe(202);
    expect((await get('hosts/?name=db1')).count).toBe(0);
  });

  it('projects: use a folder that exists, each one of its own, and list its playbooks', async () => {
    const { boss, member } = people;
    const config = await get('config/', boss);
    expect(config['project_local_paths']).toEqual(['mail', 'web']);
    expect(await get('config/', member)).not.toHaveProperty('project_local_paths');
    const project = await made('projects/', { name: 'web', organization, local_path: 'web' }, boss);
    expect(project).toMatchObject({ scm_type: '', status: 'ok' });
    expect((await boss.get(`${project['url']}playbooks/`)).json).toEqual([
      'all.yml',
      'deep/run.yaml',
      'site.yml',
    ]);
    expect((await member.get(`${project['url']}playbooks/`)).status).toBe(403);
    for (const local_path of [
      'web',
      'nowhere',
      '../web',
      '/etc',
      '.hidden',
      '.',
      'web/deep',
      'demo_project',
    ]) {
      const refused = await boss.post('/api/v2/projects/', { name: 'x', organization, local_path });
      expect([local_path, refused.status, Object.keys(refused.json)]).toEqual([
        local_path,
        400,
        ['local_path'],
      ]);
    }
    expect((await boss.patch(project['url'] as string, { local_path: 'mail' })).json).toMatchObject({
      local_path: 'mail',
    });
    const empty = await made('projects/', { name: 'empty' });
    expect(empty).toMatchObject({ status: 'missing', organization: null });
    expect((await admin.get(`${empty['url']}playbooks/`)).json).toEqual([]);
  });

  it('are not deleted while a job runs with them, nor is the job', async () => {
    const [template] = (await get('job_templates/?name=Demo Job Template')).results;
    const { id } = (await admin.post(`${template?.['url']}launch/`)).json;
    await until(async () => (await get(`jobs/${id}/`))['status'] === 'error');
    const jobs = `${template?.['url']}jobs/`;
    expect(template?.['related']).toMatchObject({ jobs });
    expect((await admin.get(jobs)).json.results).toMatchObject([{ id }]);
    expect((await admin.get(`${jobs}?status=running`)).json.count).toBe(0);
    expect((await people.boss.get(jobs)).status).toBe(403);
    await service.database.execute(
      "UPDATE service_job SET status = 'running', heartbeat = now() + interval '1 hour'",
    );
    const inHere = { inventory: template?.['inventory'] };
    const busy = await made('hosts/', { name: 'busy', ...inHere });
    const group = await made('groups/', { name: 'group of busy', ...inHere });
    for (const path of [
      `inventories/${template?.['inventory']}/`,
      `hosts/${busy.id}/`,
      `projects/${template?.['project']}/`,
      template?.['url'],
    ]) {
      const refused = await admin.delete(String(path).replace(/^(?!\/)/, '/api/v2/'));
      expect([refused.status, refused.json['active_jobs']]).toEqual([409, [{ id, type: 'job' }]]);
    }
    // Groups can be deleted, and a host can be taken out of its inventory, which deletes it.
    expect((await admin.delete(`/api/v2/groups/${group.id}/`)).status).toBe(204);
    const out = await admin.post(`/api/v2/inventories/${inHere.inventory}/hosts/`, {
      ...{ id: busy.id, disassociate: true },
    });
    expect([out.status, (await admin.get(`/api/v2/hosts/${busy.id}/`)).status]).toEqual([204, 404]);
    expect((await admin.delete(`/api/v2/jobs/${id}/`)).status).toBe(403);
    await service.database.execute("UPDATE service_job SET status = 'failed', finished = $1", [NOW]);
    expect((await get('dashboard/'))['inventories']).toMatchObject({ job_failed: 1 });
    expect((await people.boss.delete(`/api/v2/jobs/${id}/`)).status).toBe(403);
    expect((await admin.delete(`/api/v2/jobs/${id}/`)).status).toBe(204);
    const entries = await get('activity_stream/?object1=job&order_by=id');
    expect(entries.results.map(({ operation }) => operation)).toEqual(['create', 'delete']);
  });

  it('are counted for the dashboard as far as one sees them', async () => {
    const inventory = await made('inventories/', { name: 'counted', organization });
    await made('hosts/', { name: 'one', inventory: inventory.id });
    await service.database.execute(
      `INSERT INTO main_oauth2accesstoken (token, expires, scope, user_id, last_used)
       SELECT u.id || 'in' || days, $1::timestamptz + days * interval '1 day', 'read', u.id,
         CASE WHEN days > 0 THEN $1::timestamptz END
       FROM auth_user u, unnest(ARRAY[-1, 1, 31, 400000]) days`,
      [NOW],
    );
    await service.database.execute(
      `INSERT INTO service_job (created, modified, name, status, playbook, runner, organization_id)
       SELECT $2, $2, 'x', status, 'x.yml', gen_random_uuid(), $1
       FROM unnest(ARRAY['running', 'pending', 'successful', 'failed', 'failed', 'error', 'canceled']) status`,
      [organization, NOW],
    );
    const totals = async (client: Client) => {
      const answer = Object.entries(await get('dashboard/', client));
      return Object.fromEntries(
        answer.flatMap(([name, value]) =>
          (value as Body)['total'] === undefined ? [] : [[name, (value as Body)['total']]],
        ),
      );
    };
    for (const client of [admin, ...Object.values(people)]) {
      const counted = await totals(client);
      for (const name of [
        'inventories',
        'hosts',
        'projects',
        'users',
        'organizations',
        'credentials',
        'job_templates',
      ]) {
        expect([name, counted[name]]).toEqual([name, (await get(`${name}/?page_size=1`, client)).count]);
      }
      // Tokens and jobs have parts, each with the list that it counts.
      const { tokens, jobs } = await get('dashboard/', client);
      for (const part of [...Object.values(tokens as Body), ...Object.values(jobs as Body)] as Body[]) {
        if (typeof part !== 'object') continue;
        const { json } = await client.get(String(part['url']));
        expect(part).toEqual({ url: part['url'], total: json['count'] });
      }
      // Each job is in one of the parts: none is missing beside the graph, which shows all ends.
      const { url: _url, total, ...parts } = jobs as Body;
      const each = Object.values(parts as Record<string, Body>).map((part) => Number(part['total']));
      expect(each.reduce((sum, count) => sum + count, 0)).toBe(total);
    }
    expect((await totals(people.auditor))['inventories']).not.toBe(0);
    expect((await totals(people.stranger))['inventories']).toBe(0);
    const { tokens } = (await get('dashboard/', people.stranger)) as Body & { tokens: Body };
    expect(tokens).toMatchObject({
      total: 4,
      expiring: { total: 1 },
      never_expiring: { total: 1 },
      never_used: { total: 1 },
      expired: { total: 1 },
    });
    await service.database.execute("DELETE FROM service_job WHERE name = 'x'");
  });

  it('have their finished jobs counted by day and status', async () => {
    await service.database.execute(
      `INSERT INTO service_job (created, modified, name, status, finished, playbook, runner, organization_id)
       SELECT finished, finished, 'x', status, finished, 'x.yml', gen_random_uuid(), $1
       FROM (VALUES ('successful', '2026-05-31T00:00:00Z'::timestamptz), ('successful', '2026-05-31T11:00:00Z'),
         ('failed', '2026-05-24T23:59:59Z'), ('error', '2026-04-30T00:00:00Z'), ('canceled', '2026-04-29T23:00:00Z'))
         AS f (status, finished)`,
      [organization],
    );
    const graph = async (query: string, client = people.auditor) =>
      (await get(`dashboard/graphs/jobs/${query}`, client))['jobs'] as Record<string, [number, number][]>;
    const month = await graph('');
    expect(Object.keys(month)).toEqual(['successful', 'failed', 'canceled', 'error']);
    // The month before May 31 begins on April 30, the last day that April has.
    expect(month['successful']).toHaveLength(32);
    expect(month['error']?.[0]).toEqual([Date.UTC(2026, 3, 30) / 1000, 1]);
    expect(month['successful']?.at(-1)).toEqual([Date.UTC(2026, 4, 31) / 1000, 2]);
    expect(month['canceled']?.every(([, count]) => count === 0)).toBe(true);
    const week = await graph('?period=week');
    expect(week['failed']?.map(([, count]) => count)).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
    expect((await graph('?period=day'))['failed']).toHaveLength(2);
    expect((await graph('?job_type=scm_update'))['successful']?.every(([, count]) => count === 0)).toBe(true);
    expect((await graph('', people.stranger))['successful']?.every(([, count]) => count === 0)).toBe(true);
    expect((await admin.get('/api/v2/dashboard/graphs/jobs/?period=year')).json).toEqual({
      error: 'Unknown period "year"',
    });
  });

  it('are linked from the activity stream, for who may see them', async () => {
    const { boss, auditor, stranger } = people;
    const inventory = await made('inventories/', { name: 'linked', organization }, boss);
    const host = await made('hosts/', { name: 'linked', inventory: inventory.id }, boss);
    await boss.patch(host['url'] as string, { enabled: false });
    const find = (client: Client) => get(`activity_stream/?host=${host.id}&order_by=id`, client);
    expect((await find(auditor)).results).toMatchObject([
      { operation: 'create', changes: { name: 'linked', inventory: `linked-${inventory.id}` } },
      {
        operation: 'update',
        changes: { enabled: [true, false] },
        related: { host: [host['url']] },
        summary_fields: { host: [{ id: host.id, name: 'linked', description: '' }] },
      },
    ]);
    expect((await find(stranger)).count).toBe(0);
    await boss.delete(host['url'] as string);
    expect((await find(admin)).count).toBe(0);
  });
});
