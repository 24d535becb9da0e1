import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, TokenctlError } from '../errors.ts';
import type { Secret } from '../secret.ts';
import { requireEscapes } from '../setting-url.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Connection parameters by libpq's keywords: `host`, `port`, `dbname`, `user`, `sslmode`, … */
export type Keywords = ReadonlyMap<string, string>;

/**
 * Parses a connection string: a `postgresql://` URL, or libpq's `keyword=value` form
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING).
 * @throws TokenctlError `configuration`. The message repeats nothing of the text, which may contain a password.
 */
export function readConnectionString(connection: Secret): Keywords {
  const text = connection.reveal().trim();
  return /^postgres(ql)?:\/\//.test(text) ? readUrl(text) : readKeywords(text);
}

const URL_PARTS = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s;
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:@]*)(?::(\d*))?$/;

function readUrl(text: string): Keywords {
  requireEscapes(text, 'The database URL');
  const [matched, credentials = '', place = '', database = '', query = ''] = URL_PARTS.exec(text) ?? [];
  // An unencoded / or ? in the password: the rest is not a database name and must not be repeated.
  if (database.includes('@') || query.includes('@')) throw unreadableUrl();
  const [isPlace, host = '', port = ''] = HOST_AND_PORT.exec(place) ?? [];
  if (place.includes(',')) throw severalHosts('a connection string');
  if (matched === undefined || isPlace === undefined) throw unreadableUrl();
  const colon = credentials.indexOf(':');
  const named: [string, string][] = [
    ['user', decodeURIComponent(colon < 0 ? credentials : credentials.slice(0, colon))],
    ['password', colon < 0 ? '' : decodeURIComponent(credentials.slice(colon + 1))],
    ['host', decodeURIComponent(host.replace(/^\[(.*)\]$/, '$1'))],
    ['port', port],
    ['dbname', decodeURIComponent(database)],
  ];
  return new Map([...named.filter(([, value]) => value !== ''), ...queryParameters(query)]);
}

function queryParameters(query: string): [string, string][] {
  if (query === '') return [];
  return query.split('&').map((pair) => {
    const equals = pair.indexOf('=');
    if (equals < 1) throw unreadableUrl();
    const [keyword, value] = [
      decodeURIComponent(pair.slice(0, equals)),
      decodeURIComponent(pair.slice(equals + 1)),
    ];
    // JDBC's parameter, which libpq accepts as well.
    return keyword === 'ssl' && value === 'true' ? ['sslmode', 'require'] : [keyword, value];
  });
}

const SETTING = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?:\s+|$)/sy;

function readKeywords(text: string): Keywords {
  const found = new Map<string, string>();
  SETTING.lastIndex = 0;
  while (SETTING.lastIndex < text.length) {
    const match = SETTING.exec(text);
    const [, keyword, quoted, plain = ''] = match ?? [];
    if (keyword === undefined) throw unreadableKeywords();
    found.set(keyword, (quoted ?? plain).replace(/\\(.)/gs, '$1'));
  }
  if (found.size === 0) throw unreadableKeywords();
  return found;
}

function unreadableUrl(): TokenctlError {
  return new TokenctlError('configuration', 'Invalid database URL', {
    hint: 'Write it as postgresql://user@host:port/database, with @ : / ? # and % in a password percent-encoded.',
  });
}

function unreadableKeywords(): TokenctlError {
  return new TokenctlError('configuration', 'Invalid database connection', {
    hint: 'Use a postgresql:// URL, or keywords as libpq accepts them: host=… dbname=…, or service=….',
  });
}

/** The error for several servers. libpq would use the first that responds or matches `target_session_attrs`. */
export function severalHosts(where: string): TokenctlError {
  return new TokenctlError('configuration', `Several database hosts in ${where} are not supported`, {
    hint: `${ONE_SERVER} Add a context for each additional server.`,
  });
}

