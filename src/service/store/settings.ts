import type { Queryable } from '../../db/database.ts';

/** The settings that differ from their defaults, by key, oldest change first. */
export async function readSettings(database: Queryable): Promise<ReadonlyMap<string, unknown>> {
  const rows = await database.query<{ key: string; value: unknown }>(
    'SELECT key, value FROM conf_setting WHERE user_id IS NULL ORDER BY id',
    [],
    'settings',
  );
  return new Map(rows.map((row) => [row.key, row.value]));
}

/** Blocks other writes to the settings until the transaction ends. Reads continue. */
export async function lockSettings(transaction: Queryable): Promise<void> {
  await transaction.execute('LOCK TABLE conf_setting IN SHARE ROW EXCLUSIVE MODE');
}

/**
 * Writes one setting. The transaction must hold {@link lockSettings}, except on the first start.
 *
 * @returns The row's id and the previous value (undefined without a previous row).
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

/** Resets settings to their defaults. Returns the deleted rows. */
export function deleteSettings(
  transaction: Queryable,
  keys: readonly string[],
): Promise<{ readonly id: number; readonly key: string; readonly value: unknown }[]> {
  return transaction.query(
    'DELETE FROM conf_setting WHERE user_id IS NULL AND key = ANY($1::text[]) RETURNING id, key, value',
    [keys],
  );
}
