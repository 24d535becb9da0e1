import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DATABASES } from '../../support/service.ts';
import { API, Gateway, LOGIN, PASSWORD } from './world.ts';

describe.each(DATABASES)('the API of the gateway dialect on %s', (kind) => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start(kind);
  });
  afterAll(() => gateway.service.close());

  it('presents itself as a gateway, to anybody', async () => {
    const anybody = gateway.stranger();
    expect((await anybody.get('/api/')).json).toEqual({
      description: 'Gateway REST API',
      apis: { gateway: '/api/gateway/' },
    });
    expect((await anybody.get('/api/gateway/')).json).toMatchObject({ current_version: API });
    const collections = (await anybody.get(API)).json;
    expect(collections).toMatchObject({ tokens: `${API}tokens/`, activitystream: `${API}activitystream/` });
    for (const address of Object.values(collections)) {
      expect([address, (await gateway.admin.get(String(address))).status]).toEqual([address, 200]);
    }
    expect((await anybody.get(`${API}ping/`)).json).toMatchObject({ version: '0.0.0', status: 'good' });
  });

  it('has nothing of the controller: neither its addresses nor jobs', async () => {
    for (const path of ['/api/v2/', '/api/v2/tokens/', '/api/o/token/', '/api/login/', '/api/v2/metrics/'])
      expect([path, (await gateway.admin.get(path)).status]).toEqual([path, 404]);
    for (const name of ['jobs', 'job_templates', 'inventories', 'hosts', 'credentials', 'config'])
      expect([name, (await gateway.admin.get(`${API}${name}/`)).status]).toEqual([name, 404]);
    const description = (await gateway.admin.get(`${API}openapi.json`)).json as unknown as { paths: object };
    expect(await new Validator().validate(structuredClone({ ...description }))).toMatchObject({
      valid: true,
    });
    const { paths } = description;
    expect(Object.keys(paths).filter((path) => /job|\/v2\/|\/api\/o\//.test(path))).toEqual([]);
  });

  it('links within itself alone, from every record', async () => {
    await gateway.user('linked');
    const { clientId } = await gateway.application('linked');
    const form = { grant_type: 'password', username: 'linked', password: PASSWORD, client_id: clientId };
    await gateway.stranger().send('POST', '/o/token/', { form });
    for (const collection of ['tokens', 'users', 'applications', 'organizations', 'activitystream', 'me']) {
      const { text, json } = await gateway.admin.get(`${API}${collection}/?order_by=-id`);
      expect(text).not.toMatch(/\/api\/v2\/|\/api\/o\/|"type":/);
      const [record] = json.results;
      const related = Object.values(record?.['related'] as object);
      for (const link of [record?.['url'], ...related]) {
        expect([link, (await gateway.admin.get(String(link))).status]).toEqual([link, 200]);
      }
    }
    const made = await gateway.admin.post(`${API}tokens/`, { scope: 'read' });
    expect(made.headers.location).toBe(`${API}tokens/${made.json.id}/`);
  });

  it('shows tokens as a gateway does: with their last use, their values only once', async () => {
    const { id, value, client } = await gateway.token({ scope: 'write', description: 'mine' });
    await client.get(`${API}me/`);
    const { json, text } = await gateway.admin.get(`${API}tokens/${id}/`);
    expect(json).toMatchObject({ token: '$encrypted$', user: 1, created_by: 1, refresh_token: null });
    expect(json['last_used']).toEqual(expect.any(String));
    expect(text).not.toContain(value);
    const listed = await gateway.admin.get(`${API}tokens/?last_used__gt=2020-01-01&id=${id}`);
    expect(listed.json.results).toHaveLength(1);
    expect((await gateway.admin.delete(`${API}tokens/${id}/`)).status).toBe(204);
    expect((await gateway.admin.delete(`${API}tokens/${id}/`)).status).toBe(404);
    expect((await client.get(`${API}me/`)).status).toBe(401);
  });

  it('refuses a token of scope read to change anything: 403', async () => {
    const { client } = await gateway.token({ scope: 'read' });
    expect((await client.get(`${API}tokens/`)).status).toBe(200);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await client.send(method, `${API}tokens/1/`)).status).toBe(403);
    expect((await client.put(`${API}settings/all/`, {})).status).toBe(403);
  });

  it('makes nothing on a list below a record', async () => {
    const { id } = await gateway.application('below');
    const answer = await gateway.admin.post(`${API}applications/${id}/tokens/`, { scope: 'read' });
    expect(answer.status).toBe(405);
    expect((await gateway.admin.post(`${API}organizations/1/applications/`, {})).status).toBe(405);
    expect((await gateway.admin.post(`${API}users/1/personal_tokens/`, {})).status).toBe(405);
    const { json } = await gateway.admin.post(`${API}tokens/`, { scope: 'read', application: id });
    expect((await gateway.admin.get(`${API}applications/${id}/tokens/`)).json.results).toMatchObject([
      { id: json.id, application: id, refresh_token: '$encrypted$' },
    ]);
  });

  it('lists the tokens of the user that the address names, whose ever they are', async () => {
    const { id, client } = await gateway.user('owner');
    const made = await client.post(`${API}tokens/`, { scope: 'read' });
    const { results } = (await gateway.admin.get(`${API}users/${id}/personal_tokens/`)).json;
    expect(results).toMatchObject([{ id: made.json.id, user: id }]);
    expect((await gateway.admin.get(`${API}users/${id}/authorized_tokens/`)).json.count).toBe(0);
  });

  it('calls auditors platform auditors, and filters by what it does not show', async () => {
    const { id, client } = await gateway.user('auditor', { is_platform_auditor: true });
    expect((await client.get(`${API}me/`)).json.results).toMatchObject([
      { is_platform_auditor: true, is_superuser: false, associated_authenticators: {} },
    ]);
    expect(
      (await gateway.admin.patch(`${API}users/${id}/`, { is_platform_auditor: 'x' })).json,
    ).toHaveProperty('is_platform_auditor');
    expect((await gateway.admin.patch(`${API}users/${id}/`, { is_active: false })).json).not.toHaveProperty(
      'is_active',
    );
    const gone = await gateway.admin.get(`${API}users/?is_active=false&username=auditor`);
    expect(gone.json.results.map((user) => user.id)).toEqual([id]);
    expect((await client.get(`${API}me/`)).status).toBe(401);
  });

  it('gives and takes roles in an organization by association, all or none', async () => {
    const { id, client } = await gateway.user('chief');
    const admins = `${API}organizations/1/admins/`;
    const associate = (instances: unknown) => gateway.admin.post(`${admins}associate/`, { instances });
    expect((await associate([id, 987_654])).status).toBe(400);
    for (const wrong of [null, 'x', [0], [1.5], ['1']]) expect((await associate(wrong)).status).toBe(400);
    expect((await gateway.admin.get(admins)).json.count).toBe(0);
    expect((await associate([id])).status).toBe(204);
    expect((await client.post(`${API}users/`, { username: 'x', password: 'y' })).status).toBe(201);
    expect((await gateway.admin.post(`${admins}disassociate/`, { instances: [id] })).status).toBe(204);
    expect((await client.post(`${API}users/`, { username: 'z', password: 'y' })).status).toBe(403);
  });

  it('puts fifty on a page unless asked', async () => {
    await gateway.service.database.execute(
      `INSERT INTO main_oauth2accesstoken (token, user_id, scope, expires)
       SELECT 'many ' || n, 1, 'read', now() + interval '1 year' FROM generate_series(1, 60) n`,
    );
    const { results, ...page } = (await gateway.admin.get(`${API}tokens/?token__isnull=false`)).json;
    expect([results, page]).toEqual([undefined, { detail: expect.stringContaining('not allowed') }]);
    expect((await gateway.admin.get(`${API}tokens/`)).json.results).toHaveLength(50);
    expect((await gateway.admin.get(`${API}tokens/?page_size=55`)).json.results).toHaveLength(55);
  });

  it('logs in at its own address, with its own cookie', async () => {
    const browser = gateway.stranger();
    expect((await browser.get('/accounts/profile/')).headers.location).toBe(
      `${LOGIN}?next=/accounts/profile/`,
    );
    await browser.logIn('admin', 'correct horse', { path: LOGIN });
    expect([...browser.cookies.keys()]).toContain('gateway_sessionid');
    expect((await browser.get(`${API}me/`)).json.results).toMatchObject([{ username: 'admin' }]);
    const page = (await browser.get('/accounts/profile/')).text;
    expect(page).toContain(`action="${API}logout/"`);
    const challenged = await gateway.stranger().get(`${API}me/`);
    expect(challenged.status).toBe(401);
    expect(challenged.headers['www-authenticate']).toContain('authorization_url=/o/authorize/');
    expect(challenged.json.detail).toContain(LOGIN);
  });
});
