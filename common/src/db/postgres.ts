import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { codeOf, TokenctlError } from '../errors.ts';
import type { Secret } from '../secret.ts';
import {
  type ConnectionParameters,
  readConnection,
  type TlsAttempt,
  tlsAttempts,
} from './connection-parameters.ts';
import type { Environment } from './connection-sources.ts';
import type { Database, Queryable } from './database.ts';
import { requireInForce, type SessionSettings, settingsIn } from './settings-in-force.ts';

export interface PostgresOptions {
  /** A `postgresql://` URL, or libpq's keywords. It may contain a password, so it is a secret. */
  readonly url: Secret;
  /** The source of PG* variables, services and passwords. By default the process's environment. */
  readonly environment?: Environment | undefined;
  /** The maximum number of connections. */
  readonly connections?: number | undefined;
  /** The name in `pg_stat_activity`. */
  readonly applicationName: string;
  /** The server's timeout of a statement in milliseconds (SQLSTATE 57014). By default none. */
  readonly statementTimeout?: number;
  /** The server's timeout of a lock in milliseconds (SQLSTATE 55P03). By default none. */
  readonly lockTimeout?: number;
  /** The server's timeout of an idle session in a transaction, in milliseconds. By default none. */
  readonly idleInTransactionTimeout?: number;
  /**
   * The client's timeout of a statement in milliseconds. The server's own limits do not help if the server is silent,
   * as with a stopped machine or a broken network. By default 5 s more than `statementTimeout`, or 60 s.
   */
  readonly responseTimeout?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Determines, on the first connection, further settings of all connections by name. */
  readonly findSettings?: (first: Queryable, address: string) => Promise<SessionSettings>;
}

/** How statements are sent. `local` is a Unix socket. */
type Transport = TlsAttempt['transport'] | 'local';

const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 60_000;
/** The margin of the client's timeout over the server's, in milliseconds. */
const RESPONSE_MARGIN_MS = 5_000;
const KEEP_ALIVE_AFTER_MS = 30_000;
/** How long connections may take to close, in milliseconds. */
const CLOSE_TIMEOUT_MS = 500;

const INT8 = 20;
const INT8_ARRAY = 1016;
const INT4_ARRAY = 1007;

/** int8 arrives as text, because it may exceed what a number represents exactly. Ids and counts do not. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8
      ? Number
      : pg.types.getTypeParser(
          oid === INT8_ARRAY ? INT4_ARRAY : oid,
          format,
        )) as pg.CustomTypesConfig['getTypeParser'],
};

/** Opens the pool with the first kind of encryption, or none, that the server accepts, and tests a connection. */
async function openPool(options: PostgresOptions, parameters: ConnectionParameters) {
  const isLocal = parameters.host.startsWith('/');
  const attempts = isLocal
    ? [{ transport: 'local', ssl: false } as const]
    : tlsAttempts(parameters.tls, parameters.host);
  let untrusted: unknown;
  for (const [index, { transport, ssl }] of attempts.entries()) {
    const connections = new Connections({ ...poolConfig(options, parameters), ssl });
    try {
      await queryable(connections.pool, connectTimeoutOf(parameters)).query('SELECT 1');
      return { connections, transport };
    } catch (error) {
      await connections.close();
      const cause = error instanceof TokenctlError && error.cause !== undefined ? error.cause : error;
      if (certificateAdvice(cause, parameters) !== null) untrusted = cause;
      if (index + 1 < attempts.length && mayPassOtherwise(cause, parameters)) continue;
      throw notOpened(untrusted ?? cause, parameters);
    }
  }
  throw new Error('there is always one address to try');
}

/** A pool of connections that can be closed even if the server does not respond. */
class Connections {
  readonly pool: pg.Pool;
  readonly #sockets = new Set<Socket>();
  #closed: Promise<void> | null = null;

