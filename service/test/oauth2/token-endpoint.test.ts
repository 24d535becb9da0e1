import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, Client } from '../support/service.ts';
import { ALICE_CREDENTIALS, AuthorizationServer, pairOf, type Registered } from './authorization-server.ts';

const PASSWORD = { grant_type: 'password', ...ALICE_CREDENTIALS };

describe('the token endpoint', () => {
  let server: AuthorizationServer;
  let app: Registered;
  let open: Registered;
  beforeAll(async () => {
    server = await AuthorizationServer.start();
    app = await server.register('password app', { authorization_grant_type: 'password' });
    open = await server.register('public app', {
      authorization_grant_type: 'password',
      client_type: 'public',
    });
  });
  afterAll(() => server.close());
  const inBody = ({ clientId, secret }: Registered) => ({ client_id: clientId, client_secret: secret });

  it('gives tokens for a password, of both scopes unless asked for one', async () => {
    const answer = await server.token(PASSWORD, app);
    expect(answer.json).toMatchObject({
      scope: 'read write',
      expires_in: 31_536_000_000,
      token_type: 'Bearer',
    });
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(await server.statusOf(pairOf(answer).access)).toBe(200);
    expect((await server.token({ ...PASSWORD, scope: 'read' }, app)).json['scope']).toBe('read');
  });

  it('knows a confidential client by header or body, a public one by its id in the body', async () => {
    expect((await server.token({ ...PASSWORD, ...inBody(app) })).status).toBe(200);
    expect((await server.token({ ...PASSWORD, client_id: open.clientId })).status).toBe(200);
    expect((await server.token({ ...PASSWORD, client_id: app.clientId }, app)).status).toBe(200);
  });

  it.each<[string, (app: Registered, open: Registered) => [Record<string, string>, Registered?]]>([
    ['no client', () => [{}]],
    ['an unknown client', (known) => [{}, { ...known, clientId: 'nobody' }]],
    ['a wrong secret', (known) => [{}, { ...known, secret: 'wrong' }]],
    ['a wrong secret in the body', (known) => [{ client_id: known.clientId, client_secret: 'wrong' }]],
    ['the stored form of nothing', (known) => [{}, { ...known, secret: '' }]],
    ['a confidential client without its secret', (known) => [{ client_id: known.clientId }]],
    ['a public client by header', (_, known) => [{}, { ...known, secret: '' }]],
    ['a public client with a secret', (_, known) => [{ client_id: known.clientId, client_secret: 'x' }]],
    ['a client id with a NUL', (known) => [{}, { ...known, clientId: '%00' }]],
    ['a header that cannot be decoded', (known) => [{}, { ...known, clientId: '%zz' }]],
  ])('refuses %s, always in the same words', async (_, sent) => {
    const [form, client] = sent(app, open);
    const answer = await server.token({ ...PASSWORD, ...form }, client);
    expect([answer.status, answer.json]).toEqual([401, { error: 'invalid_client' }]);
    expect(answer.headers['www-authenticate']).toBe('Bearer error="invalid_client"');
  });

  it('refuses two methods of client authentication at once (RFC 6749 §2.3)', async () => {
    const wrong = { ...inBody(app), client_secret: 'wrong' };
    for (const more of [wrong, inBody(open), { ...inBody(app), client_id: open.clientId }]) {
      const answer = await server.token({ ...PASSWORD, ...more }, app);
      expect([answer.status, answer.json['error']]).toEqual([400, 'invalid_request']);
    }
  });

  it('takes equal credentials in the header and in the body, and refuses them if they are wrong', async () => {
    expect((await server.token({ ...PASSWORD, ...inBody(app) }, app)).status).toBe(200);
    const wrong = { ...app, secret: 'wrong' };
    const answer = await server.token({ ...PASSWORD, ...inBody(wrong) }, wrong);
    expect([answer.status, answer.json['error']]).toEqual([401, 'invalid_client']);
  });

  it('takes a parameter that is repeated with the same value, as Authlib sends client_id', async () => {
    const form = new URLSearchParams(PASSWORD).toString();
    const answer = await server.post('/api/o/token/', `${form}&grant_type=password`, app);
    expect(answer.status).toBe(200);
  });

  it('refuses different values of a parameter (§3.2), parameters in the query string, and a NUL', async () => {
    const form = new URLSearchParams(PASSWORD).toString();
    const sent = [
      server.post('/api/o/token/', `${form}&grant_type=refresh_token`, app),
      server.post('/api/o/token/', `${form}&scope=read&scope=write`, app),
      server.post('/api/o/token/', `${form}&scope=read&scope=`, app),
      server.post(`/api/o/token/?${form}`, '', app),
      server.post(`/api/o/token/?scope=read`, form, app),
      server.post('/api/o/token/', `${form}%00`, app),
    ];
    for (const answer of await Promise.all(sent)) {
      expect([answer.status, answer.json['error']]).toEqual([400, 'invalid_request']);
    }
  });

  it('takes an empty parameter for one that is left out (§3.2)', async () => {
    const answer = await server.token({ ...PASSWORD, password: '' }, app);
    expect([answer.status, answer.json['error']]).toEqual([400, 'invalid_request']);
  });

  it.each([
    [{}, 'unsupported_grant_type'],
    [{ grant_type: 'magic' }, 'unsupported_grant_type'],
    [{ grant_type: 'client_credentials' }, 'unauthorized_client'],
    [{ grant_type: 'authorization_code', code: 'x' }, 'unauthorized_client'],
    [{ ...PASSWORD, scope: 'admin' }, 'invalid_scope'],
    [{ ...PASSWORD, scope: '' }, 'invalid_scope'],
    [{ ...PASSWORD, scope: '  ' }, 'invalid_scope'],
    [{ ...PASSWORD, username: '' }, 'invalid_request'],
    [{ grant_type: 'refresh_token' }, 'invalid_request'],
    [{ grant_type: 'refresh_token', refresh_token: 'garbage' }, 'invalid_grant'],
  ])('answers %j with %s', async (form, error) => {
    const answer = await server.token(form as Record<string, string>, app);
    expect([answer.status, answer.json['error']]).toEqual([400, error]);
  });

  it('reads forms only', async () => {
    const headers = basic(app.clientId, app.secret);
    const answer = await new Client(server.service.url, headers).post('/api/o/token/', PASSWORD);
    expect([answer.status, answer.json]).toEqual([400, { error: 'unsupported_grant_type' }]);
    const other = await new Client(server.service.url).get('/api/o/token/');
    expect([other.status, other.headers.allow]).toEqual([405, 'POST, OPTIONS']);
  });

  it('refuses a wrong password, an unknown user and a deactivated one in the same words', async () => {
    const wrong = await server.token({ ...PASSWORD, password: 'wrong' }, app);
    const unknown = await server.token({ ...PASSWORD, username: 'nobody' }, app);
    const set = (is_active: boolean) => server.admin.patch(`/api/v2/users/${server.aliceId}/`, { is_active });
    await set(false);
    const inactive = await server.token(PASSWORD, app);
    await set(true);
    const words = { error: 'invalid_grant', error_description: 'Invalid credentials given.' };
    for (const answer of [wrong, unknown, inactive]) {
      expect([answer.status, answer.json]).toEqual([400, words]);
    }
  });

  it('refuses a user of an identity provider while ALLOW_OAUTH2_FOR_EXTERNAL_USERS is off', async () => {
    const { database } = server.service;
    const link =
      "INSERT INTO social_auth_usersocialauth (provider, uid, user_id) VALUES ('github', 'alice', $1)";
    await database.execute(link, [server.aliceId]);
    const answer = await server.token(PASSWORD, app);
    expect([answer.status, answer.text.slice(0, 15)]).toEqual([403, '(access_denied)']);
    await server.admin.patch('/api/v2/settings/authentication/', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
    expect((await server.token(PASSWORD, app)).status).toBe(200);
    await server.admin.delete('/api/v2/settings/authentication/');
    await database.execute('DELETE FROM social_auth_usersocialauth');
  });

  it('works with AUTH_BASIC_ENABLED off, and not for local users with DISABLE_LOCAL_AUTH on', async () => {
    await server.admin.patch('/api/v2/settings/authentication/', { AUTH_BASIC_ENABLED: false });
    expect((await server.token(PASSWORD, app)).status).toBe(200);
    const { database } = server.service;
    await database.execute('DELETE FROM conf_setting');
    await database.execute("INSERT INTO conf_setting (key, value) VALUES ('DISABLE_LOCAL_AUTH', 'true')");
    expect((await server.token(PASSWORD, app)).json['error']).toBe('invalid_grant');
    await database.execute('DELETE FROM conf_setting');
  });
});
