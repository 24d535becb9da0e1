import { beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, Client, useService } from './support/service.ts';

const MAX_PARAMETERS = 1_000;
const MAX_JSON_VALUES = 10_000;
const JSON_TYPE = { 'content-type': 'application/json' };
const repeated = (count: number) => Array.from({ length: count }, () => 'a').join('&');

describe('limits of parameters', () => {
  const { service, admin } = useService();
  let stranger: Client;

  beforeAll(async () => {
    stranger = new Client(service.url);
  });

  it.each(['token', 'introspect', 'revoke_token'])(
    'refuses a form of %s with one name repeated',
    async (name) => {
      const { status, json } = await stranger.send('POST', `/api/o/${name}/`, { form: repeated(500_000) });
      expect(status).toBe(400);
      expect(json).toMatchObject({
        error: 'invalid_request',
        error_description: `The form has more than ${MAX_PARAMETERS} parameters.`,
      });
    },
  );

  it('takes as many parameters as are allowed', async () => {
    const form = `grant_type=password&${repeated(MAX_PARAMETERS - 1)}`;
    const { json } = await stranger.send('POST', '/api/o/token/', { form });
    expect(json).toMatchObject({ error: 'invalid_client' });
  });

  it('refuses the login form and the path after the login', async () => {
    const { status } = await stranger.send('POST', '/api/login/', { form: repeated(500_000) });
    expect(status).toBe(400);
    const next = encodeURIComponent(`/api/o/authorize/?${repeated(2_000)}`);
    expect((await stranger.get(`/api/login/?next=${next}`)).status).toBe(400);
  });

  it('ignores a path after the login that no browser could request', async () => {
    const client = new Client(service.url);
    await client.get('/api/login/');
    const form = new URLSearchParams({
      ...{ username: 'nobody', password: 'wrong', next: `/api/o/authorize/?${'a'.repeat(500_000)}` },
      csrfmiddlewaretoken: client.cookies.get('csrftoken') ?? '',
    });
    const { status, text } = await client.send('POST', '/api/login/', { form: form.toString() });
    expect(status).toBe(401);
    expect(text).not.toContain('authorize');
  });

  it('refuses queries and cookies', async () => {
    for (const path of ['/api/v2/users/', '/api/o/authorize/', '/sso/login/saml/', '/', '/nothing/']) {
      const { status } = await admin.get(`${path}?${repeated(2_000)}`);
      expect(`${path} ${status}`).toBe(`${path} 400`);
    }
    const cookie = Array.from({ length: 2_000 }, (_, n) => `${n}=`).join('; ');
    const { status, json } = await admin.get('/api/v2/me/', { headers: { cookie } });
    expect(status).toBe(400);
    expect(json.detail).toBe(`The Cookie header has more than ${MAX_PARAMETERS} parameters.`);
  });

  it('refuses JSON with too many values, or nested too deep', async () => {
    const many = JSON.stringify(
      Object.fromEntries(Array.from({ length: MAX_JSON_VALUES + 1 }, (_, n) => [`a${n}`, n])),
    );
    const lists = JSON.stringify({ username: Array.from({ length: MAX_JSON_VALUES + 1 }, () => 1) });
    for (const raw of [many, lists]) {
      const { status, json } = await admin.send('POST', '/api/v2/users/', { raw, headers: JSON_TYPE });
      expect(status).toBe(400);
      expect(json.detail).toBe(`JSON parse error: the body has more than ${MAX_JSON_VALUES} values.`);
    }
    const deep = `{"username":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    const { status, json } = await admin.send('POST', '/api/v2/users/', { raw: deep, headers: JSON_TYPE });
    expect(status).toBe(400);
    expect(json.detail).toBe('JSON parse error: the body is nested deeper than 100 levels.');
    const text = JSON.stringify({ username: `${',[{"'.repeat(20_000)}` });
    expect(
      (await admin.send('POST', '/api/v2/users/', { raw: text, headers: JSON_TYPE })).json,
    ).toHaveProperty('username');
  });

  it('refuses half of a character, which would be stored as another one', async () => {
    for (const raw of [
      '{"username": "a\\ud83d", "password": "long enough"}',
      '{"username": "lone", "password": "\\uDE00 is not a password"}',
      '{"username": "lone", "password": "long enough", "\\udfff": [{"x": 1}]}',
    ]) {
      const { status, json } = await admin.send('POST', '/api/v2/users/', { raw, headers: JSON_TYPE });
      expect([raw, status, json.detail]).toEqual([raw, 400, expect.stringContaining('lone surrogate')]);
    }
    const raw = '{"username": "pair", "password": "long enough", "first_name": "\\ud83d\\ude00 \\\\ud83d"}';
    const whole = await admin.send('POST', '/api/v2/users/', { raw, headers: JSON_TYPE });
    expect([whole.status, whole.json['first_name']]).toEqual([201, '😀 \\ud83d']);
  });

  it('refuses a scope of thousands of words', async () => {
    const { json: client } = await admin.post('/api/v2/applications/', {
      ...{ name: 'parser', organization: 1, client_type: 'public', authorization_grant_type: 'password' },
    });
    const form = {
      ...{ grant_type: 'password', client_id: String(client['client_id']), ...ADMIN },
      scope: 'read '.repeat(150_000),
    };
    const { status, json } = await stranger.send('POST', '/api/o/token/', { form });
    expect([status, json['error']]).toEqual([400, 'invalid_scope']);
    const few = await stranger.send('POST', '/api/o/token/', { form: { ...form, scope: 'read write read' } });
    expect(few.json['scope']).toBe('read write read');
  });
});
