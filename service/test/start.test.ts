import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '@tokenctl/common/secret.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PASSWORD_ITERATIONS } from '../src/auth/secret-hashes.ts';
import { ADMIN, basic, Client, DATABASES, startTestService } from './support/service.ts';

const _SERVER = fileURLToPath(new URL('../src/server.ts', import.meta.url));

describe('the start of the service', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tokenctl-start-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(['0.0.0.0', '::', '192.0.2.1', 'localhost.example.org', '', '127.0.0.1.example.org'])(
    'on %j is refused without TLS or a proxy, before anything is opened',
    async (host) => {
      const start = startTestService({
        kind: 'the embedded database',
        host,
        database: { folder: join(folder, 'never') },
      });
      await expect(start).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringMatching(/unencrypted/),
      });
    },
  );

  it.each([{ files: ['notes.txt'] }, { files: ['pgdata'] }, { files: ['lock', 'notes.txt'] }])(
    'is refused for a data folder with $files of others, and leaves it as it is',
    async ({ files }) => {
      const others = await mkdtemp(join(folder, 'others-'));
      for (const file of files) await writeFile(join(others, file), '');
      const start = startTestService({ kind: 'the embedded database', database: { folder: others } });
      await expect(start).rejects.toMatchObject({
        code: 'configuration',
        message: expect.stringContaining(`The data directory ${others} contains other files`),
      });
      expect((await readdir(others)).sort()).toEqual(files);
    },
  );

  it('is refused for a data folder that every user can write to', async () => {
    const data = join(folder, 'writable');
    await mkdir(data);
    await chmod(data, 0o777);
    await expect(
      startTestService({ kind: 'the embedded database', database: { folder: data } }),
    ).rejects.toMatchObject({
      code: 'configuration',
      message: `Other users can write to the data directory ${data} (mode 0777)`,
      hint: expect.stringContaining(`chmod 700 '${data}'`),
    });
    expect(await readdir(data)).toEqual([]);
  });

  it('stops listening if the job runner cannot begin', async () => {
    const database = { url: new Secret(await createDatabase(inject('postgresUrl'))) };
    const first = await startTestService({ database });
    const port = Number(new URL(first.url).port);
    await first.database.script('ALTER TABLE service_job RENAME COLUMN status TO state');
    await first.close();
    await expect(startTestService({ database, port })).rejects.toMatchObject({ code: '42703' });
    await expect(new Client(first.url).get('/api/v2/ping/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('works for two services on one new PostgreSQL database at once', async () => {
    const database = { url: new Secret(await createDatabase(inject('postgresUrl'))) };
    const services = await Promise.all([1, 2, 3].map(() => startTestService({ database })));
    const [one, two] = services.map(({ url }) => new Client(url, basic(ADMIN.username, ADMIN.password)));
    expect((await one?.get('/api/v2/users/'))?.json.count).toBe(1);
    // Nothing was done before the stream begins.
    const { results } = (await one?.get('/api/v2/activity_stream/'))?.json ?? { results: [] };
    expect(results).toMatchObject([{ operation: 'create', object1: 'user', changes: { username: 'admin' } }]);
    // What one of them changes holds for the other at once.
    const { token } = (await one?.post('/api/v2/tokens/'))?.json ?? { token: '' };
    const other = new Client(services[1]?.url ?? '', { authorization: `Bearer ${token}` });
    expect((await other.get('/api/v2/me/')).status).toBe(200);
    await one?.patch('/api/v2/settings/authentication/', { AUTH_BASIC_ENABLED: false });
    expect((await two?.get('/api/v2/me/'))?.status).toBe(401);
    await Promise.all(services.map((service) => service.close()));
  });

  it('compiles no statements on a server that compiles them by default: that takes longer than to run them', async () => {
    const url = await createDatabase(inject('postgresUrl'));
    const administrator = await openOn(url);
    await administrator.script(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET jit = on`);
    const service = await startTestService({ database: { url: new Secret(url) } });
    expect(await service.database.query('SHOW jit')).toEqual([{ jit: 'off' }]);
    await Promise.all([service.close(), administrator.close()]);
  });

  it('tells an unreachable database from others, without its password', async () => {
    const url = new Secret('postgres://someone:hidden-password@127.0.0.1:1/nothing');
    const error = await startTestService({ database: { url } }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'database_unreachable' });
    expect(`${String(error)}${JSON.stringify(error)}`).not.toContain('hidden-password');
  });
});

describe.each(DATABASES)('the end of the service on %s', (kind) => {
  it('answers what is under way, takes nothing new, and can be asked for twice', async () => {
    const service = await startTestService({ kind, passwordIterations: PASSWORD_ITERATIONS });
    const client = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    // Each checks the slow hash: they are under way for a while.
    const answers = [1, 2, 3].map((n) =>
      client.get('/api/v2/me/', { headers: basic('admin', `wrong ${n}`) }),
    );
    await client.get('/api/v2/ping/');
    const closed = service.close();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401, 401]);
    await Promise.all([closed, service.close()]);
    await expect(client.get('/api/v2/ping/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('does not wait for connections that ask for nothing', async () => {
    const service = await startTestService({ kind });
    const { port } = new URL(service.url);
    const silent = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    await new Promise((resolve) => silent.once('connect', resolve));
    await new Client(service.url, { connection: 'keep-alive' }).get('/api/v2/ping/');
    let said = '';
    const cut = once(
      silent.on('data', (part) => (said += String(part))),
      'close',
    );
    await service.close();
    await cut;
    // Waited for until its time is over, it would be answered with 408.
    expect(said).toBe('');
  });
});
