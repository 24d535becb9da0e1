import { Secret } from '@tokenctl/common/secret.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, test } from 'vitest';
import { FakeController, json } from '../../../support/fake-controller.ts';
import { FakeGateway, page, user } from '../../../support/fake-gateway.ts';
import { bearer, collected, errorOf, openTestTarget } from '../../../support/test-target.ts';

const SETTINGS = {
  gateway_basic_auth_enabled: true,
  gateway_access_token_expiration: 600,
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  SESSION_COOKIE_AGE: 900,
  LOGIN_REDIRECT_OVERRIDE: '',
  DEFAULT_PAGE_SIZE: 50,
};

const ALL = '/api/gateway/v1/settings/all/';

describe('recognizing the API', () => {
  test('takes one request, before the first other request', async () => {
    await using fake = await FakeGateway.start({ 'GET /api/gateway/v1/applications/': page([]) });
    const target = openTestTarget(fake.address);
    expect(await Promise.all([target.applications.list(), target.applications.list()])).toEqual([[], []]);
    await target.describe();
    expect(fake.requests.filter((request) => request === 'GET /api/')).toHaveLength(1);
    expect(fake.requests[0]).toBe('GET /api/');
    await target.close();
  });

  test('is repeated after a failure', async () => {
    await using fake = await FakeGateway.start({ 'GET /api/': [403, {}] });
    const target = openTestTarget(fake.address);
    expect((await errorOf(target.describe())).code).toBe('permission_refused');
    fake.told.set('GET /api/', { apis: { gateway: '/api/gateway/' } });
    expect(await target.describe()).toMatchObject({ dialect: 'gateway', components: ['gateway'] });
    await target.close();
  });

  test('selects the gateway if one responds, and lists the components with tokens', async () => {
    await using fake = await FakeGateway.start();
    const target = openTestTarget(fake.address);
    expect(await target.components()).toEqual(['gateway', 'controller']);
    expect(fake.requests).toEqual(['GET /api/']);
    expect(await target.describe()).toMatchObject({
      dialect: 'gateway',
      address: fake.address,
      version: '2.6',
      components: ['gateway', 'controller'],
      identity: { id: 1, username: 'admin', isSuperuser: true, isSystemAuditor: false },
      capabilities: { lastUsed: true, deactivateUsers: false },
    });
    await target.close();
  });

  test('the service says which product it is, by a name that no controller has', async () => {
    for (const [product, dialect, settingsHold] of [
      ['AWX', 'controller', 'within_seconds'],
      ['tokenctl', 'service', 'at_once'],
      ['tokenctl or so', 'controller', 'within_seconds'],
    ] as const) {
      await using fake = await FakeController.start();
      fake.fault = (request, response) =>
        request.url === '/api/v2/ping/' &&
        json(response, 200, { version: '24.6.1' }, { 'X-API-Product-Name': product });
      const target = openTestTarget(fake.address);
      expect(await target.describe()).toMatchObject({ dialect, capabilities: { settingsHold } });
      await target.close();
    }
  });

  test('selects the controller behind the gateway on request', async () => {
    await using fake = await FakeGateway.start({
      'GET /api/controller/v2/ping/': { version: '4.6.8' },
      'GET /api/controller/v2/me/': page([{ id: 7, username: 'admin', is_superuser: true }]),
    });
    const target = openTestTarget(fake.address, { component: 'controller' });
    expect(await target.describe()).toMatchObject({
      dialect: 'controller',
      address: `${fake.address}/api/controller`,
      version: '4.6.8',
      components: ['gateway', 'controller'],
      identity: { id: 7 },
    });
    await target.close();
  });

  test('selects a standalone controller, with or without a request for it', async () => {
    await using fake = await FakeController.start();
    const target = openTestTarget(fake.address, { component: 'controller' });
    const description = await target.describe();
    expect(description).toMatchObject({ dialect: 'controller', address: fake.address });
    expect(description).not.toHaveProperty('components');
    expect(await target.components()).toEqual([]);
    await target.close();
  });

  test('fails if the requested component does not exist', async () => {
    await using controller = await FakeController.start();
    await using platform = await FakeGateway.start({ 'GET /api/': { apis: { gateway: '/api/gateway/' } } });
    await using other = await FakeGateway.start({ 'GET /api/': { apis: { eda: '/api/eda/' } } });
    for (const [address, component, message] of [
      [controller.address, 'gateway', 'no gateway'],
      [platform.address, 'controller', 'no controller'],
      [other.address, undefined, 'no gateway'],
    ] as const) {
      const target = openTestTarget(address, component === undefined ? {} : { component });
      const error = await errorOf(target.describe());
      expect(error).toMatchObject(refused('unsupported', message));
      await target.close();
    }
  });
});