/** The hint for a choice among servers. */
export const ONE_SERVER =
  'Specify one server: the primary for changes, or a standby for lists and reports. `tokenctl context check` shows which one it is.';

/** A file in the home folder; null without HOME. */
export function inHome(path: string, environment: Environment): string | null {
  return environment['HOME'] ? join(environment['HOME'], path) : null;
}

/** The folder of Debian's packages. PGSYSCONFDIR sets another one. */
const SYSTEM_FOLDER = '/etc/postgresql-common';

/**
 * The connection parameters of a service, from the user's file (PGSERVICEFILE, `~/.pg_service.conf`) or the
 * system's (`pg_service.conf` in PGSYSCONFDIR)
 * (https://www.postgresql.org/docs/current/libpq-pgservice.html).
 * @throws TokenctlError `configuration` if neither has the service, or its entry is invalid.
 */
export function readService(name: string, environment: Environment): Keywords {
  const files = [
    environment['PGSERVICEFILE'] || inHome('.pg_service.conf', environment),
    join(environment['PGSYSCONFDIR'] || SYSTEM_FOLDER, 'pg_service.conf'),
  ].filter((file) => file !== null);
  for (const file of files) {
    const text = textOf(file);
    const service = text === null ? null : sectionOf(text, name, file);
    if (service !== null) return service;
  }
  throw new TokenctlError('configuration', `No database service named "${name}"`, {
    hint: `Define it in ${files.join(' or ')}.`,
  });
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(cause) ?? '')) {
      return null;
    }
    throw new TokenctlError('configuration', `Cannot read the service file ${file}`, { cause });
  }
}

/** The parameters under `[name]`; null if the file has no such section. */
function sectionOf(text: string, name: string, file: string): Keywords | null {
  let found: Map<string, string> | null = null;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const section = /^\[(.*)\]$/.exec(line)?.[1];
    if (section !== undefined) {
      if (found !== null) break;
      if (section === name) found = new Map();
      continue;
    }
    if (found === null) continue;
    const equals = line.indexOf('=');
    const keyword = line.slice(0, Math.max(equals, 0)).trim();
    if (keyword === '' || keyword === 'service') {
      throw new TokenctlError('configuration', `Line ${index + 1} of ${file} is not a connection parameter`);
    }
    // The first occurrence of a keyword counts, as in libpq.
    if (!found.has(keyword)) found.set(keyword, line.slice(equals + 1).trim());
  }
  return found;
}

interface PasswordKey {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * Finds a password in a file like `~/.pgpass` (https://www.postgresql.org/docs/current/libpq-pgpass.html):
 * the first matching line counts. Null if there is none. As in libpq, a file that is missing or that others
 * can read is ignored.
 */
export function passwordFrom(file: string, key: PasswordKey): string | null {
  const text = ownText(file);
  if (text === null) return null;
  // libpq looks up socket connections as "localhost".
  const host = key.host.startsWith('/') ? 'localhost' : key.host;
  const wanted = [host, String(key.port), key.database, key.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = fieldsOf(line);
    const password = fields[4];
    if (
      password !== undefined &&
      wanted.every((value, i) => fields[i] === '*' || unescaped(fields[i]) === value)
    ) {
      return unescaped(password);
    }
  }
  return null;
}

/** The five fields of a line, still escaped. Colons in the last field need no escape. */
function fieldsOf(line: string): string[] {
  const [, ...fields] =
    /^((?:[^:\\]|\\.)*):((?:[^:\\]|\\.)*):((?:[^:\\]|\\.)*):((?:[^:\\]|\\.)*):(.*)$/.exec(line) ?? [];
  return fields;
}

function unescaped(field = ''): string {
  return field.replace(/\\(.)/g, '$1');
}

function ownText(file: string): string | null {
  try {
    const stats = statSync(file);
    const isShared = process.platform !== 'win32' && (stats.mode & 0o077) !== 0;
    return !stats.isFile() || isShared ? null : readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
