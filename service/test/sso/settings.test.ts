import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '@tokenctl/common/secret.ts';
import { prepareEmbedded } from '@tokenctl/testing/embedded-template.ts';
import { type LoopbackServer, listenOnLoopback } from '@tokenctl/testing/sso/http-server.ts';
import { makeKeyPair } from '@tokenctl/testing/sso/saml-identity-provider.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { SecretBox } from '../../src/settings/secrets.ts';
import { configurationDigest } from '../../src/sso/configuration.ts';
import { Client, DATABASES, SECRET_KEY, startTestService, useService } from '../support/service.ts';
import { Browser } from '../support/sso/browser.ts';
import { adminOf, expectRefused, LogLines, set } from '../support/sso/world.ts';

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
  const { service, admin } = useService(() => ({ kind, secretKey: SECRET_KEY }));

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
      'oidc',
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

describe('what is wrong with a setting of single sign-on', () => {
  const other = makeKeyPair('other');
  const log = new LogLines();
  const { service, admin } = useService(() => ({ secretKey: SECRET_KEY, logLevel: 'warn', logTo: log }));
  const saml = (body: object) => admin.patch('/api/v2/settings/saml/', body);
  const idps = (entry: object) => saml({ SOCIAL_AUTH_SAML_ENABLED_IDPS: { corp: entry } });
  const GOOD = { entity_id: 'e', url: 'https://i.example', x509cert: keys.certificate };

  it.each([
    ['MII', 'corp.x509cert: Not a certificate in PEM or base64.'],
    [[keys.certificate, 'MII'], 'corp.x509cert: Number 2 is not a certificate in PEM or base64.'],
    [[], 'corp.x509cert: Expected one to ten certificates.'],
    [5, 'corp.x509cert: Not a certificate in PEM or base64.'],
    [undefined, 'corp.x509cert: A certificate is required.'],
  ])('is said of the certificate of an identity provider (%#)', async (x509cert, message) => {
    const answer = await idps({ ...GOOD, x509cert });
    expect([answer.status, answer.json['SOCIAL_AUTH_SAML_ENABLED_IDPS']]).toEqual([400, [message]]);
  });

  it('is said of a certificate that does not belong to the key', async () => {
    const pair = (certificate: string, key: string) => ({
      SOCIAL_AUTH_SAML_SP_PUBLIC_CERT: certificate,
      SOCIAL_AUTH_SAML_SP_PRIVATE_KEY: key,
    });
    const mismatch = { status: 400, text: expect.stringContaining('does not belong to') };
    expect(await saml(pair(keys.certificate, other.key))).toMatchObject(mismatch);
    expect((await saml(pair(keys.certificate, keys.key))).status).toBe(200);
    expect(await saml({ SOCIAL_AUTH_SAML_SP_PUBLIC_CERT: other.certificate })).toMatchObject(mismatch);
    expect(await saml({ SOCIAL_AUTH_SAML_SP_PRIVATE_KEY: other.key })).toMatchObject(mismatch);
    expect((await saml(pair(other.certificate, other.key))).status).toBe(200);
    await admin.delete('/api/v2/settings/saml/');
  });

  it('is said of names that do not exist, or are of another category', async () => {
    for (const [name, message] of [
      ['SOCIAL_AUTH_SAML_ORG_INFO', 'Unknown setting.'],
      ['SOCIAL_AUTH_SAML_EXTRA_DATA', 'Unknown setting.'],
      [SECRET, 'Not a setting of this category. It is in /api/v2/settings/github/.'],
    ] as const) {
      const answer = await saml({ SOCIAL_AUTH_SAML_SP_ENTITY_ID: 'e', [name]: 'x' });
      expect([answer.status, answer.json[name]]).toEqual([400, [message]]);
    }
    expect((await admin.get('/api/v2/settings/saml/')).json['SOCIAL_AUTH_SAML_SP_ENTITY_ID']).toBe('');
    // Other unknown names are ignored on the controller, which does not say so.
    const answer = await admin.patch('/api/v2/settings/authentication/', { NO_SUCH_SETTING: 1 });
    expect([answer.status, answer.headers['x-api-ignored-settings']]).toEqual([200, 'NO_SUCH_SETTING']);
    expect(log.lines.at(-1)).toMatchObject({ ignored: ['NO_SUCH_SETTING'] });
  });

  it('is no trouble for what the API itself shows: all of it can be written back', async () => {
    const path = '/api/v2/settings/saml/';
    expect((await admin.put(path, (await admin.get(path)).json)).status).toBe(200);
  });

  it('labels the buttons as the administrator likes', async () => {
    await set(service, 'github', {
      SOCIAL_AUTH_GITHUB_KEY: 'k',
      [SECRET]: 's',
      SOCIAL_AUTH_GITHUB_LABEL: 'our <Git>',
    });
    expect((await new Client(service.url).get('/api/login/')).text).toContain('Log in with our &lt;Git&gt;');
    for (const label of ['', ' ', 'x'.repeat(101), 5, null]) {
      expect((await admin.patch(GITHUB, { SOCIAL_AUTH_GITHUB_LABEL: label })).status).toBe(400);
    }
    await admin.delete(GITHUB);
  });
});