describe('a gateway of another version', () => {
  test('has no version', async () => {
    await using fake = await FakeGateway.start({
      'GET /api/gateway/v1/ping/': { pong: 'now', status: 'good' },
    });
    const target = openTestTarget(fake.address);
    expect((await target.describe()).version).toBeNull();
    await target.close();
  });

  test('names auditors as a controller does', async () => {
    const auditor = { id: 3, username: 'auditor', is_superuser: false, is_system_auditor: true };
    await using fake = await FakeGateway.start({ 'GET /api/gateway/v1/me/': page([auditor]) });
    const target = openTestTarget(fake.address);
    expect(await target.describe()).toMatchObject({ identity: { isSystemAuditor: true } });
    await target.close();
  });

  test('rejects a credential with 403 and the message of its framework', async () => {
    const detail = 'Authentication credentials were not provided.';
    await using fake = await FakeGateway.start({ 'GET /api/gateway/v1/me/': [403, { detail }] });
    const target = openTestTarget(fake.address, { credential: bearer });
    expect((await errorOf(target.describe())).code).toBe('credentials_refused');
    await target.close();
  });

  test.each(['SESSIONS_PER_USER', 'MAX_EXTRA_SESSIONS_PER_USER'])(
    'limits the sessions beside the newest, under the name %s',
    async (name) => {
      await using fake = await FakeGateway.start({
        [`GET ${ALL}`]: { ...SETTINGS, [name]: 3 },
        [`PUT ${ALL}`]: { ...SETTINGS, [name]: 2 },
      });
      const target = openTestTarget(fake.address);
      expect(await target.settings.read()).toMatchObject({
        SESSIONS_PER_USER: null,
        MAX_EXTRA_SESSIONS_PER_USER: 3,
      });
      const written = await target.settings.write({ MAX_EXTRA_SESSIONS_PER_USER: 2 });
      expect(written.MAX_EXTRA_SESSIONS_PER_USER).toBe(2);
      expect(fake.requests.at(-1)).toBe(`PUT ${ALL} {"${name}":2}`);
      await target.close();
    },
  );
});

