import { existsSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import {
  type Environment,
  type Keywords,
  passwordFrom,
  readConnectionString,
  readService,
} from './connection-sources.ts';
import { isTlsMode, type TlsParameters } from './tls.ts';

/** Where a database is and how to get in, with libpq's meaning of every word. */
export interface ConnectionParameters {
  /** A host's name or address, or the folder of a Unix socket. */
  readonly host: string;
  /** The address to connect to where it is not to be looked up by the name. */
  readonly hostAddress: string | undefined;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Undefined where nothing gives one: the server may not ask for it. */
  readonly password: Secret | undefined;
  /** For how long a connection may take, in milliseconds; undefined where nothing says so. */
  readonly connectTimeout: number | undefined;
  /** Options for the server (`-c name=value`). */
  readonly options: string | undefined;
  readonly tls: TlsParameters;
}

/** The variables that libpq reads, by the keyword each stands for. */
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

/** Keywords that change nothing here: what they tune is not used, or fixed. */
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

/** Keywords that are taken with these values only: more than that is not to be had here. */
const RESTRICTED: Readonly<Record<string, readonly string[]>> = {
  channel_binding: ['disable', 'prefer'],
  gssencmode: ['disable', 'prefer'],
  sslnegotiation: ['postgres'],
  ssl_min_protocol_version: ['TLSv1.2'],
  target_session_attrs: ['any'],
};

/** Variables that ask libpq for what is not to be had here: passing one over would be less than was asked for. */
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
 * Reads how to reach a database: from a URL or keywords first, then from the service they or PGSERVICE
 * name, then from the PG* variables, then libpq's defaults; the password also from `~/.pgpass`.
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
  const passfile = value('passfile') ?? join(environment['HOME'] || homedir(), '.pgpass');
  const password = value('password') ?? passwordFrom(passfile, { host, port, database, user });
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
    throw new TokenctlError('configuration', `There is no sslmode ${mode}`, {
      hint: 'Use disable, allow, prefer, require, verify-ca or verify-full.',
    });
  }
  const own = join(environment['HOME'] || homedir(), '.postgresql', 'root.crt');
  return {
    mode,
    rootCertificate: value('sslrootcert') ?? (existsSync(own) ? own : undefined),
    certificate: value('sslcert'),
    key: value('sslkey'),
  };
}

function portOf(text = '5432'): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new TokenctlError('configuration', `${text} is no port of a database`);
}

/** Who runs this: libpq's default for the role. A container may run under a number that no name belongs to. */
function localUser(): string {
  try {
    return userInfo().username;
  } catch (cause) {
    throw new TokenctlError('configuration', 'The connection to the database names no role', {
      hint: 'Name it in the URL, or in PGUSER.',
      cause,
    });
  }
}

/** Where libpq looks without a host: the socket of this machine, else its loopback address. */
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

/** A word that is none of libpq's may be a piece of the password: it is not repeated. */
function besideThePassword(): TokenctlError {
  return new TokenctlError('configuration', 'A connection parameter beside the password is not supported', {
    hint: "Leave it out; where it belongs to the password, percent-encode that in a URL, or put it in '…' as a keyword.",
  });
}

function requireKnownVariables(environment: Environment): void {
  for (const [variable, keyword] of Object.entries(RESTRICTED_VARIABLES)) {
    const value = environment[variable];
    if (!value || RESTRICTED[keyword]?.includes(value)) continue;
    throw new TokenctlError('configuration', `What ${variable} asks for is not supported`, {
      hint: `Run it without ${variable}.`,
    });
  }
}
