import { readFileSync, statSync } from 'node:fs';

/** What a password is looked up by. */
export interface PasswordKey {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * The password that a file like `~/.pgpass` has for a connection
 * (https://www.postgresql.org/docs/current/libpq-pgpass.html): of the first line that fits. pg would look
 * there by itself, with a deprecation warning on stderr.
 *
 * @returns Null where there is none. As in libpq a file that is missing, or that others may read, counts as
 * having none.
 */
export function passwordFrom(file: string, key: PasswordKey): string | null {
  const text = ownText(file);
  if (text === null) return null;
  // A socket's folder goes by the name of this machine.
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

/** The five fields of a line, still escaped; colons in the last are its own. */
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
