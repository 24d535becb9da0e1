import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { AuthenticationSettings } from '../../operations/ports/target.ts';
import { refuseAbsent } from '../absent-settings.ts';
import type { Connection } from './connection.ts';
import { PREFERENCES, storedForm } from './preference-values.ts';
import {
  insertPreference,
  lockPreferences,
  type PreferenceName,
  readPreferences,
  type StoredPreference,
  updatePreference,
} from './queries/preferences.ts';
import { DEFAULTS, KEYS, WRITABLE } from './setting-values.ts';

const NAMES: readonly PreferenceName[] = Object.values(PREFERENCES);

/** The settings of a platform gateway, from its table; null is what it has no setting for. */
export async function currentPreferences(
  connection: Connection,
  database: Queryable,
): Promise<AuthenticationSettings> {
  return settingsOf(connection, await readPreferences(database, NAMES));
}

/**
 * Writes settings of a platform gateway as it does: the text of its kind, with an entry in the activity stream,
 * all or none. What has the value already is left alone, and what is null. Others who write settings wait
 * meanwhile.
 *
 * @throws TokenctlError `unsupported` for a setting that it has not, and for a value that its API would refuse.
 */
export async function writePreferences(
  connection: Connection,
  options: { readonly transaction: Queryable; readonly change: Partial<AuthenticationSettings> },
): Promise<AuthenticationSettings> {
  const { transaction, change } = options;
  await lockPreferences(transaction);
  const stored = await readPreferences(transaction, NAMES);
  const before = settingsOf(connection, stored);
  refuseAbsent(change, before);
  for (const key of KEYS) {
    const [value, preference] = [change[key] ?? null, PREFERENCES[key]];
    if (value === null || typeof value === 'object' || preference === undefined || value === before[key])
      continue;
    requireWritable(connection, key, value);
    const { section, name } = preference;
    const row = rowOf(stored, preference);
    const written = { section, name, value: storedForm(value) };
    if (row === undefined) await insertPreference(transaction, written);
    else await updatePreference(transaction, { ...written, before: row.value });
  }
  return currentPreferences(connection, transaction);
}

function requireWritable(connection: Connection, key: keyof AuthenticationSettings, value: unknown): void {
  if (WRITABLE[key].safeParse(value).success) return;
  throw new TokenctlError('unsupported', `${connection.address} takes no such value for ${key}`, {
    hint: 'A gateway refuses it too: see its range with the description of the setting there.',
  });
}

function rowOf(stored: readonly StoredPreference[], { section, name }: PreferenceName) {
  return stored.find((row) => row.section === section && row.name === name);
}

function settingsOf({ address }: Connection, stored: readonly StoredPreference[]): AuthenticationSettings {
  const values = KEYS.map((key) => {
    const preference = PREFERENCES[key];
    if (preference === undefined) return [key, null];
    const row = rowOf(stored, preference);
    const value = row === undefined ? preference.initial : preference.read(row.value ?? '');
    if (value !== undefined) return [key, value];
    throw new TokenctlError('target_misbehaved', `${address} holds a value of ${key} that makes no sense`, {
      hint: 'Set it again, with the gateway itself.',
    });
  });
  return { ...DEFAULTS, ...Object.fromEntries(values) };
}
