import { beforeAll, describe, expect, it } from 'vitest';
import { projectsForRights } from './rights-world.ts';
import { type Body, basic, bearer, Client, useService } from './support/service.ts';

interface Roles {
  readonly summary_fields: {
    readonly object_roles: Readonly<Record<string, { readonly id: number; readonly user_only?: true }>>;
    readonly user_capabilities: Readonly<Record<string, boolean>>;
  };
}

/** The roles of the recorded controller 24.6.1, in its order. */
const ROLES: Readonly<Record<string, string>> = {
  organizations:
    'admin execute project_admin inventory_admin credential_admin workflow_admin notification_admin job_template_admin execution_environment_admin auditor member read approval',
  teams: 'admin member read',
  projects: 'admin use update read',
  inventories: 'admin update adhoc use read',
  credentials: 'admin use read',
  job_templates: 'admin execute read',
};

describe('roles of objects', () => {
  const { service, admin } = useService(() => ({
    projects: projectsForRights(),
    searchPath: '/nonexistent',
  }));
  let count = 0;
  const ids: Record<string, number> = {};

  beforeAll(async () => {
    const make = async (collection: string, body: object) => {
      const { status, json, text } = await admin.post(`/api/v2/${collection}/`, body);
      expect([text, status]).toEqual([text, 201]);
      ids[collection] = json.id;
      return json.id;
    };
    const organization = await make('organizations', { name: 'Acme' });
    await make('teams', { name: 'Crew', organization });
    const inventory = await make('inventories', { name: 'inventory', organization });
    await make('hosts', { name: 'web1', inventory });
    await make('credentials', { name: 'credential', organization });
    const project = await make('projects', { name: 'project', organization, local_path: 'folder-a' });
    await make('job_templates', { name: 'template', inventory, project, playbook: 'site.yml' });
  });

  const path = (collection: string) => `/api/v2/${collection}/${ids[collection]}/`;
  async function person(): Promise<{ readonly id: number; readonly client: Client }> {
    count += 1;
    const username = `person${count}`;
    const { json } = await admin.post('/api/v2/users/', { username, password: 'secret' });
    const { json: token } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    return { id: json.id, client: new Client(service.url, bearer(token.token)) };
  }
  const details = async (collection: string, client = admin) =>
    (await client.get(path(collection))).json as unknown as Roles;
  async function roleOf(collection: string, role: string): Promise<number> {
    return (await details(collection)).summary_fields.object_roles[`${role}_role`]?.id ?? 0;
  }
  /** Grants a role to a user as the awx CLI does. */
  const grant = async (user: number, collection: string, role: string, more: object = { associate: true }) =>
    (await admin.post(`/api/v2/users/${user}/roles/`, { id: await roleOf(collection, role), ...more }))
      .status;
  const names = (page: Body) => page.results.map(({ name }) => name);

  it.each(Object.keys(ROLES))(
    'of %s are in their summary, in object_roles and in OPTIONS',
    async (collection) => {
      const fields = (ROLES[collection] ?? '').split(' ').map((role) => `${role}_role`);
      const { summary_fields } = await details(collection);
      expect(Object.keys(summary_fields.object_roles)).toEqual(fields);
      const listed = (await admin.get(`${path(collection)}object_roles/?page_size=50`)).json.results;
      const known = Object.values(summary_fields.object_roles).map(({ id }) => id);
      expect(listed.map(({ id }) => id).sort()).toEqual(known.sort());
      for (const each of [`/api/v2/${collection}/`, path(collection)]) {
        expect((await admin.send('OPTIONS', each)).json['object_roles']).toEqual(fields);
      }
    },
  );

  it.each(
    Object.entries(ROLES).flatMap(([collection, roles]) =>
      roles.split(' ').map((role) => [collection, role]),
    ),
  )('of %s: %s is granted, listed and withdrawn', async (collection, role) => {
    const { id } = await person();
    const roleId = await roleOf(collection ?? '', role ?? '');
    const holders = async () =>
      (await admin.get(`/api/v2/roles/${roleId}/users/`)).json.results.map((each) => each.id);
    expect(await grant(id, collection ?? '', role ?? '')).toBe(204);
    expect(await holders()).toContain(id);
    const held = (await admin.get(`/api/v2/users/${id}/roles/`)).json.results;
    expect(held.map((each) => each.id)).toEqual([roleId]);
    expect(await grant(id, collection ?? '', role ?? '', { disassociate: true })).toBe(204);
    expect(await holders()).not.toContain(id);
  });

  it('let an ordinary user launch a job template, and see its jobs, but not change it', async () => {
    const { id, client } = await person();
    expect((await client.get(path('job_templates'))).status).toBe(403);
    expect((await client.post(`${path('job_templates')}launch/`)).status).toBe(403);
    await grant(id, 'job_templates', 'execute');
    expect(names((await client.get('/api/v2/job_templates/')).json)).toEqual(['template']);
    const { summary_fields } = await details('job_templates', client);
    expect(summary_fields.user_capabilities).toMatchObject({ edit: false, delete: false, start: true });
    const launched = await client.post(`${path('job_templates')}launch/`);
    expect(launched.status).toBe(201);
    expect((await client.get(`/api/v2/jobs/${launched.json.id}/`)).status).toBe(200);
    expect((await client.get('/api/v2/jobs/')).json.count).toBe(1);
    expect((await client.post(`/api/v2/jobs/${launched.json.id}/relaunch/`)).status).toBe(201);
    // What an admin took out of the template is not run again, unless an admin does it.
    const relaunch = `/api/v2/jobs/${launched.json.id}/relaunch/`;
    for (const [change, back] of [
      [{ extra_vars: 'size: 1' }, { extra_vars: '' }],
      [{ become_enabled: true }, { become_enabled: false }],
      [{ limit: 'web' }, { limit: '' }],
    ]) {
      await admin.patch(path('job_templates'), change);
      expect([change, (await client.post(relaunch)).status]).toEqual([change, 403]);
      expect((await admin.post(relaunch)).status).toBe(201);
      await admin.patch(path('job_templates'), back);
    }
    await admin.patch(path('job_templates'), { limit: 'web', ask_limit_on_launch: true });
    expect((await client.post(relaunch)).status).toBe(201);
    await admin.patch(path('job_templates'), { limit: '', ask_limit_on_launch: false });
    await service.database.execute("UPDATE service_job SET playbook = 'old.yml' WHERE id = $1", [
      launched.json.id,
    ]);
    expect((await client.post(relaunch)).status).toBe(403);
    expect((await client.patch(path('job_templates'), { name: 'x' })).status).toBe(403);
    expect((await client.get(path('inventories'))).status).toBe(403);
    await grant(id, 'job_templates', 'execute', { disassociate: true });
    expect((await client.post(`${path('job_templates')}launch/`)).status).toBe(403);
    expect((await client.get(`/api/v2/jobs/${launched.json.id}/`)).status).toBe(403);
  });

  it('are had by the members and admins of a team', async () => {
    const [mate, stranger] = [await person(), await person()];
    const roleId = await roleOf('job_templates', 'execute');
    await admin.post(`${path('teams')}users/`, { id: mate.id });
    expect((await admin.post(`${path('teams')}roles/`, { id: roleId })).status).toBe(204);
    expect((await admin.get(`${path('teams')}roles/`)).json.results.map(({ id }) => id)).toEqual([roleId]);
    const teams = `/api/v2/roles/${roleId}/teams/`;
    expect((await admin.get(teams)).json.results.map(({ id }) => id)).toEqual([ids['teams']]);
    expect((await mate.client.post(`${path('job_templates')}launch/`)).status).toBe(201);
    expect((await stranger.client.post(`${path('job_templates')}launch/`)).status).toBe(403);
    expect((await admin.post(teams, { id: ids['teams'], disassociate: true })).status).toBe(204);
    expect((await mate.client.post(`${path('job_templates')}launch/`)).status).toBe(403);
    for (const role of ['admin', 'member']) {
      const of = await roleOf('organizations', role);
      expect((await admin.post(`/api/v2/roles/${of}/teams/`, { id: ids['teams'] })).status).toBe(400);
    }
  });

  it.each([
    ['inventories', 'admin', true, true],
    ['inventories', 'update', true, false],
    ['inventories', 'adhoc', true, false],
    ['inventories', 'use', true, false],
    ['inventories', 'read', true, false],
    ['projects', 'admin', true, true],
    ['projects', 'use', true, false],
    ['credentials', 'admin', true, true],
    ['credentials', 'read', true, false],
    ['job_templates', 'admin', true, true],
    ['job_templates', 'read', true, false],
  ])('of %s: %s shows the object (%s) and lets change it (%s)', async (collection, role, shows, changes) => {
    const { id, client } = await person();
    expect((await client.get(path(collection))).status).toBe(403);
    await grant(id, collection, role);
    expect((await client.get(path(collection))).status).toBe(shows ? 200 : 403);
    expect((await client.get(`/api/v2/${collection}/`)).json.count).toBe(shows ? 1 : 0);
    const changed = await client.patch(path(collection), { description: `by ${id}` });
    expect(changed.status).toBe(changes ? 200 : 403);
    // An admin of an object grants its roles to users that he or she sees.
    const own = await client.post(`/api/v2/roles/${await roleOf(collection, 'read')}/users/`, { id });
    expect(own.status).toBe(changes ? 204 : 403);
    expect((await client.delete(path('organizations'))).status).toBe(403);
  });

  it('of an inventory hold for its hosts', async () => {
    const { id, client } = await person();
    await grant(id, 'inventories', 'read');
    expect(names((await client.get('/api/v2/hosts/')).json)).toEqual(['web1']);
    expect((await client.patch(path('hosts'), { description: 'x' })).status).toBe(403);
    expect((await client.post(`${path('inventories')}hosts/`, { name: 'web2' })).status).toBe(403);
    await grant(id, 'inventories', 'admin');
    expect((await client.patch(path('hosts'), { description: 'x' })).status).toBe(200);
    expect((await client.post(`${path('inventories')}hosts/`, { name: `web${id}` })).status).toBe(201);
  });

  it('use of an inventory and a project is what a new job template needs', async () => {
    const { id, client } = await person();
    const body = {
      ...{ name: `made by ${id}`, inventory: ids['inventories'], project: ids['projects'] },
      playbook: 'site.yml',
    };
    const make = async () => (await client.post('/api/v2/job_templates/', body)).status;
    expect(await make()).toBe(403);
    await grant(id, 'projects', 'use');
    expect(await make()).toBe(403);
    await grant(id, 'inventories', 'use');
    const made = await client.post('/api/v2/job_templates/', body);
    expect(made.status).toBe(201);
    // Who made it is its admin.
    const own = `/api/v2/job_templates/${made.json.id}/`;
    expect((await client.patch(own, { description: 'mine' })).status).toBe(200);
    await grant(id, 'projects', 'use', { disassociate: true });
    expect((await client.patch(own, { description: 'still mine' })).status).toBe(200);
    expect((await client.patch(own, { limit: 'web1' })).status).toBe(200);
  });

  it.each([
    ['inventory_admin', 'inventories'],
    ['project_admin', 'projects'],
    ['credential_admin', 'credentials'],
    ['job_template_admin', 'job_templates'],
  ])('of an organization: %s manages all %s of it', async (role, collection) => {
    const { id, client } = await person();
    await grant(id, 'organizations', role);
    for (const [each] of Object.entries(ROLES).filter(
      ([each]) => !['teams', 'organizations'].includes(each),
    )) {
      const changed = await client.patch(path(each), { description: `by ${id}` });
      expect([each, changed.status]).toEqual([each, each === collection ? 200 : 403]);
    }
    expect((await client.patch(path('organizations'), { description: 'x' })).status).toBe(403);
  });

  it('of an organization: execute launches all of its job templates', async () => {
    const { id, client } = await person();
    await grant(id, 'organizations', 'execute');
    expect((await client.post(`${path('job_templates')}launch/`)).status).toBe(201);
    expect((await client.patch(path('job_templates'), { description: 'x' })).status).toBe(403);
  });

  it('are recorded with the objects in the order of the request', async () => {
    const { id } = await person();
    const last = async () =>
      (await admin.get('/api/v2/activity_stream/?order_by=-id&page_size=1')).json.results[0];
    const roleId = await roleOf('job_templates', 'execute');
    const relationship = 'awx.main.models.rbac.Role_members';
    await admin.post(`/api/v2/roles/${roleId}/users/`, { id });
    expect(await last()).toMatchObject({
      operation: 'associate',
      ...{ object1: 'job_template', object2: 'user', object_association: 'role' },
      changes: {
        ...{ object1: 'job_template', object1_pk: ids['job_templates'], object2: 'user', object2_pk: id },
        ...{ action: 'associate', relationship },
      },
      related: { role: [`/api/v2/roles/${roleId}/`] },
    });
    const entry = await last();
    const objects = ['user', 'job_template', 'role'];
    expect(Object.keys(entry?.['related'] as object)).toEqual(['actor', ...objects]);
    expect(Object.keys(entry?.['summary_fields'] as object)).toEqual([...objects, 'actor']);
    await admin.post(`${path('organizations')}users/`, { id });
    const joined = ['organization', 'user', 'role'];
    expect(Object.keys((await last())?.['related'] as object)).toEqual(['actor', ...joined]);
    expect(Object.keys((await last())?.['summary_fields'] as object)).toEqual([...joined, 'actor']);
    await grant(id, 'job_templates', 'execute', { disassociate: true });
    expect(await last()).toMatchObject({
      operation: 'disassociate',
      ...{ object1: 'user', object2: 'job_template' },
      changes: {
        ...{ object1: 'user', object1_pk: id, object2: 'job_template', object2_pk: roleId },
        ...{ action: 'disassociate', relationship },
      },
    });
  });

  it('go with the object', async () => {
    const { id } = await person();
    const { json } = await admin.post('/api/v2/inventories/', {
      name: `gone ${id}`,
      organization: ids['organizations'],
    });
    const { object_roles } = (json as unknown as Roles).summary_fields;
    await admin.post(`/api/v2/users/${id}/roles/`, { id: object_roles['admin_role']?.id });
    expect((await admin.get(`/api/v2/users/${id}/roles/`)).json.count).toBe(1);
    await admin.delete(`/api/v2/inventories/${json.id}/`);
    expect((await admin.get(`/api/v2/users/${id}/roles/`)).json.count).toBe(0);
    expect(await service.database.query('SELECT FROM service_role_grant WHERE user_id = $1', [id])).toEqual(
      [],
    );
  });

  it('of teams of others are not shown to a member', async () => {
    const [member, mate] = [await person(), await person()];
    await admin.post(`${path('organizations')}users/`, { id: member.id });
    await admin.post(`${path('organizations')}users/`, { id: mate.id });
    await admin.post(`${path('teams')}users/`, { id: mate.id });
    const teams = async () => (await member.client.get(`/api/v2/users/${mate.id}/teams/`)).json.count;
    expect(await teams()).toBe(0);
    expect((await mate.client.get(`/api/v2/users/${mate.id}/teams/`)).json.count).toBe(1);
    await grant(member.id, 'teams', 'read');
    expect(await teams()).toBe(1);
  });
});
