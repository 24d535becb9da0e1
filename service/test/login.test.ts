import { until } from '@tokenctl/testing/until.ts';
import { describe, expect, it } from 'vitest';
import { ADMIN, basic, Client, startTestService, useService } from './support/service.ts';

describe('session authentication', () => {
  const logged: string[] = [];
  const logTo = { write: (line: string) => void logged.push(line) };
  const { service } = useService(() => ({
    now: () => new Date(Date.now() + ahead),
    ...{ logLevel: 'info' as const, logTo },
  }));
  let ahead = 0;
  const admin = () => new Client(service.url, basic(ADMIN.username, ADMIN.password));
  const session = async () => {
    const browser = new Client(service.url);
    await browser.logIn(ADMIN.username, ADMIN.password);
    return browser;
  };
  const sessionId = (browser: Client) => browser.cookies.get('svc_sessionid');

  it('logs each request with its id, its time, who was authenticated and from where', async () => {
    const accepted = await admin().get('/api/v2/me/?page_size=123');
    const refused = await new Client(service.url, basic(ADMIN.username, 'wrong')).get('/api/v2/me/');
    const lineOf = (answer: { readonly headers: Readonly<Record<string, unknown>> }) =>
      until(() =>
        logged
          .map((line) => JSON.parse(line))
          .find(({ request }) => request === answer.headers['x-api-request-id']),
      );
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const common = { level: 'info', time, path: '/api/v2/me/', address: '127.0.0.1' };
    expect(await lineOf(accepted)).toMatchObject({ ...common, status: 200, user: 1 });
    expect(await lineOf(refused)).toMatchObject({ ...common, status: 401, user: null });
    expect(logged.join('')).not.toContain('page_size');
  });

  it('answers a login with every header and cookie of section 5.1', async () => {
    const answer = await new Client(service.url).logIn(ADMIN.username, ADMIN.password);
    expect(answer.status).toBe(302);
    expect(answer.text).toBe('');
    expect(answer.headers).toMatchObject({
      location: '/accounts/profile/',
      'content-length': '0',
      'content-type': 'text/html; charset=utf-8',
      'x-api-session-cookie-name': 'svc_sessionid',
      'session-timeout': '1800',
      'cache-control': 'max-age=0, no-cache, no-store, must-revalidate, private',
      vary: 'Cookie, Accept-Language, Origin',
      'content-language': 'en',
      'x-api-total-time': expect.stringMatching(/^\d+\.\d+s$/),
      'x-api-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'x-api-product-name': 'tokenctl',
      'access-control-expose-headers': 'X-API-Request-Id',
      'strict-transport-security': 'max-age=15768000',
    });
    const [loggedIn, user, csrf, id] = ['userLoggedIn', 'current_user', 'csrftoken', 'svc_sessionid'].map(
      (name) => answer.cookies.find((cookie) => cookie.startsWith(`${name}=`)) ?? '',
    );
    expect(loggedIn).toMatch(/^userLoggedIn=true; Path=\//);
    expect(user).toMatch(/^current_user=[^;]+; Path=\//);
    expect(decodeURIComponent(user ?? '')).not.toMatch(/pbkdf2|correct horse/);
    expect(csrf).toMatch(/^csrftoken=[A-Za-z0-9]{32}; Path=\/; SameSite=Lax$/);
    expect(id?.split('; ').map((part) => part.replace(/(^svc_sessionid|^Expires)=.*/, '$1'))).toEqual(
      expect.arrayContaining([
        'svc_sessionid',
        'Max-Age=1800',
        'Path=/',
        'Expires',
        'HttpOnly',
        'SameSite=Lax',
      ]),
    );
  });

  it('remembers the browser with a cookie that gives access to nothing, for ninety days', async () => {
    const browser = new Client(service.url);
    const answer = await browser.logIn(ADMIN.username, ADMIN.password);
    const cookie = answer.cookies.find((each) => each.startsWith('known_device=')) ?? '';
    expect(cookie).toMatch(
      /^known_device=\d+\.\w{22}\.\d+\.[\w-]{43}; Max-Age=7776000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const thief = new Client(service.url, { cookie: `known_device=${browser.cookies.get('known_device')}` });
    expect((await thief.get('/api/v2/me/')).status).toBe(401);
    // Two accounts in one browser have an entry each; a logout leaves them.
    await admin().post('/api/v2/users/', { username: 'second', password: 'account' });
    await browser.logIn('second', 'account');
    await browser.get('/api/logout/');
    const entries = browser.cookies.get('known_device')?.split('~') ?? [];
    expect(entries.map((entry) => entry.split('.')[0])).toEqual([expect.stringMatching(/^\d+$/), '1']);
  });

  it('makes a new session id and CSRF token at each login, and the old ones worth nothing', async () => {
    const browser = await session();
    const before = new Map(browser.cookies);
    await browser.logIn(ADMIN.username, ADMIN.password);
    expect(sessionId(browser)).not.toBe(before.get('svc_sessionid'));
    expect(browser.cookies.get('csrftoken')).not.toBe(before.get('csrftoken'));
    const thief = new Client(service.url, { cookie: `svc_sessionid=${before.get('svc_sessionid')}` });
    expect((await thief.get('/api/v2/me/')).status).toBe(401);
  });

  it('takes no session id that a client made up', async () => {
    const browser = new Client(service.url);
    browser.cookies.set('svc_sessionid', 'a'.repeat(32));
    await browser.logIn(ADMIN.username, ADMIN.password);
    expect(sessionId(browser)).not.toBe('a'.repeat(32));
    const fixed = new Client(service.url, { cookie: `svc_sessionid=${'a'.repeat(32)}` });
    expect((await fixed.get('/api/v2/me/')).status).toBe(401);
  });

  it('keeps no session id in the database that could be used', async () => {
    const browser = await session();
    const rows = await service.database.query<{ session_key: string }>(
      'SELECT session_key FROM django_session',
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.map((row) => row.session_key)).not.toContain(sessionId(browser));
  });

  it.each([
    ['no CSRF token', { 'x-csrftoken': '' }],
    ['another CSRF token', { 'x-csrftoken': 'b'.repeat(32) }],
    ['an Origin of another site', { origin: 'https://evil.example' }],
    ['the Origin of no site', { origin: 'null' }],
  ])('refuses a login and a change with %s', async (_what, headers) => {
    const stranger = new Client(service.url);
    const refused = await stranger.logIn(ADMIN.username, ADMIN.password, {
      headers: { ...(await csrf(stranger)), ...headers },
      form: ADMIN,
    });
    expect(refused.status).toBe(403);
    expect(sessionId(stranger)).toBeUndefined();
    const browser = await session();
    const change = await browser.send('POST', '/api/v2/tokens/', {
      json: {},
      headers: { 'x-csrftoken': browser.cookies.get('csrftoken') ?? '', ...headers },
    });
    expect(change.status).toBe(403);
    expect(change.json.detail).toMatch(/^CSRF Failed: /);
  });

  it('takes the CSRF token from the header or the form', async () => {
    const browser = new Client(service.url);
    await browser.get('/api/login/');
    const csrfmiddlewaretoken = browser.cookies.get('csrftoken') ?? '';
    const form = { ...ADMIN, csrfmiddlewaretoken };
    expect((await browser.send('POST', '/api/login/', { form })).status).toBe(302);
    const headers = { 'x-csrftoken': browser.cookies.get('csrftoken') ?? '', origin: service.url };
    expect((await browser.send('POST', '/api/v2/tokens/', { json: {}, headers })).status).toBe(201);
  });

  it.each([
    ['/api/v2/', '/api/v2/'],
    ['/api/v2/?a=b', '/api/v2/?a=b'],
    ['//evil.example/', '/accounts/profile/'],
    ['/\\evil.example/', '/accounts/profile/'],
    ['https://evil.example/', '/accounts/profile/'],
    ['javascript:alert(1)', '/accounts/profile/'],
    ['/\t/evil.example', '/accounts/profile/'],
    ['/\r\nSet-Cookie: a=b', '/accounts/profile/'],
    ['', '/accounts/profile/'],
    ['/api/v2/users/?search=ä b', '/api/v2/users/?search=%C3%A4%20b'],
    ['HERE/api/v2/me/', '/api/v2/me/'],
    ['HERE.evil.example/', '/accounts/profile/'],
    ['HERE@evil.example/', '/accounts/profile/'],
    ['HERE//evil.example/', '/accounts/profile/'],
    ['v2/me/', '/accounts/profile/'],
    ['/..//evil.example/', '/accounts/profile/'],
  ])('goes from a login with next %j to %s', async (next, location) => {
    const browser = new Client(service.url);
    const answer = await browser.logIn(ADMIN.username, ADMIN.password, {
      form: { ...ADMIN, next: next.replace('HERE', service.url), csrfmiddlewaretoken: 'x' },
      headers: await csrf(browser),
    });
    expect([answer.status, answer.headers.location]).toEqual([302, location]);
  });

  it('goes to next in the query of the POST, where the form has none', async () => {
    const browser = new Client(service.url);
    const headers = await csrf(browser);
    const form = { ...ADMIN, username: ` ${ADMIN.username} ` };
    const answer = await browser.send('POST', '/api/login/?next=/api/v2/me/', { form, headers });
    expect([answer.status, answer.headers.location]).toEqual([302, '/api/v2/me/']);
  });

  it('takes no CSRF token from JSON, and reads a session cookie in quotes', async () => {
    const browser = await session();
    const csrfmiddlewaretoken = browser.cookies.get('csrftoken') ?? '';
    const change = await browser.send('POST', '/api/v2/tokens/', { json: { csrfmiddlewaretoken } });
    expect(change.status).toBe(403);
    const quoted = new Client(service.url, { cookie: `svc_sessionid="${sessionId(browser)}"` });
    expect((await quoted.get('/api/v2/me/')).json.count).toBe(1);
    const empty = await new Client(service.url, { cookie: 'svc_sessionid=' }).get('/api/v2/me/');
    expect([empty.status, empty.cookies.join()]).toEqual([401, expect.stringContaining('Max-Age=0')]);
  });

  it('goes on as another session where its user changes the own password, and ends all others', async () => {
    const admin = await session();
    const token = { 'x-csrftoken': admin.cookies.get('csrftoken') ?? '' };
    const made = await admin.send('POST', '/api/v2/users/', {
      json: { username: 'changer', password: 'first' },
      headers: token,
    });
    const [one, other] = [new Client(service.url), new Client(service.url)];
    await one.logIn('changer', 'first');
    await other.logIn('changer', 'first');
    const before = sessionId(one);
    const path = String(made.json['url']);
    const change = (password: string, client: Client) =>
      client.send('PATCH', path, {
        json: { password },
        headers: { 'x-csrftoken': client.cookies.get('csrftoken') ?? '' },
      });
    expect((await change('second', one)).status).toBe(200);
    expect(sessionId(one)).not.toBe(before);
    expect((await one.get('/api/v2/me/')).status).toBe(200);
    expect((await other.get('/api/v2/me/')).status).toBe(401);
    const old = new Client(service.url, { cookie: `svc_sessionid=${before}` });
    expect((await old.get('/api/v2/me/')).status).toBe(401);
    // A change by another user leaves no session.
    expect((await change('third', admin)).status).toBe(200);
    expect((await one.get('/api/v2/me/')).status).toBe(401);
  });

  it('is not ended by HEAD', async () => {
    const browser = await session();
    expect((await browser.send('HEAD', '/api/logout/')).status).toBe(405);
    expect((await browser.get('/api/v2/me/')).status).toBe(200);
  });

  it('answers a wrong password, an unknown user and fields sent twice alike: 401 and no session', async () => {
    const tries = [
      `username=admin&password=wrong`,
      `username=nobody&password=wrong`,
      `username=admin&username=admin&password=${encodeURIComponent(ADMIN.password)}`,
      'username=admin%00&password=x',
      '',
    ];
    const answers = await Promise.all(
      tries.map(async (form) => {
        const browser = new Client(service.url);
        const answer = await browser.logIn('', '', { form, headers: await csrf(browser) });
        expect(sessionId(browser)).toBeUndefined();
        return [answer.status, answer.text.replace(/ value="\w*"| autofocus/g, '')];
      }),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.[0]).toBe(401);
  });

  it('keeps the name after a wrong password, as text', async () => {
    const browser = new Client(service.url);
    const { text } = await browser.logIn('"><b>ada</b>', 'wrong', { headers: await csrf(browser) });
    expect(text).toContain(' value="&quot;&gt;&lt;b&gt;ada&lt;/b&gt;"');
    expect(text).toMatch(/id="password"[^>]* autofocus/);
    expect(text).not.toContain('wrong"');
  });

  it('lets an idle session end, and moves its end with each request but a quiet one', async () => {
    const browser = await session();
    ahead += 1_000_000;
    const used = await browser.get('/api/v2/me/');
    expect([used.status, used.headers['session-timeout']]).toEqual([200, '1800']);
    ahead += 1_000_000;
    expect((await browser.get('/api/v2/me/', { headers: { 'x-ws-session-quiet': '1' } })).status).toBe(200);
    ahead += 1_000_000;
    expect((await browser.get('/api/v2/me/')).status).toBe(401);
  });

  it('ends the session at logout, by POST with the CSRF token or by GET', async () => {
    for (const method of ['GET', 'POST']) {
      const browser = await session();
      const id = sessionId(browser);
      const headers = { 'x-csrftoken': browser.cookies.get('csrftoken') ?? '' };
      if (method === 'POST') expect((await browser.send('POST', '/api/logout/')).status).toBe(403);
      expect((await browser.send(method, '/api/logout/', { headers })).status).toBe(302);
      const thief = new Client(service.url, { cookie: `svc_sessionid=${id}` });
      expect((await thief.get('/api/v2/me/')).status).toBe(401);
    }
  });

  it('ends the oldest sessions beyond SESSIONS_PER_USER, of logins at the same time as well', async () => {
    await admin().patch('/api/v2/settings/authentication/', { SESSIONS_PER_USER: 2 });
    const browsers = await Promise.all([session(), session(), session(), session(), session()]);
    const answers = await Promise.all(browsers.map((browser) => browser.get('/api/v2/me/')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    await admin().patch('/api/v2/settings/authentication/', { SESSIONS_PER_USER: -1 });
  });

  it('ends all sessions of a user whose password is changed or who is deactivated', async () => {
    const made = await admin().post('/api/v2/users/', { username: 'sam', password: 'first' });
    const path = `/api/v2/users/${made.json.id}/`;
    const browser = new Client(service.url);
    await browser.logIn('sam', 'first');
    expect((await browser.get('/api/v2/me/')).status).toBe(200);
    await admin().patch(path, { password: 'second' });
    expect((await browser.get('/api/v2/me/')).status).toBe(401);
    expect((await browser.logIn('sam', 'first')).status).toBe(401);
    expect((await browser.logIn('sam', 'second')).status).toBe(302);
    await admin().patch(path, { is_active: false });
    expect((await browser.get('/api/v2/me/')).status).toBe(401);
    expect((await browser.logIn('sam', 'second')).status).toBe(401);
  });

  it('leaves no session of the old password, whichever of a login and the change is first', async () => {
    const made = await admin().post('/api/v2/users/', { username: 'ria', password: 'first' });
    const path = `/api/v2/users/${made.json.id}/`;
    const browsers = Array.from({ length: 6 }, () => new Client(service.url));
    const change = admin().patch(path, { password: 'second' });
    await Promise.all([change, ...browsers.map((browser) => browser.logIn('ria', 'first'))]);
    for (const browser of browsers) expect((await browser.get('/api/v2/me/')).status).toBe(401);
  });
});

async function csrf(browser: Client): Promise<Record<string, string>> {
  await browser.get('/api/login/');
  return { 'x-csrftoken': browser.cookies.get('csrftoken') ?? '' };
}

describe('session authentication behind a proxy that speaks TLS', () => {
  const { service } = useService(() => ({
    behindProxy: true,
    publicUrl: 'https://controller.example',
    sessionCookieName: 'my_session',
  }));
  const https = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'controller.example' };

  it.each([
    ['a Referer of the service', { referer: 'https://controller.example/api/login/' }, 302],
    ['its Origin', { origin: 'https://controller.example' }, 302],
    ['neither', {}, 403],
    ['the Referer of another site', { referer: 'https://evil.example/' }, 403],
    ['a Referer that begins alike', { referer: 'https://controller.example.evil.example/' }, 403],
    ['a Referer over http', { referer: 'http://controller.example/' }, 403],
    ['a Referer that is none', { referer: 'garbage' }, 403],
    [
      'another Origin beside a good Referer',
      { origin: 'https://evil.example', referer: 'https://controller.example/' },
      403,
    ],
  ])('answers a login over https with %s as it should', async (_what, headers, status) => {
    const browser = new Client(service.url, https);
    const answer = await browser.logIn(ADMIN.username, ADMIN.password, {
      headers: { ...(await csrf(browser)), ...headers },
    });
    expect(answer.status).toBe(status);
    if (status !== 302) return;
    expect(answer.headers['x-api-session-cookie-name']).toBe('my_session');
    expect(answer.cookies.filter((cookie) => !/; Secure/.test(cookie))).toEqual([]);
  });
});

describe('session authentication without a proxy', () => {
  it('believes no header of one', async () => {
    const service = await startTestService();
    const browser = new Client(service.url, {
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'a.example',
    });
    const answer = await browser.get('/api/login/');
    expect(answer.cookies.join()).not.toMatch(/Secure/);
    await service.close();
  });
});
