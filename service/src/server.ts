import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import type { Database } from '@tokenctl/common/db/database.ts';
import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { LOG_LINES } from '@tokenctl/common/log-lines.ts';
import { tryListening } from '@tokenctl/common/network/try-listening.ts';
import { isLoopback } from '@tokenctl/common/network-address.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { type Logger, pino } from 'pino';
import { buildApp } from './app.ts';
import { CredentialCache, PASSWORD_ITERATIONS, randomText } from './auth/secret-hashes.ts';
import type { ServiceContext } from './context.ts';
import { databaseShares } from './limits/fair-share.ts';
import { HashQueue } from './limits/hash-queue.ts';
import { PasswordLimits } from './limits/limits.ts';
import { createLookups } from './lookups.ts';
import { Metrics } from './metrics.ts';
import { chooseIsolation, type JobAccess } from './playbooks/isolation.ts';
import { JobRunner } from './playbooks/job-runner.ts';
import { openProjects } from './playbooks/projects-folder.ts';
import { publicOrigin } from './public-url.ts';
import { openDatabase, type Place, prepareFirstStart } from './service-database.ts';
import { reportLoginProblems } from './settings/remaining-login.ts';
import { SecretBox, secretKey } from './settings/secrets.ts';
import { Discoveries } from './sso/provider-client.ts';
import { deleteCodes } from './store/grants.ts';
import { deleteExpiredEvents } from './store/provider-events.ts';
import { deleteExpiredSessions } from './store/sessions.ts';
import { deleteExpiredLogins } from './store/sso-logins.ts';

export interface ServiceOptions {
  /** The address to listen on. Any address but loopback requires `tls` or `behindProxy`. */
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly database: Place;
  /** The superuser's password on the first start; generated if missing. */
  readonly adminPassword?: Secret;
  readonly sessionCookieName?: string | undefined;
  /** The URL under which browsers reach the service, without a path. Required on addresses other than loopback. */
  readonly publicUrl?: string;
  readonly behindProxy?: boolean | undefined;
  /** Whether public clients must use PKCE (RFC 9700 §2.1.1). True by default. */
  readonly requirePkce?: boolean | undefined;
  /** Whether applications may use the implicit grant, which RFC 9700 §2.1.2 advises against. */
  readonly allowImplicitGrant?: boolean | undefined;
  /** Certificate chain and key in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The folder of the projects' playbooks. By default, `projects` in the data folder, or a temporary folder. */
  readonly projects?: string;
  /** The PATH to search for `ansible-playbook`. By default, the process's PATH. */
  readonly searchPath?: string;
  /** What jobs may use. Nothing by default. */
  readonly jobs?: Partial<JobAccess>;
  /** The key that encrypts secret settings. The embedded database generates its own if this is missing. */
  readonly secretKey?: Secret;
  /** Validated single sign-on settings by name, which override the stored ones. */
  readonly fixedSettings?: ReadonlyMap<string, unknown>;
  /** The PBKDF2 iterations of new password hashes. By default, the controller's. */
  readonly passwordIterations?: number;
  readonly version: string;
  readonly logLevel?: LogLevel | undefined;
  /** Receives the log line by line. By default, stderr. */
  readonly logTo?: { write(line: string): void };
  readonly now?: () => Date;
}

export interface RunningService {
  /** The base URL, without a trailing slash. */
  readonly url: string;
  /** The superuser's password, if this start generated it. */
  readonly generatedAdminPassword: Secret | null;
  /** For data that is not written through the API. */
  readonly database: Database;
  /** Stops listening, answers pending requests and closes the database. Further calls wait for the first. */
  close(): Promise<void>;
}

/** As in the sample response of the specification, section 5.1. */
const SESSION_COOKIE_NAME = 'svc_sessionid';
const CLEANUP_INTERVAL_MS = 3_600_000;
const USED_CODE_RETENTION_MS = 86_400_000;
/** How long pending requests may take when the service stops. */
const DRAIN_TIMEOUT_MS = 10_000;