describe('the metadata of an identity provider', () => {
  const NAMES = 'xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#"';
  const base64 = keys.certificate.replace(/-----[^-]+-----|\s/g, '');
  const entity = (id: string, more = '', formats: readonly string[] = []) =>
    `<EntityDescriptor ${NAMES} entityID="${id}"${more}><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${base64}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
<KeyDescriptor use="encryption"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>AAAA</ds:X509Certificate></ds:X509Data></ds:KeyInfo></KeyDescriptor>
<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://i.example/slo"/>
${formats.map((format) => `<NameIDFormat>urn:oasis:names:tc:SAML:${format}</NameIDFormat>`).join('')}
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://i.example/post"/>
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://i.example/sso"/>
</IDPSSODescriptor></EntityDescriptor>`;
  const several = `<EntitiesDescriptor ${NAMES}>${entity('one')}${entity('two')}</EntitiesDescriptor>`;
  const LOGO = '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"/>';
  let service: RunningService;
  let admin: Client;
  let server: LoopbackServer;
  let served: readonly [number, string] = [200, ''];
  const requests: string[] = [];
  const write = (entry: object) =>
    admin.patch('/api/v2/settings/saml/', { SOCIAL_AUTH_SAML_ENABLED_IDPS: { corp: entry } });
  const written = async (entry: object) => {
    const answer = await write(entry);
    expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, '']);
    return (answer.json['SOCIAL_AUTH_SAML_ENABLED_IDPS'] as Record<string, unknown>)['corp'];
  };

  /** This machine is reached by its name only. */
  const metadataUrl = () => server.url.replace('127.0.0.1', 'localhost');

  beforeAll(async () => {
    service = await startTestService({ secretKey: SECRET_KEY });
    admin = adminOf(service);
    server = await listenOnLoopback(() => (request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(served[0], { location: '/elsewhere' }).end(served[1]);
    });
  });
  afterAll(async () => {
    await service.close();
    await server.close();
  });

  it('replaces the values by hand', async () => {
    const persistent = entity('https://i.example', '', [
      '2.0:nameid-format:transient',
      '2.0:nameid-format:persistent',
    ]);
    expect(await written({ metadata: persistent, attr_email: 'mail' })).toEqual({
      entity_id: 'https://i.example',
      url: 'https://i.example/sso',
      logout_url: 'https://i.example/slo',
      x509cert: [keys.certificate],
      name_id_format: 'persistent',
      attr_email: 'mail',
    });
    const email = entity('e', '', ['1.1:nameid-format:emailAddress']);
    expect(await written({ metadata: email, label: 'Us' })).toMatchObject({
      name_id_format: 'email',
      label: 'Us',
    });
    expect(await written({ metadata: several, entity_id: 'two' })).toMatchObject({ entity_id: 'two' });
  });

  it('is fetched from a URL, once', async () => {
    served = [200, entity('https://i.example')];
    const entry = (await written({ metadata_url: `${metadataUrl()}/metadata?a=b` })) as object;
    expect(entry).toMatchObject({
      entity_id: 'https://i.example',
      metadata_url: `${metadataUrl()}/metadata?a=b`,
    });
    served = [500, ''];
    expect(await written(entry)).toEqual(entry);
    expect(requests).toEqual(['/metadata?a=b']);
  });

  it.each([
    [several, 'corp: The metadata has 2 identity providers. Select one with entity_id.'],
    [LOGO, 'corp: The metadata has no identity provider.'],
    ['<x', 'corp: The metadata is not XML.'],
    ['', 'corp: The metadata is not XML.'],
    [`<!DOCTYPE x [<!ENTITY a "b">]>${entity('e')}`, 'corp: The metadata has a document type.'],
    [
      entity('e').replace('</EntityDescriptor>', `${'<a/>'.repeat(20_000)}</EntityDescriptor>`),
      'corp: The metadata has too many elements.',
    ],
    [
      entity('e', ' validUntil="2001-01-01T00:00:00Z"'),
      'corp: The metadata expired at 2001-01-01T00:00:00Z.',
    ],
    [entity('e').replace(base64, 'AAAA'), 'corp: The metadata has no certificate for signatures.'],
    [
      entity('e').replace(/HTTP-Redirect" Location="[^"]+sso"/, 'SOAP" Location="x"'),
      'corp: The metadata has no SingleSignOnService with the redirect binding.',
    ],
  ])('is refused where it cannot be used (%#)', async (metadata, message) => {
    const answer = await write({ metadata });
    expect([answer.status, answer.json['SOCIAL_AUTH_SAML_ENABLED_IDPS']]).toEqual([400, [message]]);
  });

  it.each<readonly [string, string]>([
    ['http://i.example/', 'The URL must start with https://.'],
    ['file:///etc/passwd', 'The URL must start with https://.'],
    ['https://u:p@i.example/', 'The URL must not contain a user name.'],
    [
      'https://169.254.169.254/latest/meta-data/',
      "The URL's host resolves to this machine or to the link-local network.",
    ],
    ['https://[fe80::1]/', "The URL's host resolves to this machine or to the link-local network."],
    ...[
      ...['https://127.0.0.1/', 'https://127.1/', 'https://0x7f000001/', 'https://2130706433/'],
      ...['https://[::1]/', 'https://[::ffff:127.0.0.1]/'],
    ].map((url) => [url, "The URL's host resolves to this machine or to the link-local network."] as const),
    ['http://127.0.0.1/', 'The URL must start with https://.'],
    ['https://0.0.0.0/', "The URL's host resolves to this machine or to the link-local network."],
    [
      'https://[::ffff:169.254.169.254]/',
      "The URL's host resolves to this machine or to the link-local network.",
    ],
    ['https://i.invalid/', 'The host of the URL is unknown.'],
  ])('is not fetched from %s', async (url, message) => {
    const answer = await write({ metadata_url: url });
    expect([answer.status, answer.json['SOCIAL_AUTH_SAML_ENABLED_IDPS']]).toEqual([
      400,
      [`corp.metadata_url: ${message}`],
    ]);
  });

  it.each<readonly [readonly [number, string], string]>([
    [[302, ''], 'The server responded with 302.'],
    [[404, 'secret'], 'The server responded with 404.'],
    [[200, 'x'.repeat(1_100_000)], 'The metadata is longer than 1 MiB.'],
    [[200, 'x'.repeat(5_000_000)], 'The metadata could not be fetched.'],
  ])('is not taken from a bad answer (%#)', async (answer, message) => {
    served = answer;
    const { status, json } = await write({ metadata_url: `${metadataUrl()}/` });
    expect([status, json['SOCIAL_AUTH_SAML_ENABLED_IDPS']]).toEqual([400, [`corp.metadata_url: ${message}`]]);
  });
});

