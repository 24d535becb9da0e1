import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import type { Database } from '../db/database.ts';
import { TokenctlError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import { buildApp } from './app.ts';
import { CredentialCache, randomText } from './auth/secret-hashes.ts';
import type { ServiceContext } from './context.ts';
import { PasswordLimits } from './limits/limits.ts';
import { createLookups } from './lookups.ts';
import { Metrics } from './metrics.ts';
import { JobRunner } from './playbooks/job-runner.ts';
import { openProjects } from './playbooks/projects-folder.ts';
import { openDatabase, type Place, prepareFirstStart } from './service-database.ts';
import { SecretBox, secretKey } from './settings/secrets.ts';
import { Discoveries } from './sso/provider-client.ts';
import { deleteCodes } from './store/grants.ts';
import { deleteExpiredSessions } from './store/sessions.ts';
import { deleteExpiredLogins } from './store/sso-logins.ts';

/** How to start the service. */
export interface ServiceOptions {
  /** An address to listen on; anything but loopback takes `tls` or `behindProxy`. */
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly database: Place;
  /** The superuser's password on the first start; a random one where it is not given. */
  readonly adminPassword?: Secret;
  readonly sessionCookieName?: string;
  readonly behindProxy?: boolean;
  /** Lets public clients do without PKCE, which RFC 9700 §2.1.1 asks for; required unless this is false. */
  readonly requirePkce?: boolean;
  /** Lets applications be registered for the implicit grant, which RFC 9700 §2.1.2 advises against. */
  readonly allowImplicitGrant?: boolean;
  /** Certificate chain and key in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The folder of the projects' playbooks; `projects` in the data folder, or a temporary one. */
  readonly projects?: string;
  /** Where `ansible-playbook` is looked for: a PATH, that of the process unless given. */
  readonly searchPath?: string;
  /** What secret settings are encrypted with; the embedded database has a key of its own unless one is given. */
  readonly secretKey?: Secret;
  /** Settings of single sign-on that are fixed, by name; they go before what is stored. Checked before. */
  readonly fixedSettings?: ReadonlyMap<string, unknown>;
  readonly version: string;
  readonly logLevel?: LogLevel;
  readonly now?: () => Date;
}

/** A running service. */
export interface RunningService {
  /** Its base URL, without a slash at the end. */
  readonly url: string;
  /** The superuser's password, where this start made the superuser with a random one. */
  readonly generatedAdminPassword: Secret | null;
  /** Its database, for what is to be put there beside the API. */
  readonly database: Database;
  /** Takes no new connections, answers what is under way, closes the database. Once, however often it is called. */
  close(): Promise<void>;
}

/** As in the sample response of the specification, section 5.1. */
const SESSION_COOKIE_NAME = 'svc_sessionid';
const SWEEP_INTERVAL_MS = 3_600_000;
const CODE_MEMORY_MS = 86_400_000;
/** How long a request that is under way may take when the service ends. */
const DRAIN_TIMEOUT_MS = 10_000;

/**
 * Opens the database, brings it up to date, prepares it on the first start and listens.
 *
 * @throws TokenctlError `usage` for an address that would send credentials in clear, `busy`,
 *   `database_unreachable`, `configuration`; `usage` where the port is taken.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  requireEncryption(options);
  const now = options.now ?? (() => new Date());
  const log = serviceLog(options.logLevel ?? 'info');
  const database = await openDatabase(options.database);
  try {
    const made = await firstStart(database, options, now);
    const projects = await openProjects({
      projects: options.projects,
      data: 'folder' in options.database ? options.database.folder : null,
    });
    const searchPath = options.searchPath ?? process.env['PATH'] ?? '';
    const jobs = new JobRunner({ database, log, now, projects: projects.path, searchPath });
    const secrets = new SecretBox(await secretKey(options.secretKey, options.database));
    const service = context(options, { database, log, now, jobs, secrets });
    const app = await buildApp(service);
    const connections = trackConnections(app.server);
    await app.listen({ host: options.host, port: options.port }).catch((cause: unknown) => {
      throw listenFailure(options, cause);
    });
    await jobs.begin();
    const sweeping = setInterval(() => sweep(service), SWEEP_INTERVAL_MS).unref();
    const address = app.server.address();
    let closed: Promise<void> | undefined;
    const close = async () => {
      clearInterval(sweeping);
      const ended = app.close();
      connections.drain(DRAIN_TIMEOUT_MS);
      await ended;
      await jobs.stop();
      await projects.release();
      await database.close();
    };
    return {
      url: baseUrl(options, typeof address === 'object' && address !== null ? address.port : options.port),
      generatedAdminPassword: made,
      database,
      close() {
        closed ??= close();
        return closed;
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function context(
  options: ServiceOptions,
  made: Pick<ServiceContext, 'database' | 'now' | 'jobs' | 'secrets'> & { readonly log: Logger },
): ServiceContext {
  return {
    ...made,
    lookups: createLookups(made),
    credentials: new CredentialCache(),
    passwordLimits: new PasswordLimits(() => performance.now()),
    metrics: new Metrics({ ...made, version: options.version }),
    version: options.version,
    node: hostname(),
    sessionCookieName: options.sessionCookieName ?? SESSION_COOKIE_NAME,
    behindProxy: options.behindProxy ?? false,
    requirePkce: options.requirePkce ?? true,
    allowImplicitGrant: options.allowImplicitGrant ?? false,
    fixedSettings: options.fixedSettings ?? new Map(),
    discoveries: new Discoveries(),
    ...(options.tls && { tls: options.tls }),
  };
}

async function firstStart(
  database: Database,
  options: ServiceOptions,
  now: () => Date,
): Promise<Secret | null> {
  let made: Secret | null = null;
  const password = () => {
    const given = options.adminPassword?.reveal() ?? '';
    if (given !== '') return given;
    made = new Secret(randomText(20));
    return made.reveal();
  };
  return (await prepareFirstStart(database, { password, now })) ? made : null;
}

/** Deletes what time has made worthless. Used codes stay a day longer, so that a second use is recognized. */
function sweep({ database, log, now }: ServiceContext): void {
  const at = now();
  const swept = Promise.all([
    deleteExpiredSessions(database, at),
    deleteCodes(database, new Date(at.getTime() - CODE_MEMORY_MS)),
    deleteExpiredLogins(database, at),
  ]);
  swept.catch((error: unknown) => {
    log.error(
      { err: error },
      'expired sessions and codes could not be deleted; it is tried again in an hour',
    );
  });
}

/** A request may be on its way on a connection that was made just now. */
const ARRIVAL_MS = 300;

/** The connections of a server, told apart by whether something is under way on them. */
export interface Connections {
  /**
   * Closes each connection as soon as nothing is under way on it, and after `patience` milliseconds those
   * that are left as well.
   */
  drain(patience: number): void;
}

/**
 * Watches the connections of a server. A server that is closed waits for all of them, also for those that
 * browsers keep open in case they need one, and Node.js closes none that was never used.
 */
export function trackConnections(server: Server): Connections {
  const underWay = new Map<Socket, number>();
  let draining = false;
  const count = (socket: Socket, change: number) => {
    const left = (underWay.get(socket) ?? 0) + change;
    underWay.set(socket, left);
    if (draining && left === 0) socket.end();
  };
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => {
      // Under TLS the bare connection comes first; what is under way is counted on the one above it.
      if (event === 'secureConnection' || !('setSecureContext' in server)) underWay.set(socket, 0);
      socket.once('close', () => underWay.delete(socket));
    });
  }
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    count(socket, 1);
    response.once('close', () => {
      if (underWay.has(socket)) count(socket, -1);
    });
  });
  return {
    drain(patience) {
      draining = true;
      setTimeout(() => {
        for (const [socket, requests] of underWay) if (requests === 0) socket.destroy();
      }, ARRIVAL_MS).unref();
      setTimeout(() => {
        for (const socket of underWay.keys()) socket.destroy();
      }, patience).unref();
    },
  };
}

