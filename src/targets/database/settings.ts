import { isDeepStrictEqual } from 'node:util';
import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { AuthenticationSettings } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { currentPreferences, writePreferences } from './preferences.ts';
import {
  insertSetting,
  lockSettings,
  noteSetting,
  readStoredSettings,
  type StoredSetting,
  updateSetting,
} from './queries/settings.ts';
import { DEFAULTS, KEYS, settingsOf, WRITABLE } from './setting-values.ts';
import { spacedJson } from './spaced-json.ts';

/** Reads the settings that hold: stored values over the defaults. */
export function readSettings(connection: Connection): Promise<AuthenticationSettings> {
  return connection.ask('read', (database) => currentSettings(connection, database));
}

/** The same inside of a transaction. */
export async function currentSettings(
  connection: Connection,
  database: Queryable,
): Promise<AuthenticationSettings> {
  if (connection.layout === 'gateway') return currentPreferences(connection, database);
  return understood(connection, await readStoredSettings(database, KEYS));
}

/**
 * Writes settings as the controller does: one row each, with an entry in the activity stream, all or none.
 * What has the value already is left alone. OAUTH2_PROVIDER is stored whole, whatever was stored before.
 * Others who write settings wait meanwhile.
 *
 * @throws TokenctlError `unsupported` for a value that the controller's API would refuse too.
 */
export function writeSettings(
  connection: Connection,
  change: Partial<AuthenticationSettings>,
): Promise<AuthenticationSettings> {
  return connection.change('settings', async (transaction) => {
    if (connection.layout === 'gateway') return writePreferences(connection, { transaction, change });
    await lockSettings(transaction);
    const stored = await readStoredSettings(transaction, KEYS);
    for (const key of KEYS) {
      const value = change[key];
      if (value === undefined || value === null) continue;
      const before = stored.get(key);
      requireWritable(connection, key, value, before);
      await write(transaction, key, complete(key, value, before), before);
    }
    return currentSettings(connection, transaction);
  });
}

async function write(
  transaction: Queryable,
  key: keyof AuthenticationSettings,
  value: unknown,
  before: StoredSetting | undefined,
): Promise<void> {
  if (before === undefined) {
    if (isDeepStrictEqual(value, DEFAULTS[key])) return;
    const id = await insertSetting(transaction, key, value);
    await noteSetting(transaction, { operation: 'create', key, changes: spacedJson({ value, id }) });
  } else if (!isDeepStrictEqual(value, before.value)) {
    await updateSetting(transaction, key, value);
    await noteSetting(transaction, {
      operation: 'update',
      key,
      changes: spacedJson({ value: [before.value, value] }),
    });
  }
}

/** OAUTH2_PROVIDER with all three keys: what the change leaves out stays, or is the default. */
function complete(
  key: keyof AuthenticationSettings,
  value: unknown,
  before: StoredSetting | undefined,
): unknown {
  if (key !== 'OAUTH2_PROVIDER' || typeof value !== 'object') return value;
  const stored = typeof before?.value === 'object' ? before.value : {};
  return { ...DEFAULTS.OAUTH2_PROVIDER, ...stored, ...value };
}

function requireWritable(
  connection: Connection,
  key: keyof AuthenticationSettings,
  value: unknown,
  before: StoredSetting | undefined,
): void {
  if (!WRITABLE[key].safeParse(complete(key, value, before)).success) {
    throw new TokenctlError('unsupported', `${connection.address} takes no such value for ${key}`, {
      hint: 'A controller refuses it too: see its range with the description of the setting there.',
    });
  }
  if (key === 'DISABLE_LOCAL_AUTH' && value === true && before?.value !== true) {
    throw new TokenctlError('unsupported', 'Local accounts cannot be turned off by way of the database', {
      hint: "Use the controller's API: it checks that an identity provider is set up, and revokes local users' tokens.",
    });
  }
}

function understood(
  { layout, address }: Connection,
  stored: ReadonlyMap<string, StoredSetting>,
): AuthenticationSettings {
  const values = new Map([...stored].map(([key, { value }]) => [key, value]));
  const read = settingsOf(values, layout === 'controller' ? 'zero' : 'default');
  if ('settings' in read) return read.settings;
  throw new TokenctlError(
    'target_misbehaved',
    `${address} holds a value of ${read.senseless} that makes no sense`,
    {
      hint: 'Set it again, with the controller itself.',
    },
  );
}
