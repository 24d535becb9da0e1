import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { RedisClientType } from '@redis/client';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { requireEscapes } from '@tokenctl/common/setting-url.ts';

export interface SessionCacheOptions {
  /**
   * One URL, or several separated by commas or spaces, as in a gateway's LOCATION: `redis://`, `rediss://` or
   * `unix://PATH?db=N`. Several are the nodes of a cluster, or the caches of several gateways.
   */
  readonly urls: Secret;
  /** KEY_PREFIX of the gateway's cache. */
  readonly keyPrefix: string;
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Whether the certificate must match the host name. */
  readonly verifyHostname: boolean;
  /** The timeout of a connection, and of each response, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export interface CachedSession {
  /** Secret: the value of a cookie. */
  readonly key: string;
  /** The id of its user; null for a session without a login, undefined if the entry is unreadable. */
  readonly userId: number | null | undefined;
  readonly expires: Date;
  /** Deletes the entry if it still exists. */
  readonly remove: () => Promise<void>;
}

/** The prefix of a session's key in the cache: Django's version 1, and the prefix of the gateway's session engine. */
const ENGINE = '1:ansible_base.lib.sessions.stores.cached_dynamic_timeout';

const TIMEOUT_MS = 5000;

/** How long reading all keys may take, in milliseconds. */
const MAX_SCAN_MS = 60_000;

/** The approximate number of keys in one response to SCAN. */
const SCAN_COUNT = 1000;

/** The number of slots for keys in a cluster (Redis cluster specification). */
const CLUSTER_SLOTS = 16_384;

/** The supported parameters of a URL. A gateway passes others on to its Redis library. */
const PARAMETERS: ReadonlySet<string> = new Set(['db', 'username', 'password']);

const NO_SENTINEL = 'Use the address of the Redis server itself, or of the nodes of a Redis cluster.';

/** The latest JavaScript date, for an entry that does not expire. */
const NEVER = new Date(8.64e15);

interface Server {
  readonly address: string;
  readonly client: RedisClientType;
  readonly timeoutMs: number;
}

/** The servers of the cache: nodes of one cluster, or independent servers. */
interface Servers {
  readonly isCluster: boolean;
  readonly servers: readonly Server[];
}

/**
 * The Redis servers in which a platform gateway caches sessions. The gateway reads a session from there
 * first, so a session ends only when its entry is deleted too. Connects on first use; every wait is bounded.
 */
export class SessionCache {
  /** Without credentials. */
  readonly addresses: readonly string[];
  readonly #options: SessionCacheOptions;
  readonly #urls: readonly URL[];
  #servers: Promise<Servers> | undefined;
  #problem: Promise<string | null> | undefined;
  readonly #opened: RedisClientType[] = [];

  /** @throws TokenctlError `configuration` for an unusable URL. The message does not repeat it. */
  constructor(options: SessionCacheOptions) {
    this.#options = options;
    this.#urls = parseUrls(options.urls);
    this.addresses = this.#urls.map(addressOf);
  }

