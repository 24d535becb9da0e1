import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthorizationServer, pairOf, type Registered } from './authorization-server.ts';

describe('revocation, introspection and metadata', () => {
  let server: AuthorizationServer;
  let app: Registered;
  let other: Registered;
  let open: Registered;
  beforeAll(async () => {
    server = await AuthorizationServer.start();
    const password = { authorization_grant_type: 'password' };
    app = await server.register('password app', password);
    other = await server.register('another', password);
    open = await server.register('public app', { ...password, client_type: 'public' });
  });
  afterAll(() => server.close());
  const revoke = (form: Record<string, string>, client?: Registered) =>
    server.post('/api/o/revoke_token/', form, client);
  const introspect = async (token: string, client: Registered) =>
    (await server.post('/api/o/introspect/', { token }, client)).json;

  it.each(['access', 'refresh'] as const)('ends both tokens of a pair by its %s token', async (which) => {
    const pair = await server.passwordPair(app);
    const answer = await revoke({ token: pair[which], token_type_hint: 'nonsense' }, app);
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([
      200,
      '',
      'text/html; charset=utf-8',
    ]);
    expect(await server.statusOf(pair.access)).toBe(401);
    const refreshed = await server.refresh(pair.refresh, app);
    expect([refreshed.status, refreshed.json]).toEqual([400, { error: 'invalid_grant' }]);
  });

  it('takes a public client by its id', async () => {
    const form = { grant_type: 'password', username: 'alice', client_id: open.clientId };
    const { access } = pairOf(await server.token({ ...form, password: 'alice’s pass+word %&' }));
    expect((await revoke({ token: access, client_id: open.clientId })).status).toBe(200);
    expect(await server.statusOf(access)).toBe(401);
  });

  it('refuses another client and an unknown one (RFC 7009 §2.1)', async () => {
    const pair = await server.passwordPair(app);
    for (const token of [pair.access, pair.refresh]) {
      const answer = await revoke({ token }, other);
      expect([answer.status, answer.json['error']]).toEqual([400, 'invalid_grant']);
      expect((await revoke({ token, client_id: open.clientId })).status).toBe(400);
      expect((await revoke({ token })).json).toEqual({ error: 'invalid_client' });
    }
    const personal = (await server.admin.post('/api/v2/tokens/')).json.token;
    expect((await revoke({ token: personal }, app)).status).toBe(400);
    expect(await server.statusOf(personal)).toBe(200);
    expect(await server.statusOf(pair.access)).toBe(200);
    expect((await server.refresh(pair.refresh, app)).status).toBe(200);
  });

  it('is content with a token that is not there (§2.2), and asks for one', async () => {
    expect((await revoke({ token: 'garbage' }, app)).status).toBe(200);
    expect((await revoke({}, app)).json['error']).toBe('invalid_request');
  });

  it('tells confidential clients about live tokens (RFC 7662)', async () => {
    const { access, refresh } = await server.passwordPair(app);
    const facts = {
      active: true,
      scope: 'write',
      client_id: app.clientId,
      username: 'alice',
      exp: expect.any(Number),
      iat: expect.any(Number),
      sub: String(server.aliceId),
      iss: server.service.url,
    };
    expect(await introspect(access, other)).toEqual({ ...facts, token_type: 'Bearer' });
    expect(await introspect(refresh, app)).toEqual(facts);
    expect(await introspect(refresh, other)).toEqual({ active: false });
    expect(await introspect('garbage', app)).toEqual({ active: false });
    const personal = (await server.admin.post('/api/v2/tokens/')).json.token;
    expect(await introspect(personal, app)).toMatchObject({ active: true, username: 'admin' });
    const asPublic = await server.post('/api/o/introspect/', { token: access, client_id: open.clientId });
    expect([asPublic.status, asPublic.json]).toEqual([401, { error: 'invalid_client' }]);
    await revoke({ token: access }, app);
    for (const token of [access, refresh]) expect(await introspect(token, app)).toEqual({ active: false });
  });

  it('says at the well-known address what it can do (RFC 8414)', async () => {
    const { json } = await server.admin.get('/.well-known/oauth-authorization-server');
    const { url } = server.service;
    expect(json).toMatchObject({
      issuer: url,
      authorization_endpoint: `${url}/api/o/authorize/`,
      token_endpoint: `${url}/api/o/token/`,
      revocation_endpoint: `${url}/api/o/revoke_token/`,
      introspection_endpoint: `${url}/api/o/introspect/`,
      response_types_supported: ['code'],
      grant_types_supported: ['password', 'authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256', 'plain'],
      authorization_response_iss_parameter_supported: true,
    });
  });
});