describe('the digest of a configuration of SAML', () => {
  it('differs for another identity provider, but not for another label or logout', () => {
    const digest = (more: object) =>
      configurationDigest({
        backend: 'saml',
        entityId: 'e',
        certificate: '',
        privateKey: '',
        security: {},
        idps: { label: { entity_id: 'i', url: 'https://i.example', x509cert: 'c', ...more } },
      });
    const plain = digest({});
    expect(
      digest({ label: 'l', logout_url: 'https://i.example/out', metadata_url: 'https://i.example/m' }),
    ).toBe(plain);
    for (const more of [
      { entity_id: 'j' },
      { url: 'https://j.example' },
      { x509cert: 'd' },
      { attr_username: 'u' },
    ]) {
      expect(digest(more)).not.toBe(plain);
    }
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

  it('is made once in the data folder, for its owner only; another key opens nothing, and that is said', {
    tags: ['long'],
  }, async () => {
    const start = (secretKey?: Secret) =>
      startTestService({
        kind: 'the embedded database',
        database: { folder },
        ...(secretKey && { secretKey }),
      });
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

    const log = new LogLines();
    service = await startTestService({
      kind: 'the embedded database',
      database: { folder },
      secretKey: SECRET_KEY,
      logLevel: 'warn',
      logTo: log,
    });
    expect(log.lines.filter(({ backends }) => backends !== undefined)).toMatchObject([
      { backends: ['github'], msg: expect.stringContaining('cannot be decrypted with this secret key') },
    ]);
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
    const service = await startTestService();
    const answer = await adminOf(service).patch(GITHUB, { [SECRET]: 's' });
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('TOKENCTL_SERVICE_SECRET_KEY'),
    ]);
    await service.close();
  });

  it('is not a short one', async () => {
    const short = { secretKey: new Secret('short') };
    await expect(startTestService(short)).rejects.toMatchObject({ code: 'configuration' });
  });
});

describe('settings that the environment fixes', () => {
  it('go before those that are stored, and cannot be changed over the API', async () => {
    const fixedSettings = new Map([
      ['SOCIAL_AUTH_GITHUB_KEY', 'fixed'],
      [SECRET, 'fixed-secret'],
    ]);
    const service = await startTestService({ fixedSettings });
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
