import { randomUUID } from 'node:crypto';
import { type OpenIdProvider, startOpenIdProvider } from '@tokenctl/testing/sso/openid-provider.ts';
import { EVENTS } from '@tokenctl/testing/transmitter.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '../../src/server.ts';
import { bearer, Client, SECRET_KEY, startTestService } from '../support/service.ts';
import type { Browser } from '../support/sso/browser.ts';
import { adminOf, LogLines, logInThrough, set, untilReturn, whoIs } from '../support/sso/world.ts';

const SECRET = 'a-client-secret-of-the-tests';
const ACCOUNTS = Object.fromEntries(
  ['ada', 'bob', 'cai', 'dee', 'eve'].map((name) => [name, { preferred_username: name }]),
);
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';

describe('what an OpenID provider tells the service', () => {
  const log = new LogLines();
  let service: RunningService;
  let provider: OpenIdProvider;
  const logIn = async (account: string) =>
    (await logInThrough(service, { backend: 'google-oauth2', account })).browser;
  const sidOf = async (account: string) => {
    const [row] = await service.database.query<{ sid: string }>(
      `SELECT p.details->>'sid' AS sid FROM service_provider_session p
       JOIN main_usersessionmembership m ON m.session_id = p.session_key
       WHERE p.details->>'uid' = $1 ORDER BY m.id DESC`,
      [`${provider.issuer}|${account}`],
    );
    return row?.sid;
  };
  const post = (path: string, init: { body: string; type: string; authorization?: string }) =>
    fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': init.type,
        ...(init.authorization !== undefined && { authorization: init.authorization }),
      },
      body: init.body,
    });
  const sendLogout = (token: string) =>
    post('/sso/backchannel-logout/', {
      type: 'application/x-www-form-urlencoded',
      body: `logout_token=${token}`,
    });
  const logoutToken = (claims: Record<string, unknown>, typ = 'logout+jwt') =>
    provider.sign(
      {
        jti: randomUUID(),
        aud: 'automation',
        exp: Math.floor(Date.now() / 1000) + 120,
        events: { [EVENTS.logout]: {} },
        ...claims,
      },
      typ,
    );
  const sendEvent = (token: string) =>
    post('/sso/events/', { type: 'application/secevent+jwt', body: token });
  const event = (uri: string, sub: string, claims: Record<string, unknown> = {}) =>
    provider.sign(
      {
        jti: randomUUID(),
        aud: 'automation',
        sub_id: { format: 'iss_sub', iss: provider.issuer, sub },
        events: { [uri]: {} },
        ...claims,
      },
      'secevent+jwt',
    );
  const sendRevocation = async (subject: unknown, claims: Record<string, unknown> = {}) => {
    const token = await provider.sign({
      jti: randomUUID(),
      aud: 'automation',
      sub: 'automation',
      exp: Math.floor(Date.now() / 1000) + 120,
      ...claims,
    });
    return post('/sso/global-token-revocation/', {
      type: 'application/json',
      authorization: `Bearer ${token}`,
      body: JSON.stringify({ sub_id: subject }),
    });
  };
  /** Makes a token in a session, as its user does; the status, and the token's value. */
  const makeToken = async (browser: Browser, application?: number) => {
    const answer = await fetch(`${service.url}/api/v2/tokens/`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-csrftoken': browser.cookies.get('csrftoken') ?? '',
        cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      body: JSON.stringify({ scope: 'write', application }),
    });
    const { token = '', refresh_token: refresh = '' } = (await answer.json()) as Record<string, string>;
    return { status: answer.status, token, refresh };
  };
  const statusOf = async (token: string) =>
    (await new Client(service.url, bearer(token)).get('/api/v2/me/')).status;

  beforeAll(async () => {
    service = await startTestService({ secretKey: SECRET_KEY, logLevel: 'info', logTo: log });
    provider = await startOpenIdProvider({
      clients: [
        {
          clientId: 'automation',
          clientSecret: SECRET,
          redirectUris: [`${service.url}/sso/complete/google-oauth2/`],
          logout: { uri: `${service.url}/sso/backchannel-logout/`, bySession: false },
        },
        {
          clientId: 'by-session',
          clientSecret: SECRET,
          redirectUris: [`${service.url}/sso/complete/google-oauth2/`],
          logout: { uri: `${service.url}/sso/backchannel-logout/`, bySession: true },
        },
      ],
      accounts: ACCOUNTS,
    });
    await set(service, 'google-oauth2', {
      SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation',
      SOCIAL_AUTH_GOOGLE_OAUTH2_SECRET: SECRET,
      SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url,
    });
    await set(service, 'authentication', { ALLOW_OAUTH2_FOR_EXTERNAL_USERS: true });
  });
  /** A login in the second of an ending is refused; the tests do not wait for the next. */
  const forget = () => service.database.execute('DELETE FROM service_provider_ending');
  beforeEach(async () => {
    log.lines.length = 0;
    await forget();
  });
  afterAll(async () => {
    await service.close();
    await provider.close();
  });

  it('has its addresses in the settings and the metadata', async () => {
    const { json } = await adminOf(service).get('/api/v2/settings/google-oauth2/');
    expect(json['SOCIAL_AUTH_GOOGLE_OAUTH2_BACKCHANNEL_LOGOUT_URL']).toBe(
      `${service.url}/sso/backchannel-logout/`,
    );
    const metadata = await new Client(service.url).get('/.well-known/oauth-authorization-server');
    expect(metadata.json['global_token_revocation_endpoint']).toBe(
      `${service.url}/sso/global-token-revocation/`,
    );
  });

  it('ends all sessions of a user who logged out there, and leaves tokens and other users', async () => {
    const [first, second, other] = [await logIn('ada'), await logIn('ada'), await logIn('bob')];
    const { token } = await makeToken(first);
    await provider.logOut('automation', 'ada');
    const living = await Promise.all([first, second, other].map((browser) => whoIs(service, browser)));
    expect(living.map((user) => user !== null)).toEqual([false, false, true]);
    expect(await statusOf(token)).toBe(200);
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        msg: 'a provider ended the access of a user',
        kind: 'backchannel-logout',
        ended: { sessions: 2, tokens: 0, refreshTokens: 0, codes: 0 },
      }),
    );
    await forget();
    expect(await whoIs(service, await logIn('ada'))).not.toBeNull();
  });

  it('ends the session that a logout token names by sid, and no other', async () => {
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'by-session' });
    const first = await logIn('cai');
    const sid = await sidOf('cai');
    const second = await logIn('cai');
    expect(sid).toMatch(/.{10}/);
    await provider.logOut('by-session', 'cai', sid);
    expect([await whoIs(service, first), (await whoIs(service, second)) !== null]).toEqual([null, true]);
    const bySidAlone = await sendLogout(await logoutToken({ aud: 'by-session', sid: await sidOf('cai') }));
    expect([bySidAlone.status, await whoIs(service, second)]).toEqual([200, null]);
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_KEY: 'automation' });
  });

  it('ends a session of which no sid is known with any of that user', async () => {
    const browser = await logIn('cai');
    await service.database.execute("UPDATE service_provider_session SET details = details - 'sid' - 'uid'");
    await sendLogout(await logoutToken({ sub: 'bob', sid: 'of-another' }));
    expect(await whoIs(service, browser)).not.toBeNull();
    await sendLogout(await logoutToken({ sub: 'cai', sid: 'of-another' }));
    expect(await whoIs(service, browser)).toBeNull();
  });

  it.each([
    ['the setting says so', {}, true],
    ['the token says so', { events: { [EVENTS.logout]: { revoke_offline_access: true } } }, false],
  ])('ends tokens with a logout where %s', async (_, claims, setting) => {
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_LOGOUT_REVOKES_TOKENS: setting });
    const { token } = await makeToken(await logIn('dee'));
    expect(await statusOf(token)).toBe(200);
    expect((await sendLogout(await logoutToken({ sub: 'dee', ...claims }))).status).toBe(200);
    expect(await statusOf(token)).toBe(401);
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_LOGOUT_REVOKES_TOKENS: false });
  });

  it('answers a repeated logout, and one of a user without a session, as done', async () => {
    const token = await logoutToken({ sub: 'ada' });
    expect((await sendLogout(token)).status).toBe(200);
    await forget();
    const browser = await logIn('ada');
    expect((await sendLogout(token)).status).toBe(200);
    expect(await whoIs(service, browser)).not.toBeNull();
    expect((await sendLogout(await logoutToken({ sub: 'nobody' }))).status).toBe(200);
    expect(log.lines.map(({ result }) => result).filter((result) => result !== undefined)).toEqual([
      'ended',
      'repeated',
      'unknown',
    ]);
  });

  it('refuses an event whose jti was used for another user or kind, and ends nothing for it', async () => {
    const jti = randomUUID();
    await forget();
    const [ada, bob] = [await makeToken(await logIn('ada')), await makeToken(await logIn('bob'))];
    const subject = (sub: string) => ({ format: 'iss_sub', iss: provider.issuer, sub });
    const statuses: number[] = [];
    for (const sub of ['ada', 'bob', 'ada'])
      statuses.push((await sendRevocation(subject(sub), { jti })).status);
    expect(statuses).toEqual([204, 401, 204]);
    expect([await statusOf(ada.token), await statusOf(bob.token)]).toEqual([401, 200]);
    expect((await sendEvent(await event(EVENTS.accountDisabled, 'bob', { jti }))).status).toBe(400);
    expect((await sendLogout(await logoutToken({ sub: 'bob', jti }))).status).toBe(400);
    expect(await statusOf(bob.token)).toBe(200);
    expect((await sendRevocation(subject('bob'))).status).toBe(204);
    expect(await statusOf(bob.token)).toBe(401);
  });

  it('refuses logout tokens that break a rule of section 2.4 or 2.6', async () => {
    const browser = await logIn('eve');
    const now = Math.floor(Date.now() / 1000);
    const [header = '', payload = '', signature = ''] = (await logoutToken({ sub: 'eve' })).split('.');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const refused: Record<string, string> = {
      'another issuer': await logoutToken({ sub: 'eve', iss: 'https://other.example.org' }),
      'another audience': await logoutToken({ sub: 'eve', aud: 'other' }),
      'a nonce': await logoutToken({ sub: 'eve', nonce: 'n' }),
      'no event': await logoutToken({ sub: 'eve', events: {} }),
      'another event': await logoutToken({ sub: 'eve', events: { [EVENTS.accountDisabled]: {} } }),
      'no jti': await logoutToken({ sub: 'eve', jti: undefined }),
      'no exp': await logoutToken({ sub: 'eve', exp: undefined }),
      expired: await logoutToken({ sub: 'eve', exp: now - 120 }),
      old: await logoutToken({ sub: 'eve', iat: now - 3_600 }),
      'from the future': await logoutToken({ sub: 'eve', iat: now + 3_600 }),
      'neither sub nor sid': await logoutToken({}),
      'an ID token': await logoutToken({ sub: 'eve', events: undefined }, 'JWT'),
      'another type': await logoutToken({ sub: 'eve' }, 'at+jwt'),
      unsigned,
      'a changed payload': `${header}.${Buffer.from(
        JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sid: 'x' }),
      ).toString('base64url')}.${signature}`,
      'no JWT': 'x',
    };
    const answers: Record<string, unknown> = {};
    for (const [name, token] of Object.entries(refused)) {
      const answer = await sendLogout(token);
      answers[name] = [answer.status, answer.headers.get('cache-control')?.includes('no-store')];
    }
    expect(answers).toEqual(Object.fromEntries(Object.keys(refused).map((name) => [name, [400, true]])));
    const empty = await post('/sso/backchannel-logout/', {
      type: 'application/x-www-form-urlencoded',
      body: 'a=b',
    });
    expect(empty.status).toBe(400);
    expect(await whoIs(service, browser)).not.toBeNull();
    expect(JSON.stringify(log.lines)).not.toContain(signature);
  });

  it.each([
    ['account-disabled', `${RISC}account-disabled`],
    ['account-purged', `${RISC}account-purged`],
    ['sessions-revoked', `${RISC}sessions-revoked`],
    ['session-revoked', EVENTS.sessionRevoked],
  ])('ends sessions, tokens, refresh tokens and codes after %s, once', async (name, uri) => {
    await sendEvent(await event(uri, 'bob'));
    await forget();
    const browser = await logIn('bob');
    const { token } = await makeToken(browser);
    const [bob, ada] = [await whoIs(service, browser), await logIn('ada')];
    const { token: other } = await makeToken(ada);
    const signed = await event(uri, 'bob');
    expect((await sendEvent(signed)).status).toBe(202);
    expect([await whoIs(service, browser), await statusOf(token)]).toEqual([null, 401]);
    expect([(await whoIs(service, ada)) !== null, await statusOf(other)]).toEqual([true, 200]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        kind: name,
        users: [bob?.id],
        ended: { sessions: 1, tokens: 1, refreshTokens: 0, codes: 0 },
      }),
    );
    const deletions = await adminOf(service).get(
      '/api/v2/activity_stream/?operation=delete&object1=o_auth2_access_token&order_by=-id',
    );
    expect(deletions.json.results[0]).toMatchObject({ changes: { scope: 'write' } });
    expect((await adminOf(service).get(`/api/v2/users/${bob?.id}/`)).json['username']).toBe('bob');
    await forget();
    const again = await logIn('bob');
    expect((await sendEvent(signed)).status).toBe(202);
    expect(await whoIs(service, again)).not.toBeNull();
  });

  it('ends what an application was granted, and leaves nothing that is made at the same time', async () => {
    const admin = adminOf(service);
    const application = await admin.post('/api/v2/applications/', {
      name: 'pipeline',
      organization: 1,
      client_type: 'public',
      authorization_grant_type: 'password',
    });
    const { id, client_id: client } = application.json;
    await logIn('dee');
    const users = await admin.get('/api/v2/users/?username=dee');
    const dee = users.json.results[0]?.id as number;
    await admin.post('/api/v2/organizations/1/users/', { id: dee });
    const refreshWith = (token: string) =>
      post('/api/o/token/', {
        type: 'application/x-www-form-urlencoded',
        body: `grant_type=refresh_token&client_id=${client}&refresh_token=${token}`,
      });
    for (let round = 0; round < 5; round += 1) {
      await forget();
      const browser = await logIn('dee');
      const granted = await Promise.all(Array.from({ length: 4 }, () => makeToken(browser, id)));
      expect(granted.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
      const making = Array.from({ length: 8 }, () => makeToken(browser));
      const refreshing = granted.slice(1).map(({ refresh }) => refreshWith(refresh));
      const ending = event(EVENTS.accountDisabled, 'dee').then(sendEvent);
      const made = await Promise.all(making);
      const refreshed = await Promise.all(refreshing);
      expect((await ending).status).toBe(202);
      const pairs = await Promise.all(
        refreshed.map(async (answer) => (await answer.json()) as Record<string, string>),
      );
      const values = [
        ...granted.map(({ token }) => token),
        ...made.map(({ token }) => token),
        ...pairs.map((pair) => pair['access_token'] ?? ''),
      ].filter((value) => value !== '');
      const alive = await Promise.all(values.map(statusOf));
      expect(alive.filter((status) => status !== 401)).toEqual([]);
      const refreshes = [
        ...granted.map(({ refresh }) => refresh),
        ...pairs.map((pair) => pair['refresh_token']),
      ];
      for (const refresh of refreshes) if (refresh) expect((await refreshWith(refresh)).status).toBe(400);
      const [left] = await service.database.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM main_oauth2accesstoken WHERE user_id = $1',
        [dee],
      );
      expect(left?.count).toBe(0);
    }
  });

  it('ends nothing after other events, and says what it refuses', async () => {
    const browser = await logIn('bob');
    for (const uri of [EVENTS.tokenClaims, `${RISC}account-enabled`, 'https://example.org/unknown'])
      expect((await sendEvent(await event(uri, 'bob'))).status).toBe(202);
    const verification = { sub_id: undefined, events: { [EVENTS.verification]: { state: 'x' } } };
    expect((await sendEvent(await event('', '', verification))).status).toBe(202);
    const strange = await event(EVENTS.accountDisabled, 'bob', { aud: 'other' });
    const answer = await sendEvent(strange);
    expect([answer.status, await answer.json()]).toMatchObject([400, { err: 'invalid_audience' }]);
    const form = await post('/sso/events/', { type: 'application/x-www-form-urlencoded', body: 'a=b' });
    expect(form.status).toBe(400);
    const elsewhere = { format: 'iss_sub', iss: 'https://other.example.org', sub: 'bob' };
    expect((await sendEvent(await event(EVENTS.accountDisabled, '', { sub_id: elsewhere }))).status).toBe(
      202,
    );
    expect(await whoIs(service, browser)).not.toBeNull();
  });

  it('ends sessions alone for a revoked session of one device, and nothing where an event leaves that open', async () => {
    const browser = await logIn('bob');
    const { token } = await makeToken(browser);
    const user = { format: 'iss_sub', iss: provider.issuer, sub: 'bob' };
    const differing = {
      events: { [EVENTS.accountDisabled]: { subject: { format: 'email', email: 'ada@example.org' } } },
    };
    for (const claims of [{ events: { [EVENTS.credentialChange]: {} } }, differing])
      expect((await sendEvent(await event('', 'bob', claims))).status).toBe(400);
    expect(await whoIs(service, browser)).not.toBeNull();
    const sub_id = { format: 'complex', user, device: { format: 'opaque', id: 'laptop' } };
    expect((await sendEvent(await event(EVENTS.sessionRevoked, '', { sub_id }))).status).toBe(202);
    expect([await whoIs(service, browser), await statusOf(token)]).toEqual([null, 200]);
  });

  it('takes the events of Google, whose issuer has a slash and whose subject is in the event', async () => {
    const browser = await logIn('bob');
    const iss = `${provider.issuer}/`;
    const events = {
      [EVENTS.accountDisabled]: {
        subject: { subject_type: 'iss-sub', iss, sub: 'bob' },
        reason: 'hijacking',
      },
    };
    expect((await sendEvent(await event('', '', { iss, sub_id: undefined, events }))).status).toBe(202);
    expect(await whoIs(service, browser)).toBeNull();
  });

  it('revokes all tokens of a user when the provider asks for it', async () => {
    const { token } = await makeToken(await logIn('dee'));
    const subject = { format: 'iss_sub', iss: provider.issuer, sub: 'dee' };
    expect((await sendRevocation(subject, { aud: 'https://other.example.org' })).status).toBe(401);
    expect(await statusOf(token)).toBe(200);
    expect((await sendRevocation(subject)).status).toBe(204);
    expect(await statusOf(token)).toBe(401);
    expect((await sendRevocation({ ...subject, sub: 'nobody' })).status).toBe(404);
    expect((await sendRevocation({ format: 'email', email: 'dee@example.org' })).status).toBe(404);
    expect((await sendRevocation({ format: 'phone_number', phone_number: '+1' })).status).toBe(400);
    const without = await post('/sso/global-token-revocation/', {
      type: 'application/json',
      body: JSON.stringify({ sub_id: subject }),
    });
    expect([without.status, without.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  it('does not complete a login that was confirmed before the account was disabled', async () => {
    const pending = await untilReturn(service, { backend: 'google-oauth2', account: 'eve' });
    // As if the provider had issued the ID token just before.
    const issued = Math.floor(Date.now() / 1000) + 5;
    expect((await sendEvent(await event(EVENTS.accountDisabled, 'eve', { iat: issued }))).status).toBe(202);
    const stop = await pending.browser.open(pending.back);
    expect(new URL(stop.url).searchParams.get('reason')).toBe('refused_by_provider');
    expect(await whoIs(service, pending.browser)).toBeNull();
  });

  it('asks for another try while the keys of the provider cannot be read', async () => {
    const gone = await startOpenIdProvider({ clients: [], accounts: {} });
    await gone.close();
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: gone.url });
    const token = await logoutToken({ sub: 'ada', iss: gone.url });
    const answers = [await sendLogout(token), await sendLogout(token)];
    expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [503, '30'],
      [503, '30'],
    ]);
    await set(service, 'google-oauth2', { SOCIAL_AUTH_GOOGLE_OAUTH2_ISSUER: provider.url });
  });

  it('slows down a network that sends what is refused', async () => {
    const statuses = await Promise.all(Array.from({ length: 150 }, () => sendLogout('x')));
    const last = await sendLogout('x');
    expect(statuses.every(({ status }) => status === 400 || status === 429)).toBe(true);
    expect([last.status, Number(last.headers.get('retry-after')) > 0]).toEqual([429, true]);
  });
});
