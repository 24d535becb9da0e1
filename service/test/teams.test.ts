import { beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, type Body, basic, bearer, Client, useService } from './support/service.ts';

interface Person {
  readonly id: number;
  readonly client: Client;
}

describe('teams', () => {
  const { service } = useService();
  let admin: Client;
  let count = 0;

  beforeAll(async () => {
    const { json } = await new Client(service.url, basic(ADMIN.username, ADMIN.password)).post(
      '/api/v2/tokens/',
    );
    admin = new Client(service.url, bearer(json.token));
  });

  async function person(more: Record<string, unknown> = {}): Promise<Person> {
    count += 1;
    const username = `person${count}`;
    const { json } = await admin.post('/api/v2/users/', { username, password: 'secret', ...more });
    const { json: token } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    return { id: json.id, client: new Client(service.url, bearer(token.token)) };
  }

  async function organization() {
    count += 1;
    const name = `org${count}`;
    const { id } = (await admin.post('/api/v2/organizations/', { name })).json;
    return { id, name, path: `/api/v2/organizations/${id}/` };
  }

  async function team(of: number, name = 'Crew'): Promise<{ readonly id: number; readonly path: string }> {
    const { status, json } = await admin.post('/api/v2/teams/', { name, organization: of });
    expect(status).toBe(201);
    return { id: json.id, path: `/api/v2/teams/${json.id}/` };
  }

  /** An organization with a team, and someone in each position. */
  async function world() {
    const of = await organization();
    const crew = await team(of.id);
    const [boss, watcher, member, captain, mate, stranger, auditor] = await Promise.all([
      ...Array.from({ length: 6 }, () => person()),
      person({ is_system_auditor: true }),
    ] as const);
    if (!(boss && watcher && member && captain && mate && stranger && auditor)) throw new Error('nobody');
    await admin.post(`${of.path}admins/`, { id: boss.id });
    await admin.post(`${of.path}auditors/`, { id: watcher.id });
    await admin.post(`${of.path}users/`, { id: member.id });
    await admin.post(`${crew.path}users/`, { id: mate.id });
    await admin.post(`/api/v2/roles/${await roleOf(crew.path, 'admin_role')}/users/`, { id: captain.id });
    return { of, crew, boss, watcher, member, captain, mate, stranger, auditor };
  }

  async function roleOf(path: string, field: string): Promise<number> {
    const { summary_fields } = (await admin.get(path)).json as unknown as {
      summary_fields: { object_roles: Record<string, { id: number }> };
    };
    return summary_fields.object_roles[field]?.id ?? 0;
  }

  const statuses = (who: readonly Person[], request: (client: Client) => Promise<{ status: number }>) =>
    who.reduce<Promise<number[]>>(
      async (before, { client }) => [...(await before), (await request(client)).status],
      Promise.resolve([]),
    );
  const idsIn = ({ json }: { json: Body }) => json.results.map(({ id }) => id);

  it('are created, found by their names, changed and deleted', async () => {
    const of = await organization();
    const made = await admin.post('/api/v2/teams/', { name: 'Crew', description: 'd', organization: of.id });
    const path = `/api/v2/teams/${made.json.id}/`;
    expect([made.status, made.headers.location]).toEqual([201, path]);
    expect(made.json).toMatchObject({
      type: 'team',
      url: path,
      related: {
        named_url: `/api/v2/teams/Crew++${of.name}/`,
        created_by: '/api/v2/users/1/',
        organization: of.path,
        users: `${path}users/`,
      },
      summary_fields: {
        organization: { id: of.id, name: of.name, description: '' },
        created_by: { username: ADMIN.username },
        object_roles: { admin_role: { name: 'Admin' }, member_role: { name: 'Member' } },
        user_capabilities: { edit: true, delete: true },
      },
      ...{ name: 'Crew', description: 'd', organization: of.id },
    });
    expect((await admin.get(`/api/v2/teams/Crew++${of.name}/`)).json.id).toBe(made.json.id);
    expect((await admin.get('/api/v2/teams/Crew++nowhere/')).status).toBe(404);
    expect((await admin.get('/api/v2/teams/Crew/')).status).toBe(404);
    expect((await admin.patch(path, { name: 'Watch' })).json).toMatchObject({
      name: 'Watch',
      description: 'd',
    });
    expect((await admin.put(path, { name: 'Watch', organization: of.id })).json).toMatchObject({
      description: '',
    });
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
  });

  it('say what is wrong with a body', async () => {
    const of = await organization();
    const { path } = await team(of.id);
    const required = 'This field is required.';
    const taken = { __all__: ['Team with this Organization and Name already exists.'] };
    const of2 = await organization();
    for (const [body, problems] of [
      [{}, { name: [required], organization: [required] }],
      [
        { name: '', organization: null },
        { name: [expect.any(String)], organization: [expect.any(String)] },
      ],
      [{ name: 'x', organization: 999_999 }, { organization: [expect.stringContaining('999999')] }],
      [{ name: 'x', organization: 'abc' }, { organization: [expect.any(String)] }],
      [{ name: 'x'.repeat(513), organization: of.id }, { name: [expect.stringContaining('512')] }],
      [{ name: 'Crew', organization: of.id }, taken],
    ] as const) {
      const { status, json } = await admin.post('/api/v2/teams/', body);
      expect([status, json]).toEqual([400, problems]);
    }
    expect((await admin.put(path, { name: 'Crew' })).json).toEqual({ organization: [required] });
    expect((await admin.patch(path, { organization: null })).status).toBe(400);
    const other = await team(of.id, 'Other');
    expect((await admin.patch(other.path, { name: 'Crew' })).json).toEqual(taken);
    // Elsewhere the name is free.
    await team(of2.id);
    expect((await admin.patch(path, { organization: of2.id })).json).toEqual(taken);
  });

  it('are seen and changed by those who may', async () => {
    const { of, crew, ...people } = await world();
    const { boss, watcher, member, captain, mate, stranger, auditor } = people;
    const all = [boss, watcher, member, captain, mate, stranger, auditor];
    expect(await statuses(all, (client) => client.get(crew.path))).toEqual([
      ...[200, 200, 200, 200, 200, 403, 200],
    ]);
    const listed = await Promise.all(
      all.map(({ client }) => client.get(`/api/v2/teams/?organization=${of.id}`)),
    );
    expect(listed.map(({ json }) => json.count)).toEqual([1, 1, 1, 1, 1, 0, 1]);
    const may = listed.map(({ json }) => json.results[0]?.['summary_fields'] as Body | undefined);
    expect(
      may.map((summary) => (summary?.['user_capabilities'] as { edit: boolean } | undefined)?.edit),
    ).toEqual([...[true, false, false, true, false, undefined, false]]);
    expect(await statuses(all, (client) => client.patch(crew.path, { description: 'x' }))).toEqual([
      ...[200, 403, 403, 200, 403, 403, 403],
    ]);
    const add = (client: Client) =>
      client.post('/api/v2/teams/', { name: `${count++}`, organization: of.id });
    expect(await statuses(all, add)).toEqual([201, 403, 403, 403, 403, 403, 403]);
    const addIn = (client: Client) =>
      client.post(`${of.path}teams/`, { name: `${count++}`, organization: 1 });
    expect(await statuses(all, addIn)).toEqual([201, 403, 403, 403, 403, 403, 403]);
    expect((await boss.client.get(`${of.path}teams/`)).json.count).toBe(3);
    expect((await stranger.client.get(`${of.path}teams/`)).status).toBe(403);
    expect(await statuses([watcher, member, mate, auditor], (client) => client.delete(crew.path))).toEqual([
      ...[403, 403, 403, 403],
    ]);
    expect((await captain.client.delete(crew.path)).status).toBe(204);
  });

  it('move to another organization by superusers only', async () => {
    const { of, crew, boss, captain } = await world();
    const there = await organization();
    await admin.post(`${there.path}admins/`, { id: boss.id });
    for (const { client } of [boss, captain]) {
      for (const organization of [there.id, 999_999]) {
        const { status, json } = await client.patch(crew.path, { organization });
        expect([status, json['detail']]).toEqual([403, 'Unable to change organization on a team.']);
      }
      expect((await client.patch(crew.path, { organization: of.id })).status).toBe(200);
    }
    expect((await boss.client.post('/api/v2/teams/', { name: 'x', organization: 999_999 })).status).toBe(403);
    expect((await admin.patch(crew.path, { organization: there.id })).json).toMatchObject({
      organization: there.id,
    });
    expect((await captain.client.patch(crew.path, { description: 'still mine' })).status).toBe(200);
  });

  it('get and lose members by those who may', async () => {
    const { of, crew, ...people } = await world();
    const { boss, watcher, member, captain, mate, stranger, auditor } = people;
    const add = (client: Client) => client.post(`${crew.path}users/`, { id: member.id });
    const others = [watcher, member, mate, stranger, auditor];
    expect(await statuses(others, add)).toEqual([403, 403, 403, 403, 403]);
    // An admin of the team adds users that it sees: the members of its organizations.
    expect((await add(captain.client)).status).toBe(403);
    await admin.post(`${of.path}users/`, { id: captain.id });
    expect((await add(captain.client)).status).toBe(204);
    expect(idsIn(await admin.get(`${crew.path}users/`)).sort()).toEqual([member.id, mate.id].sort());
    expect((await captain.client.post(`${crew.path}users/`, { id: stranger.id })).status).toBe(403);
    expect((await boss.client.post(`${crew.path}users/`, { id: stranger.id })).status).toBe(204);
    // Roles in a team give no power over the account, so superusers and auditors can be members, too.
    expect((await boss.client.post(`${crew.path}users/`, { id: 1 })).status).toBe(204);
    expect((await boss.client.patch('/api/v2/users/1/', { first_name: 'x' })).status).toBe(403);
    const leave = { id: mate.id, disassociate: true };
    expect((await mate.client.post(`${crew.path}users/`, leave)).status).toBe(403);
    expect((await boss.client.post(`${crew.path}users/`, leave)).status).toBe(204);
    expect((await boss.client.post(`${crew.path}users/`, leave)).status).toBe(204);
    expect((await mate.client.get(crew.path)).status).toBe(403);
    for (const body of [{ id: 999_999 }, { id: 'x' }, { id: true }, { disassociate: true }]) {
      expect((await admin.post(`${crew.path}users/`, body)).status).toBe(400);
    }
  });

  it('get new users from admins of the organization', async () => {
    const { crew, boss, captain } = await world();
    const wanted = (name: string) => ({ username: `${name}${count}`, password: 'x' });
    expect((await captain.client.post(`${crew.path}users/`, wanted('by-captain'))).status).toBe(403);
    const made = await boss.client.post(`${crew.path}users/`, wanted('by-boss'));
    expect([made.status, made.headers.location]).toEqual([201, `/api/v2/users/${made.json.id}/`]);
    expect((await admin.get(`/api/v2/users/${made.json.id}/teams/`)).json.count).toBe(1);
  });

  it('are listed with a user who has a role in them, and filtered', async () => {
    const { of, crew, boss, captain, mate, stranger } = await world();
    for (const { id } of [captain, mate]) {
      expect(idsIn(await admin.get(`/api/v2/users/${id}/teams/`))).toEqual([crew.id]);
    }
    expect((await admin.get(`/api/v2/users/${boss.id}/teams/`)).json.count).toBe(0);
    expect((await mate.client.get(`/api/v2/users/${mate.id}/teams/`)).json.count).toBe(1);
    expect((await stranger.client.get(`/api/v2/users/${mate.id}/teams/`)).status).toBe(403);
    const found = async (query: string) => (await admin.get(`/api/v2/teams/?${query}`)).json.count;
    expect(await found(`organization__name=${of.name}`)).toBe(1);
    expect(await found(`organization=${of.id}&created_by__username=${ADMIN.username}`)).toBe(1);
    expect(await found(`organization=${of.id}&search=crew&order_by=-organization__name`)).toBe(1);
    expect(await found(`organization=${of.id}&name__startswith=B`)).toBe(0);
    expect((await admin.get('/api/v2/teams/?users=1')).status).toBe(400);
    expect((await admin.get('/api/v2/teams/?created_by__password=1')).status).toBe(403);
    expect((await admin.get(`${crew.path}?name=zzz`)).status).toBe(404);
    expect((await admin.get('/api/v2/dashboard/')).json['teams']).toEqual({
      url: '/api/v2/teams/',
      total: (await admin.get('/api/v2/teams/')).json.count,
    });
  });

  it('and their roles are in the activity stream, also where the organization is deleted', async () => {
    const { of, crew, boss, member, mate, captain, stranger } = await world();
    await boss.client.patch(crew.path, { name: 'Watch' });
    const entries = (await admin.get(`${crew.path}activity_stream/?order_by=id`)).json.results;
    expect(entries.map(({ operation, changes }) => [operation, changes])).toEqual([
      ['create', { name: 'Crew', description: '', organization: `${of.name}-${of.id}`, id: crew.id }],
      ...[mate, captain].map(({ id }) => [
        'associate',
        {
          ...{ object1: 'team', object1_pk: crew.id, object2: 'user', object2_pk: id, action: 'associate' },
          relationship: 'awx.main.models.rbac.Role_members',
        },
      ]),
      ['update', { name: ['Crew', 'Watch'] }],
    ]);
    const role = await roleOf(crew.path, 'admin_role');
    expect(entries[2]).toMatchObject({
      ...{ object_association: 'role', object_type: 'team', object1: 'team', object2: 'user' },
      related: {
        user: [`/api/v2/users/${captain.id}/`],
        team: [crew.path],
        role: [`/api/v2/roles/${role}/`],
      },
      summary_fields: {
        team: [{ id: crew.id, name: 'Watch', description: '' }],
        role: [{ id: role, role_field: 'admin_role' }],
      },
    });
    // As an investigation asks for what others did to it.
    const byOthers = `/api/v2/activity_stream/?team__id=${crew.id}&not__actor__id__in=1`;
    expect((await admin.get(byOthers)).json.results).toMatchObject([{ operation: 'update' }]);
    const seen = async ({ client }: Person) =>
      (await client.get(`/api/v2/activity_stream/?team=${crew.id}`)).json.count;
    // Members of the organization see the team, but not who changed it.
    expect(await Promise.all([boss, captain, mate, member, stranger].map(seen))).toEqual([4, 4, 4, 0, 0]);
    expect((await stranger.client.get(`${crew.path}activity_stream/`)).status).toBe(403);
    await admin.delete(of.path);
    const deleted = (await admin.get('/api/v2/activity_stream/?object1=team&order_by=-id')).json.results[0];
    expect(deleted).toMatchObject({ operation: 'delete', changes: { name: 'Watch', id: crew.id } });
    expect((await captain.client.get('/api/v2/teams/')).json.count).toBe(0);
  });

  it('have their roles in the list of roles, with those of organizations', async () => {
    const { of, crew, boss, member, captain, mate, stranger } = await world();
    const fields = (path: string) => admin.get(`${path}object_roles/`).then(({ json }) => json.results);
    expect((await fields(crew.path)).map(({ name }) => name)).toEqual(['Admin', 'Member', 'Read']);
    expect(await fields(of.path)).toHaveLength(13);
    const role = await roleOf(crew.path, 'member_role');
    const path = `/api/v2/roles/${role}/`;
    expect((await admin.get(path)).json).toEqual({
      ...{ id: role, type: 'role', url: path, name: 'Member', description: 'User is a member of the team' },
      related: { users: `${path}users/`, teams: `${path}teams/`, team: crew.path },
      summary_fields: {
        ...{ resource_name: 'Crew', resource_type: 'team' },
        ...{ resource_type_display_name: 'Team', resource_id: crew.id },
      },
    });
    expect(idsIn(await admin.get(`${path}users/`))).toEqual([mate.id]);
    expect((await admin.get(`${path}users/?id=${captain.id}`)).json.count).toBe(0);
    expect((await admin.get('/api/v2/roles/999999/users/')).status).toBe(404);
    expect(await statuses([boss, member, mate, stranger], (client) => client.get(path))).toEqual([
      ...[200, 200, 200, 403],
    ]);
    expect((await stranger.client.get('/api/v2/roles/')).json.count).toBe(0);
    expect((await stranger.client.post(`${path}users/`, { id: stranger.id })).status).toBe(403);
    expect((await mate.client.post(`${path}users/`, { id: stranger.id })).status).toBe(403);
    expect((await admin.post(`${path}users/`, { username: 'nobody', password: 'x' })).status).toBe(400);
    expect((await admin.get(`/api/v2/roles/?id__in=${role}`)).json.count).toBe(1);
  });

  it('show all roles of a user, and take and give them there', async () => {
    const { of, crew, boss, member, mate, stranger } = await world();
    await admin.post(`${crew.path}users/`, { id: boss.id });
    const path = `/api/v2/users/${boss.id}/roles/`;
    const held = async () =>
      (await admin.get(path)).json.results.map(
        ({ name, summary_fields }) => `${name} of ${(summary_fields as Body)['resource_name']}`,
      );
    expect(await held()).toEqual([`Admin of ${of.name}`, 'Member of Crew']);
    const role = await roleOf(of.path, 'admin_role');
    expect((await mate.client.post(path, { id: role, disassociate: true })).status).toBe(403);
    expect(
      (await boss.client.post(path, { id: await roleOf('/api/v2/organizations/1/', 'admin_role') })).status,
    ).toBe(403);
    expect((await admin.post(path, { id: role, disassociate: true })).status).toBe(204);
    expect(await held()).toEqual(['Member of Crew']);
    expect((await boss.client.patch(of.path, { description: 'x' })).status).toBe(403);
    expect((await admin.post(path, { id: role })).status).toBe(204);
    expect((await boss.client.patch(of.path, { description: 'x' })).status).toBe(200);
    for (const body of [{}, { id: 999_999 }, { id: 'x' }])
      expect((await admin.post(path, body)).status).toBe(400);
    expect((await stranger.client.get(path)).status).toBe(403);
    expect((await member.client.get(`/api/v2/users/${member.id}/roles/`)).json.results).toMatchObject([
      { name: 'Member', summary_fields: { user_capabilities: { unattach: false } } },
    ]);
  });
});
