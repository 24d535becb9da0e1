import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Secret } from '../../../src/domain/secret.ts';
import { hashPassword } from '../../../src/service/auth/password.ts';
import type { RunningService } from '../../../src/service/server.ts';
import { createDatabase } from '../../support/embedded-postgres.ts';
import { ADMIN, basic, Client, DATABASES, startTestService } from '../../support/service.ts';
import { API, LOGIN, PASSWORD } from './world.ts';

const PLANTED = 'chosen by a stranger';

describe.each(DATABASES)('tables that somebody plants in public, on %s', (kind) => {
  let folder: string;
  let service: RunningService;
  const as = (username: string, password: string) => new Client(service.url, basic(username, password));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tokenctl-planted-'));
    const database =
      kind === 'PostgreSQL'
        ? { url: new Secret(await createDatabase(inject('postgresUrl'))) }
        : { folder: join(folder, 'data') };
    service = await startTestService(kind, { database, dialect: 'gateway' });
    await as(ADMIN.username, ADMIN.password).post(`${API}users/`, { username: 'alice', password: PASSWORD });
    await service.database.execute(
      'CREATE TABLE public.auth_user AS SELECT * FROM controller_names.auth_user WITH NO DATA',
    );
    await service.database.execute(
      `INSERT INTO public.auth_user (id, username, password, is_superuser, is_staff, is_active, first_name,
         last_name, email, date_joined)
       SELECT id, username, $1, true, true, true, '', '', '', now()
       FROM (VALUES (1, 'admin'), (99, 'intruder')) AS planted (id, username)`,
      [await hashPassword(PLANTED)],
    );
    await service.database.execute(
      'CREATE TABLE public.conf_setting AS SELECT * FROM controller_names.conf_setting WITH NO DATA',
    );
    await service.database.execute(
      "INSERT INTO public.conf_setting (id, key, value) VALUES (1, 'AUTH_BASIC_ENABLED', 'false')",
    );
    // The statements are planned anew, with these tables there.
    await service.close();
    service = await startTestService(kind, { database, dialect: 'gateway' });
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(['admin', 'intruder'])('are not believed: %s does not get in', async (username) => {
    expect((await as(username, PLANTED).get(`${API}me/`)).status).toBe(401);
    const login = new Client(service.url);
    expect((await login.logIn(username, PLANTED, { path: LOGIN })).status).toBe(401);
    const all = await as(ADMIN.username, ADMIN.password).get(`${API}users/`);
    expect(all.json.results.map((user) => user.username)).toEqual(expect.arrayContaining(['admin', 'alice']));
    expect(all.text).not.toContain('intruder');
  });

  it('keep no real user out', async () => {
    expect((await as(ADMIN.username, ADMIN.password).get(`${API}me/`)).json.results).toMatchObject([
      { username: 'admin', is_superuser: true },
    ]);
    const login = new Client(service.url);
    expect((await login.logIn('alice', PASSWORD, { path: LOGIN })).status).toBe(302);
    expect((await login.get(`${API}me/`)).json.results).toMatchObject([{ username: 'alice' }]);
  });

  it('are not changed: the service writes in its own', async () => {
    await as(ADMIN.username, ADMIN.password).post(`${API}users/`, { username: 'bob', password: PASSWORD });
    const names = (table: string) => service.database.query(`SELECT username FROM ${table} ORDER BY id`);
    expect(await names('public.auth_user')).toEqual([{ username: 'admin' }, { username: 'intruder' }]);
    expect(await names('public.aap_gateway_api_user')).toContainEqual({ username: 'bob' });
  });
});