/**
 * Opens and migrates the database, fills it on the first start, and listens.
 * @throws TokenctlError `usage` for an address that needs TLS or a port in use, `busy`,
 * `database_unreachable`, `configuration`.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  requireEncryption(options);
  requirePublicUrl(options);
  const now = options.now ?? (() => new Date());
  const log = serviceLog(options.logLevel ?? 'info', options.logTo);
  const opened: (() => unknown)[] = [];
  // Each part is closed even if another fails: an open database would keep the process and its lock.
  const closeOpened = async () => {
    const failures: unknown[] = [];
    for (const close of opened.splice(0).reverse()) {
      await Promise.resolve()
        .then(close)
        .catch((error: unknown) => failures.push(error));
    }
    for (const error of failures) log.error({ err: error }, 'closing a component of the service failed');
    if (failures.length > 0) throw failures[0];
  };
  try {
    await tryListening(options).catch((cause: unknown) => {
      throw listenFailure(options, cause);
    });
    const database = await openDatabase(options.database);
    opened.push(() => database.close());
    const generatedAdminPassword = await firstStart(database, options, now);
    const projects = await openProjects({
      projects: options.projects,
      data: 'folder' in options.database ? options.database.folder : null,
    });
    opened.push(() => projects.release());
    const searchPath = options.searchPath ?? process.env['PATH'] ?? '';
    const access = { localConnection: false, network: false, asService: false, ...options.jobs };
    const hidden = [projects.path, ...('folder' in options.database ? [options.database.folder] : [])];
    const isolation = await chooseIsolation({
      access,
      searchPath,
      hidden: hidden.filter((path) => path !== null),
      log,
    });
    const jobs = new JobRunner({
      database,
      log,
      now,
      projects: projects.path,
      searchPath,
      access,
      isolation,
    });
    opened.push(() => jobs.stop());
    const secrets = new SecretBox(await secretKey(options.secretKey, options.database));
    const service = context(options, { database, log, now, jobs, secrets });
    await reportLoginProblems(service);
    const app = await buildApp(service);
    const connections = trackConnections(app.server);
    opened.push(() => {
      const ended = app.close();
      for (const share of [service.shares.lists, service.shares.scans]) share.stop();
      connections.drain(DRAIN_TIMEOUT_MS);
      return ended;
    });
    await app.listen({ host: options.host, port: options.port }).catch((cause: unknown) => {
      throw listenFailure(options, cause);
    });
    await jobs.begin();
    const cleanup = setInterval(() => deleteExpired(service), CLEANUP_INTERVAL_MS).unref();
    opened.push(() => clearInterval(cleanup));
    const address = app.server.address();
    let closed: Promise<void> | undefined;
    return {
      url: baseUrl(options, typeof address === 'object' && address !== null ? address.port : options.port),
      generatedAdminPassword,
      database,
      close() {
        closed ??= closeOpened();
        return closed;
      },
    };
  } catch (error) {
    await closeOpened().catch(() => undefined);
    throw error;
  }
}

function context(
  options: ServiceOptions,
  parts: Pick<ServiceContext, 'database' | 'now' | 'jobs' | 'secrets'> & { readonly log: Logger },
): ServiceContext {
  return {
    ...parts,
    lookups: createLookups(parts),
    credentials: new CredentialCache(),
    passwordLimits: new PasswordLimits(() => performance.now()),
    hashes: new HashQueue(() => performance.now()),
    shares: databaseShares(parts.database.kind),
    passwordIterations: options.passwordIterations ?? PASSWORD_ITERATIONS,
    metrics: new Metrics({ ...parts, version: options.version }),
    version: options.version,
    node: hostname(),
    sessionCookieName: options.sessionCookieName ?? SESSION_COOKIE_NAME,
    ...(options.publicUrl !== undefined && { publicUrl: publicOrigin(options.publicUrl) }),
    behindProxy: options.behindProxy ?? false,
    requirePkce: options.requirePkce ?? true,
    allowImplicitGrant: options.allowImplicitGrant ?? false,
    fixedSettings: options.fixedSettings ?? new Map(),
    discoveries: new Discoveries(),
    tls: options.tls,
  };
}

async function firstStart(database: Database, options: ServiceOptions, now: () => Date) {
  let generated: Secret | null = null;
  const password = () => {
    const given = options.adminPassword?.reveal() ?? '';
    if (given !== '') return given;
    generated = new Secret(randomText(20));
    return generated.reveal();
  };
  return (await prepareFirstStart(database, { password, now, iterations: options.passwordIterations }))
    ? generated
    : null;
}

/** Deletes expired sessions, logins and codes. Used codes are kept for another day to detect a second use. */
function deleteExpired({ database, log, now }: ServiceContext): void {
  const at = now();
  const deleted = Promise.all([
    deleteExpiredSessions(database, at),
    deleteCodes(database, new Date(at.getTime() - USED_CODE_RETENTION_MS)),
    deleteExpiredLogins(database, at),
    deleteExpiredEvents(database, at),
  ]);
  deleted.catch((error: unknown) => {
    log.error({ err: error }, 'deleting expired sessions and codes failed; retrying in an hour');
  });
}