  /** Why the cache cannot be used, without a full stop, or null. A server without any gateway key is the wrong one. */
  problem(): Promise<string | null> {
    this.#problem ??= this.#findProblem().catch((error: unknown) => {
      if (error instanceof TokenctlError) return error.message;
      throw error;
    });
    return this.#problem;
  }

  async #findProblem(): Promise<string | null> {
    const { servers, isCluster } = await this.#connected();
    const pattern = `${escapeGlob(this.#options.keyPrefix)}:1:*`;
    const empty: string[] = [];
    for (const server of servers) {
      await requireRights(server, `${this.#options.keyPrefix}:${ENGINE}`);
      if (!(await holdsAny(server, pattern))) empty.push(server.address);
    }
    // The nodes of a cluster share the keys.
    if (isCluster ? empty.length < servers.length : empty.length === 0) return null;
    return `The cache at ${empty.join(', ')} has no keys of a gateway with the prefix "${this.#options.keyPrefix}"`;
  }

  /** Reads every cached session in batches. Throws `target_unreachable`. */
  async *entries(): AsyncGenerator<readonly CachedSession[], void> {
    const prefix = `${this.#options.keyPrefix}:${ENGINE}`;
    const pattern = `${escapeGlob(prefix)}*`;
    for (const server of (await this.#connected()).servers) {
      for await (const names of scan(server, pattern)) {
        yield await Promise.all(names.map((name) => readEntry(server, name, name.slice(prefix.length))));
      }
    }
  }

  close(): void {
    for (const client of this.#opened) client.destroy();
    this.#opened.length = 0;
  }

  #connected(): Promise<Servers> {
    this.#servers ??= this.#connectAll();
    return this.#servers;
  }

  async #connectAll(): Promise<Servers> {
    const servers = new Map<string, Server>();
    let failure: { readonly error: unknown } | null = null;
    for (const url of this.#urls) {
      const address = addressOf(url);
      if (servers.has(address)) continue;
      try {
        const server = await this.#connect(url);
        const mode = await modeOf(server);
        if (mode === 'cluster') return { isCluster: true, servers: await this.#connectCluster(url, server) };
        if (mode === 'sentinel') throw isSentinel(address);
        servers.set(address, server);
      } catch (error) {
        // Another URL may point to another node of the same cluster.
        failure ??= { error };
      }
    }
    if (failure !== null) throw failure.error;
    return { isCluster: false, servers: [...servers.values()] };
  }

  /** The masters of a cluster. Each is queried for its own keys. */
  async #connectCluster(url: URL, first: Server): Promise<readonly Server[]> {
    const slots = (await ask(first, ({ client }) =>
      client.sendCommand(['CLUSTER', 'SLOTS']),
    )) as unknown as readonly [number, number, readonly [string, number]][];
    const covered = slots.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    if (covered < CLUSTER_SLOTS) {
      throw unreachable(first, `its cluster serves ${covered} of ${CLUSTER_SLOTS} slots`);
    }
    const servers = new Map<string, Server>();
    for (const [, , [host, port]] of slots) {
      const node = new URL(url);
      node.hostname = host === '' ? url.hostname : host.includes(':') ? `[${host}]` : host;
      node.port = String(port);
      const address = addressOf(node);
      if (!servers.has(address)) servers.set(address, await this.#connect(node));
    }
    return [...servers.values()];
  }

  async #connect(url: URL): Promise<Server> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    const { createClient } = await import('@redis/client');
    const username = url.searchParams.get('username') ?? decodeURIComponent(url.username);
    const password = url.searchParams.get('password') ?? decodeURIComponent(url.password);
    const client = createClient({
      RESP: 2,
      database: databaseOf(url),
      // A failed command is not resent: the caller decides.
      disableOfflineQueue: true,
      disableClientInfo: true,
      ...(username !== '' && { username }),
      ...(password !== '' && { password }),
      socket: {
        connectTimeout: timeoutMs,
        reconnectStrategy: false,
        ...(isSocket(url)
          ? { path: decodeURIComponent(url.pathname) }
          : { host: hostOf(url), port: Number(url.port || '6379') }),
        ...(url.protocol === 'rediss:' && { tls: true, ...this.#tls(url) }),
      },
    }) as unknown as RedisClientType;
    // Errors reach the caller through the failed command.
    client.on('error', () => undefined);
    this.#opened.push(client);
    const server = { address: addressOf(url), client, timeoutMs };
    await ask(server, () => client.connect());
    return server;
  }

  #tls(url: URL): ConnectionOptions {
    const { caFile, certFile, keyFile, verifyHostname } = this.#options;
    const read = (path: string) => {
      try {
        return readFileSync(path);
      } catch (cause) {
        throw new TokenctlError('configuration', `Cannot read ${path}`, { cause });
      }
    };
    return {
      ...(caFile !== undefined && { ca: read(caFile) }),
      ...(certFile !== undefined && { cert: read(certFile) }),
      ...(keyFile !== undefined && { key: read(keyFile) }),
      ...(/[a-z]/i.test(url.hostname) && !url.hostname.includes(':') && { servername: url.hostname }),
      ...(!verifyHostname && { checkServerIdentity: () => undefined }),
    };
  }
}

