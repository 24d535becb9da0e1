import type { Queryable } from '../../db/database.ts';

/** A row of the gateway's settings; `raw_value` is text, as Python writes the value. */
export interface PreferenceRow {
  readonly section: string;
  readonly name: string;
  readonly raw_value: string | null;
}

/** All settings of the gateway's table. */
export function readPreferences(database: Queryable): Promise<PreferenceRow[]> {
  return database.query('SELECT section, name, raw_value FROM aap_gateway_api_preference ORDER BY id');
}

/** Keeps all others from writing the gateway's settings until the transaction ends. */
export async function lockPreferences(transaction: Queryable): Promise<void> {
  await transaction.execute('LOCK TABLE aap_gateway_api_preference IN SHARE ROW EXCLUSIVE MODE');
}

/** Writes one setting of the gateway's table, whether it has a row or not. */
export async function writePreference(
  transaction: Queryable,
  { section, name, raw_value }: PreferenceRow,
): Promise<void> {
  await transaction.execute(
    `INSERT INTO aap_gateway_api_preference (section, name, raw_value) VALUES ($1, $2, $3)
     ON CONFLICT (section, name) DO UPDATE SET raw_value = EXCLUDED.raw_value`,
    [section, name, raw_value],
  );
}
