import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import {
  type Environment,
  inHome,
  type Keywords,
  passwordFrom,
  readConnectionString,
  readService,
} from './connection-sources.ts';
import { isTlsMode, type TlsParameters } from './tls.ts';

/** The parameters of a database connection, as libpq resolves them. */
export interface ConnectionParameters {
  /** A host's name or address, or the folder of a Unix socket. */
  readonly host: string;
  /** The address to connect to, if the host's name should not be resolved. */
  readonly hostAddress: string | undefined;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Undefined if none is given. The server may not require one. */
  readonly password: Secret | undefined;
  /** The timeout of connecting, in milliseconds; undefined for the default. */
  readonly connectTimeout: number | undefined;
  /** Options for the server (`-c name=value`). */
  readonly options: string | undefined;
  readonly tls: TlsParameters;
}

/** The variables that libpq reads, by keyword. */
const VARIABLES: Readonly<Record<string, string>> = {
  host: 'PGHOST',
  hostaddr: 'PGHOSTADDR',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  service: 'PGSERVICE',
  options: 'PGOPTIONS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
};

/** Keywords without effect here: tokenctl does not use what they configure, or sets it itself. */
const WITHOUT_EFFECT = new Set([
  'application_name',
  'client_encoding',
  'fallback_application_name',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'sslcompression',
  'sslsni',
  'tcp_user_timeout',
  'uselibpqcompat',
]);

/** Keywords that are supported with these values only. */
const RESTRICTED: Readonly<Record<string, readonly string[]>> = {
  channel_binding: ['disable', 'prefer'],
  gssencmode: ['disable', 'prefer'],
  sslnegotiation: ['postgres'],
  ssl_min_protocol_version: ['TLSv1.2'],
  target_session_attrs: ['any'],
};

/** Variables with unsupported requirements: ignoring them would weaken the connection silently. */
const RESTRICTED_VARIABLES: Readonly<Record<string, string>> = {
  PGCHANNELBINDING: 'channel_binding',
  PGGSSENCMODE: 'gssencmode',
  PGREQUIREAUTH: 'require_auth',
  PGREQUIREPEER: 'requirepeer',
  PGSSLCRL: 'sslcrl',
  PGSSLCRLDIR: 'sslcrldir',
  PGSSLMINPROTOCOLVERSION: 'ssl_min_protocol_version',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
};

/**
 * Resolves the parameters of a connection: from the URL or keywords, then the service (named there or in PGSERVICE), then
 * the PG* variables, then libpq's defaults. The password may also come from `~/.pgpass`.
 *
 * @throws TokenctlError `configuration`
 */
export function readConnection(connection: Secret, environment: Environment): ConnectionParameters {
  const given = readConnectionString(connection);
  const serviceName = given.get('service') ?? environment['PGSERVICE'];
  const service: Keywords = serviceName ? readService(serviceName, environment) : new Map();
  requireKnown(given);
  requireKnown(service);
  requireKnownVariables(environment);
  const value = (keyword: string): string | undefined =>
    given.get(keyword) || service.get(keyword) || environment[VARIABLES[keyword] ?? ''] || undefined;
  const hostAddress = value('hostaddr');
  const user = value('user') ?? localUser();
  const database = value('dbname') ?? user;
  const host = value('host') ?? hostAddress ?? localHost();
  const port = portOf(value('port'));
  const passfile = value('passfile') ?? inHome('.pgpass', environment);
  const password =
    value('password') ?? (passfile === null ? null : passwordFrom(passfile, { host, port, database, user }));
  const seconds = Number(value('connect_timeout') ?? 0);
  return {
    host,
    hostAddress,
    port,
    database,
    user,
    password: password ? new Secret(password) : undefined,
    connectTimeout: seconds > 0 ? seconds * 1000 : undefined,
    options: value('options'),
    tls: tlsOf(value, environment),
  };
}

function tlsOf(value: (keyword: string) => string | undefined, environment: Environment): TlsParameters {
  const mode = value('sslmode') ?? 'prefer';
  if (!isTlsMode(mode)) {
    throw new TokenctlError('configuration', `Invalid sslmode: ${mode}`, {
      hint: 'Use disable, allow, prefer, require, verify-ca or verify-full.',
    });
  }
  const own = inHome('.postgresql/root.crt', environment);
  return {
    mode,
    rootCertificate: value('sslrootcert') ?? (own !== null && existsSync(own) ? own : undefined),
    certificate: value('sslcert'),
    key: value('sslkey'),
  };
}

function portOf(text = '5432'): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new TokenctlError('configuration', `Invalid database port: ${text}`, {
    hint: 'Use a number from 1 to 65535.',
  });
}

/** The operating system's user name, which is libpq's default role. In a container, the user may have no name. */
function localUser(): string {
  try {
    return userInfo().username;
  } catch (cause) {
    throw new TokenctlError('configuration', 'No database role is given', {
      hint: 'Set it in the URL or in PGUSER.',
      cause,
    });
  }
}

/** libpq's default host: the folder of a local socket, or localhost. */
function localHost(): string {
  const folders = ['/var/run/postgresql', '/tmp'];
  return folders.find((folder) => existsSync(join(folder, '.s.PGSQL.5432'))) ?? 'localhost';
}

function requireKnown(keywords: Keywords): void {
  for (const [keyword, value] of keywords) {
    if (keyword in VARIABLES || WITHOUT_EFFECT.has(keyword) || RESTRICTED[keyword]?.includes(value)) continue;
    if (keywords.has('password') && !(keyword in RESTRICTED)) throw besideThePassword();
    throw new TokenctlError(
      'configuration',
      `The connection parameter ${keyword} is not supported${keyword in RESTRICTED ? ' with this value' : ''}`,
      {
        hint: 'Leave it out.',
      },
    );
  }
}

/** An unknown keyword may be part of an unquoted password, so the message does not repeat it. */
function besideThePassword(): TokenctlError {
  return new TokenctlError('configuration', 'A connection parameter next to the password is not supported', {
    hint: "Leave it out. If it is part of the password, percent-encode the password in a URL, or quote it ('…') as a keyword.",
  });
}

function requireKnownVariables(environment: Environment): void {
  for (const [variable, keyword] of Object.entries(RESTRICTED_VARIABLES)) {
    const value = environment[variable];
    if (!value || RESTRICTED[keyword]?.includes(value)) continue;
    throw new TokenctlError('configuration', `The value of ${variable} is not supported`, {
      hint: `Unset ${variable}.`,
    });
  }
}
