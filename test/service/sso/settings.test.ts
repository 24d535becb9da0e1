import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixedSettings, givenSecretKey } from '../../../src/app/run-service.ts';
import { Secret } from '../../../src/domain/secret.ts';
import type { RunningService } from '../../../src/service/server.ts';
import { SecretBox } from '../../../src/service/settings/secrets.ts';
import { prepareEmbedded } from '../../support/embedded-template.ts';
import { Client, DATABASES, SECRET_KEY, startTestService } from '../../support/service.ts';
import { makeKeyPair } from '../../support/sso/saml-identity-provider.ts';
import { adminOf, expectRefused, set } from '../../support/sso/world.ts';
import { Browser } from './browser.ts';

const GITHUB = '/api/v2/settings/github/';
const SECRET = 'SOCIAL_AUTH_GITHUB_SECRET';
const keys = makeKeyPair('settings');

/** What each setting takes, and what it refuses. */
const CASES: readonly (readonly [
  category: string,
  key: string,
  good: readonly unknown[],
  bad: readonly unknown[],
])[] = [
  ['github', 'SOCIAL_AUTH_GITHUB_KEY', ['', 'abc'], [5, null, [], 'a\nb', 'x'.repeat(1025)]],
  ['github', SECRET, ['', 'abc', '$encrypted$'], [5, null, {}, 'a\0']],
  [
    'github',
    'SOCIAL_AUTH_GITHUB_URL',
    ['https://github.example.org', 'http://127.0.0.1:99/'],
    [
      '',
      'http://github.example.org',
      'ftp://x',
      'https://u:p@x.example',
      'https://x.example/?a',
      'javascript:1',
      5,
      null,
    ],
  ],
  [
    'google-oauth2',
    'SOCIAL_AUTH_GOOGLE_OAUTH2_WHITELISTED_DOMAINS',
    [[], ['A.example']],
    ['a', [5], [''], null, {}],
  ],
  [
    'google-oauth2',
    'SOCIAL_AUTH_GOOGLE_OAUTH2_AUTH_EXTRA_ARGUMENTS',
    [{}, { prompt: 'login' }],
    [[], { prompt: 1 }, { 'a b': 'x' }, null],
  ],
  [
    'google-oauth2',
    'SOCIAL_AUTH_GOOGLE_OAUTH2_ORGANIZATION_MAP',
    [null, {}, { Ops: { users: true, admins: ['/^a/i', 'b'], auditors: { groups: 'x' }, remove: false } }],
    [[], 'x', { Ops: 5 }, { Ops: { users: '/(/' } }, { Ops: { member: true } }, { '': {} }],
  ],
  [
    'saml',
    'SOCIAL_AUTH_SAML_USER_FLAGS_BY_ATTR',
    [{}, { is_superuser_attr: 'a', is_superuser_value: ['x', 'y'] }],
    [[], null, { superuser: true }, { is_superuser_attr: 5 }],
  ],
  ['saml', 'SOCIAL_AUTH_SAML_SP_PUBLIC_CERT', ['', keys.certificate], ['x', keys.key, 5, null]],
  ['saml', 'SOCIAL_AUTH_SAML_SP_PRIVATE_KEY', ['', keys.key], ['x', keys.certificate, 5, null]],
  [
    'saml',
    'SOCIAL_AUTH_SAML_ENABLED_IDPS',
    [{}, { corp: { entity_id: 'e', url: 'https://i.example/?a=b', x509cert: keys.certificate } }],
    [
      [],
      { 'a b': { entity_id: 'e', url: 'https://i.example', x509cert: keys.certificate } },
      { corp: { entity_id: 'e', url: 'http://i.example', x509cert: keys.certificate } },
      { corp: { entity_id: 'e', url: 'https://i.example', x509cert: 'x' } },
      { corp: { entity_id: 'e', url: 'https://i.example' } },
      { corp: { entity_id: 'e', url: 'https://i.example', x509cert: keys.certificate, unknown: 1 } },
    ],
  ],
  ['authentication', 'SOCIAL_AUTH_USER_FIELDS', [null, [], ['email']], ['email', ['password'], 5]],
];

