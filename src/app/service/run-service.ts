import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { type RunningService, type ServiceOptions, startService } from '@tokenctl/service/server.ts';
import { enableLocalAccounts } from '@tokenctl/service/service-database.ts';
import { checkSetting, type SettingDefinition } from '@tokenctl/service/settings/checks.ts';
import { SSO_SETTINGS } from '@tokenctl/service/settings/settings.ts';
import { type Environment, stateFolder } from '../../config/paths.ts';
import { readSecret, readSecretFile } from '../../config/secrets.ts';
import { writeSecretFile } from '../secret-file.ts';
import { catchSignals } from '../stop-signals.ts';

/** The service's database from the command line; undefined if not given. */
export interface DatabaseRequest {
  readonly data: string | undefined;
  readonly database: string | undefined;
  readonly databaseFile: string | undefined;
}

/** The command-line options; undefined for those that are not given. */
export interface ServiceRequest extends DatabaseRequest {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly sessionCookieName: string | undefined;
  readonly publicUrl: string | undefined;
  readonly behindProxy: boolean | undefined;
  readonly requirePkce: boolean | undefined;
  readonly allowImplicitGrant: boolean | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly jobsLocalConnection: boolean | undefined;
  readonly jobsNetwork: boolean | undefined;
  readonly jobsAsService: boolean | undefined;
  readonly logLevel: ServiceOptions['logLevel'] | undefined;
}

export interface ServiceEnvironment {
  /** Its secrets are removed after they are read. */
  readonly environment: Record<string, string | undefined>;
  readonly version: string;
  /** Prints a line to stderr. */
  readonly notify: (line: string) => void;
  /** Whether a person reads stderr, so that a password may be shown once. */
  readonly attended: boolean;
}

/** A cookie's name is a token (RFC 6265, section 4.1.1; RFC 7230, section 3.2.6). */
const COOKIE_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The service's cookies other than the session cookie. */
const OTHER_COOKIES = ['csrftoken', 'userLoggedIn', 'current_user'];

const HOST = '127.0.0.1';
const PORT = 8052;
const ADMIN_PASSWORD = 'TOKENCTL_ADMIN_PASSWORD';
const DATABASE = 'TOKENCTL_SERVICE_DATABASE';
const PUBLIC_URL = 'TOKENCTL_SERVICE_PUBLIC_URL';
const SECRET_KEY = 'TOKENCTL_SERVICE_SECRET_KEY';

/** Runs the service until stopped, then finishes its requests. Throws as `startService`; `usage`, `configuration`. */
export async function runService(request: ServiceRequest, place: ServiceEnvironment): Promise<void> {
  const { environment, notify } = place;
  const options = serviceOptions(request, place);
  forgetSecrets(environment);
  const { signal, release } = catchSignals(() => notify('Stopping: in-flight requests are answered first.'));
  try {
    const service = await startService(options);
    const folder = 'folder' in options.database ? options.database.folder : null;
    showAdminPassword(service, { ...place, folder: folder ?? stateFolder(environment) });
    notify(`The service listens on ${service.url}. Ctrl-C ends it.`);
    await aborted(signal);
    await service.close();
  } finally {
    release();
  }
}

/** Enables local logins. Returns whether they were off. Throws as `enableLocalAccounts`; `usage`, `configuration`. */
export function enableLocalAuth(
  request: DatabaseRequest & { readonly dryRun?: boolean },
  environment: Environment,
): Promise<boolean> {
  return enableLocalAccounts(databaseOf(request, environment), new Date(), request.dryRun);
}

/**
 * Removes secrets that were read from the environment, so that no process started by the service gets them.
 * The operating system still shows the initial environment: only a file protects from that.
 */
function forgetSecrets(environment: Record<string, string | undefined>): void {
  const settings = SSO_SETTINGS.filter(({ secret }) => secret === true).map(({ key }) => key);
  for (const name of [ADMIN_PASSWORD, DATABASE, SECRET_KEY, ...settings]) delete environment[name];
}

function serviceOptions(request: ServiceRequest, { environment, version }: ServiceEnvironment) {
  const adminPassword = given(environment, { name: ADMIN_PASSWORD, secret: true });
  const tls = tlsOf(request);
  const secretKey = givenSecretKey(environment);
  const publicUrl = request.publicUrl ?? environment[PUBLIC_URL];
  if (request.sessionCookieName !== undefined) requireCookieName(request.sessionCookieName);
  const { sessionCookieName, behindProxy, requirePkce, allowImplicitGrant, logLevel } = request;
  return {
    host: request.host ?? HOST,
    port: request.port ?? PORT,
    database: databaseOf(request, environment),
    version,
    fixedSettings: fixedSettings(environment),
    ...(adminPassword && { adminPassword: new Secret(adminPassword) }),
    ...(secretKey && { secretKey }),
    sessionCookieName,
    ...(publicUrl && { publicUrl }),
    behindProxy,
    requirePkce,
    allowImplicitGrant,
    jobs: {
      localConnection: request.jobsLocalConnection ?? false,
      network: request.jobsNetwork ?? false,
      asService: request.jobsAsService ?? false,
    },
    logLevel,
    ...(tls && { tls }),
  };
}

