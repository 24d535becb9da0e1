import type { Queryable } from '../../../db/database.ts';
import { insertEntries } from './entries.ts';

/** The rows of one setting: the value that holds, and their ids. */
export interface StoredSetting {
  readonly key: string;
  /** The id of the row that holds: the lowest. */
  readonly id: number;
  readonly value: unknown;
}

/**
 * The settings of the system that were changed from their defaults. Nothing keeps a controller's table from
 * having several rows of one key: the controller reads and writes the one with the lowest id.
 */
export async function readStoredSettings(
  database: Queryable,
  keys: readonly string[],
): Promise<ReadonlyMap<string, StoredSetting>> {
  const rows = await database.query<StoredSetting>(
    `SELECT DISTINCT ON (s.key) s.key, s.id, s.value FROM conf_setting s
     WHERE s.user_id IS NULL AND s.key = ANY($1::text[]) ORDER BY s.key, s.id`,
    [keys],
  );
  return new Map(rows.map((row) => [row.key, row]));
}

/** Keeps all others from writing settings until the transaction ends; they can still be read. */
export async function lockSettings(transaction: Queryable): Promise<void> {
  await transaction.execute('LOCK TABLE conf_setting IN SHARE ROW EXCLUSIVE MODE');
}

/** Adds the row of a setting and returns its id. */
export async function insertSetting(transaction: Queryable, key: string, value: unknown): Promise<number> {
  const [row] = await transaction.query<{ id: number }>(
    `INSERT INTO conf_setting (created, modified, key, value) VALUES (now(), now(), $1, $2::jsonb) RETURNING id`,
    [key, JSON.stringify(value)],
  );
  if (row === undefined) throw new Error('an INSERT … RETURNING returned no row');
  return row.id;
}

/** Changes all rows of a setting, so that they agree whichever is read. */
export async function updateSetting(transaction: Queryable, key: string, value: unknown): Promise<void> {
  await transaction.execute(
    'UPDATE conf_setting SET value = $2::jsonb, modified = now() WHERE user_id IS NULL AND key = $1',
    [key, JSON.stringify(value)],
  );
}

/** Notes the change of a setting in the activity stream, as the controller does; `changes` is JSON. */
export async function noteSetting(
  transaction: Queryable,
  note: { readonly operation: 'create' | 'update'; readonly key: string; readonly changes: string },
): Promise<void> {
  await transaction.execute(
    insertEntries('controller', {
      ...{ operation: note.operation, about: 'setting', id: 'NULL' },
      changes: '$1::text',
      setting: "jsonb_build_object('name', $2::text, 'category', 'authentication')",
      from: '',
    }),
    [note.changes, note.key],
  );
}