/** @throws TokenctlError `configuration`. The message repeats nothing from the URLs except the names of parameters. */
function parseUrls(urls: Secret): readonly URL[] {
  const texts = urls
    .reveal()
    .split(/[\s,]+/)
    .filter((text) => text !== '');
  if (texts.some((text) => /^[a-z+]*sentinel[a-z+]*:/i.test(text))) {
    throw new TokenctlError('configuration', 'Redis Sentinel is not supported for the session cache', {
      hint: NO_SENTINEL,
    });
  }
  for (const text of texts) requireEscapes(text, 'The address of the session cache');
  const parsed = texts.map((text) => (URL.canParse(text) ? new URL(text) : null));
  const valid = parsed.filter((url) => url !== null && isUsable(url)) as URL[];
  if (valid.length === 0 || valid.length < texts.length) {
    throw new TokenctlError('configuration', 'Invalid address of the session cache', {
      hint: 'Use redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss://… for TLS, or unix:///PATH?db=DATABASE.',
    });
  }
  const unknown = new Set(
    valid.flatMap((url) => [...url.searchParams.keys()]).filter((name) => !PARAMETERS.has(name)),
  );
  if (unknown.size === 0) return valid;
  throw new TokenctlError(
    'configuration',
    `Unsupported parameters in the address of the session cache: ${[...unknown].join(', ')}`,
    {
      hint: 'Remove them. Use `caFile`, `certFile`, `keyFile` and `verifyHostname` of `cache` for TLS settings.',
    },
  );
}

function isUsable(url: URL): boolean {
  if (!/^\d*$/.test(url.searchParams.get('db') ?? '')) return false;
  if (isSocket(url)) return url.host === '' && url.pathname.length > 1;
  return /^rediss?:$/.test(url.protocol) && url.hostname !== '' && /^(\/\d*)?$/.test(url.pathname);
}

/** Whether a URL is a Unix socket. A gateway accepts both schemes. */
function isSocket({ protocol }: URL): boolean {
  return protocol === 'unix:' || protocol === 'file:';
}

/** The number of the database. As in a gateway, the parameter takes precedence over the path. */
function databaseOf(url: URL): number {
  return Number(url.searchParams.get('db') || (isSocket(url) ? '' : url.pathname.slice(1)) || '0');
}

function addressOf(url: URL): string {
  const database = databaseOf(url);
  if (isSocket(url)) return `unix://${url.pathname}?db=${database}`;
  return `${url.protocol}//${url.hostname}:${url.port || '6379'}/${database}`;
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** SCAN patterns use the syntax of shell globs. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]^]/g, '\\$&');
}

/** The mode that a server reports: `standalone`, `cluster` or `sentinel`. */
async function modeOf(server: Server): Promise<string> {
  const answer = (await ask(server, ({ client }) => client.sendCommand(['HELLO']))) as unknown as unknown[];
  return String(answer[answer.indexOf('mode') + 1]);
}

async function holdsAny(server: Server, pattern: string): Promise<boolean> {
  for await (const names of scan(server, pattern)) if (names.length > 0) return true;
  return false;
}

/**
 * Reads and deletes a nonexistent session: a Redis user may only be allowed to list keys, and a replica accepts no
 * changes. A problem here does not stop a revocation, just as a session that cannot be ended does not.
 */
async function requireRights(server: Server, name: string): Promise<void> {
  await ask(server, async ({ client }) => {
    for (const tried of [client.get(name), client.pTTL(name), client.del(name)])
      await (tried as Promise<unknown>).catch((error: Error) => {
        // The key would belong to another node, which a cluster reports only after checking the permission.
        if (!error.message.startsWith('MOVED ')) throw error;
      });
  });
}

