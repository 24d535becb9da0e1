import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import { lock } from '../../src/db/file-system.ts';

const PEERS = fileURLToPath(new URL('../../../shared/peers', import.meta.url));
const START_TIMEOUT_MS = 600_000;
const COMMAND_TIMEOUT_MS = 1_200_000;
const REQUEST_TIMEOUT_MS = 60_000;

/** The real programs that the suites run against: AWX 24.6.1, and a gateway in either layout of its tables. */
export type PeerKind = 'awx' | 'gateway' | 'gateway-plain';

/** A row of any table, as JSON. */
export type Row = Readonly<Record<string, unknown>>;

/** All rows of all tables, by table and primary key. */
export type Tables = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** What changed in a table: whole rows, and for a changed row its columns with both values. */
export interface TableChange {
  readonly added: readonly Row[];
  readonly removed: readonly Row[];
  readonly changed: readonly {
    readonly row: Row;
    readonly columns: Readonly<Record<string, [unknown, unknown]>>;
  }[];
}

/** A client that the fill of a peer registered. */
export interface PeerApplication {
  readonly id: number;
  readonly client_id: string;
  readonly client_secret?: string;
}

/** What a peer was filled with: ids of users, clients with their secrets, tokens with their values. */
export interface PeerFill {
  readonly users: Readonly<Record<string, number>>;
  readonly applications: Readonly<Record<string, PeerApplication>>;
  readonly tokens: readonly {
    readonly id?: number;
    readonly user: string;
    readonly application: string | null;
    readonly scope: string;
    readonly token: string;
    readonly refresh_token?: string;
  }[];
  readonly admintoken: string;
  readonly auditortoken: string;
}

/** An answer of a peer: its status, its headers, and its body as JSON where it is some. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** How a request is made; the body is sent as JSON, a form as a form. */
export interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const run = promisify(execFile);

/** Why the peers cannot run on this machine, or null. They install Debian packages. */
const WHY_NOT = ((): string | null => {
  if (!existsSync(join(PEERS, 'up'))) return `${PEERS} is missing`;
  if (process.getuid?.() !== 0) return 'only root can install the packages they need';
  return existsSync('/etc/debian_version') ? null : 'they need Debian';
})();

/**
 * A real peer that one test file starts for itself, in a temporary folder. The accounts are `admin` and those of
 * the fill; the password of each is its name followed by `pw`.
 */
export class Peer {
  readonly kind: PeerKind;
  readonly #folder: string;
  /** Whether it ran before the tests, and keeps running after them. */
  readonly #isBorrowed: boolean;
  #values: Readonly<Record<string, string>> = {};
  #clients = new Map<string, pg.Client>();

