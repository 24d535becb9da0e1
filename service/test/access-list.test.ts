import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { ACTIVITY_FROM } from '../src/store/activity.ts';
import { findUserByName, type UserRecord } from '../src/store/users.ts';
import { projectsForRights } from './rights-world.ts';
import { type Body, basic, bearer, Client, useService } from './support/service.ts';

interface Access {
  readonly direct_access: readonly Entry[];
  readonly indirect_access: readonly Entry[];
}

interface Entry {
  readonly role: Readonly<Record<string, unknown>>;
  readonly descendant_roles: readonly string[];
}

describe('access lists', () => {
  const { service, admin } = useService(() => ({
    projects: projectsForRights(),
    searchPath: '/nonexistent',
  }));
  const ids: Record<string, number> = {};
  const people: Record<string, { readonly id: number; readonly client: Client }> = {};

  const make = async (collection: string, body: object): Promise<number> => {
    const { status, json, text } = await admin.post(`/api/v2/${collection}/`, body);
    expect([text, status]).toEqual([text, 201]);
    return json.id;
  };
  const person = async (username: string, more: object = {}) => {
    const id = await make('users', { username, password: 'secret', ...more });
    const { json } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    people[username] = { id, client: new Client(service.url, bearer(json.token)) };
    return id;
  };
  const path = (collection: string) => `/api/v2/${collection}/${ids[collection]}/`;
  const roleOf = async (collection: string, role: string) => {
    const { summary_fields } = (await admin.get(path(collection))).json as unknown as {
      summary_fields: { object_roles: Record<string, { id: number }> };
    };
    return summary_fields.object_roles[`${role}_role`]?.id ?? 0;
  };
  const accessOf = (body: Body, username: string): Access | undefined =>
    body.results.find((user) => user['username'] === username)?.['summary_fields'] as Access | undefined;

  beforeAll(async () => {
    const organization = await make('organizations', { name: 'Acme' });
    Object.assign(ids, { organizations: organization });
    ids['teams'] = await make('teams', { name: 'Crew', organization });
    ids['inventories'] = await make('inventories', { name: 'inventory', organization });
    ids['credentials'] = await make('credentials', { name: 'credential', organization });
    ids['projects'] = await make('projects', { name: 'project', organization, local_path: 'folder-a' });
    ids['job_templates'] = await make('job_templates', {
      ...{ name: 'template', inventory: ids['inventories'], project: ids['projects'], playbook: 'site.yml' },
    });
    await person('auditor', { is_system_auditor: true });
    const boss = await person('boss');
    const mate = await person('mate');
    const runner = await person('runner');
    const manager = await person('manager');
    await person('stranger');
    await admin.post(`${path('organizations')}admins/`, { id: boss });
    await admin.post(`${path('organizations')}users/`, { id: mate });
    await admin.post(`${path('teams')}users/`, { id: mate });
    await admin.post(`${path('teams')}roles/`, { id: await roleOf('job_templates', 'execute') });
    await admin.post(`/api/v2/users/${runner}/roles/`, { id: await roleOf('job_templates', 'execute') });
    await admin.post(`/api/v2/users/${manager}/roles/`, {
      id: await roleOf('organizations', 'job_template_admin'),
    });
  });

  it('of a job template name who has access, by which roles', async () => {
    const { status, json } = await admin.get(`${path('job_templates')}access_list/?order_by=username`);
    expect(status).toBe(200);
    expect(json.results.map(({ username }) => username)).toEqual([
      ...['admin', 'auditor', 'boss', 'manager', 'mate', 'runner'],
    ]);
    const all = ['admin_role', 'execute_role', 'read_role'];
    const system = (name: string, description: string, descendant_roles: readonly string[]) => ({
      role: { id: null, name, description, user_capabilities: { unattach: false } },
      descendant_roles,
    });
    expect(accessOf(json, 'admin')).toEqual({
      direct_access: [],
      indirect_access: [system('System Administrator', 'Can manage all aspects of the system', all)],
    });
    expect(accessOf(json, 'auditor')).toEqual({
      direct_access: [],
      indirect_access: [system('System Auditor', 'Can view all aspects of the system', ['read_role'])],
    });
    const execute = {
      ...{
        id: await roleOf('job_templates', 'execute'),
        name: 'Execute',
        description: 'May run the job template',
      },
      ...{ resource_name: 'template', resource_type: 'job_template' },
      related: { job_template: path('job_templates') },
      user_capabilities: { unattach: true },
    };
    const launches = ['execute_role', 'read_role'];
    expect(accessOf(json, 'runner')).toEqual({
      direct_access: [{ role: execute, descendant_roles: launches }],
      indirect_access: [],
    });
    expect(accessOf(json, 'mate')?.direct_access).toEqual([
      { role: { ...execute, team_id: ids['teams'], team_name: 'Crew' }, descendant_roles: launches },
    ]);
    expect(accessOf(json, 'boss')).toMatchObject({
      direct_access: [],
      indirect_access: [{ role: { name: 'Admin', resource_type: 'organization' }, descendant_roles: all }],
    });
    expect(accessOf(json, 'manager')?.indirect_access).toMatchObject([
      { role: { name: 'Job Template Admin' }, descendant_roles: all },
    ]);
  });

  it.each([
    ['organizations', ['admin', 'auditor', 'boss', 'manager', 'mate']],
    ['teams', ['admin', 'auditor', 'boss', 'mate']],
    ['inventories', ['admin', 'auditor', 'boss']],
    ['projects', ['admin', 'auditor', 'boss']],
    ['credentials', ['admin', 'auditor', 'boss']],
  ])('of %s has %j', async (collection, expected) => {
    expect((await admin.get(path(collection))).json['related']).toMatchObject({
      access_list: `${path(collection)}access_list/`,
    });
    const { json } = await admin.get(`${path(collection)}access_list/?order_by=username`);
    expect(json.results.map(({ username }) => username)).toEqual(expected);
    const { client } = people['stranger'] as { client: Client };
    expect((await client.get(`${path(collection)}access_list/`)).status).toBe(403);
  });

  it('of an organization and a team have the roles that a role gives', async () => {
    const of = async (collection: string) => (await admin.get(`${path(collection)}access_list/`)).json;
    const organization = await of('organizations');
    expect(accessOf(organization, 'mate')?.direct_access[0]?.descendant_roles).toEqual([
      'member_role',
      'read_role',
    ]);
    expect(accessOf(organization, 'boss')?.direct_access[0]?.descendant_roles).toHaveLength(12);
    expect(accessOf(organization, 'admin')?.indirect_access[0]?.descendant_roles).toHaveLength(13);
    const team = await of('teams');
    expect(accessOf(team, 'mate')?.direct_access[0]?.descendant_roles).toEqual(['member_role', 'read_role']);
    expect(accessOf(team, 'boss')?.indirect_access[0]?.descendant_roles).toEqual([
      ...['admin_role', 'member_role', 'read_role'],
    ]);
  });

  it('of a user name who sees everything', async () => {
    const { json } = await admin.get(`/api/v2/users/${people['mate']?.id}/access_list/?order_by=username`);
    expect(json.results.map(({ username }) => username)).toEqual(['admin', 'auditor']);
    expect(accessOf(json, 'admin')?.indirect_access[0]?.descendant_roles).toEqual([]);
  });

  it('leave out the users whom the caller may not see, and say what the caller may take', async () => {
    const list = `${path('job_templates')}access_list/`;
    const seen = async (name: string) => (await people[name]?.client.get(list))?.json as Body;
    const ofRunner = await seen('runner');
    expect(ofRunner.results.map(({ username }) => username)).toEqual(['admin', 'runner']);
    expect(accessOf(ofRunner, 'runner')?.direct_access[0]?.role['user_capabilities']).toEqual({
      unattach: false,
    });
    const ofBoss = await seen('boss');
    expect(ofBoss.count).toBe(6);
    expect(accessOf(ofBoss, 'runner')?.direct_access[0]?.role['user_capabilities']).toEqual({
      unattach: true,
    });
    expect((await seen('auditor')).count).toBe(6);
    const found = await admin.get(`${list}?username__startswith=b`);
    expect(found.json.results.map(({ username }) => username)).toEqual(['boss']);
  });

  /** The roles of all objects and who has them, each tried by itself: what the lists say faster. */
  const ROLES_ONE_BY_ONE = sql`(
    SELECT r.id, r.role, 'organization' AS resource_type, o.id AS resource_id, o.id AS organization_id
    FROM main_organization o CROSS JOIN LATERAL (VALUES
      (o.admin_role_id, 'admin'), (o.auditor_role_id, 'auditor'), (o.member_role_id, 'member')) r (id, role)
    UNION ALL
    SELECT r.id, r.role, 'team', t.id, t.organization_id FROM main_team t CROSS JOIN LATERAL (VALUES
      (t.admin_role_id, 'admin'), (t.member_role_id, 'member')) r (id, role)
    UNION ALL
    SELECT r.id, r.role, r.resource_type, r.resource_id, n.organization_id FROM service_object_role r JOIN (
      SELECT 'organization' AS type, id, id AS organization_id FROM main_organization
      UNION ALL SELECT 'team', id, organization_id FROM main_team
      UNION ALL SELECT 'project', id, organization_id FROM service_project
      UNION ALL SELECT 'inventory', id, organization_id FROM main_inventory
      UNION ALL SELECT 'credential', id, organization_id FROM main_credential
      UNION ALL SELECT 'job_template', id, organization_id FROM service_job_template
    ) n ON n.type = r.resource_type AND n.id = r.resource_id) x`;
  const holds = (
    user: Sql,
  ) => sql`(EXISTS (SELECT FROM service_role_grant g WHERE g.role_id = x.id AND g.user_id = ${user})
    OR x.resource_type = 'team' AND EXISTS (SELECT FROM service_team_role h
      WHERE h.user_id = ${user} AND h.role = x.role AND h.team_id = x.resource_id)
    OR x.resource_type = 'organization' AND EXISTS (SELECT FROM service_role h
      WHERE h.user_id = ${user} AND h.role = x.role AND h.organization_id = x.resource_id))`;

  const sees = ({ id, ...user }: UserRecord) => {
    const watched = [...user.admin_of, ...user.auditor_of];
    return sql`${user.is_superuser || user.is_system_auditor}::boolean
      OR x.organization_id = ANY(${watched}::integer[])
      OR x.resource_type IN ('organization', 'team') AND x.organization_id = ANY(${user.member_of}::integer[])
      OR x.resource_type = 'team' AND (${user.admin_of.length > 0}::boolean
        OR EXISTS (SELECT FROM service_team_role h WHERE h.team_id = x.resource_id AND h.user_id = ${id}))
      OR EXISTS (SELECT FROM service_role_grant g JOIN service_object_role r ON r.id = g.role_id
        WHERE r.resource_type = x.resource_type AND r.resource_id = x.resource_id AND (g.user_id = ${id} OR g.team_id IN (
          SELECT h.team_id FROM service_team_role h WHERE h.user_id = ${id})))`;
  };

  /** The entries of the activity stream that a user sees, each tried by itself. */
  const entries = ({ id, ...user }: UserRecord) => {
    const watched = sql`ANY(${[...user.admin_of, ...user.auditor_of]}::integer[])`;
    return sql`SELECT s.id FROM ${ACTIVITY_FROM}
      WHERE (${user.is_superuser || user.is_system_auditor}::boolean OR t.user_id = ${id} OR b.id = ${id}
        OR ta.organization_id = ANY(${user.admin_of}::integer[])
        OR a.organization_id = ANY(${[...user.admin_of, ...user.auditor_of, ...user.member_of]}::integer[])
        OR o.id = ${watched}
        OR COALESCE(r_inventory.organization_id, r_credential.organization_id, r_project.organization_id,
          r_job_template.organization_id, r_team.organization_id, (SELECT i.organization_id FROM main_inventory i
            WHERE i.id = COALESCE(r_host.inventory_id, r_group.inventory_id))) = ${watched}
        OR EXISTS (SELECT FROM service_team_role h WHERE h.user_id = ${id} AND h.team_id = r_team.id)
        OR EXISTS (SELECT FROM service_role r
          WHERE r.user_id = b.id AND r.role = 'member' AND r.organization_id = ${watched}))`;
  };

  it.each(['admin', 'auditor', 'boss', 'mate', 'manager', 'runner', 'stranger'])(
    'and lists of roles have for %s what each role tried by itself has',
    async (viewer) => {
      const { database } = service;
      const user = await findUserByName(database, viewer);
      if (user === null) throw new Error(`no user ${viewer}`);
      const client = people[viewer]?.client ?? admin;
      const listed = async (path: string) =>
        (await client.get(`/api/v2/${path}?page_size=200&order_by=id`)).json.results.map(({ id }) => id);
      const seen = sql`SELECT x.id FROM ${ROLES_ONE_BY_ONE} WHERE (${sees(user)})`;
      const roles = await sql`${seen} ORDER BY x.id`.ids(database);
      expect(await listed('roles/')).toEqual(roles);
      expect((await client.get('/api/v2/roles/')).json.count).toBe(roles.length);
      expect(await listed('activity_stream/')).toEqual(
        await sql`${entries(user)} ORDER BY s.id`.ids(database),
      );
      const users = await listed('users/');
      expect(users).toContain(user.id);
      for (const id of users) {
        const about = sql`${entries(user)} AND (s.actor_id = ${id} OR b.id = ${id}) ORDER BY s.id`;
        expect([id, await listed(`users/${id}/activity_stream/`)]).toEqual([id, await about.ids(database)]);
        const held = sql`${seen} AND ${holds(sql`${id}::integer`)} ORDER BY x.id`;
        expect([id, await listed(`users/${id}/roles/`)]).toEqual([id, await held.ids(database)]);
      }
      for (const id of await listed('teams/')) {
        const about = sql`${entries(user)} AND r_team.id = ${id} ORDER BY s.id`;
        expect([id, await listed(`teams/${id}/activity_stream/`)]).toEqual([id, await about.ids(database)]);
        const held = sql`${seen} AND EXISTS (SELECT FROM service_role_grant g WHERE g.role_id = x.id AND g.team_id = ${id})`;
        expect([id, await listed(`teams/${id}/roles/`)]).toEqual([
          id,
          await sql`${held} ORDER BY x.id`.ids(database),
        ]);
      }
    },
  );
});
