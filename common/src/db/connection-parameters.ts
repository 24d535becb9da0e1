import { existsSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';
import { TokenctlError } from '../errors.ts';
import { Secret } from '../secret.ts';
import { words } from '../text.ts';
import {
  type Environment,
  inHome,
  type Keywords,
  ONE_SERVER,
  passwordFrom,
  readConnectionString,
  readService,
  severalHosts,
} from './connection-sources.ts';

/** The parameters of a database connection, resolved as in libpq. */
export interface ConnectionParameters {
  /** A host name or address, or the folder of a Unix socket. */
  readonly host: string;
  /** The address to connect to, if the host name should not be resolved. */
  readonly hostAddress: string | undefined;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Undefined if not given. The server may not require one. */
  readonly password: Secret | undefined;
  /** The connection timeout in milliseconds; undefined for the default. */
  readonly connectTimeout: number | undefined;
  /** Options for the server (`-c name=value`). */
  readonly options: string | undefined;
  /** Whether the server must prove that it terminates this TLS connection (RFC 5929). */
  readonly requiresBinding: boolean;
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
  sslcertmode: 'PGSSLCERTMODE',
  sslcrl: 'PGSSLCRL',
  channel_binding: 'PGCHANNELBINDING',
};

/** Keywords without effect: tokenctl does not use what they configure, or sets it itself. */
const WITHOUT_EFFECT = new Set(
  words(`application_name client_encoding fallback_application_name keepalives keepalives_count keepalives_idle
    keepalives_interval sslcompression sslsni tcp_user_timeout uselibpqcompat`),
);

/** Keywords that are supported only with these values. */
const RESTRICTED: Readonly<Record<string, readonly string[]>> = {
  channel_binding: ['disable', 'prefer', 'require'],
  sslcertmode: ['disable', 'allow'],
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
  PGSSLCRLDIR: 'sslcrldir',
  PGSSLCERTMODE: 'sslcertmode',
  PGSSLMAXPROTOCOLVERSION: 'ssl_max_protocol_version',
  PGSSLNEGOTIATION: 'sslnegotiation',
  PGSSLMINPROTOCOLVERSION: 'ssl_min_protocol_version',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
};

/**
 * The parameters of a connection, from the URL or keywords, then the service (named there or in PGSERVICE),
 * then the PG* variables, then libpq's defaults; the password also from `~/.pgpass`. Throws `configuration`.
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
  for (const [name, text] of [
    ['host', host],
    ['hostaddr', hostAddress],
    ['port', value('port')],
  ] as const) {
    if (text?.includes(',') === true) throw severalHosts(name);
  }
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
    requiresBinding: value('channel_binding') === 'require',
    tls: tlsOf(value, environment),
  };
}

function tlsOf(value: (keyword: string) => string | undefined, environment: Environment): TlsParameters {
  const home = (name: string) => {
    const file = inHome(`.postgresql/${name}`, environment);
    return file !== null && existsSync(file) ? file : undefined;
  };
  const rootCertificate = value('sslrootcert') ?? home('root.crt');
  // As in libpq 18: the system's authorities sign for everyone, so only the host name identifies the server.
  const mode = value('sslmode') ?? (rootCertificate === 'system' ? 'verify-full' : 'prefer');
  if (!isTlsMode(mode)) {
    throw new TokenctlError('configuration', `Invalid sslmode: ${mode}`, {
      hint: 'Use disable, allow, prefer, require, verify-ca or verify-full.',
    });
  }
  if (rootCertificate === 'system' && mode !== 'verify-full') {
    throw new TokenctlError('configuration', `sslmode ${mode} is too weak for sslrootcert=system`, {
      hint: 'Use sslmode=verify-full, or omit sslmode.',
    });
  }
  const certificate =
    value('sslcertmode') === 'disable' ? undefined : (value('sslcert') ?? home('postgresql.crt'));
  const key = certificate === undefined ? undefined : (value('sslkey') ?? home('postgresql.key'));
  if (certificate !== undefined && key === undefined) {
    throw new TokenctlError('configuration', `The key of the client certificate ${certificate} is missing`, {
      hint: 'Specify it with sslkey, or as ~/.postgresql/postgresql.key. To connect without a client certificate: sslcertmode=disable.',
    });
  }
  // As in libpq, the default list belongs to the authorities in a file.
  const revoked = value('sslcrl') ?? (rootCertificate === 'system' ? undefined : home('root.crl'));
  return { mode, rootCertificate, certificate, key, revoked };
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
    throw new TokenctlError('configuration', 'No database role specified', {
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
    const values = RESTRICTED[keyword];
    if (values?.includes(value) ?? (keyword in VARIABLES || WITHOUT_EFFECT.has(keyword))) continue;
    if (keywords.has('password') && !(keyword in RESTRICTED)) throw besideThePassword();
    throw new TokenctlError(
      'configuration',
      `The connection parameter ${keyword} is not supported${keyword in RESTRICTED ? ' with this value' : ''}`,
      { hint: `Leave it out.${serverHint(keyword)}` },
    );
  }
}

/** The user decides between several servers. */
function serverHint(keyword: string): string {
  return keyword === 'target_session_attrs' ? ` ${ONE_SERVER}` : '';
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
      hint: `Unset ${variable}.${serverHint(keyword)}`,
    });
  }
}

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;

