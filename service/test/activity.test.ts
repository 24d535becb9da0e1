import { beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, type Body, basic, bearer, Client, DATABASES, useService } from './support/service.ts';

describe.each(DATABASES)('the activity stream on %s', (kind) => {
  const { service } = useService(() => ({ kind }));
  let admin: Client;
  let count = 0;

  beforeAll(async () => {
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    const { json } = await admin.post('/api/v2/tokens/');
    admin = new Client(service.url, bearer(json.token));
  });

  const last = async (): Promise<Body | undefined> =>
    (await admin.get('/api/v2/activity_stream/?order_by=-id&page_size=1')).json.results[0];

  async function person(): Promise<{ id: number; username: string; client: Client }> {
    count += 1;
    const username = `person${count}`;
    const { json } = await admin.post('/api/v2/users/', { username, password: 'secret', first_name: 'P' });
    const { json: token } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    return { id: json.id, username, client: new Client(service.url, bearer(token.token)) };
  }

  async function organization(): Promise<number> {
    count += 1;
    return (await admin.post('/api/v2/organizations/', { name: `org${count}` })).json.id;
  }

  async function application(of: number): Promise<Body> {
    count += 1;
    const wanted = { client_type: 'confidential', authorization_grant_type: 'password', organization: of };
    return (await admin.post('/api/v2/applications/', { name: `app${count}`, ...wanted })).json;
  }

  it('records who created, changed and deleted an application', async () => {
    const of = await organization();
    const { id, name } = await application(of);
    const path = `/api/v2/applications/${id}/`;
    const facts = {
      name,
      description: '',
      client_type: 'confidential',
      redirect_uris: '',
      authorization_grant_type: 'password',
      skip_authorization: false,
      organization: `org${count - 1}-${of}`,
      id,
    };
    expect(await last()).toMatchObject({
      operation: 'create',
      object1: 'o_auth2_application',
      changes: facts,
      related: { actor: '/api/v2/users/1/', o_auth2_application: [path] },
      summary_fields: { o_auth2_application: [{ id, name, description: '' }], actor: { username: 'admin' } },
    });
    await admin.patch(path, { description: 'changed', skip_authorization: false });
    expect(await last()).toMatchObject({ operation: 'update', changes: { description: ['', 'changed'] } });
    const before = (await last())?.id;
    await admin.patch(path, { description: 'changed' });
    expect((await last())?.id).toBe(before);
    await admin.delete(path);
    const entry = await last();
    expect(entry).toMatchObject({ operation: 'delete', changes: { ...facts, description: 'changed' } });
    expect(entry?.['related']).toEqual({ actor: '/api/v2/users/1/' });
  });

  it('records changes of organizations, and everything deleted with one', async () => {
    const of = await organization();
    const path = `/api/v2/organizations/${of}/`;
    expect(await last()).toMatchObject({
      operation: 'create',
      object1: 'organization',
      changes: { name: `org${count}`, description: '', max_hosts: 0, id: of },
      related: { organization: [path] },
    });
    await admin.patch(path, { description: 'changed', max_hosts: 3 });
    expect((await last())?.['changes']).toEqual({ description: ['', 'changed'], max_hosts: [0, 3] });
    expect((await admin.get(`${path}activity_stream/`)).json.count).toBe(2);
    const { id } = await application(of);
    await admin.post(`/api/v2/applications/${id}/tokens/`);
    await admin.delete(path);
    const entries = (await admin.get('/api/v2/activity_stream/?order_by=-id&page_size=3')).json.results;
    expect(entries.map((entry) => [entry['operation'], entry['object1']])).toEqual([
      ['delete', 'organization'],
      ['delete', 'o_auth2_application'],
      ['delete', 'o_auth2_access_token'],
    ]);
  });

  it('records granted and withdrawn roles, once each', async () => {
    const [of, { id }] = [await organization(), await person()];
    for (const [path, role] of [
      ['users', 'member_role'],
      ['admins', 'admin_role'],
      ['auditors', 'auditor_role'],
    ] as const) {
      for (const [sent, operation] of [
        [{ id }, 'associate'],
        [{ id, disassociate: true }, 'disassociate'],
      ] as const) {
        await admin.post(`/api/v2/organizations/${of}/${path}/`, sent);
        const entry = await last();
        expect(entry).toMatchObject({
          operation,
          object1: 'organization',
          object2: 'user',
          object_association: 'role',
          object_type: 'organization',
          changes: { object1_pk: of, object2_pk: id, action: operation },
          related: { user: [`/api/v2/users/${id}/`], organization: [`/api/v2/organizations/${of}/`] },
          summary_fields: { role: [{ id: expect.any(Number), role_field: role }] },
        });
        await admin.post(`/api/v2/organizations/${of}/${path}/`, sent);
        expect((await last())?.id).toBe(entry?.id);
      }
    }
  });

  it('records changes of users with their privileges and without passwords', async () => {
    const { id } = await person();
    const path = `/api/v2/users/${id}/`;
    await admin.patch(path, { is_system_auditor: true, password: 'another' });
    expect((await last())?.['changes']).toEqual({
      is_system_auditor: [false, true],
      password: ['hidden', 'hidden'],
    });
    const everything = (await admin.get('/api/v2/activity_stream/?page_size=200')).text;
    expect(everything).not.toMatch(/another|"secret"|pbkdf2/);
  });

  it('keeps the names of a deleted actor, and records the deletion of the tokens', async () => {
    const { id, username, client } = await person();
    const { json: token } = await client.post('/api/v2/tokens/', { description: 'last words' });
    const made = (await client.get(`/api/v2/tokens/${token.id}/activity_stream/`)).json.results[0];
    await admin.delete(`/api/v2/users/${id}/`);
    const { json } = await admin.get(`/api/v2/activity_stream/${made?.id}/`);
    expect(json['related']).toEqual({});
    expect(json['summary_fields']).toEqual({ actor: { id: null, username, first_name: 'P', last_name: '' } });
    const ended = await admin.get('/api/v2/activity_stream/?operation=delete&search=last%20words');
    expect(ended.json.results.map((entry) => entry['changes'])).toEqual([
      { description: 'last words', application: null, scope: 'write', id: token.id, token: '************' },
    ]);
  });

  it('names the settings that were changed', async () => {
    await admin.patch('/api/v2/settings/authentication/', { SESSIONS_PER_USER: 7 });
    expect(await last()).toMatchObject({
      object1: 'setting',
      related: { setting: '/api/v2/settings/authentication/' },
      summary_fields: { setting: [{ name: 'SESSIONS_PER_USER', category: 'authentication' }] },
    });
  });

  it('can be filtered by operation, time, actor and resource', async () => {
    const { id, username, client } = await person();
    const { json: token } = await client.post('/api/v2/tokens/');
    const found = async (query: string) => (await admin.get(`/api/v2/activity_stream/?${query}`)).json.count;
    expect(await found(`actor=${id}`)).toBe(2);
    expect(await found(`actor__username=${username}&o_auth2_access_token=${token.id}`)).toBe(1);
    expect(await found(`user__username=${username}`)).toBe(1);
    expect(await found(`user__search=${username}&operation=delete`)).toBe(0);
    expect(await found('timestamp__gt=2999-01-01')).toBe(0);
    expect(await found(`changes__icontains=${username}&object1=user`)).toBe(1);
    expect(await found('object1__in=user,setting&not__operation__in=create,update,delete')).toBe(0);
    for (const [query, status] of [
      ['actor__password=x', 403],
      ['o_auth2_access_token__token=x', 403],
      ['user__email=x', 400],
      ['actor__is_superuser=true', 400],
      ['deleted_actor=x', 400],
    ] as const) {
      expect([query, (await admin.get(`/api/v2/activity_stream/?${query}`)).status]).toEqual([query, status]);
    }
  });

  it('shows other users the entries about resources that they can see', async () => {
    const [of, member, boss, watcher, stranger] = [
      await organization(),
      await person(),
      await person(),
      await person(),
      await person(),
    ];
    const enlist = (path: string, id: number) => admin.post(`/api/v2/organizations/${of}/${path}/`, { id });
    await enlist('users', member.id);
    await enlist('admins', boss.id);
    await enlist('auditors', watcher.id);
    const { id } = await application(of);
    const { json: token } = await member.client.post(`/api/v2/applications/${id}/tokens/`);
    const seen = async ({ client }: { client: Client }, query: string) =>
      (await client.get(`/api/v2/activity_stream/?${query}`)).json.count;
    const views = [member, boss, watcher, stranger] as const;
    const all = async (query: string) => Promise.all(views.map((view) => seen(view, query)));
    expect(await all(`o_auth2_application=${id}`)).toEqual([1, 1, 1, 0]);
    expect(await all(`o_auth2_access_token=${token.id}`)).toEqual([1, 1, 0, 0]);
    expect(await all(`organization=${of}&operation=create`)).toEqual([0, 1, 1, 0]);
    expect(await all(`user=${member.id}`)).toEqual([2, 2, 2, 0]);
    expect(await all(`user=${boss.id}`)).toEqual([0, 2, 1, 0]);
    expect(await all('object1=setting')).toEqual([0, 0, 0, 0]);
    const entry = (await admin.get(`/api/v2/activity_stream/?o_auth2_access_token=${token.id}`)).json
      .results[0];
    const status = async ({ client }: { client: Client }) =>
      (await client.get(`/api/v2/activity_stream/${entry?.id}/`)).status;
    expect(await Promise.all(views.map(status))).toEqual([200, 200, 403, 403]);
    expect((await admin.get('/api/v2/activity_stream/999999/')).status).toBe(404);
    expect((await stranger.client.get(`/api/v2/organizations/${of}/activity_stream/`)).status).toBe(403);
    expect((await stranger.client.get(`/api/v2/users/${member.id}/activity_stream/`)).status).toBe(403);
  });
});
