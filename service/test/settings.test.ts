import { afterEach, describe, expect, it } from 'vitest';
import { ADMIN, basic, Client, useService } from './support/service.ts';

const PATH = '/api/v2/settings/authentication/';
const DEFAULTS = {
  SESSION_COOKIE_AGE: 1800,
  SESSIONS_PER_USER: -1,
  DISABLE_LOCAL_AUTH: false,
  AUTH_BASIC_ENABLED: true,
  OAUTH2_PROVIDER: {
    ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
    REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
  },
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  LOGIN_REDIRECT_OVERRIDE: '',
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: false,
};

/** What each setting takes, and what it refuses. */
const CASES: readonly (readonly [key: string, good: readonly unknown[], bad: readonly unknown[]])[] = [
  ['SESSION_COOKIE_AGE', [60, 30_000_000_000, '90'], [59, 30_000_000_001, 'x', 1.5, true, [], null, '']],
  ['SESSIONS_PER_USER', [-1, 0, 5], [-2, 2 ** 31, {}, null]],
  ['AUTH_BASIC_ENABLED', [true, 'true', 1], ['maybe', 2, {}, null]],
  ['ALLOW_OAUTH2_FOR_EXTERNAL_USERS', [true, false, 'false'], ['x', []]],
  ['LOGIN_REDIRECT_OVERRIDE', ['', '/x'], [5, null, {}, 'a\0', '\ud800']],
  ['LOCAL_PASSWORD_MIN_LENGTH', [0], [-1, 'x']],
  [
    'OAUTH2_PROVIDER',
    [{}, { ACCESS_TOKEN_EXPIRE_SECONDS: 1 }],
    [null, [], 'x', 5, { other: 1 }, { constructor: 1 }],
  ],
  [
    'OAUTH2_PROVIDER',
    [{ REFRESH_TOKEN_EXPIRE_SECONDS: 250_000_000_000 }],
    [0, -1, 250_000_000_001, 1.5, null, 'x', {}, true].map((seconds) => ({
      ACCESS_TOKEN_EXPIRE_SECONDS: seconds,
    })),
  ],
];

describe('settings', () => {
  const { service, admin } = useService();

  afterEach(() => admin.delete(PATH));

  it('have the defaults of the controller, and DELETE restores them', async () => {
    expect((await admin.get(PATH)).json).toMatchObject(DEFAULTS);
    await admin.patch(PATH, { SESSION_COOKIE_AGE: 90, LOGIN_REDIRECT_OVERRIDE: 'https://sso.example/' });
    expect((await admin.get('/api/v2/settings/changed/')).json).toMatchObject({ SESSION_COOKIE_AGE: 90 });
    expect((await admin.delete(PATH)).status).toBe(204);
    expect((await admin.get(PATH)).json).toMatchObject(DEFAULTS);
  });

  it.each(CASES)('%s accepts valid values only', async (key, good, bad) => {
    for (const value of good)
      expect([value, (await admin.patch(PATH, { [key]: value })).status]).toEqual([value, 200]);
    const before = (await admin.get(PATH)).text;
    for (const value of bad)
      expect([value, (await admin.patch(PATH, { [key]: value })).status]).toEqual([value, 400]);
    expect((await admin.get(PATH)).text).toBe(before);
  });

  it('are written all or none', async () => {
    const answer = await admin.patch(PATH, { SESSIONS_PER_USER: 3, SESSION_COOKIE_AGE: 1 });
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, ['SESSION_COOKIE_AGE']]);
    expect((await admin.get(PATH)).json).toMatchObject(DEFAULTS);
  });

  it('ignore unknown keys, including prototypes', async () => {
    const raw = '{"__proto__": {"SESSIONS_PER_USER": 7}, "constructor": 1, "toString": 2, "NOBODY": 3}';
    const answer = await admin.send('PATCH', PATH, { raw, headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject(DEFAULTS);
    for (const category of ['__proto__', 'constructor', 'nothing']) {
      expect((await admin.get(`/api/v2/settings/${category}/`)).status).toBe(404);
    }
  });

  it('refuse to disable local accounts without an alternative', async () => {
    expect((await admin.patch(PATH, { DISABLE_LOCAL_AUTH: true })).status).toBe(400);
  });

  it('keep the lifetimes of two concurrent changes', async () => {
    for (let round = 1; round <= 10; round += 1) {
      await Promise.all([
        admin.patch(PATH, { OAUTH2_PROVIDER: { ACCESS_TOKEN_EXPIRE_SECONDS: round } }),
        admin.patch(PATH, { OAUTH2_PROVIDER: { REFRESH_TOKEN_EXPIRE_SECONDS: round } }),
        admin.patch(PATH, { OAUTH2_PROVIDER: { AUTHORIZATION_CODE_EXPIRE_SECONDS: round } }),
      ]);
      expect((await admin.get(PATH)).json['OAUTH2_PROVIDER']).toEqual({
        ACCESS_TOKEN_EXPIRE_SECONDS: round,
        AUTHORIZATION_CODE_EXPIRE_SECONDS: round,
        REFRESH_TOKEN_EXPIRE_SECONDS: round,
      });
    }
  });

  it('are not shown to users without permission, but described as on the controller', async () => {
    await admin.post('/api/v2/users/', { username: 'plain', password: 'plain-password' });
    const plain = new Client(service.url, basic('plain', 'plain-password'));
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      for (const path of [PATH, '/api/v2/settings/all/', '/api/v2/settings/nothing/']) {
        expect([method, path, (await plain.send(method, path)).status]).toEqual([method, path, 403]);
      }
    }
    const { status, json } = await plain.send('OPTIONS', PATH);
    expect([status, Object.keys(json['actions'] as object)]).toEqual([200, ['GET']]);
    expect((await plain.send('OPTIONS', '/api/v2/settings/nothing/')).status).toBe(404);
    expect((await plain.get('/api/v2/settings/')).json.count).toBe(0);
    expect((await new Client(service.url).get(PATH)).status).toBe(401);
    expect((await admin.send('OPTIONS', PATH)).json['actions']).toHaveProperty('PUT.SESSION_COOKIE_AGE');
  });

  it('apply at once: a shorter session age ends older sessions', async () => {
    const browser = new Client(service.url);
    await browser.logIn(ADMIN.username, ADMIN.password);
    await admin.patch(PATH, { SESSION_COOKIE_AGE: 120 });
    expect((await browser.get('/api/v2/me/')).headers['session-timeout']).toBe('120');
  });
});
