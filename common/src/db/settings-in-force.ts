import type pg from 'pg';
import { TokenctlError } from '../errors.ts';

/** Session settings by name, in PostgreSQL's syntax. */
export type SessionSettings = ReadonlyMap<string, string>;

/**
 * The settings in a connection's `options`: `-c name=value`, `-cname=value`, `--name=value`, with a backslash
 * before characters that would separate them (PostgreSQL, libpq-connect: options).
 */
export function settingsIn(options: string | undefined): SessionSettings {
  const words = [...(options ?? '').matchAll(/(?:\\.|[^\\\s])+/gs)].map(([word]) =>
    word.replace(/\\(.)/gs, '$1'),
  );
  const found = new Map<string, string>();
  for (const [index, word] of words.entries()) {
    const text = word === '-c' ? words[index + 1] : /^(?:-c|--)(.+)$/s.exec(word)?.[1];
    const [, name, value] = /^([\w.-]+)=(.*)$/s.exec(text ?? '') ?? [];
    if (name !== undefined && value !== undefined) found.set(name.replaceAll('-', '_'), value);
  }
  return found;
}

/**
 * Makes sure that settings are in effect. A pooler may have ignored them in the connection request
 * (PgBouncer: `ignore_startup_parameters`). Then they are set again, and read by a separate statement, which
 * a pooler that shares connections may send to another one.
 * @throws TokenctlError `configuration` if a setting is not in effect, and as the server
 */
export async function requireInForce(
  client: pg.ClientBase,
  settings: SessionSettings,
  timeoutMs: number,
): Promise<void> {
  if (settings.size === 0) return;
  const names = [...settings.keys()];
  const limit = { query_timeout: timeoutMs };
  const { rows } = await client.query<{ name: string; before: string | null; value: string }>({
    text: `SELECT n AS name, current_setting(n, true) AS before, set_config(n, v, false) AS value
     FROM unnest($1::text[], $2::text[]) AS w(n, v)`,
    values: [names, [...settings.values()]],
    ...limit,
  });
  if (rows.every(({ before, value }) => before === value)) return;
  const { rows: read } = await client.query<{ name: string; value: string | null }>({
    text: 'SELECT n AS name, current_setting(n, true) AS value FROM unnest($1::text[]) AS n',
    values: [names],
    ...limit,
  });
  const after = new Map(read.map(({ name, value }) => [name, value]));
  const missing = rows.filter(({ name, value }) => after.get(name) !== value).map(({ name }) => name);
  if (missing.length === 0) return;
  throw new TokenctlError(
    'configuration',
    `The database does not keep these session settings: ${missing.join(', ')}`,
    {
      hint: 'Configure the pooler to give each client its own connection (PgBouncer: pool_mode = session), or connect directly.',
    },
  );
}
