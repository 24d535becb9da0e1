import { describe, expect, it } from 'vitest';
import { basic, Client, useService } from './support/service.ts';

describe('users', () => {
  const { service, admin } = useService();
  let serial = 0;

  /** A user who can log in, made in one go. */
  const person = async (more: object = {}) => {
    serial += 1;
    const username = `user-${serial}`;
    const { json } = await admin.post('/api/v2/users/', { username, password: 'password', ...more });
    return {
      id: json.id,
      path: `/api/v2/users/${json.id}/`,
      client: new Client(service.url, basic(username, 'password')),
    };
  };
  const organization = async () => {
    serial += 1;
    return (await admin.post('/api/v2/organizations/', { name: `organization-${serial}` })).json.id;
  };
  const enlist = (client: Client, where: number, id: number, role = 'users') =>
    client.post(`/api/v2/organizations/${where}/${role}/`, { id });

  it('are created, shown, changed and deleted without ever showing a password', async () => {
    const made = await admin.post('/api/v2/users/', {
      username: 'zoe',
      password: 'pässwörd',
      email: 'z@example.org',
    });
    expect([made.status, made.headers.location]).toEqual([201, `/api/v2/users/${made.json.id}/`]);
    expect(made.json).toMatchObject({ username: 'zoe', password: '$encrypted$', is_superuser: false });
    const path = `/api/v2/users/${made.json.id}/`;
    expect((await admin.get('/api/v2/users/zoe/')).json.id).toBe(made.json.id);
    expect((await admin.patch(path, { last_name: 'Z' })).json).toMatchObject({
      last_name: 'Z',
      email: 'z@example.org',
    });
    expect((await admin.put(path, { username: 'zoe' })).json).toMatchObject({ last_name: 'Z' });
    expect((await new Client(service.url, basic('zoe', 'pässwörd')).get('/api/v2/me/')).status).toBe(200);
    const everything = `${(await admin.get('/api/v2/users/')).text}${(await admin.get('/api/v2/activity_stream/')).text}`;
    expect(everything).not.toMatch(/pässwörd|pbkdf2/);
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
  });

  it('have unique names', async () => {
    const { path } = await person();
    for (const answer of [
      await admin.post('/api/v2/users/', { username: 'admin', password: 'x' }),
      await admin.patch(path, { username: 'admin' }),
    ]) {
      expect([answer.status, answer.json.username]).toEqual([
        400,
        ['A user with that username, or with one that looks like it, already exists.'],
      ]);
    }
    const race = await Promise.all(
      Array.from({ length: 4 }, () => admin.post('/api/v2/users/', { username: 'racer', password: 'x' })),
    );
    expect(race.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400]);
  });

  it.each([
    [{ username: '' }],
    [{ username: 'a b' }],
    [{ username: 'a\0' }],
    [{ username: 'x'.repeat(151) }],
    [{ username: {} }],
    [{ email: `${'e'.repeat(250)}@example.org` }],
    [{ is_superuser: 'perhaps' }],
    [{ is_active: null }],
    [{ password: {} }],
    [{ password: 'a\0b' }],
    [{ password: 'x'.repeat(5000) }],
    [{ first_name: ['x'] }],
    [{ password: '' }],
    [{ password: '  ' }],
    [{ password: 'x'.repeat(129) }],
    [{ is_system_auditor: null }],
  ])('are not made of %j', async (odd) => {
    const answer = await admin.post('/api/v2/users/', { username: 'odd', password: 'x', ...odd });
    expect(answer.status).toBe(400);
    expect(answer.json).toHaveProperty(Object.keys(odd)[0] ?? '');
  });

  it('keep their password when the new one is blank or too long, which is refused', async () => {
    const { path, client } = await person();
    for (const password of ['', '  ', null, 'x'.repeat(129)]) {
      expect((await admin.patch(path, { password })).status).toBe(400);
    }
    expect((await admin.patch(path, { password: '$encrypted$' })).status).toBe(200);
    expect((await client.get('/api/v2/me/')).status).toBe(200);
  });

  it('cannot raise their own privileges through any URL or method', async () => {
    const { id, path, client } = await person();
    const raised = [{ is_superuser: true }, { is_system_auditor: true }];
    for (const privilege of raised) {
      expect((await client.patch(path, privilege)).status).toBe(403);
      expect((await client.put(path, { username: 'raised', ...privilege })).status).toBe(403);
      expect(
        (await client.post('/api/v2/users/', { username: 'raised', password: 'x', ...privilege })).status,
      ).toBe(403);
    }
    expect((await enlist(client, 1, id, 'admins')).status).toBe(403);
    expect((await client.patch('/api/v2/organizations/1/', { name: 'mine' })).status).toBe(403);
    expect((await client.post('/api/v2/organizations/', { name: 'mine' })).status).toBe(403);
    expect((await client.patch('/api/v2/users/1/', { password: 'mine' })).status).toBe(403);
    expect((await client.delete(path)).status).toBe(403);
    expect((await client.patch(path, { is_active: false })).status).toBe(403);
    expect((await client.patch(path, { first_name: 'Own' })).json).toMatchObject({
      first_name: 'Own',
      is_superuser: false,
    });
  });

  it('who are auditors see everything and change only themselves', async () => {
    const { path, client } = await person({ is_system_auditor: true });
    for (const seen of ['users/', 'tokens/', 'settings/all/', 'organizations/1/', 'activity_stream/']) {
      expect((await client.get(`/api/v2/${seen}`)).status).toBe(200);
    }
    expect((await client.patch('/api/v2/users/1/', { first_name: 'x' })).status).toBe(403);
    expect((await client.patch('/api/v2/settings/all/', { SESSIONS_PER_USER: 9 })).status).toBe(403);
    expect((await client.delete('/api/v2/settings/all/')).status).toBe(403);
    expect((await client.patch(path, { is_superuser: true })).status).toBe(403);
    expect((await client.patch(path, { is_system_auditor: false })).status).toBe(403);
  });

  it('cannot remove their own access, nor the last two superusers that of each other', async () => {
    expect((await admin.patch('/api/v2/users/1/', { is_superuser: false })).status).toBe(403);
    expect((await admin.patch('/api/v2/users/1/', { is_active: false })).status).toBe(403);
    expect((await admin.delete('/api/v2/users/1/')).status).toBe(403);
    const other = await person({ is_superuser: true });
    await other.client.get('/api/v2/me/');
    const duel = await Promise.all([
      admin.patch(other.path, { is_superuser: false }),
      other.client.patch('/api/v2/users/1/', { is_superuser: false }),
    ]);
    expect(duel.map(({ status }) => status).sort()).toEqual([200, 403]);
    await service.database.execute('UPDATE auth_user SET is_superuser = true WHERE id = 1');
  });

  it('who are deactivated stay so despite a concurrent change by them', async () => {
    const { path, client } = await person();
    await client.get('/api/v2/me/');
    const busy = [0, 1, 2].map((n) => client.patch(path, { password: 'password', first_name: `busy ${n}` }));
    await admin.patch(path, { is_active: false });
    await Promise.all(busy);
    expect(
      (await admin.get('/api/v2/users/?is_active=false')).json.results.map((user) => user['url']),
    ).toContain(path);
  });

  it('of an organization can be changed by its admin, and by no other admin', async () => {
    const [here, there] = [await organization(), await organization()];
    const [boss, stranger, member] = [await person(), await person(), await person()];
    await enlist(admin, here, boss.id, 'admins');
    await enlist(admin, there, stranger.id, 'admins');
    expect((await enlist(boss.client, here, member.id)).status).toBe(204);
    expect((await boss.client.patch(member.path, { first_name: 'M' })).status).toBe(200);
    expect((await boss.client.patch(member.path, { is_superuser: true })).status).toBe(403);
    expect((await stranger.client.patch(member.path, { password: 'mine' })).status).toBe(403);
    // Enlisting someone would give the right to set the password: it takes that right before.
    expect((await enlist(stranger.client, there, member.id)).status).toBe(403);
    expect((await enlist(stranger.client, there, 1)).status).toBe(403);
    expect((await enlist(stranger.client, here, stranger.id)).status).toBe(403);
    await enlist(admin, there, member.id);
    expect((await boss.client.patch(member.path, { first_name: 'x' })).status).toBe(403);
    expect((await boss.client.delete(member.path)).status).toBe(403);
  });

  it('who are not visible are refused, with their organizations', async () => {
    const [hidden, curious] = [await person(), await person()];
    await enlist(admin, await organization(), hidden.id, 'admins');
    for (const path of ['', 'organizations/', 'admin_of_organizations/', 'activity_stream/']) {
      expect((await curious.client.get(`${hidden.path}${path}`)).status).toBe(403);
    }
    expect((await curious.client.get(`/api/v2/users/?id=${hidden.id}`)).json.count).toBe(0);
    expect((await curious.client.get(`/api/v2/users/?or__id=${hidden.id}&or__id=1`)).json.count).toBe(1);
  });

  it('are found by name, in the form of the named URL', async () => {
    for (const username of ['plain', 'a+b@example.com', 'ü_ñ']) {
      const { json } = await admin.post('/api/v2/users/', { username, password: 'secret' });
      const { named_url } = json['related'] as Record<string, string>;
      const address = String(named_url).replace(/[^!-~]/gu, encodeURIComponent);
      expect((await admin.get(address)).json.id).toBe(json.id);
      expect((await admin.get(`${address}tokens/`)).status).toBe(200);
      expect((await admin.get(`/api/v2/users/${encodeURIComponent(username)}/`)).json.id).toBe(json.id);
    }
  });

  it('become members by id only', async () => {
    for (const id of [
      0,
      -1,
      1.5,
      1e300,
      '1; DROP TABLE auth_user',
      null,
      [1],
      {},
      true,
      4_000_000_000,
      999_999,
    ]) {
      const answer = await admin.post('/api/v2/organizations/1/users/', { id });
      expect([id, answer.status]).toEqual([id, 400]);
    }
  });

  it('have passwords that meet the configured rules', async () => {
    const rules = { LOCAL_PASSWORD_MIN_LENGTH: 8, LOCAL_PASSWORD_MIN_DIGITS: 2, LOCAL_PASSWORD_MIN_UPPER: 1 };
    await admin.patch('/api/v2/settings/authentication/', rules);
    const make = (password: string) => admin.post('/api/v2/users/', { username: 'ruled', password });
    expect((await make('short1A')).status).toBe(400);
    expect((await make('longenough1A')).status).toBe(400);
    expect((await make('longenough12a')).status).toBe(400);
    expect((await make('longenough12A')).status).toBe(201);
    await admin.delete('/api/v2/settings/authentication/');
  });
});
