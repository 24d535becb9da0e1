import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthorizationServer, CALLBACK, codeRequest } from './oauth2/authorization-server.ts';
import { basic, bearer, Client, useService } from './support/service.ts';

/** A user with a password, who asks with a token. */
interface Person {
  readonly id: number;
  readonly username: string;
  readonly client: Client;
}

const WEB = {
  client_type: 'confidential',
  authorization_grant_type: 'authorization-code',
  redirect_uris: CALLBACK,
};

describe('rights that do not lead to higher ones', () => {
  const { service, admin } = useService();
  let count = 0;

  async function person(more: Readonly<Record<string, unknown>> = {}): Promise<Person> {
    count += 1;
    const username = `person${count}`;
    const { json } = await admin.post('/api/v2/users/', { username, password: 'secret', ...more });
    const { json: token } = await new Client(service.url, basic(username, 'secret')).post('/api/v2/tokens/');
    return { id: json.id, username, client: new Client(service.url, bearer(token.token)) };
  }

  /** An organization with an admin and a team. */
  async function organization() {
    count += 1;
    const { id } = (await admin.post('/api/v2/organizations/', { name: `org${count}` })).json;
    const path = `/api/v2/organizations/${id}/`;
    const boss = await person();
    await admin.post(`${path}admins/`, { id: boss.id });
    const team = (await admin.post('/api/v2/teams/', { name: 'team', organization: id })).json;
    return { id, path, boss, team: `/api/v2/teams/${team.id}/` };
  }

  describe('the consent page', () => {
    const make = (client: Client, facts: Readonly<Record<string, unknown>>) => {
      count += 1;
      return client.post('/api/v2/applications/', { name: `app ${count}`, ...WEB, ...facts });
    };

    it('is turned off for an application by superusers only', async () => {
      const { id: organization_, boss } = await organization();
      const facts = { organization: organization_, skip_authorization: true };
      expect((await make(boss.client, facts)).status).toBe(403);
      const { id } = (await make(boss.client, { ...facts, skip_authorization: false })).json;
      const path = `/api/v2/applications/${id}/`;
      expect((await boss.client.patch(path, { skip_authorization: true })).status).toBe(403);
      expect((await boss.client.patch(path, { description: 'x' })).status).toBe(200);
      expect((await admin.patch(path, { skip_authorization: true })).status).toBe(200);
      expect((await boss.client.patch(path, { description: 'y' })).json['skip_authorization']).toBe(true);
      expect((await boss.client.patch(path, { skip_authorization: false })).status).toBe(200);
      expect((await boss.client.patch(path, { skip_authorization: true })).status).toBe(403);
    });

    it('is not turned off for a public application (RFC 8252 section 8.6)', async () => {
      const { id: organization_ } = await organization();
      const facts = { organization: organization_, skip_authorization: true };
      const refused = await make(admin, { ...facts, client_type: 'public' });
      expect([refused.status, refused.json['skip_authorization']]).toEqual([400, [expect.any(String)]]);
      const { id } = (await make(admin, facts)).json;
      const turned = await admin.patch(`/api/v2/applications/${id}/`, {
        client_type: 'public',
        skip_authorization: true,
      });
      expect([turned.status, turned.json['skip_authorization']]).toEqual([400, [expect.any(String)]]);
    });

    it.each([
      ['redirect_uris', 'https://evil.example/cb'],
      ['client_type', 'public'],
    ])('is back once someone else changes %s', async (field, value) => {
      const { id: organization_, boss } = await organization();
      const { id } = (await make(admin, { organization: organization_, skip_authorization: true })).json;
      const path = `/api/v2/applications/${id}/`;
      const changed = await boss.client.patch(path, { [field]: value });
      expect([changed.status, changed.json['skip_authorization']]).toEqual([200, false]);
      const entries = (await admin.get(`${path}activity_stream/?order_by=-id&page_size=1`)).json.results;
      expect(entries[0]?.['changes']).toMatchObject({ skip_authorization: [true, false] });
    });

    it('stays off where a superuser changes the address and says so', async () => {
      const { id: organization_ } = await organization();
      const { id } = (await make(admin, { organization: organization_, skip_authorization: true })).json;
      const path = `/api/v2/applications/${id}/`;
      const uris = { redirect_uris: 'https://other.example/cb' };
      expect((await admin.patch(path, uris)).json['skip_authorization']).toBe(false);
      const both = await admin.patch(path, { redirect_uris: CALLBACK, skip_authorization: true });
      expect(both.json['skip_authorization']).toBe(true);
    });
  });

  it('a scope is narrowed, and never widened, by whomever', async () => {
    const { id: organization_, path: here, boss } = await organization();
    const member = await person();
    await admin.post(`${here}users/`, { id: member.id });
    const application = (
      await admin.post('/api/v2/applications/', {
        name: `app ${count}`,
        organization: organization_,
        client_type: 'confidential',
        authorization_grant_type: 'password',
      })
    ).json;
    const { json: token } = await member.client.post('/api/v2/tokens/', {
      application: application.id,
      scope: 'read',
    });
    const path = `/api/v2/tokens/${token.id}/`;
    for (const client of [boss.client, member.client, admin]) {
      for (const scope of ['read write', 'write', 'write read']) {
        const refused = await client.patch(path, { scope });
        expect([refused.status, refused.json['scope']]).toEqual([400, [expect.any(String)]]);
      }
      const kept = await client.put(path, { description: 'PUT has the scope write by default' });
      expect([kept.status, kept.json['scope']]).toEqual([200, 'read']);
      expect((await client.patch(path, { scope: 'read', description: 'x' })).status).toBe(200);
    }
    const both = (await member.client.post('/api/v2/tokens/', { scope: 'read write' })).json;
    const narrowed = await member.client.patch(`/api/v2/tokens/${both.id}/`, { scope: 'read' });
    expect([narrowed.status, narrowed.json['scope']]).toEqual([200, 'read']);
    expect((await new Client(service.url, bearer(both.token)).post('/api/v2/tokens/')).status).toBe(403);
  });

  it.each(['member', 'admin'])('a %s of a team of B is not adopted by A', async (role) => {
    const [a, b, user] = [await organization(), await organization(), await person()];
    const roles = (await admin.get(`${b.team}object_roles/`)).json.results;
    const held = roles.find(({ name }) => String(name).toLowerCase() === role);
    expect((await admin.post(`/api/v2/roles/${held?.id}/users/`, { id: user.id })).status).toBe(204);
    for (const list of ['users/', 'admins/', 'auditors/']) {
      expect((await a.boss.client.post(a.path + list, { id: user.id })).status).toBe(403);
    }
    expect((await a.boss.client.patch(`/api/v2/users/${user.id}/`, { password: 'mine' })).status).toBe(403);
    // The admin of B has the role, and more.
    expect((await b.boss.client.post(`${b.path}users/`, { id: user.id })).status).toBe(204);
  });

  it('a user without any role is adopted, as on the controller', async () => {
    const [a, user] = [await organization(), await person()];
    expect((await a.boss.client.post(`${a.path}users/`, { id: user.id })).status).toBe(204);
    expect((await a.boss.client.patch(`/api/v2/users/${user.id}/`, { password: 'new' })).status).toBe(200);
  });

  describe('the name of a user', () => {
    const LOOKALIKES = [
      'ADMIN',
      'Admin',
      'admin.',
      '.admin',
      'admin-',
      '_admin',
      'ａｄｍｉｎ',
      'ＡＤＭＩＮ',
      'adm\u0131n',
      // Letters of other scripts, small and capital, and one that looks like a capital of the name.
      '\u03b1dm\u0456n',
      '\u0430dm\u0456n',
      'adm\u{13a5}n',
      '\u0410DM\u0406N',
      '\u0430DMIN',
      'adm\u04c0n',
      // Two letters for one in a name that is not of ASCII, and a digit that is a dot.
      '\u0430drnin',
      'admin\u{660}',
      // What is not seen.
      'ad\u{3164}min',
      'admin\u{ffa0}',
      '\u{115f}admin',
    ];

    it.each(LOOKALIKES)('cannot become %s', async (username) => {
      const { id, client } = await person();
      const renamed = await client.patch(`/api/v2/users/${id}/`, { username });
      expect([renamed.status, renamed.json['username']]).toEqual([400, [expect.any(String)]]);
      expect((await admin.post('/api/v2/users/', { username, password: 'x' })).status).toBe(400);
      const { boss, path } = await organization();
      expect((await boss.client.post(`${path}users/`, { username, password: 'x' })).status).toBe(400);
    });

    it('may change its own case, and differ in the middle', async () => {
      const { id, client, username } = await person();
      const path = `/api/v2/users/${id}/`;
      expect((await client.patch(path, { username: username.toUpperCase() })).status).toBe(200);
      expect((await client.patch(path, { first_name: 'x', username: username.toUpperCase() })).status).toBe(
        200,
      );
      const names = [`${username}.jones`, `${username}jones`, `${username}-jones`];
      for (const other of names) {
        expect((await admin.post('/api/v2/users/', { username: other, password: 'x' })).status).toBe(201);
      }
    });

    it.each([
      ['user1', 'userl'],
      ['host10', 'hostl0', 'host1o'],
      ['modern', 'rnodern', 'modem'],
      ['мила', 'милан', 'michał', 'michal'],
    ])('is no look-alike of one in the same ordinary letters: %s', async (...names) => {
      for (const username of names) {
        expect((await admin.post('/api/v2/users/', { username, password: 'x' })).status).toBe(201);
      }
    });

    it('may stay where a similar one was there before, and logs in by itself only', async () => {
      const { id, client, username } = await person();
      for (const similar of [username.toUpperCase(), username.replace('p', '\u0440')]) {
        await service.database.execute("INSERT INTO auth_user (username, password) VALUES ($1, '!')", [
          similar,
        ]);
        const refused = await new Client(service.url, basic(similar, 'secret')).get('/api/v2/me/');
        expect(refused.status).toBe(401);
      }
      expect((await client.patch(`/api/v2/users/${id}/`, { username, first_name: 'x' })).status).toBe(200);
      const login = new Client(service.url, basic(username, 'secret'));
      expect((await login.get('/api/v2/me/')).json.results[0]?.id).toBe(id);
    });

    it('is taken by one of two that come at once', async () => {
      const make = (username: string) => admin.post('/api/v2/users/', { username, password: 'x' });
      const made = await Promise.all(['race', 'RACE', 'Race', 'race.', 'ｒａｃｅ', 'r\u0430ce'].map(make));
      expect(made.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400, 400, 400]);
    });
  });
});

