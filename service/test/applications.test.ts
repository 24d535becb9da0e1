import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ADMIN,
  type Answer,
  basic,
  bearer,
  Client,
  startTestService,
  useService,
} from './support/service.ts';

const CALLBACK = 'https://app.example.com/callback';
const PASSWORD = { client_type: 'confidential', authorization_grant_type: 'password' };
const CODE = {
  client_type: 'confidential',
  authorization_grant_type: 'authorization-code',
  redirect_uris: CALLBACK,
};

describe('applications', () => {
  const { service, admin } = useService();
  let organization: number;
  let count = 0;

  beforeAll(async () => {
    organization = (await admin.post('/api/v2/organizations/', { name: 'Here' })).json.id;
  });

  const make = (more: Record<string, unknown> = {}, client = admin): Promise<Answer> => {
    count += 1;
    return client.post('/api/v2/applications/', { name: `app ${count}`, organization, ...PASSWORD, ...more });
  };

  async function person(role?: 'users' | 'admins' | 'auditors'): Promise<{ id: number; client: Client }> {
    count += 1;
    const username = `person${count}`;
    const { json } = await admin.post('/api/v2/users/', { username, password: 'secret' });
    const { json: first } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    if (role !== undefined) {
      await admin.post(`/api/v2/organizations/${organization}/${role}/`, { id: json.id });
    }
    return { id: json.id, client: new Client(service.url, bearer(first.token)) };
  }

  it('show their secret once and store only its digest', async () => {
    const made = await make();
    const secret = String(made.json['client_secret']);
    expect(made.status).toBe(201);
    expect(made.headers.location).toBe(`/api/v2/applications/${made.json.id}/`);
    expect(secret).toMatch(/^[A-Za-z0-9]{128}$/);
    expect(made.json['client_id']).toMatch(/^[A-Za-z0-9]{40}$/);
    const stored = await service.database.query('SELECT * FROM main_oauth2application WHERE id = $1', [
      made.json.id,
    ]);
    expect(stored[0]?.['client_secret']).toBe(createHash('sha256').update(secret).digest('hex'));
    const path = `/api/v2/applications/${made.json.id}/`;
    for (const each of [
      path,
      '/api/v2/applications/',
      `${path}activity_stream/`,
      '/api/v2/activity_stream/',
    ]) {
      expect((await admin.get(each)).text).not.toContain(secret);
    }
    expect((await admin.get(path)).json['client_secret']).toBe('************');
  });

  it('have no secret if public, and get a new one when they become confidential', async () => {
    const made = await make({ client_type: 'public' });
    const path = `/api/v2/applications/${made.json.id}/`;
    expect(made.json).not.toHaveProperty('client_secret');
    const turned = await admin.patch(path, { client_type: 'confidential' });
    const secret = String(turned.json['client_secret']);
    expect(secret).toMatch(/^[A-Za-z0-9]{128}$/);
    const again = await admin.patch(path, { client_type: 'confidential', description: 'again' });
    expect(again.json['client_secret']).toBe('************');
    const stored = await service.database.query('SELECT * FROM main_oauth2application WHERE id = $1', [
      made.json.id,
    ]);
    expect(stored[0]?.['client_secret']).toBe(createHash('sha256').update(secret).digest('hex'));
  });

  it.each([
    CALLBACK,
    'http://127.0.0.1:9999/cb http://localhost/cb2?fixed=1',
    'com.example.app:/callback',
    'com.example.app://callback',
  ])('register redirect URIs: %s', async (redirect_uris) => {
    const made = await make({ ...CODE, redirect_uris });
    expect([made.status, made.json['redirect_uris']]).toEqual([201, redirect_uris]);
  });

  it.each([
    '',
    '   ',
    'callback',
    '/callback',
    '//app.example.com/callback',
    'https://',
    'https:app.example.com',
    'https://app.example.com/#fragment',
    'https://app.example.com/# ',
    'https://user:password@app.example.com/',
    'https://app.example.com\\@evil.example.com/',
    'javascript:alert(1)',
    'data:text/html,hello',
    'ftp://app.example.com/',
    'myapp:/callback',
    `${CALLBACK} javascript:alert(1)`,
  ])('refuse the redirect URIs %j', async (redirect_uris) => {
    const answer = await make({ ...CODE, redirect_uris });
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, ['__all__']]);
    const { json } = await make(CODE);
    expect((await admin.patch(`/api/v2/applications/${json.id}/`, { redirect_uris })).status).toBe(400);
  });

  it.each([
    [{ name: true }, 'name'],
    [{ name: 'x'.repeat(256) }, 'name'],
    [{ name: 'with\0null' }, 'name'],
    [{ client_type: 'secret' }, 'client_type'],
    [{ client_type: ['public'] }, 'client_type'],
    [{ authorization_grant_type: 'client-credentials' }, 'authorization_grant_type'],
    [{ authorization_grant_type: 'implicit', redirect_uris: CALLBACK }, 'authorization_grant_type'],
    [{ authorization_grant_type: 'constructor' }, 'authorization_grant_type'],
    [{ skip_authorization: 'perhaps' }, 'skip_authorization'],
    [{ organization: null }, 'organization'],
    [{ organization: 999_999 }, 'organization'],
    [{ organization: 'here' }, 'organization'],
    [{ organization: 1e300 }, 'organization'],
    [{ redirect_uris: 5_000_000_000, authorization_grant_type: 'password' }, '__all__'],
    [{ redirect_uris: ['x'] }, 'redirect_uris'],
  ])('refuse %j', async (wrong, field) => {
    const answer = await make(wrong);
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [field]]);
  });

  it('have a unique name in their organization', async () => {
    const { json } = await make();
    expect((await make({ name: json['name'] })).json).toHaveProperty('__all__');
    expect((await make({ name: json['name'], organization: 1 })).status).toBe(201);
    const other = await make();
    const taken = await admin.patch(`/api/v2/applications/${other.json.id}/`, { name: json['name'] });
    expect([taken.status, Object.keys(taken.json)]).toEqual([400, ['__all__']]);
  });

  it('keep their client id, secret and grant type on every change', async () => {
    const { json } = await make(CODE);
    const path = `/api/v2/applications/${json.id}/`;
    const sent = {
      client_id: 'mine',
      client_secret: 'mine',
      authorization_grant_type: 'password',
      id: 1,
      description: 'changed',
    };
    const changed = await admin.patch(path, sent);
    expect(changed.json).toMatchObject({
      id: json.id,
      client_id: json['client_id'],
      authorization_grant_type: 'authorization-code',
      description: 'changed',
    });
    expect((await admin.put(path, { description: 'only' })).json).toMatchObject({
      name: expect.anything(),
      client_type: expect.anything(),
      organization: expect.anything(),
    });
    const put = await admin.put(path, { name: 'put', client_type: 'confidential', organization });
    expect(put.json).toMatchObject({ name: 'put', description: '', redirect_uris: CALLBACK });
  });

  it('are found by name and organization', async () => {
    const names = ['plain', 'with space', 'a+b++c', 'a/b?c#d%41', '[+]', 'ünïcode', '%2B'];
    for (const name of names) {
      const { json } = await make({ name });
      const related = json['related'] as Record<string, string>;
      // As a client sends it: characters that a request line cannot contain are encoded.
      const address = String(related['named_url']).replace(/[^!-~]/gu, encodeURIComponent);
      const found = await admin.get(address);
      expect([found.status, found.json.id]).toEqual([200, json.id]);
    }
    for (const path of ['plain', 'plain++Nowhere', 'plain++Here++more', '++', 'plain%zz++Here']) {
      expect([400, 404]).toContain((await admin.get(`/api/v2/applications/${path}/`)).status);
    }
    expect((await admin.get('/api/v2/applications/plain++Here/tokens/')).json.count).toBe(0);
    expect((await admin.get('/api/v2/organizations/Here/applications/?name=plain')).json.count).toBe(1);
  });

  it('revoke their tokens on deletion, with an entry for each', async () => {
    const { json: application } = await make();
    const { client } = await person('users');
    const path = `/api/v2/applications/${application.id}/`;
    const tokens = [
      await client.post(`${path}tokens/`, { scope: 'write' }),
      await client.post('/api/v2/tokens/', { application: application.id }),
    ];
    const holders = tokens.map(({ json }) => new Client(service.url, bearer(json.token)));
    for (const holder of holders) expect((await holder.get('/api/v2/me/')).status).toBe(200);
    const summary = (await admin.get(path)).json['summary_fields'] as Record<string, unknown>;
    expect(summary['tokens']).toEqual({
      count: 2,
      results: tokens.map(({ json }) => ({ id: json.id, token: '************', scope: 'write' })),
    });
    expect((await client.delete(path)).status).toBe(403);
    expect((await admin.delete(path)).status).toBe(204);
    for (const holder of holders) expect((await holder.get('/api/v2/me/')).status).toBe(401);
    expect((await admin.get(path)).status).toBe(404);
    const left = await service.database.query(
      'SELECT FROM oauth2_provider_refreshtoken WHERE application_id = $1',
      [application.id],
    );
    expect(left).toEqual([]);
    const entries = (await admin.get('/api/v2/activity_stream/?operation=delete&order_by=-id')).json.results;
    expect(entries.slice(0, 3).map((entry) => entry['object1'])).toEqual([
      'o_auth2_application',
      'o_auth2_access_token',
      'o_auth2_access_token',
    ]);
  });

  it('are visible to every role in the organization, and changed by its admins only', async () => {
    const { json } = await make();
    const path = `/api/v2/applications/${json.id}/`;
    const capabilities = async (client: Client) =>
      ((await client.get(path)).json['summary_fields'] as Record<string, unknown>)['user_capabilities'];
    for (const role of ['users', 'auditors', 'admins'] as const) {
      const { client } = await person(role);
      const allowed = role === 'admins';
      expect((await client.get(`/api/v2/applications/?id=${json.id}`)).json.count).toBe(1);
      expect(await capabilities(client)).toEqual({ edit: allowed, delete: allowed });
      expect((await client.patch(path, { description: role })).status).toBe(allowed ? 200 : 403);
      expect((await make({}, client)).status).toBe(allowed ? 201 : 403);
      expect((await make({ organization: 1 }, client)).status).toBe(403);
      expect((await make({ organization: 999_999 }, client)).status).toBe(403);
      expect((await client.patch(path, { organization: 1 })).status).toBe(403);
    }
    const { client: stranger } = await person();
    for (const below of ['', 'tokens/', 'activity_stream/']) {
      expect((await stranger.get(path + below)).status).toBe(403);
    }
    expect((await stranger.post(`${path}tokens/`)).status).toBe(403);
    expect((await stranger.get('/api/v2/applications/')).json.count).toBe(0);
  });

  it('do not show a member the tokens of others or their number', async () => {
    const { json } = await make();
    const [one, other] = [await person('users'), await person('users')];
    await one.client.post(`/api/v2/applications/${json.id}/tokens/`);
    const path = `/api/v2/applications/${json.id}/`;
    expect((await other.client.get(`${path}tokens/`)).json.count).toBe(0);
    expect((await other.client.get(path)).json['summary_fields']).toMatchObject({ tokens: { count: 0 } });
    expect((await one.client.get(path)).json['summary_fields']).toMatchObject({ tokens: { count: 1 } });
  });

  it('reveal no secret through filters', async () => {
    for (const field of ['client_secret', 'client_id', 'client_secret__startswith', 'or__client_id__gt']) {
      expect((await admin.get(`/api/v2/applications/?${field}=a`)).status).toBe(403);
      expect((await admin.get(`/api/v2/tokens/?application__${field.replace('or__', '')}=a`)).status).toBe(
        403,
      );
    }
    for (const order of ['client_secret', '-client_id', 'user__password']) {
      expect((await admin.get(`/api/v2/applications/?order_by=${order}`)).status).toBe(403);
    }
    expect(
      (await admin.get('/api/v2/applications/?organization__name=Here&page_size=1')).json.count,
    ).toBeGreaterThan(0);
    expect(
      (await admin.get('/api/v2/tokens/?application__organization__name__iexact=HERE')).json.count,
    ).toBeGreaterThan(0);
    expect(
      (await admin.get('/api/v2/tokens/?application__organization__search=her')).json.count,
    ).toBeGreaterThan(0);
    expect((await admin.get('/api/v2/tokens/?application__organization__admins=1')).status).toBe(400);
  });

  it('show only their name to a token owner who lost the role', async () => {
    const { json } = await make({ name: 'left', description: 'secret plan' });
    const { id, client } = await person('users');
    await client.post(`/api/v2/applications/${json.id}/tokens/`);
    const seen = async (query: string) => (await client.get(`/api/v2/tokens/?${query}`)).json.count;
    expect(await seen('application__description__contains=plan')).toBe(1);
    await admin.post(`/api/v2/organizations/${organization}/users/`, { id, disassociate: true });
    expect(await seen('application__name=left')).toBe(1);
    for (const query of [
      'description__contains=plan',
      'organization__gt=0',
      'organization__name=Here',
      'client_type=confidential',
    ]) {
      expect(await seen(`application__${query}`)).toBe(0);
    }
    expect(await seen('application__search=plan')).toBe(0);
  });
});

describe('applications of a service that allows the implicit grant', () => {
  it('can be registered for it', async () => {
    const service = await startTestService({ allowImplicitGrant: true });
    try {
      const admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
      const wanted = {
        name: 'browser',
        organization: 1,
        client_type: 'public',
        authorization_grant_type: 'implicit',
      };
      expect((await admin.post('/api/v2/applications/', wanted)).status).toBe(400);
      const made = await admin.post('/api/v2/applications/', { ...wanted, redirect_uris: CALLBACK });
      expect([made.status, made.json['authorization_grant_type']]).toEqual([201, 'implicit']);
      const { text } = await admin.send('OPTIONS', '/api/v2/applications/');
      expect(text).toContain('"implicit"');
    } finally {
      await service.close();
    }
  });
});