  constructor(kind: PeerKind) {
    this.kind = kind;
    const running = process.env[`TOKENCTL_PEER_${kind.toUpperCase().replace('-', '_')}`] ?? '';
    this.#isBorrowed = running !== '';
    // Short, because of the length of socket names; readable, because PostgreSQL runs as another user.
    this.#folder = this.#isBorrowed ? running : mkdtempSync(join(tmpdir(), 'tkpeer-'));
    if (!this.#isBorrowed) chmodSync(this.#folder, 0o755);
  }

  get isGateway(): boolean {
    return this.kind !== 'awx';
  }

  /** The path of the API, with a slash at both ends. */
  get api(): string {
    return this.isGateway ? '/api/gateway/v1/' : '/api/v2/';
  }

  /** The path of the OAuth2 endpoints. */
  get oauth(): string {
    return this.isGateway ? '/o/' : '/api/o/';
  }

  get loginPath(): string {
    return this.isGateway ? '/api/gateway/v1/login/' : '/api/login/';
  }

  get url(): string {
    return this.#value('URL');
  }

  /** The name of the database that the peer's web workers use. */
  get database(): string {
    return this.#value('DATABASE');
  }

  get folder(): string {
    return this.#folder;
  }

  get fill(): PeerFill {
    return JSON.parse(readFileSync(join(this.#folder, 'fill.json'), 'utf8')) as PeerFill;
  }

  /** A URL of a database: of the role that owns it, of a superuser, or of another role. */
  databaseUrl(
    role: 'owner' | 'superuser' | { readonly name: string; readonly password: string } = 'owner',
    database: string = this.database,
  ): string {
    const url = new URL(this.#value(role === 'superuser' ? 'SUPERUSER_URL' : 'DATABASE_URL'));
    url.pathname = `/${database}`;
    if (typeof role === 'object') Object.assign(url, { username: role.name, password: role.password });
    return url.href;
  }

  async start(): Promise<void> {
    if (!this.#isBorrowed) {
      await copyTo(this.#folder, await templateOf(this.kind));
      await runScript('up', this.kind, this.#folder);
    }
    const lines = readFileSync(join(this.#folder, 'peer.env'), 'utf8').split('\n');
    this.#values = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2)));
  }

  /** Brings back the database as filled, with new web workers. Takes several seconds: prefer users of a test's own. */
  async reset(): Promise<void> {
    await this.#closeClients();
    await runScript('reset', this.kind, this.#folder);
  }

  /**
   * Has a gateway cache its sessions in a Redis server, as it does in production (the peer's default is files), and resets it.
   *
   * @param url The server, with its password and database.
   */
  async cacheIn(url: string): Promise<void> {
    const settings = join(this.#folder, 'src/gateway/gatewaypeer/settings.py');
    const cache = { BACKEND: 'django_redis.cache.RedisCache', LOCATION: url, KEY_PREFIX: 'gateway' };
    const client = { OPTIONS: { CLIENT_CLASS: 'ansible_base.lib.redis.RedisClient' } };
    appendFileSync(settings, `\nCACHES = {'default': ${JSON.stringify({ ...cache, ...client })}}\n`);
    await this.reset();
  }

  async stop(): Promise<void> {
    await this.#closeClients();
    if (this.#isBorrowed) return;
    killServers(this.#folder);
    await runScript('down', this.kind, this.#folder);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Runs a management command of AWX, and gives what it printed and how it ended. */
  async manage(
    args: readonly string[],
    database: string = this.database,
  ): Promise<{ readonly stdout: string; readonly stderr: string; readonly code: number }> {
    const options = {
      env: { ...process.env, PEER_DATABASE: database },
      timeout: COMMAND_TIMEOUT_MS,
      maxBuffer: 1e9,
    };
    try {
      const done = await run(join(PEERS, 'awx-manage'), ['--dir', this.#folder, ...args], options);
      return { ...done, code: 0 };
    } catch (error) {
      const failed = error as { code: unknown; stdout: string; stderr: string };
      if (typeof failed.code !== 'number') throw error;
      return { stdout: failed.stdout, stderr: failed.stderr, code: failed.code };
    }
  }

  /** Runs SQL as a superuser. */
  async sql<T extends Row = Row>(
    text: string,
    values: readonly unknown[] = [],
    database: string = this.database,
  ): Promise<T[]> {
    let client = this.#clients.get(database);
    if (client === undefined) {
      client = new pg.Client({ connectionString: this.databaseUrl('superuser', database) });
      client.on('error', () => this.#clients.delete(database));
      await client.connect();
      this.#clients.set(database, client);
    }
    return (await client.query<T>(text, [...values])).rows;
  }

  /** Makes a copy of the database as filled; no web worker uses it. */
  async twin(name: string): Promise<void> {
    await this.#closeClient(name);
    await this.sql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, [], 'postgres');
    await this.sql(`CREATE DATABASE ${name} TEMPLATE ${this.database}_tpl`, [], 'postgres');
  }

  /** Makes a role with these grants, in which ROLE is its name, and gives the URL of the database for it. */
  async role(name: string, grants: readonly string[], database: string = this.database): Promise<string> {
    await this.sql(
      `DO $$ BEGIN CREATE ROLE ${name} LOGIN PASSWORD 'rolepw'; EXCEPTION WHEN duplicate_object THEN
      DROP OWNED BY ${name}; END $$`,
      [],
      database,
    );
    for (const grant of grants) await this.sql(grant.replaceAll('ROLE', name), [], database);
    return this.databaseUrl({ name, password: 'rolepw' }, database);
  }

  /** All rows of all tables, in one statement. */
  async tables(database: string = this.database): Promise<Tables> {
    const names = await this.sql<{ name: string; key: string | null }>(
      `SELECT c.relname AS name, (SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND
         a.attnum = i.indkey[0] WHERE i.indrelid = c.oid AND i.indisprimary) AS key
       FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND c.relnamespace = 'public'::regnamespace ORDER BY 1`,
      [],
      database,
    );
    const rows = await this.sql<{ name: string; key: string; row: Row }>(
      names
        .map(
          ({ name, key }) => `SELECT '${name}' AS name, ${key === null ? 't' : `t."${key}"`}::text AS key,
          to_jsonb(t) AS row FROM "${name}" t`,
        )
        .join(' UNION ALL '),
      [],
      database,
    );
    const tables = new Map<string, Map<string, Row>>(names.map(({ name }) => [name, new Map()]));
    for (const { name, key, row } of rows) tables.get(name)?.set(key, row);
    return tables;
  }

  /** Sends a request to the peer: with a user's password, with a token, or without a credential. Does not follow redirects. */
  async request(
    path: string,
    as: { readonly user: string } | { readonly token: string } | null,
    { method, body, form, headers = {} }: RequestOptions = {},
  ): Promise<Answer> {
    const credential =
      as === null ? {} : { authorization: 'user' in as ? basic(as.user) : `Bearer ${as.token}` };
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const sent = form === undefined ? body : new URLSearchParams(form).toString();
    const answer = await fetch(new URL(path, this.url), {
      method: method ?? (sent === undefined ? 'GET' : 'POST'),
      redirect: 'manual',
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      headers: { 'content-type': type, ...credential, ...headers },
      ...(sent === undefined ? {} : { body: typeof sent === 'string' ? sent : JSON.stringify(sent) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, body: asJson(text) };
  }

  #value(name: string): string {
    const value = this.#values[name];
    if (value === undefined) throw new Error(`the peer has no ${name}: it has not started`);
    return value;
  }

  async #closeClient(database: string): Promise<void> {
    const client = this.#clients.get(database);
    this.#clients.delete(database);
    await client?.end();
  }

  async #closeClients(): Promise<void> {
    for (const database of [...this.#clients.keys()]) await this.#closeClient(database);
  }
}

/** Runs a script of the kit on the peer in a folder. */
async function runScript(script: 'up' | 'reset' | 'down', kind: PeerKind, folder: string): Promise<void> {
  const [name = '', ...layout] = kind === 'gateway-plain' ? ['gateway', '--plain'] : [kind];
  const timeout = script === 'up' ? START_TIMEOUT_MS : COMMAND_TIMEOUT_MS;
  await run(join(PEERS, script), [name, ...layout, '--dir', folder], { timeout });
}

/**
 * The folder of a peer that was started and stopped once, to copy: it has its packages, its cluster with the database as
 * filled, and its compiled modules. The first test file that needs it makes it, while the others wait.
 */
async function templateOf(kind: PeerKind): Promise<string> {
  const templates = inject('peerTemplates');
  const folder = join(templates, kind);
  // One at a time, of all kinds and all runs on this machine: two would install packages at the same time.
  using _lock = await lock(join(tmpdir(), 'tokenctl-peers.lock'), START_TIMEOUT_MS);
  if (!existsSync(`${folder}.made`)) {
    rmSync(folder, { recursive: true, force: true });
    await runScript('up', kind, folder);
    await runScript('down', kind, folder);
    writeFileSync(`${folder}.made`, '');
  }
  return folder;
}

/** Copies a peer that is stopped, and gives the copy ports of its own. */
async function copyTo(folder: string, template: string): Promise<void> {
  await run('cp', ['-a', `${template}/.`, folder]);
  const environment = join(folder, 'peer.env');
  const settings = join(folder, 'pg/data/postgresql.conf');
  let values = readFileSync(environment, 'utf8');
  let server = readFileSync(settings, 'utf8').replaceAll(template, folder);
  for (const name of ['PORT', 'PG_PORT']) {
    const old = new RegExp(`\\b${new RegExp(`^${name}=(\\d+)$`, 'm').exec(values)?.[1]}\\b`, 'g');
    const port = String(await freePort());
    values = values.replace(old, port);
    if (name === 'PG_PORT') server = server.replace(old, port);
  }
  writeFileSync(environment, values);
  writeFileSync(settings, server);
}

/** A free port that no outgoing connection takes before the server does: below those of Linux for such connections. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/** Ends the servers of a peer that is to be removed at once: in order it takes them seconds. */
function killServers(folder: string): void {
  const pidIn = (file: string) => {
    const [pid = ''] = readFileSync(join(folder, file), 'utf8').split('\n');
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`) ? Number(pid) : undefined;
  };
  try {
    const database = pidIn('pg/data/postmaster.pid');
    if (database !== undefined) process.kill(database, 'SIGQUIT');
    const web = pidIn('run/web.pid');
    if (web === undefined) return;
    const workers = readFileSync(`/proc/${web}/task/${web}/children`, 'utf8').trim().split(' ');
    for (const pid of [web, ...workers.map(Number)]) process.kill(pid, 'SIGKILL');
  } catch {
    // What does not run need not be killed; `down` ends whatever is left.
  }
}

/** Runs the awx CLI as `admin` against a controller, and gives what it printed and its exit code. */
export async function awxCli(
  { url, password }: { readonly url: string; readonly password: string },
  args: readonly string[],
): Promise<{ readonly stdout: string; readonly stderr: string; readonly code: number }> {
  const env = {
    ...process.env,
    CONTROLLER_HOST: url,
    CONTROLLER_USERNAME: 'admin',
    CONTROLLER_PASSWORD: password,
  };
  try {
    return {
      ...(await run(join(PEERS, 'awx'), [...args], { env, timeout: REQUEST_TIMEOUT_MS })),
      code: 0,
    };
  } catch (error) {
    const failed = error as { code: unknown; stdout: string; stderr: string };
    if (typeof failed.code !== 'number') throw error;
    return { stdout: failed.stdout, stderr: failed.stderr, code: failed.code };
  }
}

/**
 * Describes tests on a peer of their own, which runs while they do. Where the peers cannot run, the tests are skipped
 * and stderr says why.
 */
export function describePeer(kind: PeerKind, name: string, body: (peer: () => Peer) => void): void {
  if (WHY_NOT !== null) process.stderr.write(`Skipped, no ${kind} to test against: ${WHY_NOT}.\n`);
  describe.skipIf(WHY_NOT !== null)(name, () => {
    let peer: Peer | undefined;
    beforeAll(async () => {
      peer = new Peer(kind);
      await peer.start();
    }, START_TIMEOUT_MS);
    afterAll(() => peer?.stop(), COMMAND_TIMEOUT_MS);
    body(() => {
      if (peer === undefined) throw new Error('the peer has not started');
      return peer;
    });
  });
}

/** What changed between two snapshots, of the tables in which anything did. `ignore` leaves out tables and `table.column`s. */
export function changes(
  before: Tables,
  after: Tables,
  ignore: readonly string[] = [],
): Readonly<Record<string, TableChange>> {
  const found: Record<string, TableChange> = {};
  for (const [table, rows] of after) {
    if (ignore.includes(table)) continue;
    const earlier = before.get(table) ?? new Map<string, Row>();
    const added = [...rows].filter(([key]) => !earlier.has(key)).map(([, row]) => row);
    const removed = [...earlier].filter(([key]) => !rows.has(key)).map(([, row]) => row);
    const changed = [...rows].flatMap(([key, row]) => {
      const old = earlier.get(key);
      if (old === undefined) return [];
      const columns = Object.keys(row)
        .filter((column) => !ignore.includes(`${table}.${column}`))
        .filter((column) => JSON.stringify(row[column]) !== JSON.stringify(old[column]))
        .map((column): [string, [unknown, unknown]] => [column, [old[column], row[column]]]);
      return columns.length === 0 ? [] : [{ row, columns: Object.fromEntries(columns) }];
    });
    if (added.length + removed.length + changed.length > 0) found[table] = { added, removed, changed };
  }
  return found;
}

function basic(user: string): string {
  return `Basic ${Buffer.from(`${user}:${user}pw`).toString('base64')}`;
}

function asJson(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
