import type { AuthenticationSettings } from '../../operations/ports/target.ts';
import type { PreferenceName } from './queries/preferences.ts';

type Key = keyof AuthenticationSettings;

/** What a value of a setting can be. */
type Value = boolean | number | string;

/** How a platform gateway keeps a setting. */
interface Preference extends PreferenceName {
  /** What holds where there is no row; null where that means that the gateway has no such setting. */
  readonly initial: Value | null;
  /** Its value from the text that is stored; undefined where that makes no sense. */
  readonly read: (stored: string) => Value | undefined;
}

const TRUE = /^(true|yes|1)$/i;
const FALSE = /^(false|no|0)$/i;

function boolean(stored: string): boolean | undefined {
  return TRUE.test(stored) ? true : FALSE.test(stored) ? false : undefined;
}

function integer(stored: string): number | undefined {
  return /^-?\d{1,15}$/.test(stored) ? Number(stored) : undefined;
}

/** The settings of ours that a gateway has, by its names, with its own defaults. */
export const PREFERENCES: Readonly<Partial<Record<Key, Preference>>> = {
  AUTH_BASIC_ENABLED: { section: 'proxy', name: 'gateway_basic_auth_enabled', initial: true, read: boolean },
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: {
    section: 'oauth2_provider',
    name: 'ALLOW_OAUTH2_FOR_EXTERNAL_USERS',
    initial: false,
    read: boolean,
  },
  SESSION_COOKIE_AGE: {
    section: 'configuration',
    name: 'SESSION_COOKIE_AGE',
    initial: 900,
    read: integer,
  },
  // Only late releases have it.
  SESSIONS_PER_USER: { section: 'configuration', name: 'SESSIONS_PER_USER', initial: null, read: integer },
  LOGIN_REDIRECT_OVERRIDE: {
    section: 'local_login',
    name: 'LOGIN_REDIRECT_OVERRIDE',
    initial: '',
    read: (stored) => stored,
  },
};

/** The text that a gateway stores for a value. */
export function storedForm(value: Value): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
}