  constructor(config: pg.PoolConfig) {
    const stream = () => {
      const socket = new Socket();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      return socket;
    };
    this.pool = new pg.Pool({ ...config, stream });
    // A connection that breaks while idle is replaced later. Without a listener, the error would end the process.
    this.pool.on('error', () => undefined);
    // The same for a connection that the server closes while accepting it. Its first statement fails.
    this.pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** Closes connections with the server, and aborts those that it does not close. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const ended = this.pool.end();
    await Promise.race([ended, sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
    for (const socket of this.#sockets) socket.destroy();
    await ended;
  }
}

function connectTimeoutOf({ connectTimeout }: ConnectionParameters): number {
  return connectTimeout ?? CONNECT_TIMEOUT_MS;
}

function responseTimeoutOf({ responseTimeout, statementTimeout }: PostgresOptions): number {
  if (responseTimeout !== undefined) return responseTimeout;
  return statementTimeout === undefined ? RESPONSE_TIMEOUT_MS : statementTimeout + RESPONSE_MARGIN_MS;
}

/** A connection that is never used without channel binding: SCRAM-SHA-256-PLUS (RFC 5802, RFC 5929). */
class BoundClient extends pg.Client {
  isBound = false;

  constructor(config?: pg.ClientConfig) {
    super(config);
    const inner = this as unknown as { connection: NodeJS.EventEmitter; password: () => string };
    inner.connection.on('authenticationSASL', ({ mechanisms }: { mechanisms: readonly string[] }) => {
      this.isBound = mechanisms.includes('SCRAM-SHA-256-PLUS');
    });
    const { password } = inner;
    inner.password = () => {
      if (!this.isBound) throw notBound();
      return password();
    };
  }
}

function notBound(): TokenctlError {
  return new TokenctlError(
    'database_unreachable',
    'The database does not offer channel binding, which channel_binding=require demands',
    {
      hint: 'Connect to the server directly with TLS and a SCRAM-SHA-256 password, or omit channel_binding.',
    },
  );
}

function sessionOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

function poolConfig(options: PostgresOptions, parameters: ConnectionParameters): pg.PoolConfig {
  const { statementTimeout, lockTimeout, idleInTransactionTimeout, settings = {} } = options;
  const { password, user } = parameters;
  const inForce = new Map([
    ['standard_conforming_strings', 'on'],
    ...Object.entries({
      statement_timeout: statementTimeout,
      lock_timeout: lockTimeout,
      idle_in_transaction_session_timeout: idleInTransactionTimeout,
    }).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]])),
    ...settingsIn(parameters.options),
    ...settingsIn(sessionOptions(settings)),
  ]);
  const timeout = connectTimeoutOf(parameters);
  let found: Promise<SessionSettings> | undefined;
  const prepare = async (client: pg.PoolClient) => {
    if (found !== undefined) return requireInForce(client, new Map([...inForce, ...(await found)]), timeout);
    await requireInForce(client, inForce, timeout);
    if (options.findSettings === undefined) return;
    found = options.findSettings(queryable(client, timeout), addressOf(parameters));
    await requireInForce(client, await found, timeout);
  };
  const serverOptions = [parameters.options, sessionOptions(settings) || undefined].filter(
    (option) => option !== undefined,
  );
  return {
    host: parameters.hostAddress ?? parameters.host,
    port: parameters.port,
    database: parameters.database,
    user,
    password: () => {
      if (password !== undefined) return password.reveal();
      throw new TokenctlError(
        'credentials_refused',
        `The database requires a password for the role ${user}, but none is set`,
        { hint: 'Set it in the URL, in PGPASSWORD, or in ~/.pgpass (mode 0600).' },
      );
    },
    ...(parameters.requiresBinding && { Client: BoundClient, enableChannelBinding: true }),
    max: options.connections ?? 10,
    application_name: options.applicationName,
    connectionTimeoutMillis: timeout,
    verify: (client, done) => {
      if (client instanceof BoundClient && !client.isBound) done(notBound());
      else prepare(client).then(() => done(), done);
    },
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    types,
    ...(serverOptions.length > 0 && { options: serverOptions.join(' ') }),
    ...(statementTimeout !== undefined && { statement_timeout: statementTimeout }),
    ...(lockTimeout !== undefined && { lock_timeout: lockTimeout }),
    ...(idleInTransactionTimeout !== undefined && {
      idle_in_transaction_session_timeout: idleInTransactionTimeout,
    }),
  };
}

/** Whether a connection may succeed with TLS that failed without, or vice versa. */
function mayPassOtherwise(error: unknown, parameters: ConnectionParameters): boolean {
  const state = sqlState(error);
  // No entry of pg_hba.conf matches. One may match the other kind of connection.
  if (state !== null) return state === '28000';
  if (!(error instanceof Error) || error instanceof TokenctlError) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    / SSL connection/.test(error.message) ||
    /^(EPROTO|ERR_SSL_|ERR_TLS_)/.test(code) ||
    certificateAdvice(error, parameters) !== null
  );
}

/** The hint for a rejected certificate; null for other errors. The codes are OpenSSL's. */
function certificateAdvice(error: unknown, { host, tls }: ConnectionParameters): string | null {
  const code = codeOf(error) ?? '';
  if (code === 'CERT_REVOKED') return `Do not connect. Ask the operator of ${host} for a new certificate.`;
  if (/CRL/.test(code)) {
    return `Put a current revocation list for each CA of the certificate into ${tls.revoked} (sslcrl), or remove it.`;
  }
  return /CERT|SELF_SIGNED|UNABLE_TO_/.test(code)
    ? `Set sslrootcert to the CA that signed the certificate of ${host}, and use the host name in the certificate.`
    : null;
}

