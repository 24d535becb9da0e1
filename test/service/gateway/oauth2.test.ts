import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer, Client, DATABASES } from '../../support/service.ts';
import { API, Gateway, LOGIN, PASSWORD } from './world.ts';

const CALLBACK = 'http://127.0.0.1:9999/cb';

describe.each(DATABASES)('OAuth2 of the gateway dialect on %s', (kind) => {
  let gateway: Gateway;
  let clientId: string;
  beforeAll(async () => {
    gateway = await Gateway.start(kind);
    await gateway.user('alice');
    ({ clientId } = await gateway.application('robot'));
  });
  afterAll(() => gateway.service.close());

  const post = (path: string, form: Readonly<Record<string, string>>) =>
    gateway.stranger().send('POST', path, { form: { ...form, client_id: clientId } });
  const password = () =>
    post('/o/token/', { grant_type: 'password', username: 'alice', password: PASSWORD, scope: 'read' });

  it('grants tokens with 201, for a year, and refuses as RFC 6749 says', async () => {
    const { status, json } = await password();
    expect([status, json['expires_in'], json['scope']]).toEqual([201, 31_536_000, 'read']);
    const caller = new Client(gateway.service.url, bearer(String(json['access_token'])));
    expect((await caller.get(`${API}me/`)).json.results).toMatchObject([{ username: 'alice' }]);
    const wrong = await post('/o/token/', { grant_type: 'password', username: 'alice', password: 'x' });
    expect([wrong.status, wrong.json['error']]).toEqual([400, 'invalid_grant']);
  });

  it('refreshes and revokes', async () => {
    const first = (await password()).json;
    const refresh = (value: unknown) =>
      post('/o/token/', { grant_type: 'refresh_token', refresh_token: String(value) });
    const second = await refresh(first['refresh_token']);
    expect(second.status).toBe(201);
    expect((await refresh(first['refresh_token'])).status).toBe(400);
    const third = (await password()).json;
    expect((await post('/o/revoke_token/', { token: String(third['access_token']) })).status).toBe(200);
    const caller = new Client(gateway.service.url, bearer(String(third['access_token'])));
    expect((await caller.get(`${API}me/`)).status).toBe(401);
  });

  it('has no introspection, and says so in its metadata', async () => {
    expect((await post('/o/introspect/', { token: 'x' })).status).toBe(404);
    const { json } = await gateway.stranger().get('/.well-known/oauth-authorization-server');
    expect(json['token_endpoint']).toBe(`${gateway.service.url}/o/token/`);
    expect(Object.keys(json).filter((name) => name.startsWith('introspection'))).toEqual([]);
    expect((await gateway.stranger().get('/o/')).json).toMatchObject({ revoke_token: '/o/revoke_token/' });
  });

  it('asks for a login and for consent at its own addresses', async () => {
    const { json } = await gateway.admin.post(`${API}applications/`, {
      name: 'site',
      organization: 1,
      client_type: 'confidential',
      authorization_grant_type: 'authorization-code',
      redirect_uris: CALLBACK,
    });
    const asked = `/o/authorize/?response_type=code&client_id=${json['client_id']}&redirect_uri=${CALLBACK}`;
    const browser = gateway.stranger();
    expect((await browser.get(asked)).headers.location).toMatch(`${LOGIN}?next=/o/authorize/`);
    await browser.logIn('alice', PASSWORD, { path: LOGIN });
    const page = await browser.get(asked);
    expect(page.text).toContain('action="/o/authorize/"');
    const hidden = [...page.text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const form = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
    const answer = await browser.send('POST', '/o/authorize/', {
      form: { ...form, allow: 'Authorize' },
      headers: { origin: gateway.service.url },
    });
    const code = new URL(String(answer.headers.location)).searchParams.get('code') ?? '';
    const granted = await gateway.stranger().send('POST', '/o/token/', {
      form: {
        grant_type: 'authorization_code',
        code,
        redirect_uri: CALLBACK,
        client_id: String(json['client_id']),
        client_secret: String(json['client_secret']),
      },
    });
    expect(granted.status).toBe(201);
  });
});
