import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../support/service.ts';
import {
  AuthorizationServer,
  CALLBACK,
  CHALLENGE,
  codeRequest,
  hiddenFields,
  type Registered,
} from './authorization-server.ts';

describe('the authorization endpoint', () => {
  let server: AuthorizationServer;
  let app: Registered;
  beforeAll(async () => {
    server = await AuthorizationServer.start();
    app = await server.register('A <b>app</b> & "co"');
  });
  afterAll(() => server.close());
  const location = (answer: { headers: { location?: string | undefined } }) =>
    String(answer.headers.location);

  it('sends who is not logged in to the login page, and back', async () => {
    const path = `/api/o/authorize/?response_type=code&client_id=${app.clientId}&state=x%20y`;
    const next = `/api/login/?next=/api/o/authorize/%3Fresponse_type%3Dcode%26client_id%3D${app.clientId}%26state%3Dx%2520y`;
    const browser = new Client(server.service.url);
    for (const headers of [{}, { authorization: 'Basic YWRtaW46Y29ycmVjdCBob3JzZQ==' }]) {
      const answer = await browser.get(path, { headers });
      expect([answer.status, answer.headers.location]).toEqual([302, next]);
    }
    const page = await browser.get(next);
    expect(hiddenFields(page)['next']).toBe(path);
    // Browsers apply the login form's policy to the redirects after it, which may end at the client.
    expect(page.headers['content-security-policy']).toContain("form-action 'self' http://127.0.0.1:9999;");
    const foreign = encodeURIComponent(`${path}&redirect_uri=http://evil.example/cb`);
    const refused = await browser.get(`/api/login/?next=${foreign}`);
    expect(refused.headers['content-security-policy']).toContain("form-action 'self';");
  });

  it('answers a loopback redirect URI whose port is out of range as one that is not registered', async () => {
    const native = await server.register('Native', {
      client_type: 'public',
      redirect_uris: 'http://127.0.0.1/cb',
    });
    const browser = new Client(server.service.url);
    const status = async (port: number) => {
      const path = `/api/o/authorize/?response_type=code&client_id=${native.clientId}&redirect_uri=http://127.0.0.1:${port}/cb`;
      const page = await browser.get(`/api/login/?next=${encodeURIComponent(path)}`);
      return [page.status, page.headers['content-security-policy']];
    };
    expect(await status(65535)).toEqual([200, expect.stringContaining("'self' http://127.0.0.1:65535;")]);
    for (const port of [65536, 99999]) {
      expect(await status(port)).toEqual([200, expect.stringContaining("form-action 'self';")]);
    }
  });

  it('asks the user, on a page that no other site can frame or script', async () => {
    const page = await server.authorize(codeRequest(app));
    expect(page.status).toBe(200);
    expect(page.text).toContain('A &lt;b&gt;app&lt;/b&gt; &amp; &quot;co&quot;');
    expect(page.text).toContain('<strong>alice</strong>');
    expect(page.text).not.toContain('<b>app');
    expect(page.headers).toMatchObject({
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'content-security-policy':
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' http://127.0.0.1:9999; base-uri 'none'; frame-ancestors 'none'",
    });
  });

  it('answers with a code, the state and the issuer (RFC 9207), and lets no address leak', async () => {
    const page = await server.authorize(codeRequest(app));
    const answer = await server.answerConsent(page, { allow: 'Authorize' });
    const issuer = encodeURIComponent(server.service.url);
    expect(answer.status).toBe(302);
    expect(location(answer)).toMatch(
      new RegExp(`^${CALLBACK}\\?code=[A-Za-z0-9]{30}&state=a\\+b%26c&iss=${issuer}$`),
    );
    expect(answer.headers['referrer-policy']).toBe('no-referrer');
  });

  it('answers with access_denied where the user cancels', async () => {
    const answer = await server.answerConsent(await server.authorize(codeRequest(app)), {});
    const url = new URL(location(answer));
    expect([url.searchParams.get('error'), url.searchParams.get('state')]).toEqual([
      'access_denied',
      'a b&c',
    ]);
  });

  it.each([
    ['without a token', { csrfmiddlewaretoken: '' }, {}],
    ['with a wrong token', { csrfmiddlewaretoken: 'x'.repeat(32) }, {}],
    ['from another site', {}, { origin: 'https://evil.example' }],
  ])('refuses an answer %s', async (_, more, headers) => {
    const page = await server.authorize(codeRequest(app));
    const form = { ...hiddenFields(page), allow: 'Authorize', ...more };
    const answer = await server.alice.send('POST', '/api/o/authorize/', { form, headers });
    expect([answer.status, answer.headers.location]).toEqual([403, undefined]);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
  });

  it.each([
    'http://evil.example/cb',
    `${CALLBACK}/`,
    `${CALLBACK}?extra=1`,
    `${CALLBACK}#fragment`,
    `${CALLBACK}/../other`,
    'http://127.0.0.1:9999/CB',
    'http://127.0.0.1:9998/cb',
    'http://127.0.0.1:9999@evil.example/cb',
    'javascript:alert(1)',
    '//evil.example/cb',
  ])('does not redirect to %s, which is not registered', async (uri) => {
    const page = await server.authorize({ ...codeRequest(app), redirect_uri: uri });
    expect([page.status, page.headers.location]).toEqual([400, undefined]);
    expect(page.text).toContain('you were not redirected');
    const form = { ...hiddenFields(await server.authorize(codeRequest(app))), redirect_uri: uri, allow: 'x' };
    const answer = await server.alice.send('POST', '/api/o/authorize/', { form });
    expect([answer.status, answer.headers.location]).toEqual([400, undefined]);
  });

  it('tells the user, not the address, where the client is unknown, missing or repeated', async () => {
    const query = new URLSearchParams(codeRequest(app)).toString();
    const paths = [
      query.replace(app.clientId, 'nobody'),
      query.replace(app.clientId, ''),
      query.replace(app.clientId, '%00'),
      `${query}&client_id=${app.clientId}`,
      `${query}&redirect_uri=${encodeURIComponent(CALLBACK)}`,
    ];
    for (const path of paths) {
      const page = await server.alice.get(`/api/o/authorize/?${path}`);
      expect([page.status, page.headers.location]).toEqual([400, undefined]);
    }
  });

  it.each([
    [{ response_type: '' }, 'invalid_request'],
    [{ response_type: 'id_token' }, 'unsupported_response_type'],
    [{ response_type: 'token' }, 'unauthorized_client'],
    [{ scope: 'admin' }, 'invalid_scope'],
  ])('tells the client what is wrong with %j: %s', async (more, error) => {
    const url = new URL(location(await server.authorize({ ...codeRequest(app), ...more })));
    expect([url.searchParams.get('error'), url.searchParams.get('state')]).toEqual([error, 'a b&c']);
    expect(url.searchParams.get('iss')).toBe(server.service.url);
  });

  it('refuses a repeated parameter', async () => {
    const query = new URLSearchParams(codeRequest(app)).toString();
    const answer = await server.alice.get(`/api/o/authorize/?${query}&scope=write`);
    expect(new URL(location(answer)).searchParams.get('error')).toBe('invalid_request');
  });

  it('does not ask for a trusted application', async () => {
    const trusted = await server.register('trusted', { skip_authorization: true });
    const answer = await server.authorize(codeRequest(trusted));
    expect(location(answer)).toContain(`${CALLBACK}?code=`);
  });

  it('asks again unless the client wishes otherwise and has such a token already', async () => {
    const other = await server.register('asked before');
    const auto = { ...codeRequest(other), approval_prompt: 'auto' };
    expect((await server.authorize(auto)).status).toBe(200);
    await server.exchange(await server.code(other), other);
    expect((await server.authorize(auto)).status).toBe(302);
    expect((await server.authorize({ ...auto, scope: 'read write' })).status).toBe(200);
    expect((await server.authorize(codeRequest(other))).status).toBe(200);
  });

  it('lets an app on the user’s machine choose its port (RFC 8252 §7.3), and only that', async () => {
    const local = await server.register('local', { client_type: 'public' });
    const asked = (uri: string) =>
      server.authorize({ ...codeRequest(local), redirect_uri: uri, code_challenge: CHALLENGE });
    expect((await asked('http://127.0.0.1:4711/cb')).status).toBe(200);
    expect((await asked('http://127.0.0.1:4711/other')).status).toBe(400);
    expect((await asked('http://127.0.0.1.evil.example:4711/cb')).status).toBe(400);
  });

  it('has no implicit grant unless it was started with it', async () => {
    const answer = await server.admin.post('/api/v2/applications/', {
      name: 'implicit',
      organization: 1,
      client_type: 'public',
      authorization_grant_type: 'implicit',
      redirect_uris: CALLBACK,
    });
    expect(answer.status).toBe(400);
  });
});

describe('a service started with the implicit grant', () => {
  it('answers in the fragment, and never with a refresh token', async () => {
    const server = await AuthorizationServer.start({ allowImplicitGrant: true });
    const app = await server.register('implicit', {
      client_type: 'public',
      authorization_grant_type: 'implicit',
    });
    const request = { ...codeRequest(app), response_type: 'token' };
    const url = await server.allow(request);
    const answer = new URLSearchParams(url.hash.slice(1));
    expect([url.search, Object.fromEntries(answer)]).toEqual([
      '',
      {
        access_token: expect.stringMatching(/^[A-Za-z0-9]{30}$/),
        token_type: 'Bearer',
        expires_in: '31536000000',
        scope: 'read',
        state: 'a b&c',
        iss: server.service.url,
      },
    ]);
    expect(await server.statusOf(answer.get('access_token') ?? '')).toBe(200);
    expect(await server.service.database.query('SELECT FROM oauth2_provider_refreshtoken')).toEqual([]);
    const code = await server.allow({ ...request, response_type: 'code' });
    expect(new URLSearchParams(code.hash.slice(1)).get('error')).toBe('unauthorized_client');
    await server.close();
  });
});