function requireCookieName(name: string): void {
  if (!COOKIE_NAME.test(name)) {
    throw new TokenctlError(
      'usage',
      `--session-cookie-name: ${JSON.stringify(name)} is not a valid cookie name`,
      { hint: "Use letters, digits and !#$%&'*+-.^_`|~" },
    );
  }
  if (OTHER_COOKIES.includes(name)) {
    throw new TokenctlError(
      'usage',
      `--session-cookie-name: ${name} is the name of another cookie of the service`,
      { hint: 'Choose another name' },
    );
  }
}

function databaseOf(request: DatabaseRequest, environment: Environment): ServiceOptions['database'] {
  const { data, database, databaseFile } = request;
  if (database !== undefined) return { url: withoutPassword(database) };
  if (databaseFile !== undefined) return { url: readSecret({ file: databaseFile }, environment) };
  if (data !== undefined) return { folder: data };
  const fromEnvironment = given(environment, { name: DATABASE, secret: true });
  if (fromEnvironment) return { url: new Secret(fromEnvironment) };
  return { folder: join(stateFolder(environment), 'service') };
}

/** Every user of the machine can read a process's arguments. */
function withoutPassword(url: string): Secret {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new TokenctlError('usage', '--database requires a postgres:// URL');
  }
  if (!URL.canParse(url) || new URL(url).password !== '') {
    throw new TokenctlError('usage', 'A database URL with a password does not belong on the command line', {
      hint: `Put it into a file with mode 0600 and use --database-file, or use ${DATABASE}.`,
    });
  }
  return new Secret(url);
}

function tlsOf({ tlsCert, tlsKey }: ServiceRequest): { cert: string; key: string } | null {
  if (tlsCert === undefined || tlsKey === undefined) return null;
  return { cert: readPem(tlsCert), key: readPem(tlsKey) };
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `${path} cannot be read`, { cause });
  }
}

/** Shows the password once on a terminal. Without one, writes it to a file, so that no log contains it. */
function showAdminPassword(
  { generatedAdminPassword: password }: RunningService,
  { notify, attended, folder }: ServiceEnvironment & { folder: string },
): void {
  if (password === null) return;
  if (attended) {
    notify(`The superuser is "admin" with the password ${password.reveal()} — it is not shown again.`);
    return;
  }
  const path = join(folder, 'admin-password');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  writeSecretFile(path, password);
  notify(`The superuser is "admin"; the password is in ${path}.`);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * The single sign-on settings fixed by the environment: each from the variable with its name, or from the
 * file in the variable with the suffix `_FILE`. Objects and lists are JSON.
 * @throws TokenctlError `configuration` for an unknown setting, an invalid value, an unreadable file, or a
 * secret file that others can read.
 */
export function fixedSettings(environment: Environment): ReadonlyMap<string, unknown> {
  const unknown = Object.keys(environment).find(
    (name) =>
      name.startsWith('SOCIAL_AUTH_') && !SSO_SETTINGS.some(({ key }) => [key, `${key}_FILE`].includes(name)),
  );
  if (unknown !== undefined) {
    throw new TokenctlError('configuration', `Unknown variable ${unknown}`, {
      hint: 'Single sign-on settings are listed at /api/v2/settings/all/. Correct or unset the variable.',
    });
  }
  return new Map(
    SSO_SETTINGS.filter(({ readOnly }) => readOnly !== true).flatMap((definition) => {
      const text = given(environment, { name: definition.key, secret: definition.secret === true });
      return text === null ? [] : [[definition.key, checked(definition, text)] as const];
    }),
  );
}

/** The key for secret settings, from TOKENCTL_SERVICE_SECRET_KEY or its `_FILE`; else null. Throws `configuration`. */
export function givenSecretKey(environment: Environment): Secret | null {
  const text = given(environment, { name: SECRET_KEY, secret: true });
  return text === null ? null : new Secret(text);
}

function given(environment: Environment, { name, secret }: { name: string; secret: boolean }): string | null {
  const value = environment[name];
  if (value) return value;
  const path = environment[`${name}_FILE`];
  return path ? contentOf(path, { secret, environment }) : null;
}

function contentOf(path: string, { secret, environment }: { secret: boolean; environment: Environment }) {
  try {
    const text = secret ? readSecretFile(path, environment) : readFileSync(path, 'utf8');
    return text.replace(/\r?\n$/, '');
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    throw new TokenctlError('configuration', `${path} cannot be read`, { cause });
  }
}

function checked(definition: SettingDefinition, text: string): unknown {
  const { key, type } = definition;
  const result = checkSetting(definition, type === 'string' ? text : parsed(key, text), undefined);
  if ('value' in result) return result.value;
  const problem = Object.values(result.problem).flat().join(' ');
  throw new TokenctlError('configuration', `Invalid variable ${key}: ${problem}`);
}

function parsed(key: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TokenctlError('configuration', `Invalid variable ${key}: not JSON`, {
      hint: 'Write objects and lists as JSON, with strings in double quotes.',
    });
  }
}