describe.each(DATABASES)('the settings of single sign-on on %s', (kind) => {
  let service: RunningService;
  let admin: Client;

  beforeAll(async () => {
    service = await startTestService(kind, { secretKey: SECRET_KEY });
    admin = adminOf(service);
  });
  afterAll(() => service.close());

  it.each(CASES)('%s: %s takes what it can hold and nothing else', async (category, key, good, bad) => {
    const path = `/api/v2/settings/${category}/`;
    for (const value of good)
      expect([value, (await admin.patch(path, { [key]: value })).status]).toEqual([value, 200]);
    const before = (await admin.get(path)).text;
    for (const value of bad)
      expect([value, (await admin.patch(path, { [key]: value })).status]).toEqual([value, 400]);
    expect((await admin.get(path)).text).toBe(before);
    await admin.delete(path);
  });

  it('keep secrets encrypted, and show them to nobody', async () => {
    await set(service, 'github', { [SECRET]: 'a-very-secret-secret' });
    expect((await admin.get(GITHUB)).json[SECRET]).toBe('$encrypted$');
    await set(service, 'github', { [SECRET]: '$encrypted$', SOCIAL_AUTH_GITHUB_KEY: 'key' });
    const rows = await service.database.query<{ value: string }>(
      'SELECT value FROM conf_setting WHERE key = $1',
      [SECRET],
    );
    const stored = rows[0]?.value ?? '';
    expect(stored).toMatch(/^\$encrypted\$AES256GCM\$/);
    expect(new SecretBox(SECRET_KEY).open(SECRET, stored)).toBe('a-very-secret-secret');
    await set(service, 'github', { [SECRET]: 'a-very-secret-secret' });
    const again = await service.database.query<{ value: string }>(
      'SELECT value FROM conf_setting WHERE key = $1',
      [SECRET],
    );
    expect(again[0]?.value).not.toBe(stored);
    for (const path of ['/api/v2/settings/all/', '/api/v2/settings/changed/', '/api/v2/activity_stream/']) {
      expect((await admin.get(path)).text).not.toMatch(/a-very-secret-secret|AES256GCM/);
    }
    await admin.delete(GITHUB);
    expect((await admin.get(GITHUB)).json[SECRET]).toBe('');
    expect((await admin.get('/api/v2/activity_stream/')).text).not.toMatch(/a-very-secret-secret|AES256GCM/);
  });

  it('stand in categories of their own, with the addresses to register', async () => {
    const slugs = (await admin.get('/api/v2/settings/')).json.results.map(({ slug }) => slug as unknown);
    expect(slugs).toEqual([
      'all',
      'authentication',
      'azuread-oauth2',
      'github',
      'google-oauth2',
      'saml',
      'system',
      'changed',
    ]);
    const entry = (await admin.get(GITHUB)).json;
    expect(entry['SOCIAL_AUTH_GITHUB_CALLBACK_URL']).toBe(`${service.url}/sso/complete/github/`);
    const actions = (await admin.send('OPTIONS', GITHUB)).json['actions'];
    expect(actions).toMatchObject({ PUT: { [SECRET]: { category_slug: 'github', type: 'string' } } });
    expect(actions).not.toHaveProperty('PUT.SOCIAL_AUTH_GITHUB_CALLBACK_URL');
  });

  it('keep an issuer letter by letter, and an address without its last slash', async () => {
    const address = 'http://127.0.0.1:9/application/';
    const google = { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: address };
    expect(await set(service, 'google-oauth2', google)).toMatchObject(google);
    expect(await set(service, 'github', { SOCIAL_AUTH_GITHUB_URL: address })).toMatchObject({
      SOCIAL_AUTH_GITHUB_URL: 'http://127.0.0.1:9/application',
    });
    await admin.delete('/api/v2/settings/google-oauth2/');
    await admin.delete(GITHUB);
  });

  it('are no secret once they are configured: the login page and /api/v2/auth/ name the providers', async () => {
    expect((await new Client(service.url).get('/api/v2/auth/')).text).toBe('{}');
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_KEY: 'k', [SECRET]: 's' });
    expect((await new Client(service.url).get('/api/v2/auth/')).json).toEqual({
      github: { login_url: '/sso/login/github/', complete_url: `${service.url}/sso/complete/github/` },
    });
    const page = (await new Client(service.url).get('/api/login/?next=/api/v2/%3Fa=b')).text;
    expect(page).toContain('href="/sso/login/github/?next=%2Fapi%2Fv2%2F%3Fa%3Db"');
    await admin.delete(GITHUB);
  });
});

describe('a secret box', () => {
  it('opens what it sealed, under the same name and with the same key, unchanged', () => {
    const box = new SecretBox(SECRET_KEY);
    const sealed = box.seal('A', 'value');
    expect(box.open('A', sealed)).toBe('value');
    expect(box.open('B', sealed)).toBeNull();
    expect(new SecretBox(new Secret('x'.repeat(40))).open('A', sealed)).toBeNull();
    expect(new SecretBox(null).open('A', sealed)).toBeNull();
    for (const broken of ['', 'value', '$encrypted$', `${sealed.slice(0, -3)}AAA`, sealed.slice(0, 40)]) {
      expect(box.open('A', broken)).toBeNull();
    }
  });
});

