import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { Secret } from '../domain/secret.ts';
import { buildApp } from './app.ts';
import { CredentialCache } from './auth/credential-cache.ts';
import { randomText } from './auth/password.ts';
import { watchConnections } from './connections.ts';
import type { ServiceContext } from './context.ts';
import { prepareFirstStart } from './first-start.ts';
import { PasswordLimits } from './limits/password-limits.ts';
import { baseUrl, cannotListen, refuseClearText } from './listen-address.ts';
import { lookupsOf } from './lookups/lookups.ts';
import { Metrics } from './metrics/metrics.ts';
import { openDatabase, type Place } from './open-database.ts';
import { JobRunner } from './playbooks/job-runner.ts';
import { openProjects } from './projects-folder.ts';
import { type LogLevel, serviceLog } from './service-log.ts';
import { SecretBox } from './settings/secret-box.ts';
import { secretKey } from './settings/secret-key.ts';
import { Discoveries } from './sso/discoveries.ts';
import { deleteCodes } from './store/grants.ts';
import { deleteExpiredSessions } from './store/sessions.ts';
import { deleteOldLogins } from './store/sso-logins.ts';

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
  readonly madeAdminPassword: Secret | null;
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
const DRAIN_PATIENCE_MS = 10_000;

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
    const connections = watchConnections(app.server);
    await app.listen({ host: options.host, port: options.port }).catch((cause: unknown) => {
      throw cannotListen(options, cause);
    });
    await jobs.begin();
    const sweeping = setInterval(() => sweep(service), SWEEP_INTERVAL_MS).unref();
    const address = app.server.address();
    let closed: Promise<void> | undefined;
    const close = async () => {
      clearInterval(sweeping);
      const ended = app.close();
      connections.drain(DRAIN_PATIENCE_MS);
      await ended;
      await jobs.stop();
      await projects.release();
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
  made: Pick<ServiceContext, 'database' | 'now' | 'jobs' | 'secrets'> & { readonly log: Logger },
): ServiceContext {
  return {
    ...made,
    lookups: lookupsOf(made),
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
    deleteOldLogins(database, at),
  ]);
  swept.catch((error: unknown) => {
    log.error(
      { err: error },
      'expired sessions and codes could not be deleted; it is tried again in an hour',
    );
  });
}
