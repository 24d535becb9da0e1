import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, basic, bearer, Client, useService } from './support/service.ts';

/** Every address that takes a change, with a body that would make it. */
const CHANGES: readonly (readonly [method: string, path: string, json: unknown])[] = [
  ['POST', '/api/v2/tokens/', {}],
  ['PATCH', '/api/v2/tokens/1/', { scope: 'write' }],
  ['PUT', '/api/v2/tokens/1/', { scope: 'write' }],
  ['DELETE', '/api/v2/tokens/1/', undefined],
  ['POST', '/api/v2/users/', { username: 'mallory', password: 'x' }],
  ['PATCH', '/api/v2/users/1/', { first_name: 'Mallory' }],
  ['PUT', '/api/v2/users/1/', { username: 'mallory' }],
  ['DELETE', '/api/v2/users/1/', undefined],
  ['POST', '/api/v2/users/1/tokens/', {}],
  ['POST', '/api/v2/users/1/personal_tokens/', {}],
  ['POST', '/api/v2/users/1/authorized_tokens/', {}],
  ['POST', '/api/v2/organizations/', { name: 'Mallory' }],
  ['PATCH', '/api/v2/organizations/1/', { name: 'Mallory' }],
  ['PUT', '/api/v2/organizations/1/', { name: 'Mallory' }],
  ['DELETE', '/api/v2/organizations/1/', undefined],
  ['POST', '/api/v2/organizations/1/users/', { id: 1 }],
  ['POST', '/api/v2/organizations/1/admins/', { id: 1 }],
  ['POST', '/api/v2/hosts/', { name: 'mallory', inventory: 1 }],
  ['PATCH', '/api/v2/settings/authentication/', { SESSIONS_PER_USER: 1 }],
  ['PUT', '/api/v2/settings/authentication/', { SESSIONS_PER_USER: 1 }],
  ['DELETE', '/api/v2/settings/authentication/', undefined],
  ['PATCH', '/api/v2/settings/all/', { SESSIONS_PER_USER: 1 }],
];

const TABLES = [
  ...['auth_user', 'main_organization', 'service_role', 'main_host', 'conf_setting'],
  'main_oauth2accesstoken',
];

describe('bearer tokens', () => {
  const { service, admin } = useService(() => ({ now: () => new Date(Date.now() + ahead) }));
  let ahead = 0;
  const issue = async (more: object = {}) => (await admin.post('/api/v2/tokens/', more)).json;
  const me = (token: string) => new Client(service.url, bearer(token)).get('/api/v2/me/');

  beforeAll(async () => {
    await issue();
  });

  it('let their owner in, and nobody else in', async () => {
    const { token } = await issue();
    expect((await me(token)).json.results[0]?.username).toBe('admin');
    for (const wrong of [
      `${token}x`,
      token.slice(1),
      token.toLowerCase(),
      createHash('sha256').update(token).digest('hex'),
    ]) {
      expect((await me(wrong)).status).toBe(401);
    }
  });

  it('are kept as SHA-256 only', async () => {
    const { id, token } = await issue();
    const [row] = await service.database.query<{ token: string }>(
      'SELECT token FROM main_oauth2accesstoken WHERE id = $1',
      [id],
    );
    expect(row?.token).toBe(createHash('sha256').update(token).digest('hex'));
  });

  it('with the scope read change nothing, anywhere', async () => {
    const reader = new Client(service.url, bearer((await issue({ scope: 'read' })).token));
    const content = async () =>
      JSON.stringify(
        await Promise.all(
          TABLES.map((table) =>
            service.database.query(`SELECT to_jsonb(x) - 'last_used' AS row FROM ${table} x ORDER BY 1`),
          ),
        ),
      );
    const before = await content();
    for (const [method, path, json] of CHANGES) {
      const answer = await reader.send(method, path, { json });
      expect([method, path, answer.status]).toEqual([method, path, 403]);
    }
    expect(await content()).toBe(before);
    for (const path of ['/api/v2/tokens/', '/api/v2/users/', '/api/v2/settings/all/', '/api/v2/hosts/']) {
      expect((await reader.get(path)).status).toBe(200);
    }
  });

  it('with the scope write, or both, change things and read them', async () => {
    for (const scope of ['write', 'read write', 'write read']) {
      const writer = new Client(service.url, bearer((await issue({ scope })).token));
      expect((await writer.get('/api/v2/tokens/')).status).toBe(200);
      expect((await writer.post('/api/v2/tokens/', { scope: 'read' })).status).toBe(201);
    }
  });

  it('end with their expiry, their deletion and their owner', async () => {
    const mortal = await issue();
    await service.database.execute('UPDATE main_oauth2accesstoken SET expires = $2 WHERE id = $1', [
      mortal.id,
      new Date(Date.now() + ahead + 60_000),
    ]);
    expect((await me(mortal.token)).status).toBe(200);
    ahead += 61_000;
    expect((await me(mortal.token)).status).toBe(401);

    const deleted = await issue();
    await admin.delete(`/api/v2/tokens/${deleted.id}/`);
    expect((await me(deleted.token)).status).toBe(401);

    const owner = await admin.post('/api/v2/users/', { username: 'lou', password: 'lou-password' });
    const lou = new Client(service.url, basic('lou', 'lou-password'));
    const { token } = (await lou.post('/api/v2/tokens/')).json;
    await admin.patch(`/api/v2/users/${owner.json.id}/`, { is_active: false });
    expect((await me(token)).status).toBe(401);
    await admin.patch(`/api/v2/users/${owner.json.id}/`, { is_active: true });
    expect((await me(token)).status).toBe(200);
    await admin.delete(`/api/v2/users/${owner.json.id}/`);
    expect((await me(token)).status).toBe(401);
  });

  it('are refused in the query string (RFC 9700 §4.3.2)', async () => {
    const { token } = await issue();
    const nobody = new Client(service.url);
    expect((await nobody.get(`/api/v2/me/?access_token=${token}`)).status).toBe(400);
    expect((await nobody.get(`/api/v2/me/?a=b?c&access_token=${token}`)).status).toBe(400);
  });

  it('that are invalid fall back to the session', async () => {
    const browser = new Client(service.url, bearer('nonsense'));
    await browser.logIn(ADMIN.username, ADMIN.password);
    expect((await browser.get('/api/v2/me/')).status).toBe(200);
  });

  it('need no CSRF token, and get no more from a session beside them than their scope', async () => {
    const browser = new Client(service.url, bearer((await issue({ scope: 'read' })).token));
    await browser.logIn(ADMIN.username, ADMIN.password);
    const headers = { 'x-csrftoken': browser.cookies.get('csrftoken') ?? '' };
    expect((await browser.send('POST', '/api/v2/tokens/', { json: {}, headers })).status).toBe(403);
  });

  it('note their use, at most once a minute', async () => {
    const { id, token } = await issue();
    const lastUsed = async () => {
      const [row] = await service.database.query<{ last_used: Date | null; version: string }>(
        'SELECT last_used, xmin::text AS version FROM main_oauth2accesstoken WHERE id = $1',
        [id],
      );
      return row;
    };
    expect((await lastUsed())?.last_used).toBeNull();
    await me(token);
    const first = await lastUsed();
    expect(first?.last_used).toBeInstanceOf(Date);
    ahead += 50_000;
    await Promise.all([me(token), me(token), me(token)]);
    expect(await lastUsed()).toEqual(first);
    ahead += 11_000;
    await me(token);
    expect((await lastUsed())?.last_used?.getTime()).toBeGreaterThan(
      (first?.last_used?.getTime() ?? 0) + 60_000,
    );
  });
});