describe('the settings of a gateway', () => {
  test('are read with the controller’s names, and missing ones as null', async () => {
    await using fake = await FakeGateway.start({ [`GET ${ALL}`]: SETTINGS });
    const target = openTestTarget(fake.address);
    expect(await target.settings.read()).toEqual({
      AUTH_BASIC_ENABLED: true,
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
      SESSION_COOKIE_AGE: 900,
      SESSIONS_PER_USER: null,
      MAX_EXTRA_SESSIONS_PER_USER: null,
      DISABLE_LOCAL_AUTH: null,
      OAUTH2_PROVIDER: null,
      LOGIN_REDIRECT_OVERRIDE: '',
      ALLOW_METRICS_FOR_ANONYMOUS_USERS: null,
    });
    await target.close();
  });

  test('are written in one request with the gateway’s names, except null', async () => {
    await using fake = await FakeGateway.start({
      [`PUT ${ALL}`]: { ...SETTINGS, gateway_basic_auth_enabled: false },
    });
    const target = openTestTarget(fake.address);
    const change = { AUTH_BASIC_ENABLED: false, SESSION_COOKIE_AGE: 900, OAUTH2_PROVIDER: null };
    expect((await target.settings.write(change)).AUTH_BASIC_ENABLED).toBe(false);
    expect(fake.requests.at(-1)).toBe(
      `PUT ${ALL} {"gateway_basic_auth_enabled":false,"SESSION_COOKIE_AGE":900}`,
    );
    await target.close();
  });

  test.each([
    [
      'lifetimes',
      {
        OAUTH2_PROVIDER: {
          ACCESS_TOKEN_EXPIRE_SECONDS: 60,
          REFRESH_TOKEN_EXPIRE_SECONDS: 60,
          AUTHORIZATION_CODE_EXPIRE_SECONDS: 60,
        },
      },
      'OAUTH2_PROVIDER__ACCESS_TOKEN_EXPIRE_SECONDS',
    ],
    ['local accounts', { DISABLE_LOCAL_AUTH: true }, "Disable the platform gateway's authenticator"],
    ['sessions', { SESSIONS_PER_USER: 2 }, 'MAX_EXTRA_SESSIONS_PER_USER'],
    ['metrics', { ALLOW_METRICS_FOR_ANONYMOUS_USERS: true }, 'Only a controller'],
  ])('that do not exist are refused before anything is sent: %s', async (_, change, hint) => {
    await using fake = await FakeGateway.start({ [`PUT ${ALL}`]: SETTINGS });
    const target = openTestTarget(fake.address);
    const error = await errorOf(target.settings.write({ AUTH_BASIC_ENABLED: false, ...change }));
    expect(error).toMatchObject({ code: 'unsupported', hint: expect.stringContaining(hint) });
    expect(fake.requests).toEqual(['GET /api/']);
    await target.close();
  });

  test('that the gateway rejects are unsupported', async () => {
    await using fake = await FakeGateway.start({
      [`PUT ${ALL}`]: [400, { SESSION_COOKIE_AGE: 'Invalid key for category all' }],
    });
    const target = openTestTarget(fake.address);
    const error = await errorOf(target.settings.write({ SESSION_COOKIE_AGE: 2 }));
    expect(error).toMatchObject(refused('unsupported', 'SESSION_COOKIE_AGE'));
    await target.close();
  });

  test('in an unexpected format are reported', async () => {
    await using fake = await FakeGateway.start({ [`GET ${ALL}`]: { hello: 'world' } });
    const target = openTestTarget(fake.address);
    expect((await errorOf(target.settings.read())).code).toBe('target_misbehaved');
    await target.close();
  });
});

describe('the users of a gateway', () => {
  const USERS = '/api/gateway/v1/users/';
  const people = page([
    user(1, 'admin', { authenticators: [1] }),
    user(2, 'ann', { associated_authenticators: { 1: { uid: 'ann' }, 2: { uid: 'ann' } } }),
    user(3, 'bob', { associated_authenticators: { 3: { uid: 'bob' } } }),
    user(4, 'eve', { authenticators: [4] }),
    user(5, 'tom', { associated_authenticators: {} }),
  ]);
  const plugin = (name: string) => `ansible_base.authentication.authenticator_plugins.${name}`;

  async function providers(told: Parameters<typeof FakeGateway.start>[0]) {
    await using fake = await FakeGateway.start({ [`GET ${USERS}`]: people, ...told });
    const target = openTestTarget(fake.address);
    const users = await collected(target.users.list());
    await target.close();
    return users.map(({ externalAccount }) => externalAccount);
  }

  test('get their identity provider from their authenticators', async () => {
    const authenticators = [
      { id: 1, type: plugin('local') },
      { id: 2, type: plugin('ldap') },
      { id: 3, type: plugin('saml') },
      { id: 4, type: plugin('radius') },
    ];
    expect(await providers({ 'GET /api/gateway/v1/authenticators/': page(authenticators) })).toEqual([
      null,
      'ldap',
      'social',
      'enterprise',
      null,
    ]);
  });

  test.each([403, 404])(
    'count as external with any link where the authenticators answer %i',
    async (status) => {
      expect(await providers({ 'GET /api/gateway/v1/authenticators/': [status, { detail: 'no' }] })).toEqual([
        'social',
        'social',
        'social',
        'social',
        null,
      ]);
    },
  );

  test('are not reported as deactivated if the gateway ignores the change', async () => {
    await using fake = await FakeGateway.start({
      [`GET ${USERS}`]: page([user(2, 'ann')]),
      [`PATCH ${USERS}2/`]: user(2, 'ann'),
    });
    const target = openTestTarget(fake.address);
    const error = await errorOf(target.users.setActive(2, false));
    expect(error).toMatchObject({ code: 'unsupported', hint: expect.stringContaining('database') });
    await target.close();
  });
});

