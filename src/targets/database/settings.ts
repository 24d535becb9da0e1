import { isDeepStrictEqual } from 'node:util';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuthenticationSettings } from '../../operations/ports/target-parts.ts';
import { refuseAbsent } from '../absent-settings.ts';
import { insertEntries } from './activity-entries.ts';
import type { Connection } from './connection.ts';
import { readGatewaySettings, writeGatewaySettings } from './gateway-settings.ts';
import { DEFAULTS, effectiveSettings, requireValid, SETTING_NAMES } from './setting-values.ts';

export function readSettings(connection: Connection): Promise<AuthenticationSettings> {
  return currentSettings(connection, connection.reader);
}

/** Reads the effective settings within a transaction. */
export async function currentSettings(
  connection: Connection,
  database: Queryable,
): Promise<AuthenticationSettings> {
  const { layout, address } = connection;
  if (layout === 'gateway') return readGatewaySettings(connection, database);
  const stored = await readStoredSettings(database);
  const hasExternalUsers = layout !== 'controller' || connection.recognized.accountTables.size > 0;
  const read = effectiveSettings(stored, layout === 'controller' ? 'zero' : 'default', hasExternalUsers);
  if ('settings' in read) return read.settings;
  throw new TokenctlError('target_misbehaved', `${address} contains an invalid value for ${read.invalid}`, {
    hint: 'Set it again in the controller.',
  });
}

/**
 * Writes settings as the controller does: one row each, with an entry in the activity stream, all or none.
 * Unchanged values are not written. OAUTH2_PROVIDER is always stored with all its keys. The table is locked
 * against other writers.
 * @throws TokenctlError `unsupported` for a value that the controller's API would reject too.
 */
export function writeSettings(
  connection: Connection,
  change: Partial<AuthenticationSettings>,
): Promise<AuthenticationSettings> {
  return connection.write('settings', async (transaction) => {
    if (connection.layout === 'gateway') return writeGatewaySettings(connection, { transaction, change });
    await sql`LOCK TABLE conf_setting IN SHARE ROW EXCLUSIVE MODE`.execute(transaction);
    refuseAbsent(change, await currentSettings(connection, transaction));
    const stored = await readStoredSettings(transaction);
    for (const name of SETTING_NAMES) {
      const value = change[name];
      if (value === undefined || value === null) continue;
      const before = stored.get(name);
      requireWritable(connection, { name, value, before });
      await writeSetting(transaction, { name, value: withAllKeys({ name, value, before }), before });
    }
    return currentSettings(connection, transaction);
  });
}

interface SettingChange {
  readonly name: keyof AuthenticationSettings;
  readonly value: unknown;
  /** The stored value; undefined if none is stored. */
  readonly before: unknown;
}

function requireWritable(connection: Connection, change: SettingChange): void {
  const { name, value, before } = change;
  requireValid(name, withAllKeys(change), { program: 'controller', address: connection.address });
  if (name === 'DISABLE_LOCAL_AUTH' && value === true && before !== true) {
    throw new TokenctlError('unsupported', 'Local accounts cannot be disabled through the database', {
      hint: "Use the controller's API, which checks for an identity provider and revokes local users' tokens.",
    });
  }
}

/** OAUTH2_PROVIDER with all three keys. A key that the change omits keeps its value, or gets the default. */
function withAllKeys({ name, value, before }: SettingChange): unknown {
  if (name !== 'OAUTH2_PROVIDER' || typeof value !== 'object') return value;
  const stored = typeof before === 'object' ? before : {};
  return { ...DEFAULTS.OAUTH2_PROVIDER, ...stored, ...value };
}

async function writeSetting(transaction: Queryable, { name, value, before }: SettingChange): Promise<void> {
  if (before === undefined) {
    if (isDeepStrictEqual(value, DEFAULTS[name])) return;
    const [id] = await sql`INSERT INTO conf_setting (created, modified, key, value)
      VALUES (now(), now(), ${name}, ${pythonJson(value)}) RETURNING id`.ids(transaction);
    await insertEntry(transaction, { operation: 'create', name, changes: { value: entryValue(value), id } });
  } else if (!isDeepStrictEqual(value, before)) {
    // All rows of a setting, so that they agree whichever is read.
    await sql`UPDATE conf_setting SET value = ${pythonJson(value)}, modified = now()
      WHERE user_id IS NULL AND key = ${name}`.execute(transaction);
    const changes = { value: [entryValue(before), entryValue(value)] };
    await insertEntry(transaction, { operation: 'update', name, changes });
  }
}

/** The controller's own activity stream entries contain an object as a JSON string (seen on 24.6.1). */
function entryValue(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? pythonJson(value) : value;
}

/** JSON with the spaces of Python's `json.dumps`, as in the controller's own activity stream entries. */
function pythonJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${pythonJson(each)}`);
  return `{${members.join(', ')}}`;
}

/**
 * A stored value: JSON, in a column of that type or, up to controller 22.3, of text [seen on 21.14.0]. The
 * column's type determines how an untyped parameter is stored, so statements are the same for both.
 */
export function storedValue(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The stored system settings. Of several rows for one key, a controller uses the one with the lowest id. */
async function readStoredSettings(database: Queryable): Promise<ReadonlyMap<string, unknown>> {
  const rows = await sql`SELECT DISTINCT ON (s.key) s.key, s.id, s.value::text AS value FROM conf_setting s
    WHERE s.user_id IS NULL AND s.key = ANY(${SETTING_NAMES}::text[])
    ORDER BY s.key, s.id`.rows<{ key: string; value: string | null }>(database);
  return new Map(rows.map(({ key, value }) => [key, storedValue(value)]));
}

/** Records a setting's change in the activity stream, as the controller does. */
async function insertEntry(
  transaction: Queryable,
  entry: { readonly operation: 'create' | 'update'; readonly name: string; readonly changes: object },
): Promise<void> {
  await insertEntries('controller', {
    operation: entry.operation,
    objectType: 'setting',
    id: sql`NULL`,
    changes: sql`${pythonJson(entry.changes)}::text`,
    setting: sql`jsonb_build_object('name', ${entry.name}::text, 'category', 'authentication')`,
    from: sql``,
  }).execute(transaction);
}
