import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { AuthenticationSettings } from '../../operations/ports/target-parts.ts';
import { refuseAbsent } from '../absent-settings.ts';
import { gatewayChanges, insertEntries } from './activity-entries.ts';
import type { Connection } from './connection.ts';
import { DEFAULTS, requireValid, SETTING_NAMES } from './setting-values.ts';

type Value = boolean | number | string;

interface PreferenceName {
  readonly section: string;
  readonly name: string;
}

interface Preference extends PreferenceName {
  /** The name in older gateways. */
  readonly earlier?: string;
  /** The value without a row; null if a gateway without the row does not have the setting. */
  readonly initial: Value | null;
  /** Parses the stored text; undefined if it is invalid. */
  readonly parse: (stored: string) => Value | undefined;
}

function parseBoolean(stored: string): boolean | undefined {
  if (/^(true|yes|1)$/i.test(stored)) return true;
  return /^(false|no|0)$/i.test(stored) ? false : undefined;
}

function parseInteger(stored: string): number | undefined {
  return /^-?\d{1,15}$/.test(stored) ? Number(stored) : undefined;
}

/** The authentication settings of a gateway, with its own names and defaults. */
const PREFERENCES: Readonly<Partial<Record<keyof AuthenticationSettings, Preference>>> = {
  AUTH_BASIC_ENABLED: {
    section: 'proxy',
    name: 'gateway_basic_auth_enabled',
    initial: true,
    parse: parseBoolean,
  },
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: {
    section: 'oauth2_provider',
    name: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
    initial: false,
    parse: parseBoolean,
  },
  SESSION_COOKIE_AGE: {
    section: 'configuration',
    name: 'SESSION_COOKIE_AGE',
    initial: 900,
    parse: parseInteger,
  },
  // Only in recent releases.
  MAX_EXTRA_SESSIONS_PER_USER: {
    section: 'configuration',
    name: 'MAX_EXTRA_SESSIONS_PER_USER',
    earlier: 'SESSIONS_PER_USER',
    initial: null,
    parse: parseInteger,
  },
  LOGIN_REDIRECT_OVERRIDE: {
    section: 'local_login',
    name: 'LOGIN_REDIRECT_OVERRIDE',
    initial: '',
    parse: (stored) => stored,
  },
};

const PREFERENCE_NAMES: readonly PreferenceName[] = Object.values(PREFERENCES).flatMap(
  ({ section, name, earlier }) => [
    { section, name },
    ...(earlier === undefined ? [] : [{ section, name: earlier }]),
  ],
);

/** The settings of a platform gateway; null for one that it does not have. */
export async function readGatewaySettings(
  connection: Connection,
  database: Queryable,
): Promise<AuthenticationSettings> {
  return settingsIn(await readPreferences(database), connection);
}

/**
 * Writes settings as a platform gateway does: as text, with an entry in the activity stream, all or none.
 * Unchanged values and null are not written. The table is locked against other writers.
 * @throws TokenctlError `unsupported` for a setting that the gateway does not have, and for a value that its
 * API would reject.
 */
export async function writeGatewaySettings(
  connection: Connection,
  options: { readonly transaction: Queryable; readonly change: Partial<AuthenticationSettings> },
): Promise<AuthenticationSettings> {
  const { transaction, change } = options;
  await sql`LOCK TABLE aap_gateway_api_preference IN SHARE ROW EXCLUSIVE MODE`.execute(transaction);
  const stored = await readPreferences(transaction);
  const before = settingsIn(stored, connection);
  refuseAbsent(change, before);
  for (const key of SETTING_NAMES) {
    const [value, preference] = [change[key] ?? null, PREFERENCES[key]];
    if (value === null || typeof value === 'object' || preference === undefined || value === before[key])
      continue;
    requireValid(key, value, { program: 'gateway', address: connection.address });
    const { section, name } = preference;
    const row = findRow(stored, preference);
    const text = toText(value);
    if (row === undefined) await insertPreference(transaction, { section, name, value: text });
    else await updatePreference(transaction, { section, name: row.name, value: text, before: row.value });
  }
  return readGatewaySettings(connection, transaction);
}

/** A gateway stores booleans as Python prints them. */
function toText(value: Value): string {
  if (typeof value !== 'boolean') return String(value);
  return value ? 'True' : 'False';
}

function settingsIn(stored: readonly StoredPreference[], { address }: Connection): AuthenticationSettings {
  const values = SETTING_NAMES.map((key) => {
    const preference = PREFERENCES[key];
    if (preference === undefined) return [key, null];
    const row = findRow(stored, preference);
    const value = row === undefined ? preference.initial : preference.parse(row.value ?? '');
    if (value !== undefined) return [key, value];
    throw new TokenctlError('target_misbehaved', `${address} contains an invalid value for ${key}`, {
      hint: 'Set it again in the gateway.',
    });
  });
  return { ...DEFAULTS, ...Object.fromEntries(values) };
}

/** The row of a setting. The row with the newer name if both exist. */
function findRow(stored: readonly StoredPreference[], { section, name, earlier }: Preference) {
  const named = (wanted: string | undefined) =>
    stored.find((row) => row.section === section && row.name === wanted);
  return named(name) ?? named(earlier);
}

interface StoredPreference extends PreferenceName {
  readonly value: string | null;
}

/** A gateway creates a row for each of its settings when it starts. */
function readPreferences(database: Queryable): Promise<StoredPreference[]> {
  const [sections, names] = [
    PREFERENCE_NAMES.map(({ section }) => section),
    PREFERENCE_NAMES.map(({ name }) => name),
  ];
  return sql`SELECT p.section, p.name, p.raw_value AS value FROM aap_gateway_api_preference p
    WHERE (p.section, p.name)
      IN (SELECT * FROM unnest(${sections}::text[], ${names}::text[]))`.rows<StoredPreference>(database);
}

async function updatePreference(
  transaction: Queryable,
  { section, name, value, before }: StoredPreference & { before: string | null },
): Promise<void> {
  const entry = insertEntries('gateway', {
    operation: 'update',
    objectType: 'setting',
    id: sql`p.id`,
    changes: gatewayChanges(
      'changed_fields',
      sql`jsonb_build_object('raw_value', jsonb_build_array(${before}::text, p.raw_value))`,
    ),
    from: sql`FROM preference p`,
  });
  await sql`WITH preference AS (
      UPDATE aap_gateway_api_preference SET raw_value = ${value} WHERE section = ${section} AND name = ${name}
      RETURNING id, raw_value
    ) ${entry}`.execute(transaction);
}

const CREATE_ENTRY = insertEntries('gateway', {
  operation: 'create',
  objectType: 'setting',
  id: sql`p.id`,
  changes: gatewayChanges(
    'added_fields',
    sql`jsonb_build_object('id', p.id::text, 'section', p.section, 'name', p.name, 'raw_value', p.raw_value)`,
  ),
  from: sql`FROM preference p`,
});

async function insertPreference(transaction: Queryable, { section, name, value }: StoredPreference) {
  await sql`WITH preference AS (
      INSERT INTO aap_gateway_api_preference (section, name, raw_value) VALUES (${section}, ${name}, ${value})
      RETURNING id, section, name, raw_value
    ) ${CREATE_ENTRY}`.execute(transaction);
}