test('the activity stream of a gateway is read in the controller’s form', async () => {
  const entry = {
    created: '2026-11-20T10:00:00Z',
    content_type_model: 'oauth2accesstoken',
    object_id: '7',
    summary_fields: { created_by: { id: 1, username: 'admin', first_name: '', last_name: '' } },
  };
  const changes = { added_fields: {}, removed_fields: {}, changed_fields: {} };
  await using fake = await FakeGateway.start({
    'GET /api/gateway/v1/activitystream/': page([
      { ...entry, id: 1, operation: 'create', changes: { ...changes, added_fields: { scope: 'read' } } },
      {
        ...entry,
        id: 2,
        operation: 'update',
        changes: { ...changes, changed_fields: { scope: ['read', 'write'] } },
      },
      { ...entry, id: 3, operation: 'delete', changes: null, summary_fields: {} },
      { ...entry, id: 4, operation: 'update', changes, content_type_model: 'preference', object_id: 'proxy' },
    ]),
  });
  const target = openTestTarget(fake.address);
  const common = { at: new Date('2026-11-20T10:00:00Z'), object: 'o_auth2_access_token' };
  const actor = { id: 1, username: 'admin' };
  expect(await collected(target.activity.list({}))).toEqual([
    { ...common, id: 1, operation: 'create', actor, changes: { scope: 'read', id: 7 } },
    { ...common, id: 2, operation: 'update', actor, changes: { scope: ['read', 'write'], id: 7 } },
    { ...common, id: 3, operation: 'delete', actor: null, changes: { id: 7 } },
    { ...common, id: 4, operation: 'update', object: 'setting', actor, changes: {} },
  ]);
  expect(await collected(target.activity.list({ tokenIds: [8] }))).toEqual([]);
  expect(await target.activity.lastChanges([1])).toEqual(new Map([[1, common.at]]));
  expect(fake.requests.at(-1)).toBe(
    'GET /api/gateway/v1/activitystream/?created_by__id=1&order_by=-created,-id&page_size=1&count_disabled=1',
  );
  await target.close();
});

test('the last change of a user is not the use of a token that the gateway recorded', async () => {
  const use = (id: number) => ({
    ...{ id, created: '2026-11-20T11:00:00Z', operation: 'update', object_id: '7' },
    ...{ content_type_model: 'oauth2accesstoken', summary_fields: {} },
    changes: { added_fields: {}, removed_fields: {}, changed_fields: { scope: ['write', 'write read'] } },
  });
  const made = { ...use(3), created: '2026-11-20T10:00:00Z', operation: 'create', changes: null };
  await using fake = await FakeGateway.start({
    'GET /api/gateway/v1/activitystream/': page([use(5), use(4), made]),
  });
  const target = openTestTarget(fake.address);
  expect(await target.activity.lastChanges([1])).toEqual(new Map([[1, new Date('2026-11-20T10:00:00Z')]]));
  fake.told.set('GET /api/gateway/v1/activitystream/', page([]));
  expect(await target.activity.lastChanges([1])).toEqual(new Map());
  await target.close();
});

