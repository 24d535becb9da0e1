import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import { TokenctlError } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import type { Database } from '../db/database.ts';
import { openEmbedded } from '../db/embedded.ts';
import { migrate } from '../db/migrate.ts';
import { openPostgres } from '../db/postgres.ts';
import { buildApp } from './app.ts';
import { CredentialCache } from './auth/credential-cache.ts';
import { randomText } from './auth/password.ts';
import type { ServiceContext } from './context.ts';
import { prepareFirstStart } from './first-start.ts';
import { migrations } from './migrations/index.ts';
import { deleteExpiredSessions } from './store/sessions.ts';

/** How to start the service. */
export interface ServiceOptions {
  /** An address to listen on; anything but loopback takes `tls` or `behindProxy`. */
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** A PostgreSQL URL, or the folder of the embedded database; null keeps it in memory. */
  readonly database: { readonly url: Secret } | { readonly folder: string | null };
  /** The superuser's password on the first start; a random one where it is not given. */
  readonly adminPassword?: Secret;
  readonly sessionCookieName?: string;
  readonly behindProxy?: boolean;
  /** Certificate chain and key in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly version: string;
  readonly logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug';
  readonly now?: () => Date;
}

/** A running service. */
export interface RunningService {
  /** Its base URL, without a slash at the end. */
  readonly url: string;
  /** The superuser's password, where this start made the superuser with a random one. */
  readonly madeAdminPassword: Secret | null;
  /** Its database, for what is to be put there beside the API. */
  readonly database: Database;
  /** Takes no new connections, answers what is under way, closes the database. Once, however often it is called. */
  close(): Promise<void>;
}

/** The default name of the session cookie (specification, section 5.1, its sample response). */
const SESSION_COOKIE_NAME = 'svc_sessionid';

const SWEEP_INTERVAL_MS = 3_600_000;
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Opens the database, brings it up to date, prepares it on the first start and listens.
 *
 * @throws TokenctlError `usage` for an address that would send credentials in clear, `busy`,
 *   `database_unreachable`, `configuration`; `usage` where the port is taken.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  refuseClearText(options);
  const now = options.now ?? (() => new Date());
  const log = serviceLog(options.logLevel ?? 'info');
  const database = await open(options);
  try {
    await migrate(database, migrations);
    const made = await firstStart(database, options, now);
    const service = context(options, { database, log, now });
    const app = await buildApp(service);
    await app.listen({ host: options.host, port: options.port }).catch((cause: unknown) => {
      throw cannotListen(options, cause);
    });
    const sweep = setInterval(() => sweepSessions(service), SWEEP_INTERVAL_MS).unref();
    const address = app.server.address();
    let closed: Promise<void> | undefined;
    const close = async () => {
      clearInterval(sweep);
      await app.close();
      await database.close();
    };
    return {
      url: baseUrl(options, typeof address === 'object' && address !== null ? address.port : options.port),
      madeAdminPassword: made,
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
  made: { readonly database: Database; readonly log: Logger; readonly now: () => Date },
): ServiceContext {
  return {
    ...made,
    credentials: new CredentialCache(),
    version: options.version,
    node: hostname(),
    sessionCookieName: options.sessionCookieName ?? SESSION_COOKIE_NAME,
    behindProxy: options.behindProxy ?? false,
    ...(options.tls && { tls: options.tls }),
  };
}

function open(options: ServiceOptions): Promise<Database> {
  return 'url' in options.database
    ? openPostgres({
        url: options.database.url,
        applicationName: 'tokenctl service',
        statementTimeout: STATEMENT_TIMEOUT_MS,
      })
    : openEmbedded(options.database.folder);
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

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

function refuseClearText({ host, tls, behindProxy }: ServiceOptions): void {
  if (LOOPBACK.test(host) || tls !== undefined || behindProxy) return;
  throw new TokenctlError(
    'usage',
    `Listening on ${host} would send passwords and tokens through the network in clear`,
    { hint: 'Give --tls-cert and --tls-key, or --behind-proxy where a proxy in front speaks TLS.' },
  );
}

function cannotListen({ host, port }: ServiceOptions, cause: unknown): TokenctlError {
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

function baseUrl({ host, tls }: ServiceOptions, port: number): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

function sweepSessions({ database, log, now }: ServiceContext): void {
  deleteExpiredSessions(database, now()).catch((error: unknown) => {
    log.error({ err: error }, 'expired sessions could not be deleted; it is tried again in an hour');
  });
}

/** Logs to stderr, with everything left out that may hold a credential: headers, and the values of a statement. */
function serviceLog(level: NonNullable<ServiceOptions['logLevel']>): Logger {
  const redact = [
    ...['req.headers.authorization', 'req.headers.cookie', 'res.headers["set-cookie"]'],
    ...['err.params', 'err.detail', 'err.cause.params', 'err.cause.detail'],
  ];
  return pino({ level, redact, base: null }, pino.destination(2));
}