/** A new connection may already have a request in transit. */
const ARRIVAL_MS = 300;

interface Connections {
  /** Closes each connection once it has no pending request, and all others after `timeoutMs`. */
  drain(timeoutMs: number): void;
}

/**
 * Tracks the connections of a server. Closing a server waits for all of them, including the spare connections
 * that browsers open, and Node.js does not close a connection that was never used.
 */
function trackConnections(server: Server): Connections {
  const pending = new Map<Socket, number>();
  let draining = false;
  const count = (socket: Socket, change: number) => {
    const left = (pending.get(socket) ?? 0) + change;
    pending.set(socket, left);
    if (draining && left === 0) socket.end();
  };
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => {
      // With TLS, the TCP connection comes first. Requests are counted on the TLS connection.
      if (event === 'secureConnection' || !('setSecureContext' in server)) pending.set(socket, 0);
      socket.once('close', () => pending.delete(socket));
    });
  }
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    count(socket, 1);
    response.once('close', () => {
      if (pending.has(socket)) count(socket, -1);
    });
  });
  return {
    drain(timeoutMs) {
      draining = true;
      setTimeout(() => {
        for (const [socket, requests] of pending) if (requests === 0) socket.destroy();
      }, ARRIVAL_MS).unref();
      setTimeout(() => {
        for (const socket of pending.keys()) socket.destroy();
      }, timeoutMs).unref();
    },
  };
}

type ListenAddress = Pick<ServiceOptions, 'host' | 'port' | 'tls' | 'behindProxy'>;

/** Throws TokenctlError `usage` if passwords and tokens would cross the network unencrypted. */
function requireEncryption({ host, tls, behindProxy }: ListenAddress): void {
  if (isLoopback(host) || tls !== undefined || behindProxy) return;
  throw new TokenctlError('usage', `Listening on ${host} would send passwords and tokens unencrypted`, {
    hint: 'Use --tls-cert and --tls-key, or --behind-proxy if a proxy terminates TLS.',
  });
}

/** Throws TokenctlError `usage` for an invalid public URL, or none on an address that other machines can reach. */
function requirePublicUrl({ host, publicUrl }: ServiceOptions): void {
  if (publicUrl !== undefined) publicOrigin(publicUrl);
  else if (!isLoopback(host)) {
    throw new TokenctlError('usage', `Listening on ${host} requires the service's public URL`, {
      hint: 'Use --public-url with the address that browsers use, such as https://automation.example.org.',
    });
  }
}

function listenFailure({ host, port }: ListenAddress, cause: unknown): TokenctlError {
  const code = codeOf(cause) ?? 'unknown';
  const why: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is in use',
    EACCES: 'permission denied for this port',
    EADDRNOTAVAIL: 'this machine does not have this address',
    ENOTFOUND: 'unknown host name',
  };
  return new TokenctlError('usage', `The service cannot listen on ${host}:${port}: ${why[code] ?? code}`, {
    cause,
    hint: 'Choose another --port or --host.',
  });
}

/** The base URL, without a trailing slash. */
function baseUrl({ host, tls }: ListenAddress, port: number): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** Logs to stderr or `to`, and redacts possible credentials: headers, and the parameters of SQL statements. */
function serviceLog(level: LogLevel, to: ServiceOptions['logTo'] = pino.destination(2)): Logger {
  const redact = [
    ...['req.headers.authorization', 'req.headers.cookie', 'res.headers["set-cookie"]'],
    ...['err.params', 'err.detail', 'err.cause.params', 'err.cause.detail'],
  ];
  return pino({ level, redact, ...LOG_LINES }, to);
}