test('an unsupported operation names a command that does exactly that', async () => {
  await using fake = await FakeGateway.start();
  const target = openTestTarget(fake.address);
  const { hint } = await errorOf(target.createToken({ scope: 'read', description: '', user: 'ann' }));
  expect(hint).toContain('`aap-gateway-manage create_oauth2_token --user ann`');
  await target.close();
});

test('messages about a gateway name no other product', async () => {
  await using fake = await FakeGateway.start({
    'DELETE /api/gateway/v1/tokens/7/': [409, { detail: 'busy' }],
    'GET /api/gateway/v1/applications/': [500, {}],
  });
  const target = openTestTarget(fake.address);
  const outcomes = await collected(target.revoke([7]));
  expect(outcomes).toEqual([{ tokenId: 7, result: 'failed', reason: 'the target reports it as in use' }]);
  expect((await errorOf(target.applications.list())).hint).toBe("Check the server's log.");
  await target.close();
});

test('a method that a component rejects is unsupported', async () => {
  await using fake = await FakeGateway.start({ 'POST /api/controller/v2/tokens/': [405, { detail: 'no' }] });
  const target = openTestTarget(fake.address, { component: 'controller' });
  const error = await errorOf(target.createToken({ scope: 'read', description: '' }));
  expect(error.code).toBe('unsupported');
  await target.close();
});

describe('a gateway’s token on the controller behind it', () => {
  const administrator = { id: 7, username: 'admin', is_superuser: true };
  const ofController = {
    ...{ id: 5, user: 7, scope: 'write', created: '2026-01-01T00:00:00Z', expires: '3026-01-01T00:00:00Z' },
  };
  const told = {
    'GET /api/controller/v2/me/': page([administrator]),
    // Used within the last minute, as far as the filter goes.
    'GET /api/controller/v2/tokens/': page([ofController]),
  };

  test('is not mistaken for one of the controller’s tokens', async () => {
    await using fake = await FakeGateway.start(told);
    const target = openTestTarget(fake.address, { component: 'controller' });
    expect(await collected(target.identify([new Secret('a-token-of-the-gateway')]))).toEqual([]);
    await target.close();
  });

  test('does not prevent the revocation of its user’s other tokens', async () => {
    await using fake = await FakeGateway.start(told);
    const target = openTestTarget(fake.address, { component: 'controller', credential: bearer });
    expect(await target.ownTokenIds()).toEqual([]);
    fake.told.set('GET /api/gateway/v1/me/', [401, { detail: 'no' }]);
    expect(await target.ownTokenIds()).toEqual([5]);
    await target.close();
  });
});

describe('email addresses', () => {
  const users = (id: number, email: string) => page([{ ...user(id, 'alice'), email }]);

  test('are read with the organizations asked for, or without where a gateway lists no members', async () => {
    await using fake = await FakeGateway.start({
      'GET /api/gateway/v1/users/': users(4, 'alice@example.org'),
      'GET /api/gateway/v1/organizations/': page([{ id: 9, name: 'Research' }]),
      'GET /api/gateway/v1/organizations/9/users/': users(4, ''),
    });
    const target = openTestTarget(fake.address);
    const alice = { id: 4, username: 'alice', email: 'alice@example.org' };
    expect(await target.users.contacts(['alice'], ['Sales', 'Research'])).toEqual([
      { ...alice, organizations: ['Research'] },
    ]);
    fake.told.set('GET /api/gateway/v1/organizations/9/users/', [404, {}]);
    expect(await target.users.contacts(['alice'], ['Research'])).toEqual([{ ...alice, organizations: [] }]);
    await target.close();
  });
});
