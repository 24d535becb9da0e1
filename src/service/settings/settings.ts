import type { Queryable } from '../../db/database.ts';
import { readSettings } from '../store/settings.ts';
import { DEFAULT_LIFETIMES, DEFINITIONS, type OAuth2Lifetimes } from './definitions.ts';

/** The settings as they are in force, by their names. */
export interface Settings {
  readonly SESSION_COOKIE_AGE: number;
  readonly SESSIONS_PER_USER: number;
  readonly DISABLE_LOCAL_AUTH: boolean;
  readonly AUTH_BASIC_ENABLED: boolean;
  readonly OAUTH2_PROVIDER: OAuth2Lifetimes;
  readonly ALLOW_OAUTH2_FOR_EXTERNAL_USERS: boolean;
  readonly LOGIN_REDIRECT_OVERRIDE: string;
  readonly ALLOW_METRICS_FOR_ANONYMOUS_USERS: boolean;
  readonly LOCAL_PASSWORD_MIN_LENGTH: number;
  readonly LOCAL_PASSWORD_MIN_DIGITS: number;
  readonly LOCAL_PASSWORD_MIN_UPPER: number;
  readonly LOCAL_PASSWORD_MIN_SPECIAL: number;
  readonly INSTALL_UUID: string;
}

/**
 * Reads the settings from the database, every time: a change holds for the next request, on every replica.
 * A stored OAUTH2_PROVIDER that lacks a key, as a real controller's database may hold, is completed.
 */
export async function currentSettings(database: Queryable): Promise<Settings> {
  const stored = await readSettings(database);
  const values = DEFINITIONS.map(({ key, defaultValue }) => [
    key,
    stored.has(key) ? stored.get(key) : defaultValue,
  ]);
  const settings = Object.fromEntries(values) as unknown as Settings;
  return { ...settings, OAUTH2_PROVIDER: { ...DEFAULT_LIFETIMES, ...settings.OAUTH2_PROVIDER } };
}
