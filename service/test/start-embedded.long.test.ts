import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '@tokenctl/common/secret.ts';
import { prepareEmbedded } from '@tokenctl/testing/embedded-template.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { JobRunner } from '../src/playbooks/job-runner.ts';
import { ADMIN, basic, Client, startTestService } from './support/service.ts';

const SERVER = fileURLToPath(new URL('../src/server.ts', import.meta.url));

describe('the start of the service on its embedded database', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tokenctl-start-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('keeps what is in the data folder, and makes the superuser only once', async () => {
    const database = { folder: join(folder, 'kept') };
    const first = await startTestService({ kind: 'the embedded database', database });
    const { token } = (
      await new Client(first.url, basic(ADMIN.username, ADMIN.password)).post('/api/v2/tokens/', {
        description: 'kept',
      })
    ).json;
    await first.close();
    const second = await startTestService({
      kind: 'the embedded database',
      database,
      adminPassword: new Secret('another'),
    });
    expect(second.generatedAdminPassword).toBeNull();
    const answer = await new Client(second.url, { authorization: `Bearer ${token}` }).get('/api/v2/tokens/');
    expect(answer.json.results[0]).toMatchObject({ description: 'kept' });
    expect((await new Client(second.url, basic('admin', 'another')).get('/api/v2/me/')).status).toBe(401);
    await second.close();
  });

  it('makes a random password where none, or an empty one, is given', async () => {
    const service = await startTestService({ kind: 'the embedded database', adminPassword: new Secret('') });
    const made = service.generatedAdminPassword?.reveal() ?? '';
    expect(made).toMatch(/^[A-Za-z0-9]{20}$/);
    expect((await new Client(service.url, basic('admin', made)).get('/api/v2/me/')).status).toBe(200);
    expect((await new Client(service.url, basic('admin', '')).get('/api/v2/me/')).status).toBe(401);
    await service.close();
  });

  it('is refused for a data folder that another process has open, until that one is killed', async () => {
    const database = { folder: join(folder, 'shared') };
    await prepareEmbedded(database.folder);
    const script = `
      const { startService } = await import(${JSON.stringify(SERVER)});
      await startService({ host: '127.0.0.1', port: 0, database: ${JSON.stringify(database)}, version: '0', logLevel: 'silent' });
      process.stdout.write('ready');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    for await (const part of child.stdout.setEncoding('utf8')) if (String(part).includes('ready')) break;
    await expect(startTestService({ kind: 'the embedded database', database })).rejects.toMatchObject({
      code: 'busy',
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    const service = await startTestService({
      kind: 'the embedded database',
      database,
      adminPassword: new Secret('unused'),
    });
    await service.close();
  });

  it('makes an existing data folder and all database files accessible to its owner only', async () => {
    const data = join(folder, 'open');
    await prepareEmbedded(data);
    const names = (await readdir(data, { recursive: true })).map((name) => join(data, name));
    for (const path of [data, ...names]) await chmod(path, (await stat(path)).isDirectory() ? 0o755 : 0o666);
    const service = await startTestService({ kind: 'the embedded database', database: { folder: data } });
    await service.database.script(
      'CREATE TABLE created_later (id int); INSERT INTO created_later VALUES (1)',
    );
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    await service.close();
    const files = await readdir(join(data, 'pgdata'), { recursive: true });
    const kept = ['lock', 'pgdata', ...files.map((name) => join('pgdata', name))].map((name) =>
      join(data, name),
    );
    expect(kept.length).toBeGreaterThan(900);
    const open = await Promise.all(kept.map(async (path) => ((await stat(path)).mode & 0o077 ? [path] : [])));
    expect(open.flat()).toEqual([]);
  });

  it('reports a port in use, and releases the data folder', async () => {
    const one = await startTestService();
    const database = { folder: join(folder, 'free') };
    await prepareEmbedded(database.folder);
    const port = Number(new URL(one.url).port);
    const clash = startTestService({ kind: 'the embedded database', database, port });
    await expect(clash).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/the port is in use/),
    });
    await one.close();
    await (await startTestService({ kind: 'the embedded database', database })).close();
  });

  it('closes the database although another part fails to close', async () => {
    const database = { folder: join(folder, 'closed') };
    await prepareEmbedded(database.folder);
    const service = await startTestService({ kind: 'the embedded database', database });
    vi.spyOn(JobRunner.prototype, 'stop').mockRejectedValueOnce(new Error('cannot stop'));
    await expect(service.close()).rejects.toThrow('cannot stop');
    await expect(new Client(service.url).get('/api/v2/ping/')).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
    await (await startTestService({ kind: 'the embedded database', database })).close();
  });
});