type ListenAddress = Pick<ServiceOptions, 'host' | 'port' | 'tls' | 'behindProxy'>;

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

/** Refuses an address at which passwords and tokens would travel in clear. Throws TokenctlError `usage`. */
export function requireEncryption({ host, tls, behindProxy }: ListenAddress): void {
  if (LOOPBACK.test(host) || tls !== undefined || behindProxy) return;
  throw new TokenctlError(
    'usage',
    `Listening on ${host} would send passwords and tokens through the network in clear`,
    { hint: 'Give --tls-cert and --tls-key, or --behind-proxy where a proxy in front speaks TLS.' },
  );
}

/** Why the service cannot listen, in words. */
export function listenFailure({ host, port }: ListenAddress, cause: unknown): TokenctlError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  const why: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is taken',
    EACCES: 'this user may not use that port',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'there is no host of that name',
  };
  return new TokenctlError('usage', `The service cannot listen on ${host}:${port}: ${why[code] ?? code}`, {
    cause,
    hint: 'Choose another --port or --host.',
  });
}

/** The base URL of a service that listens, without a slash at the end. */
export function baseUrl({ host, tls }: ListenAddress, port: number): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** What is logged: the level named and all above it. */
export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug';

/** Logs to stderr, with everything left out that may hold a credential: headers, and the values of a statement. */
export function serviceLog(level: LogLevel): Logger {
  const redact = [
    ...['req.headers.authorization', 'req.headers.cookie', 'res.headers["set-cookie"]'],
    ...['err.params', 'err.detail', 'err.cause.params', 'err.cause.detail'],
  ];
  return pino({ level, redact, base: null }, pino.destination(2));
}