/** libpq's `sslmode`, and pg's own `no-verify`: TLS without verification of the certificate. */
type TlsMode = (typeof MODES)[number];

function isTlsMode(word: string): word is TlsMode {
  return (MODES as readonly string[]).includes(word);
}

/** How to encrypt a connection, by libpq's keywords. Files are given as paths. */
export interface TlsParameters {
  readonly mode: TlsMode;
  /** The authorities for the server's certificate; `system` for those of Node.js. */
  readonly rootCertificate: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  /** The certificates that their authorities revoked. Read if certificates are verified. */
  readonly revoked: string | undefined;
}

export interface TlsAttempt {
  readonly transport: 'tls' | 'tls_unverified' | 'plain';
  readonly ssl: false | ConnectionOptions;
}

const PLAIN: TlsAttempt = { transport: 'plain', ssl: false };

/**
 * The connection attempts in order, with libpq's meaning of `sslmode`
 * (https://www.postgresql.org/docs/current/libpq-ssl.html): pg 8 itself treats `require` as `verify-full`,
 * and never falls back to an unencrypted connection. The certificate must be for `host`. Throws
 * `configuration` if a file is missing or unreadable.
 */
export function tlsAttempts(parameters: TlsParameters, host: string): readonly TlsAttempt[] {
  const { mode, rootCertificate } = parameters;
  if (mode === 'disable') return [PLAIN];
  if (mode === 'verify-ca' && rootCertificate === undefined) {
    throw new TokenctlError('configuration', 'sslmode verify-ca requires the CA certificate', {
      hint: 'Set sslrootcert, or use sslmode verify-full.',
    });
  }
  // With a root certificate, libpq verifies in every mode that uses TLS.
  const verifies = mode === 'verify-full' || (rootCertificate !== undefined && mode !== 'no-verify');
  const encrypted = {
    ...clientCertificate(parameters),
    ...(verifies ? verification(parameters, host) : { rejectUnauthorized: false }),
  };
  // These modes continue without TLS, so a verified certificate says nothing about the next connection's server.
  if (mode === 'allow') return [PLAIN, { transport: 'tls_unverified', ssl: encrypted }];
  if (mode === 'prefer') return [{ transport: 'tls_unverified', ssl: encrypted }, PLAIN];
  return [{ transport: verifies ? 'tls' : 'tls_unverified', ssl: encrypted }];
}

function verification({ mode, rootCertificate, revoked }: TlsParameters, host: string): ConnectionOptions {
  return {
    rejectUnauthorized: true,
    ...(rootCertificate !== undefined &&
      rootCertificate !== 'system' && { ca: readCertificateFile(rootCertificate, 'sslrootcert') }),
    ...(revoked !== undefined && { crl: revocationLists(revoked) }),
    checkServerIdentity: (_name, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  };
}

/** The lists in a file, one per authority: Node.js reads only the first list of a text. */
function revocationLists(file: string): string[] {
  const lists = readCertificateFile(file, 'sslcrl').match(
    /-----BEGIN X509 CRL-----.*?-----END X509 CRL-----/gs,
  );
  if (lists !== null) return lists;
  throw new TokenctlError('configuration', `The file ${file} (sslcrl) contains no revocation list`, {
    hint: 'Save it in PEM format, or remove it.',
  });
}

function clientCertificate({ certificate, key }: TlsParameters): ConnectionOptions {
  return {
    ...(certificate !== undefined && { cert: readCertificateFile(certificate, 'sslcert') }),
    ...(key !== undefined && { key: readKey(key) }),
  };
}

/** Refuses a key that others may read, as libpq does. A key of root may be readable for its group. */
function readKey(file: string): string {
  const text = readCertificateFile(file, 'sslkey');
  const { mode, uid } = statSync(file);
  if (process.platform === 'win32' || (mode & (uid === 0 ? 0o037 : 0o077)) === 0) return text;
  throw new TokenctlError('configuration', `Other users can read the key ${file} (sslkey)`, {
    hint: `Run chmod 600 ${file}.`,
  });
}

function readCertificateFile(file: string, keyword: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `The file ${file} (${keyword}) cannot be read`, { cause });
  }
}
