import { beforeAll, describe, expect, it } from 'vitest';
import { basic, Client, useService } from './support/service.ts';

describe('tokens', () => {
  const { service, admin } = useService();
  let user: Client;

  beforeAll(async () => {
    await admin.post('/api/v2/users/', { username: 'pat', password: 'pat-password' });
    user = new Client(service.url, basic('pat', 'pat-password'));
    await service.database.script(`
      INSERT INTO main_oauth2application (id, client_id, client_type, authorization_grant_type, client_secret, name, organization_id)
      VALUES (7, 'seven', 'confidential', 'password', 'x', 'Seven', 1);`);
  });

  it('show their value once, on creation', async () => {
    const made = await admin.post('/api/v2/tokens/', { description: 'mine', scope: 'read' });
    expect(made.status).toBe(201);
    expect(made.headers.location).toBe(`/api/v2/tokens/${made.json.id}/`);
    expect(made.json.token).toMatch(/^[A-Za-z0-9]{30}$/);
    expect(made.json).toMatchObject({ description: 'mine', scope: 'read', refresh_token: null, user: 1 });
    for (const path of [`/api/v2/tokens/${made.json.id}/`, '/api/v2/tokens/', '/api/v2/activity_stream/']) {
      const shown = await admin.get(path);
      expect(shown.status).toBe(200);
      expect(shown.text).not.toContain(made.json.token);
    }
  });

  it('have the lifetime that is configured on creation', async () => {
    const lifetime = { OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: 100 } };
    await admin.patch('/api/v2/settings/authentication/', lifetime);
    const { json } = await admin.post('/api/v2/tokens/');
    const seconds = (Date.parse(String(json['expires'])) - Date.parse(String(json['created']))) / 1000;
    expect(seconds).toBe(100);
    await admin.delete('/api/v2/settings/authentication/');
  });

  it('of a person end as early as asked, and never after the settings say', async () => {
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    for (const path of ['/api/v2/tokens/', '/api/v2/users/1/personal_tokens/', '/api/v2/users/1/tokens/']) {
      const made = await admin.post(path, { expires });
      expect([made.status, Date.parse(String(made.json['expires']))]).toEqual([201, Date.parse(expires)]);
    }
    const none = await admin.post('/api/v2/tokens/', { expires: null });
    expect([none.status, String(none.json['expires']) > expires]).toEqual([201, true]);
    for (const [wrong, text] of [
      ['2020-01-01T00:00:00Z', 'in the past'],
      ['9999-01-01T00:00:00Z', 'no later than'],
      ['2030-02-30T00:00:00Z', 'with a time zone'],
      ['2030-01-01T00:00:00', 'with a time zone'],
      ['2030-01-01', 'with a time zone'],
      ['tomorrow', 'with a time zone'],
      ['', 'with a time zone'],
      [1_900_000_000, 'with a time zone'],
      [{}, 'with a time zone'],
    ] as const) {
      const { status, json } = await admin.post('/api/v2/tokens/', { expires: wrong });
      expect([wrong, status, json]).toEqual([wrong, 400, { expires: [expect.stringContaining(text)] }]);
    }
    const ofApplication = await admin.post('/api/v2/tokens/', { application: 7, expires });
    expect([ofApplication.status, Object.keys(ofApplication.json)]).toEqual([400, ['expires']]);
    const { json } = await admin.send('OPTIONS', '/api/v2/tokens/');
    expect(json).toMatchObject({ actions: { POST: { expires: { type: 'datetime', required: false } } } });
  });

  it('of an application come with a refresh token, which outlives their deletion', async () => {
    const { json } = await admin.post('/api/v2/tokens/', { application: 7 });
    expect(json['refresh_token']).toMatch(/^[A-Za-z0-9]{30}$/);
    expect((await admin.get(`/api/v2/tokens/${json.id}/`)).json['refresh_token']).toBe('************');
    expect((await admin.delete(`/api/v2/tokens/${json.id}/`)).status).toBe(204);
    expect(await service.database.query('SELECT access_token_id FROM oauth2_provider_refreshtoken')).toEqual([
      { access_token_id: null },
    ]);
  });

  it('are issued only for applications that the user can see', async () => {
    expect((await user.post('/api/v2/tokens/', { application: 7 })).status).toBe(403);
    await admin.post('/api/v2/organizations/1/users/', { id: 2 });
    expect((await user.post('/api/v2/tokens/', { application: 7 })).status).toBe(201);
    await admin.post('/api/v2/organizations/1/users/', { id: 2, disassociate: true });
  });

  it('can change only in scope and description', async () => {
    const { json } = await user.post('/api/v2/tokens/', {});
    const path = `/api/v2/tokens/${json.id}/`;
    const changed = await user.patch(path, {
      scope: 'read',
      user: 1,
      expires: '2999-01-01T00:00:00Z',
      token: 'x',
      application: 7,
    });
    expect(changed.json).toMatchObject({ scope: 'read', description: '', user: 2, expires: json['expires'] });
    expect((await user.put(path, { description: 'put' })).json).toMatchObject({
      scope: 'read',
      description: 'put',
    });
    expect((await user.delete(path)).status).toBe(204);
    expect((await user.delete(path)).status).toBe(404);
    expect((await user.patch(path, { scope: 'read' })).status).toBe(404);
  });

  it.each([
    [{ scope: 'admin' }, 'scope'],
    [{ scope: '' }, 'scope'],
    [{ scope: 'read read' }, 'scope'],
    [{ scope: null }, 'scope'],
    [{ scope: ['read'] }, 'scope'],
    [{ scope: 'constructor' }, 'scope'],
    [{ description: { a: 1 } }, 'description'],
    [{ description: 'a\0b' }, 'description'],
    [{ application: 99 }, 'application'],
    [{ application: 1.5 }, 'application'],
    [{ application: [7] }, 'application'],
    [{ application: '__proto__' }, 'application'],
  ])('cannot be made of %j', async (body, field) => {
    const answer = await admin.post('/api/v2/tokens/', body);
    expect(answer.status).toBe(400);
    expect(answer.json).toHaveProperty(field);
  });

  it('are made of a scope with further spaces, and of a description that is null', async () => {
    const made = await user.post('/api/v2/tokens/', { scope: ' read  write ', description: null });
    expect([made.status, made.json.scope, made.json.description]).toEqual([201, 'read  write', '']);
    const bearer = new Client(service.url, { authorization: `Bearer ${made.json.token}` });
    expect((await bearer.post('/api/v2/tokens/', {})).status).toBe(201);
  });

  it('keep both of two concurrent changes', async () => {
    for (let round = 0; round < 10; round += 1) {
      const made = { scope: 'write', description: 'before' };
      const path = `/api/v2/tokens/${(await admin.post('/api/v2/tokens/', made)).json.id}/`;
      await Promise.all([admin.patch(path, { scope: 'read' }), admin.patch(path, { description: 'after' })]);
      expect((await admin.get(path)).json).toMatchObject({ scope: 'read', description: 'after' });
    }
  });

  it('that are deleted during a change get 404, not 500', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { json } = await admin.post('/api/v2/tokens/');
      const path = `/api/v2/tokens/${json.id}/`;
      const answers = await Promise.all([
        admin.patch(path, { description: 'x' }),
        admin.delete(path),
        admin.patch(path, { description: 'y' }),
        admin.delete(path),
      ]);
      expect(
        answers.map(({ status }) => status).filter((status) => ![200, 204, 404].includes(status)),
      ).toEqual([]);
      expect((await admin.get(path)).status).toBe(404);
    }
  });

  it('leave an activity entry for each change, and none for a failed one', async () => {
    const { json } = await user.post('/api/v2/tokens/', { description: 'traced' });
    const path = `/api/v2/tokens/${json.id}/`;
    await user.patch(path, { description: 'renamed' });
    await user.patch(path, { description: 'renamed' });
    await user.patch(path, { scope: 'nonsense' });
    const entries = (await user.get(`${path}activity_stream/`)).json.results;
    expect(entries.map((entry) => entry['operation'])).toEqual(['create', 'update']);
    expect(entries[1]?.['changes']).toEqual({ description: ['traced', 'renamed'] });
    await user.delete(path);
    const last = (await admin.get('/api/v2/activity_stream/?order_by=-id')).json.results[0];
    expect(last).toMatchObject({ operation: 'delete', changes: { id: json.id, token: '************' } });
  });

  it.each([
    ["INSERT INTO main_profile (user_id, ldap_dn) VALUES ($1, 'uid=ext')", 'a directory'],
    [
      "INSERT INTO social_auth_usersocialauth (user_id, provider, uid) VALUES ($1, 'saml', 'outside')",
      'a social account',
    ],
    ["INSERT INTO sso_userenterpriseauth (user_id, provider) VALUES ($1, 'radius')", 'an enterprise account'],
  ])('are refused to an external user while the setting is off (%#)', async (sql, where) => {
    const made = await admin.post('/api/v2/users/', { username: `of${where.length}`, password: 'outside' });
    const { id } = made.json;
    await service.database.execute('DELETE FROM main_profile WHERE user_id = $1', [id]);
    const external = new Client(service.url);
    await external.logIn(`of${where.length}`, 'outside');
    await service.database.execute(sql, [id]);
    if (where === 'a directory') {
      await service.database.execute("UPDATE auth_user SET password = '!' WHERE id = $1", [id]);
    }
    const headers = { 'x-csrftoken': external.cookies.get('csrftoken') ?? '' };
    const ask = (json: unknown, path = '/api/v2/tokens/', method = 'POST') =>
      external.send(method, path, { json, headers });
    for (const path of ['tokens/', `users/${id}/tokens/`, `users/${id}/personal_tokens/`]) {
      const refused = await ask({}, `/api/v2/${path}`);
      expect([refused.status, refused.json.detail]).toEqual([
        403,
        expect.stringMatching(/^\(access_denied\)/),
      ]);
    }
    // A local password would make a directory's account count as a local one.
    expect((await ask({ password: 'local' }, `/api/v2/users/${id}/`, 'PATCH')).status).toBe(400);
    expect((await ask({})).status).toBe(403);
    await admin.patch('/api/v2/settings/authentication/', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
    expect((await ask({})).status).toBe(201);
    await admin.patch('/api/v2/settings/authentication/', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false });
  });

  it("of another user stay inaccessible through that user's URL", async () => {
    await admin.post('/api/v2/tokens/', { description: 'of admin' });
    expect((await user.get('/api/v2/users/1/tokens/')).json.count).toBe(0);
    const made = await user.post('/api/v2/users/1/tokens/', { description: 'of pat' });
    expect(made.json['user']).toBe(2);
    const own = (await user.get('/api/v2/users/1/personal_tokens/')).json.results;
    expect(new Set(own.map((token) => token['user']))).toEqual(new Set([2]));
  });
});