describe('applications that a user does not see', () => {
  let server: AuthorizationServer;
  beforeAll(async () => {
    server = await AuthorizationServer.start();
  });
  afterAll(() => server.close());
  const member = (disassociate?: true) =>
    server.admin.post(`/api/v2/organizations/${server.organization}/users/`, {
      id: server.aliceId,
      ...(disassociate && { disassociate }),
    });

  it('give the user no token by password', async () => {
    const app = await server.register('by password', { authorization_grant_type: 'password' });
    await member(true);
    await expect(server.passwordPair(app)).rejects.toThrow('invalid_grant');
    await member();
    const { refresh } = await server.passwordPair(app);
    await member(true);
    const refused = await server.refresh(refresh, app);
    expect([refused.status, refused.json['error']]).toEqual([400, 'invalid_grant']);
    await member();
    expect((await server.refresh(refresh, app)).status).toBe(200);
  });

  it('give no more than the narrowed scope to a refresh', async () => {
    const app = await server.register('narrowed', { authorization_grant_type: 'password' });
    const { refresh } = await server.passwordPair(app, 'read write');
    const less = (await server.refresh(refresh, app, { scope: 'write' })).json;
    const [token] = (await server.admin.get('/api/v2/tokens/?order_by=-id&page_size=1')).json.results;
    await server.admin.patch(`/api/v2/tokens/${token?.id}/`, { scope: 'read' });
    expect((await server.refresh(String(less['refresh_token']), app)).json['scope']).toBe('read');
  });

  it('give the user no code, and no token for a code', async () => {
    const app = await server.register('by code');
    const trusted = await server.register('trusted', { skip_authorization: true });
    await member();
    const code = await server.code(app);
    const page = await server.authorize(codeRequest(app));
    await member(true);
    expect((await server.exchange(code, app)).json['error']).toBe('invalid_grant');
    for (const answer of [
      await server.authorize(codeRequest(app)),
      await server.authorize(codeRequest(trusted)),
      await server.answerConsent(page, { allow: 'Authorize' }),
    ]) {
      const { searchParams } = new URL(String(answer.headers.location));
      expect([answer.status, searchParams.get('error')]).toEqual([302, 'access_denied']);
    }
    await member();
  });

  it('ask again once the redirect URI changed', async () => {
    const app = await server.register('asked before');
    const auto = { ...codeRequest(app), approval_prompt: 'auto' };
    const pair = (await server.exchange(await server.code(app), app)).json;
    expect((await server.authorize(auto)).status).toBe(302);
    await server.admin.patch(`/api/v2/applications/${app.id}/`, { description: 'still the same' });
    expect((await server.authorize(auto)).status).toBe(302);
    await server.admin.patch(`/api/v2/applications/${app.id}/`, {
      redirect_uris: `${CALLBACK} https://evil.example/cb`,
    });
    expect((await server.authorize(auto)).status).toBe(200);
    // A refresh is no consent.
    expect((await server.refresh(String(pair['refresh_token']), app)).status).toBe(200);
    expect((await server.authorize(auto)).status).toBe(200);
    await server.exchange(await server.code(app), app);
    expect((await server.authorize(auto)).status).toBe(302);
  });
});
