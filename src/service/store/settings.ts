import type { Queryable } from '../../db/database.ts';

/** The settings that were changed from their defaults, by key, in the order in which they first were. */
export async function readSettings(database: Queryable): Promise<ReadonlyMap<string, unknown>> {
  const rows = await database.query<{ key: string; value: unknown }>(
    'SELECT key, value FROM conf_setting WHERE user_id IS NULL ORDER BY id',
    [],
    'settings',
  );
  return new Map(rows.map((row) => [row.key, row.value]));
}

/** Keeps all others from writing settings until the transaction ends; they can still be read. */
export async function lockSettings(transaction: Queryable): Promise<void> {
  await transaction.execute('LOCK TABLE conf_setting IN SHARE ROW EXCLUSIVE MODE');
}

/**
 * Writes one setting, in a transaction that keeps others from writing ({@link lockSettings}) or is the first.
 *
 * @returns The row's id and the value that stood there before (undefined where there was no row).
 */
export async function writeSetting(
  transaction: Queryable,
  setting: { readonly key: string; readonly value: unknown; readonly at: Date },
): Promise<{ readonly id: number; readonly before: unknown }> {
  const [before] = await transaction.query<{ id: number; value: unknown }>(
    'SELECT id, value FROM conf_setting WHERE key = $1 AND user_id IS NULL',
    [setting.key],
  );
  const [row] = await transaction.query<{ id: number }>(
    before === undefined
      ? 'INSERT INTO conf_setting (key, value, created, modified) VALUES ($1, $2::jsonb, $3, $3) RETURNING id'
      : 'UPDATE conf_setting SET value = $2::jsonb, modified = $3 WHERE key = $1 AND user_id IS NULL RETURNING id',
    [setting.key, JSON.stringify(setting.value), setting.at],
  );
  return { id: row?.id ?? 0, before: before?.value };
}

/** Deletes rows, so that the defaults hold again. Returns what was deleted. */
export function deleteSettings(
  transaction: Queryable,
  keys: readonly string[],
): Promise<{ readonly id: number; readonly key: string; readonly value: unknown }[]> {
  return transaction.query(
    'DELETE FROM conf_setting WHERE user_id IS NULL AND key = ANY($1::text[]) RETURNING id, key, value',
    [keys],
  );
}
