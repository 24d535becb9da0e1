import { TokenctlError } from '../domain/errors.ts';
import type { Secret } from '../domain/secret.ts';

/** Connection parameters by libpq's keywords: `host`, `port`, `dbname`, `user`, `sslmode`, … */
export type Keywords = ReadonlyMap<string, string>;

/**
 * Reads how a database is named: a `postgresql://` URL, or libpq's `keyword=value` form
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING).
 *
 * @throws TokenctlError `configuration`; nothing of the text is repeated, as it may hold a password.
 */
export function readConnectionString(connection: Secret): Keywords {
  const text = connection.reveal().trim();
  return /^postgres(ql)?:\/\//.test(text) ? readUrl(text) : readKeywords(text);
}

const URL_PARTS = /^postgres(?:ql)?:\/\/(?:([^@/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s;
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:@]*)(?::(\d*))?$/;

function readUrl(text: string): Keywords {
  const [matched, credentials = '', place = '', database = '', query = ''] = URL_PARTS.exec(text) ?? [];
  // A password with a bare / or ? in it: what stands behind that is no name to be told of.
  if (database.includes('@') || query.includes('@')) throw unreadableUrl();
  const [isPlace, host = '', port = ''] = HOST_AND_PORT.exec(place) ?? [];
  if (place.includes(',')) throw severalHosts();
  if (matched === undefined || isPlace === undefined) throw unreadableUrl();
  const colon = credentials.indexOf(':');
  const named: [string, string][] = [
    ['user', decoded(colon < 0 ? credentials : credentials.slice(0, colon))],
    ['password', colon < 0 ? '' : decoded(credentials.slice(colon + 1))],
    ['host', decoded(host.replace(/^\[(.*)\]$/, '$1'))],
    ['port', port],
    ['dbname', decoded(database)],
  ];
  return new Map([...named.filter(([, value]) => value !== ''), ...queryParameters(query)]);
}

function queryParameters(query: string): [string, string][] {
  if (query === '') return [];
  return query.split('&').map((pair) => {
    const equals = pair.indexOf('=');
    if (equals < 1) throw unreadableUrl();
    const [keyword, value] = [decoded(pair.slice(0, equals)), decoded(pair.slice(equals + 1))];
    // JDBC's way to say it, which libpq takes too.
    return keyword === 'ssl' && value === 'true' ? ['sslmode', 'require'] : [keyword, value];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw unreadableUrl();
  }
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
  if (found.get('host')?.includes(',') === true) throw severalHosts();
  return found;
}

function unreadableUrl(): TokenctlError {
  return new TokenctlError('configuration', 'The database URL cannot be read', {
    hint: 'Write it as postgresql://user@host:port/database, with @ : / ? # and % in a password percent-encoded.',
  });
}

function unreadableKeywords(): TokenctlError {
  return new TokenctlError('configuration', 'The connection to the database cannot be read', {
    hint: 'Write a postgresql:// URL, or keywords as libpq takes them: host=… dbname=…, or service=….',
  });
}

function severalHosts(): TokenctlError {
  return new TokenctlError('configuration', 'The connection to the database names several hosts', {
    hint: 'Name the one that takes changes.',
  });
}