/** All keys of a pattern. A key may appear twice (the contract of SCAN). */
async function* scan(server: Server, pattern: string): AsyncGenerator<readonly string[], void> {
  const deadline = performance.now() + MAX_SCAN_MS;
  let cursor = '0';
  do {
    const page = await ask(server, ({ client }) =>
      client.scan(cursor, { MATCH: pattern, COUNT: SCAN_COUNT }),
    );
    cursor = String(page.cursor);
    yield page.keys;
    if (performance.now() > deadline) {
      throw unreachable(server, `reading its keys takes longer than ${MAX_SCAN_MS / 1000} seconds`);
    }
  } while (cursor !== '0');
}

async function readEntry(server: Server, name: string, key: string): Promise<CachedSession> {
  const { RESP_TYPES } = await import('@redis/client');
  const [value, milliseconds] = await ask(server, ({ client }) =>
    Promise.all([
      client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get(name) as Promise<Buffer | null>,
      client.pTTL(name),
    ]),
  );
  return {
    key,
    userId: value === null ? null : userIdIn(value),
    expires: milliseconds < 0 ? NEVER : new Date(Date.now() + milliseconds),
    remove: async () => {
      await ask(server, ({ client }) => client.del(name));
    },
  };
}

/**
 * The user's id in a pickled session, a dictionary of texts: `_auth_user_id` and the id as text, each after
 * the opcode SHORT_BINUNICODE and its length, and possibly before MEMOIZE (protocols 4 and 5) or BINPUT (3).
 * Nothing is unpickled.
 */
function userIdIn(value: Buffer): number | null | undefined {
  if (value[0] !== 0x80) return undefined;
  const text = value.toString('latin1');
  if (!text.includes('_auth_user_id')) return null;
  const found = /_auth_user_id(?:\x94|q.)?(?:\x8c(.)|X(.)\0{3})(\d+)/s.exec(text);
  const [, short, long, digits = ''] = found ?? [];
  const length = (short ?? long)?.charCodeAt(0) ?? 0;
  return digits.length >= length && length > 0 ? Number(digits.slice(0, length)) : undefined;
}

/** Sends a request to a server, with a time limit. */
async function ask<Answer>(server: Server, work: (server: Server) => Promise<Answer>): Promise<Answer> {
  const timeout = Promise.withResolvers<never>();
  const { timeoutMs } = server;
  const timer = setTimeout(
    () => timeout.reject(new Error(`no response in ${timeoutMs / 1000} seconds`)),
    timeoutMs,
  );
  try {
    return await Promise.race([work(server), timeout.promise]);
  } catch (error) {
    if (error instanceof TokenctlError) throw error;
    throw unreachable(server, reasonOf(error), error);
  } finally {
    clearTimeout(timer);
  }
}

function isSentinel(address: string): TokenctlError {
  return new TokenctlError('target_unreachable', `${address} is a Redis Sentinel, which holds no sessions`, {
    hint: NO_SENTINEL,
  });
}

/** The reason of an error, without anything that it may quote. */
function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  const [, kind] = /^([A-Z]{3,}) /.exec(message ?? '') ?? [];
  const refused: Record<string, string> = {
    WRONGPASS: 'it rejects the password',
    NOAUTH: 'it requires a password',
    NOPERM: 'its user lacks a permission (SCAN, GET, PTTL and DEL are required)',
  };
  return refused[kind ?? ''] ?? (code === undefined ? (kind ?? message ?? 'unknown error') : code);
}

function unreachable({ address }: Pick<Server, 'address'>, why: string, cause?: unknown): TokenctlError {
  return new TokenctlError('target_unreachable', `The session cache at ${address} cannot be read: ${why}`, {
    hint: "Check its address, password and TLS settings in the context's `cache`.",
    ...(cause !== undefined && { cause }),
  });
}
