import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';

/** The settings that differ from their defaults, by key, oldest change first. */
export async function readSettings(database: Queryable): Promise<ReadonlyMap<string, unknown>> {
  const rows = await sql`SELECT key, value FROM conf_setting WHERE user_id IS NULL ORDER BY id`
    .prepared('settings')
    .rows<{ key: string; value: unknown }>(database);
  return new Map(rows.map((row) => [row.key, row.value]));
}

/** Blocks other writes to the settings until the transaction ends. Reads continue. */
export async function lockSettings(transaction: Queryable): Promise<void> {
  await sql`LOCK TABLE conf_setting IN SHARE ROW EXCLUSIVE MODE`.execute(transaction);
}

/** Writes a setting under {@link lockSettings} (except on the first start). Returns the row's id and previous value. */
export async function writeSetting(
  transaction: Queryable,
  { key, value, at }: { key: string; value: unknown; at: Date },
): Promise<{ readonly id: number; readonly before: unknown }> {
  const [before] = await sql`SELECT id, value FROM conf_setting
    WHERE key = ${key} AND user_id IS NULL`.rows<{ id: number; value: unknown }>(transaction);
  const written =
    before === undefined
      ? sql`INSERT INTO conf_setting (key, value, created, modified)
          VALUES (${key}, ${JSON.stringify(value)}::jsonb, ${at}, ${at}) RETURNING id`
      : sql`UPDATE conf_setting SET value = ${JSON.stringify(value)}::jsonb, modified = ${at}
          WHERE key = ${key} AND user_id IS NULL RETURNING id`;
  const row = await written.first<{ id: number }>(transaction);
  return { id: row?.id ?? 0, before: before?.value };
}

/** Resets settings to their defaults. Returns the deleted rows. */
export function deleteSettings(
  transaction: Queryable,
  keys: readonly string[],
): Promise<{ readonly id: number; readonly key: string; readonly value: unknown }[]> {
  return sql`DELETE FROM conf_setting WHERE user_id IS NULL AND key = ANY(${keys}::text[])
    RETURNING id, key, value`.rows(transaction);
}
