import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { RunningService } from '../src/server.ts';
import { ADMIN, basic, Client, startTestService } from './support/service.ts';

const SERVER = new URL('../src/server.ts', import.meta.url).href;
const SECRET = new URL('../../common/src/secret.ts', import.meta.url).href;

/** A way to a server that can be cut, and opened again. */
class Wire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #open = true;
  #left = Number.POSITIVE_INFINITY;

  constructor(to: URL) {
    this.#server = createServer((near) => {
      if (!this.#open) {
        near.destroy();
        return;
      }
      const far = connect(Number(to.port), to.hostname);
      near.pipe(far).pipe(near);
      near.on('data', () => {
        this.#left -= 1;
        if (this.#left === 0) this.cut();
      });
      for (const socket of [near, far]) this.#sockets.add(socket.on('error', () => undefined));
    });
  }

  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  }

  cut(): void {
    this.#open = false;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  /** Cuts it once so many pieces more have gone to the server. */
  cutAfter(pieces: number): void {
    this.#left = pieces;
  }

  mend(): void {
    this.#open = true;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

describe('a service that loses its PostgreSQL database', () => {
  let service: RunningService;
  let wire: Wire;
  let admin: Client;

  beforeAll(async () => {
    const url = new URL(await createDatabase(inject('postgresUrl')));
    wire = new Wire(new URL(url));
    url.port = String(await wire.listen());
    service = await startTestService({ database: { url: new Secret(url.href) } });
    admin = new Client(service.url, basic(ADMIN.username, ADMIN.password));
    await admin.get('/api/v2/me/');
  });
  afterAll(async () => {
    await service.close();
    wire.close();
  });

  it('answers 503 without a word of why, and goes on when it is back', async () => {
    for (let round = 0; round < 3; round += 1) {
      expect((await admin.get('/api/v2/me/')).status).toBe(200);
      wire.cut();
      for (const path of ['/api/v2/me/', '/api/v2/tokens/', '/api/']) {
        const answer = await admin.get(path);
        expect([answer.status, Object.keys(answer.json)]).toEqual([503, ['detail']]);
        expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONN|postgres/i);
      }
      expect((await admin.post('/api/v2/tokens/')).status).toBe(503);
      wire.mend();
    }
    expect((await admin.post('/api/v2/tokens/')).status).toBe(201);
  });

  it('survives that in the middle of requests and transactions', async () => {
    for (let round = 0; round < 5; round += 1) {
      const answers = Array.from({ length: 20 }, () => admin.post('/api/v2/tokens/', { description: 'cut' }));
      wire.cutAfter(1 + 10 * round);
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([]);
      wire.mend();
    }
    // Whatever was made has its entry in the activity stream: all of a transaction, or nothing.
    const [row] = await service.database.query<{ tokens: number; entries: number }>(
      `SELECT (SELECT count(*) FROM main_oauth2accesstoken) AS tokens,
              (SELECT count(*) FROM main_activitystream_o_auth2_access_token) AS entries`,
    );
    expect(row?.tokens).toBe(row?.entries);
  });
});

describe('a service whose database has no disk space left', () => {
  it('answers a write with 507, says so in its log, and answers reads', async () => {
    const script = `
      const { startService } = await import(${JSON.stringify(SERVER)});
      const { Secret } = await import(${JSON.stringify(SECRET)});
      const service = await startService({ host: '127.0.0.1', port: 0, version: '0', logLevel: 'error',
        database: { url: new Secret(process.env.URL) }, adminPassword: new Secret(process.env.PASSWORD) });
      process.stdout.write(service.url + '\\n');`;
    const database = await createDatabase(inject('postgresUrl'));
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, URL: database, PASSWORD: ADMIN.password },
    });
    try {
      let log = '';
      child.stderr.setEncoding('utf8').on('data', (part) => {
        log += part;
      });
      const [url] = await once(child.stdout.setEncoding('utf8'), 'data');
      const admin = new Client(String(url).trim(), basic(ADMIN.username, ADMIN.password));
      await admin.get('/api/v2/me/');
      const sql = new pg.Client({ connectionString: database });
      await sql.connect();
      // As PostgreSQL answers if it cannot extend a file.
      await sql.query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON main_oauth2accesstoken FOR EACH ROW EXECUTE FUNCTION full_disk()`);
      await sql.end();
      const answer = await admin.post('/api/v2/tokens/', { description: 'x' });
      expect([answer.status, answer.json]).toEqual([
        507,
        { detail: 'The database has no disk space left. Nothing was saved.' },
      ]);
      expect((await admin.get('/api/v2/tokens/')).status).toBe(200);
      expect(log).toContain('the disk of the database is full');
    } finally {
      child.kill();
    }
  });
});
