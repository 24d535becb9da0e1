import type { Queryable } from '../../../db/database.ts';
import { gatewayChanges, insertEntries } from './entries.ts';

/** A setting of a platform gateway by its name there. */
export interface PreferenceName {
  readonly section: string;
  readonly name: string;
}

/** A stored setting; its value is text in whatever form its kind has. */
export interface StoredPreference extends PreferenceName {
  readonly value: string | null;
}

/** Those of these settings that have a row; a gateway makes one for each of its settings when it starts. */
export function readPreferences(
  database: Queryable,
  names: readonly PreferenceName[],
): Promise<StoredPreference[]> {
  return database.query<StoredPreference>(
    `SELECT p.section, p.name, p.raw_value AS value FROM aap_gateway_api_preference p
     WHERE (p.section, p.name) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    [names.map(({ section }) => section), names.map(({ name }) => name)],
  );
}

/** Keeps all others from writing settings until the transaction ends; they can still be read. */
export async function lockPreferences(transaction: Queryable): Promise<void> {
  await transaction.execute('LOCK TABLE aap_gateway_api_preference IN SHARE ROW EXCLUSIVE MODE');
}

const UPDATE_ENTRY = insertEntries('gateway', {
  ...{ operation: 'update', about: 'setting', id: 'p.id' },
  changes: gatewayChanges(
    'changed_fields',
    "jsonb_build_object('raw_value', jsonb_build_array($4::text, p.raw_value))",
  ),
  from: 'FROM preference p',
});

/** Changes a setting that has a row, with its entry in the activity stream. */
export async function updatePreference(
  transaction: Queryable,
  change: StoredPreference & { readonly before: string | null },
): Promise<void> {
  await transaction.execute(
    `WITH preference AS (
       UPDATE aap_gateway_api_preference SET raw_value = $3 WHERE section = $1 AND name = $2
       RETURNING id, raw_value
     ) ${UPDATE_ENTRY}`,
    [change.section, change.name, change.value, change.before],
  );
}

const CREATE_ENTRY = insertEntries('gateway', {
  ...{ operation: 'create', about: 'setting', id: 'p.id' },
  changes: gatewayChanges(
    'added_fields',
    "jsonb_build_object('id', p.id::text, 'section', p.section, 'name', p.name, 'raw_value', p.raw_value)",
  ),
  from: 'FROM preference p',
});

/** Adds the row of a setting, with its entry in the activity stream. */
export async function insertPreference(transaction: Queryable, setting: StoredPreference): Promise<void> {
  await transaction.execute(
    `WITH preference AS (
       INSERT INTO aap_gateway_api_preference (section, name, raw_value) VALUES ($1, $2, $3)
       RETURNING id, section, name, raw_value
     ) ${CREATE_ENTRY}`,
    [setting.section, setting.name, setting.value],
  );
}
