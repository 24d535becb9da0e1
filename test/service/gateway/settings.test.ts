import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, basic, Client, DATABASES } from '../../support/service.ts';
import { API, Gateway, LOGIN } from './world.ts';

const SETTINGS = `${API}settings/`;
const METHODS = ['GET', 'PUT', 'DELETE', 'OPTIONS'];

describe.each(DATABASES)('settings of the gateway dialect on %s', (kind) => {
  let gateway: Gateway;
  /** The superuser with a token, which no setting here ends. */
  let root: Client;
  beforeAll(async () => {
    gateway = await Gateway.start(kind);
    root = (await gateway.token({ scope: 'write' })).client;
  });
  afterEach(() => root.delete(`${SETTINGS}all/`));
  afterAll(() => gateway.service.close());

  it('stand in sections, with the defaults of a gateway', async () => {
    const { results } = (await root.get(SETTINGS)).json;
    const names = results.map((section) => String(section['name']));
    expect(names).toEqual(['all', 'configuration', 'local_login', 'oauth2_provider', 'proxy']);
    const parts = await Promise.all(
      names.slice(1).map(async (name) => (await root.get(`${SETTINGS}${name}/`)).json),
    );
    expect(Object.assign({}, ...parts)).toEqual((await root.get(`${SETTINGS}all/`)).json);
    expect((await root.get(`${SETTINGS}all/`)).json).toMatchObject({
      SESSION_COOKIE_AGE: 900,
      gateway_basic_auth_enabled: true,
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
      LOGIN_REDIRECT_OVERRIDE: '',
    });
    expect((await root.get(`${SETTINGS}nothing/`)).status).toBe(404);
  });

  it('are changed in part by PUT, which answers with the section, and by nothing else', async () => {
    const answer = await root.put(`${SETTINGS}configuration/`, { SESSION_COOKIE_AGE: '120' });
    expect([answer.status, answer.json]).toEqual([
      200,
      { SESSION_COOKIE_AGE: 120, DEFAULT_PAGE_SIZE: 50, MAX_PAGE_SIZE: 200 },
    ]);
    expect((await root.put(`${SETTINGS}all/`, { LOGIN_REDIRECT_OVERRIDE: '/sso' })).json).toMatchObject({
      SESSION_COOKIE_AGE: 120,
      LOGIN_REDIRECT_OVERRIDE: '/sso',
    });
    for (const method of ['PATCH', 'POST'])
      expect((await root.send(method, `${SETTINGS}all/`, { json: {} })).status).toBe(405);
  });

  it.each([
    ['an unknown name', { NOBODY: 1 }],
    ['a name of another section', { gateway_basic_auth_enabled: false }],
    ['a read-only one', { DEFAULT_PAGE_SIZE: 10 }],
    ['one too small', { SESSION_COOKIE_AGE: 59 }],
    ['one of the wrong type', { SESSION_COOKIE_AGE: 'x' }],
    ['none', { SESSION_COOKIE_AGE: null }],
  ])('refuse %s, and then change nothing', async (_what, body) => {
    const before = (await root.get(`${SETTINGS}all/`)).text;
    const answer = await root.put(`${SETTINGS}configuration/`, { SESSION_COOKIE_AGE: 700, ...body });
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, Object.keys(body)]);
    expect((await root.get(`${SETTINGS}all/`)).text).toBe(before);
  });

  it('go back to the defaults with DELETE, a section at a time', async () => {
    await root.put(`${SETTINGS}all/`, { SESSION_COOKIE_AGE: 70, password_min_length: 5 });
    expect((await root.delete(`${SETTINGS}configuration/`)).json).toEqual({
      unchanged: { DEFAULT_PAGE_SIZE: 'read_only', MAX_PAGE_SIZE: 'read_only' },
      reverted: { SESSION_COOKIE_AGE: 900 },
    });
    expect((await root.get(`${SETTINGS}all/`)).json).toMatchObject({
      SESSION_COOKIE_AGE: 900,
      password_min_length: 5,
    });
    expect((await root.delete(`${SETTINGS}configuration/`)).json['reverted']).toEqual({});
  });

  it('have one row each: none beside a gateway’s by the name that a controller has for it', async () => {
    const { database } = gateway.service;
    const add = (key: string) =>
      database.execute(
        "INSERT INTO conf_setting (key, value, created, modified) VALUES ($1, 'true', now(), now())",
        [key],
      );
    await expect(add('AUTH_BASIC_ENABLED')).rejects.toThrow(/service_setting_is_no_preference/);
    await expect(add('LOCAL_PASSWORD_MIN_LENGTH')).rejects.toThrow(/service_setting_is_no_preference/);
    await add('A_SETTING_OF_THE_SERVICE');
    expect(
      await database.query(
        "SELECT FROM conf_setting WHERE key IN ('AUTH_BASIC_ENABLED', 'A_SETTING_OF_THE_SERVICE')",
      ),
    ).toHaveLength(2);
    await database.execute("DELETE FROM conf_setting WHERE key = 'A_SETTING_OF_THE_SERVICE'");
  });

  it('hold at once: Basic authentication, sessions and passwords', async () => {
    const withPassword = new Client(gateway.service.url, basic(ADMIN.username, ADMIN.password));
    const browser = gateway.stranger();
    await browser.logIn(ADMIN.username, ADMIN.password, { path: LOGIN });
    expect((await browser.get(`${API}me/`)).headers['session-timeout']).toBe('900');
    await root.put(`${SETTINGS}configuration/`, { SESSION_COOKIE_AGE: 120 });
    expect((await browser.get(`${API}me/`)).headers['session-timeout']).toBe('120');
    expect((await withPassword.get(`${API}me/`)).status).toBe(200);
    await root.put(`${SETTINGS}proxy/`, { gateway_basic_auth_enabled: false });
    expect((await withPassword.get(`${API}me/`)).status).toBe(401);
    expect((await withPassword.get(`${SETTINGS}all/`)).status).toBe(403);
    await root.put(`${SETTINGS}local_login/`, { password_min_length: 9 });
    expect((await root.post(`${API}users/`, { username: 'short', password: 'short' })).json).toHaveProperty(
      'password',
    );
  });

  it('refuse tokens to users of an identity provider unless they are allowed', async () => {
    const { id, client } = await gateway.user('external');
    await gateway.service.database.execute(
      "INSERT INTO dab_authentication_authenticatoruser (provider_id, uid, user_id) VALUES ('github', '7', $1)",
      [id],
    );
    expect((await client.post(`${API}tokens/`, { scope: 'read' })).status).toBe(403);
    await root.put(`${SETTINGS}oauth2_provider/`, { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
    expect((await client.post(`${API}tokens/`, { scope: 'read' })).status).toBe(201);
    expect((await client.get(`${API}me/`)).json.results[0]).toMatchObject({
      associated_authenticators: { github: { uid: '7' } },
    });
  });

  it('are read by auditors, written by superusers, and closed to all others: 403', async () => {
    const auditor = (await gateway.user('auditor', { is_platform_auditor: true })).client;
    const plain = (await gateway.user('plain')).client;
    for (const method of METHODS) {
      const path = `${SETTINGS}proxy/`;
      const answer = (client: Client) => client.send(method, path, { json: {} });
      const reads = method === 'GET' || method === 'OPTIONS';
      expect([method, (await answer(auditor)).status]).toEqual([method, reads ? 200 : 403]);
      expect([method, (await answer(plain)).status]).toEqual([method, 403]);
      expect([method, (await answer(gateway.stranger())).status]).toEqual([method, 403]);
    }
    expect((await gateway.stranger().get(SETTINGS)).status).toBe(403);
    const { actions } = (await root.send('OPTIONS', `${SETTINGS}proxy/`)).json as unknown as {
      actions: Record<string, Record<string, unknown>>;
    };
    expect(actions['PUT']?.['gateway_basic_auth_enabled']).toMatchObject({ type: 'boolean', default: true });
    const seen = (await auditor.send('OPTIONS', `${SETTINGS}proxy/`)).json['actions'];
    expect(Object.keys(seen as object)).toEqual(['GET']);
  });
});
