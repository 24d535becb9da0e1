import { beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, basic, bearer, Client, useService } from './support/service.ts';

describe('organization roles', () => {
  const { service } = useService();
  let admin: Client;
  let count = 0;

  beforeAll(async () => {
    const { json } = await new Client(service.url, basic(ADMIN.username, ADMIN.password)).post(
      '/api/v2/tokens/',
    );
    admin = new Client(service.url, bearer(json.token));
  });

  async function person(more: Record<string, unknown> = {}): Promise<{ id: number; client: Client }> {
    count += 1;
    const username = `person${count}`;
    const { json } = await admin.post('/api/v2/users/', { username, password: 'secret', ...more });
    const { json: token } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    return { id: json.id, client: new Client(service.url, bearer(token.token)) };
  }

  async function organization(): Promise<string> {
    count += 1;
    const { json } = await admin.post('/api/v2/organizations/', { name: `org${count}` });
    return `/api/v2/organizations/${json.id}/`;
  }

  it('are granted and withdrawn by id, and listed from both sides', async () => {
    const [path, { id }] = [await organization(), await person()];
    const holders = async (role: string) => (await admin.get(path + role)).json.results.map(({ id }) => id);
    for (const [role, held] of [
      ['users/', 'organizations/'],
      ['admins/', 'admin_of_organizations/'],
      ['auditors/', null],
    ] as const) {
      expect((await admin.post(path + role, { id })).status).toBe(204);
      expect(await holders(role)).toEqual([id]);
      if (held !== null) expect((await admin.get(`/api/v2/users/${id}/${held}`)).json.count).toBe(1);
      expect((await admin.post(path + role, { id, disassociate: true })).status).toBe(204);
      expect(await holders(role)).toEqual([]);
    }
  });

  it('take effect with the next request', async () => {
    const [path, boss, member] = [await organization(), await person(), await person()];
    const allowed = async () => (await boss.client.patch(path, { description: `${count}` })).status;
    expect(await allowed()).toBe(403);
    await admin.post(`${path}admins/`, { id: boss.id });
    expect(await allowed()).toBe(200);
    expect((await boss.client.post(`${path}users/`, { id: member.id })).status).toBe(204);
    await admin.post(`${path}admins/`, { id: boss.id, disassociate: true });
    expect(await allowed()).toBe(403);
    expect((await boss.client.post(`${path}users/`, { id: member.id, disassociate: true })).status).toBe(403);
  });

  it('let an admin change this organization and its users, and no other', async () => {
    const [here, there, boss] = [await organization(), await organization(), await person()];
    await admin.post(`${here}admins/`, { id: boss.id });
    expect((await boss.client.patch(here, { description: 'mine' })).status).toBe(200);
    expect((await boss.client.patch(there, { description: 'mine' })).status).toBe(403);
    expect((await boss.client.get(there)).status).toBe(403);
    expect((await boss.client.post(`${there}admins/`, { id: boss.id })).status).toBe(403);
    expect((await boss.client.post('/api/v2/organizations/', { name: 'own' })).status).toBe(403);
    expect((await boss.client.delete(there)).status).toBe(403);
    expect((await boss.client.delete(here)).status).toBe(204);
  });

  it.each(['users/', 'auditors/'])('do not let users with a role in %s change anything', async (role) => {
    const [path, { id, client }, other] = [await organization(), await person(), await person()];
    await admin.post(path + role, { id });
    expect((await client.get(path)).status).toBe(200);
    expect((await client.patch(path, { description: 'x' })).status).toBe(403);
    expect((await client.delete(path)).status).toBe(403);
    for (const each of ['users/', 'admins/', 'auditors/']) {
      expect((await client.post(path + each, { id: other.id })).status).toBe(403);
      expect((await client.post(path + each, { id, disassociate: true })).status).toBe(403);
    }
    expect((await client.post('/api/v2/users/', { username: `by${id}`, password: 'x' })).status).toBe(403);
  });

  it('let an admin create users in this organization, but nowhere else and without privileges', async () => {
    const [here, there, boss] = [await organization(), await organization(), await person()];
    await admin.post(`${here}admins/`, { id: boss.id });
    const user = { username: `of-${boss.id}`, password: 'x' };
    expect((await boss.client.post('/api/v2/users/', user)).status).toBe(403);
    expect((await boss.client.post(`${there}users/`, user)).status).toBe(403);
    for (const privilege of [{ is_superuser: true }, { is_system_auditor: true }]) {
      expect((await boss.client.post(`${here}users/`, { ...user, ...privilege })).status).toBe(403);
    }
    const made = await boss.client.post(`${here}users/`, user);
    expect([made.status, made.headers.location]).toEqual([201, `/api/v2/users/${made.json.id}/`]);
    expect((await boss.client.get(`${here}users/`)).json.results).toMatchObject([{ id: made.json.id }]);
    expect((await boss.client.post(`${here}users/`, {})).json).toHaveProperty('username');
    expect((await boss.client.patch(here, { max_hosts: 5 })).status).toBe(400);
  });

  it('do not let an admin take over users of other organizations', async () => {
    const [here, there, boss] = [await organization(), await organization(), await person()];
    await admin.post(`${here}admins/`, { id: boss.id });
    const [foreign, auditor, orphan] = [
      await person(),
      await person({ is_system_auditor: true }),
      await person(),
    ];
    await admin.post(`${there}users/`, { id: foreign.id });
    const enlist = (id: number) => boss.client.post(`${here}users/`, { id });
    expect((await enlist(foreign.id)).status).toBe(403);
    expect((await enlist(auditor.id)).status).toBe(403);
    expect((await enlist(1)).status).toBe(403);
    expect((await enlist(orphan.id)).status).toBe(204);
    expect((await boss.client.patch(`/api/v2/users/${orphan.id}/`, { first_name: 'x' })).status).toBe(200);
  });

  it('let admins create inventories and credentials, and show them to admins and auditors', async () => {
    const [path, boss, watcher, member] = [
      await organization(),
      await person(),
      await person(),
      await person(),
    ];
    const id = Number(path.split('/')[4]);
    for (const [role, who] of [
      ['admins/', boss],
      ['auditors/', watcher],
      ['users/', member],
    ] as const) {
      await admin.post(path + role, { id: who.id });
    }
    for (const kind of ['inventories', 'credentials']) {
      const list = `/api/v2/${kind}/`;
      const wanted = { name: `${kind} ${id}`, organization: id };
      expect((await watcher.client.post(list, wanted)).status).toBe(403);
      expect((await member.client.post(list, wanted)).status).toBe(403);
      expect((await boss.client.post(list, { ...wanted, organization: 1 })).status).toBe(403);
      const made = await boss.client.post(list, wanted);
      expect([made.status, made.headers.location]).toEqual([201, `${list}${made.json.id}/`]);
      expect((await boss.client.post(list, wanted)).status).toBe(400);
      expect((await boss.client.post(list, { organization: id })).json).toHaveProperty('name');
      const seen = (client: Client) => client.get(`${list}?organization=${id}`);
      expect((await seen(boss.client)).json.count).toBe(1);
      expect((await seen(watcher.client)).json.count).toBe(1);
      expect((await seen(member.client)).json.count).toBe(0);
    }
    expect((await boss.client.post('/api/v2/credentials/', { name: 'of nobody' })).status).toBe(403);
    expect((await admin.post('/api/v2/credentials/', { name: 'of nobody' })).status).toBe(201);
    expect((await admin.post('/api/v2/inventories/', { name: 'of nobody' })).status).toBe(400);
  });

  it('accept organizations and users by name', async () => {
    const { json } = await admin.post('/api/v2/organizations/', { name: 'R&D / [a+b]' });
    const { named_url } = (await admin.get(`/api/v2/organizations/${json.id}/`)).json['related'] as Record<
      string,
      string
    >;
    const { json: found } = await admin.get(String(named_url).replaceAll(' ', '%20'));
    expect(found.id).toBe(json.id);
    expect((await admin.get('/api/v2/organizations/Default/users/')).status).toBe(200);
    expect((await admin.get('/api/v2/organizations/Nowhere/users/')).status).toBe(404);
  });
});