describe('the key of secrets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-key-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is made once in the data folder, for its owner only; another key opens nothing, and that is said', async () => {
    const start = (secretKey?: Secret) =>
      startTestService('the embedded database', { database: { folder }, ...(secretKey && { secretKey }) });
    await prepareEmbedded(folder);
    let service = await start();
    await set(service, 'github', { SOCIAL_AUTH_GITHUB_KEY: 'k', [SECRET]: 's' });
    await service.close();
    expect(statSync(join(folder, 'secret-key')).mode & 0o777).toBe(0o600);
    const key = readFileSync(join(folder, 'secret-key'), 'utf8');

    service = await start();
    const begun = await new Browser().open(`${service.url}/sso/login/github/`, () => true);
    expect(begun.location).toContain('https://github.com/login/oauth/authorize?');
    await service.close();
    expect(readFileSync(join(folder, 'secret-key'), 'utf8')).toBe(key);

    service = await start(SECRET_KEY);
    const browser = new Browser();
    await expectRefused(
      service,
      { browser, stop: await browser.open(`${service.url}/sso/login/github/`) },
      'misconfigured',
    );
    expect((await adminOf(service).get(GITHUB)).json[SECRET]).toBe('$encrypted$');
    await service.close();
  });

  it('has to be given with PostgreSQL, which several services may share', async () => {
    const service = await startTestService('PostgreSQL');
    const answer = await adminOf(service).patch(GITHUB, { [SECRET]: 's' });
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('TOKENCTL_SERVICE_SECRET_KEY'),
    ]);
    await service.close();
  });

  it('is not a short one', async () => {
    const short = { secretKey: new Secret('short') };
    await expect(startTestService('PostgreSQL', short)).rejects.toMatchObject({
      code: 'configuration',
    });
  });
});

describe('settings from the environment', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-environment-'));
  const file = join(folder, 'secret');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are read from variables and files, and checked as those over the API', () => {
    writeFileSync(file, 'from-a-file\n', { mode: 0o600 });
    const found = fixedSettings({
      SOCIAL_AUTH_GITHUB_KEY: 'k',
      [`${SECRET}_FILE`]: file,
      SOCIAL_AUTH_GOOGLE_OAUTH2_WHITELISTED_DOMAINS: '["Example.org"]',
      SOCIAL_AUTH_GITHUB_CALLBACK_URL: 'https://ignored.example',
      SOCIAL_AUTH_ORGANIZATION_MAP: '{"Ops": {"users": true}}',
      OTHER: 'x',
    });
    expect(Object.fromEntries(found)).toEqual({
      SOCIAL_AUTH_GITHUB_KEY: 'k',
      [SECRET]: 'from-a-file',
      SOCIAL_AUTH_GOOGLE_OAUTH2_WHITELISTED_DOMAINS: ['example.org'],
      SOCIAL_AUTH_ORGANIZATION_MAP: { Ops: { users: true } },
    });
    writeFileSync(join(folder, 'open'), 'x', { mode: 0o644 });
    for (const environment of [
      { SOCIAL_AUTH_GITHUB_URL: 'http://github.example.org' },
      { SOCIAL_AUTH_SAML_ENABLED_IDPS: '{' },
      { SOCIAL_AUTH_SAML_ENABLED_IDPS: '[]' },
      { [`${SECRET}_FILE`]: join(folder, 'missing') },
      { [`${SECRET}_FILE`]: join(folder, 'open') },
    ]) {
      expect(() => fixedSettings(environment)).toThrow(expect.objectContaining({ code: 'configuration' }));
    }
    expect(givenSecretKey({ TOKENCTL_SERVICE_SECRET_KEY_FILE: file })?.reveal()).toBe('from-a-file');
    expect(givenSecretKey({})).toBeNull();
  });

  it.skipIf(process.platform === 'win32')('refuses a named pipe as a secret file at once', () => {
    const pipe = join(folder, 'pipe');
    expect(spawnSync('sh', ['-c', 'mkfifo -m 600 "$0"', pipe]).status).toBe(0);
    expect(() => givenSecretKey({ TOKENCTL_SERVICE_SECRET_KEY_FILE: pipe })).toThrow(
      expect.objectContaining({ code: 'configuration', message: `The secret file ${pipe} is not a file.` }),
    );
  });

  it('go before those that are stored, and cannot be changed over the API', async () => {
    const fixed = fixedSettings({ SOCIAL_AUTH_GITHUB_KEY: 'fixed', [SECRET]: 'fixed-secret' });
    const service = await startTestService('PostgreSQL', { fixedSettings: fixed });
    const admin = adminOf(service);
    const shown = (await admin.get(GITHUB)).json;
    expect(shown).toMatchObject({ SOCIAL_AUTH_GITHUB_KEY: 'fixed', [SECRET]: '$encrypted$' });
    expect((await admin.patch(GITHUB, { SOCIAL_AUTH_GITHUB_KEY: 'other' })).status).toBe(400);
    expect((await admin.patch(GITHUB, { [SECRET]: 'other' })).status).toBe(400);
    expect((await admin.put(GITHUB, shown)).status).toBe(200);
    const rows = await service.database.query(
      "SELECT FROM conf_setting WHERE key LIKE 'SOCIAL_AUTH_GITHUB_KEY'",
    );
    expect(rows).toEqual([]);
    const options = (await admin.send('OPTIONS', GITHUB)).json['actions'];
    expect(options).toMatchObject({ GET: { SOCIAL_AUTH_GITHUB_KEY: { defined_in_file: true } } });
    expect(options).not.toHaveProperty('PUT.SOCIAL_AUTH_GITHUB_KEY');
    const begun = await new Browser().open(`${service.url}/sso/login/github/`, () => true);
    expect(begun.location).toContain('client_id=fixed');
    await service.close();
  });
});