function notOpened(cause: unknown, parameters: ConnectionParameters): TokenctlError {
  if (cause instanceof TokenctlError) return cause;
  return new TokenctlError('database_unreachable', `The database could not be opened: ${reasonOf(cause)}`, {
    cause,
    hint:
      certificateAdvice(cause, parameters) ??
      'Check the host, port, database name and credentials of the database URL.',
  });
}

/** The message of the server or the network. It never contains the URL. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

/** The SQLSTATE of a server's error; null for any other error. */
export function sqlState(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null;
}

/** A PostgreSQL database, and how it was reached. */
export interface PostgresDatabase extends Database {
  readonly kind: 'postgresql';
  /** `postgresql://host:port/database`, without secrets. A socket's folder is percent-encoded. */
  readonly address: string;
  readonly transport: Transport;
}

/** Runs statements. Each fails if the server takes longer than this to respond. */
function queryable(client: pg.Pool | pg.PoolClient, responseTimeout: number): Queryable {
  const limit = { query_timeout: responseTimeout };
  return {
    async query<R extends object>(text: string, values: readonly unknown[] = [], name?: string) {
      const statement = {
        text,
        values: values.map(parameterOf),
        ...limit,
        ...(name !== undefined && { name }),
      };
      return (await connected(client.query<R & pg.QueryResultRow>(statement), responseTimeout)).rows;
    },
    async execute(text, values = []) {
      const statement = { text, values: values.map(parameterOf), ...limit };
      return (await connected(client.query(statement), responseTimeout)).rowCount ?? 0;
    },
  };
}

/** Numbers as one text: the driver quotes each one, which takes longer than the rest of a statement with many ids. */
function parameterOf(value: unknown): unknown {
  const isNumbers = Array.isArray(value) && value.every((each) => typeof each === 'number');
  return isNumbers ? `{${value.join(',')}}` : value;
}

/** The driver's message for an unanswered statement. */
const NO_ANSWER = 'Query read timeout';

/** The server's response. A lost connection becomes `database_unreachable`. */
async function connected<T>(answer: Promise<T>, responseTimeout: number): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!isLost(cause)) throw cause;
    if (cause instanceof Error && cause.message === NO_ANSWER) {
      throw new TokenctlError(
        'database_unreachable',
        `The database did not respond for ${responseTimeout / 1000} seconds`,
        { cause, hint: 'Check the database server and the network, and try again.' },
      );
    }
    throw new TokenctlError(
      'database_unreachable',
      `The connection to the database was lost: ${reasonOf(cause)}`,
      { cause, hint: 'Try again when the database is available.' },
    );
  }
}

/** SQLSTATE class 08 (connection), 53 (out of resources), 57P0x (shutdown), or a network error. */
function isLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) return /^(08|53|57P0)/.test(state);
  return error instanceof Error && !(error instanceof TypeError) && !(error instanceof TokenctlError);
}

/**
 * Opens a PostgreSQL database and tests the connection. The URL, the PG* variables, services and `~/.pgpass`
 * work as in libpq.
 * @throws TokenctlError `database_unreachable`, `credentials_refused` if a required password is missing,
 * `configuration`.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  const parameters = readConnection(options.url, options.environment ?? process.env);
  const { connections, transport } = await openPool(options, parameters);
  const { pool } = connections;
  const usualTimeout = responseTimeoutOf(options);
  return {
    kind: 'postgresql',
    address: addressOf(parameters),
    transport,
    ...queryable(pool, usualTimeout),
    async transaction(work, { responseTimeout = usualTimeout } = {}) {
      const client = await connected(pool.connect(), connectTimeoutOf(parameters));
      const transaction = queryable(client, responseTimeout);
      let broken: Error | undefined;
      const noteBroken = (error: Error) => {
        broken = error;
      };
      // The pool listens only to idle connections. One that breaks while in use would end the process.
      client.on('error', noteBroken);
      try {
        await transaction.execute('BEGIN');
        const result = await work(transaction);
        await transaction.execute('COMMIT');
        return result;
      } catch (error) {
        // A server that did not respond would not respond to this either. Closing the connection rolls back.
        if (isUnanswered(error)) noteBroken(error);
        else await transaction.execute('ROLLBACK').catch(noteBroken);
        throw error;
      } finally {
        client.off('error', noteBroken);
        client.release(broken);
      }
    },
    async script(sql) {
      await pool.query(sql);
    },
    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => connections.close(),
  };
}

function isUnanswered(error: unknown): error is Error {
  return error instanceof TokenctlError && error.cause instanceof Error && error.cause.message === NO_ANSWER;
}

function addressOf({ host, port, database }: ConnectionParameters): string {
  const place = host.includes(':') ? `[${host}]` : encodeURIComponent(host);
  return `postgresql://${place}:${port}/${encodeURIComponent(database)}`;
}
