import type { Queryable } from '@tokenctl/common/db/database.ts';
import { readSettings } from '../store/settings.ts';
import {
  DEFAULT_LIFETIMES,
  definitions,
  MAX_LIFETIME,
  type OAuth2Lifetimes,
  type SettingDefinition,
  type SettingPart,
} from './checks.ts';
import { MASK, type SecretBox } from './secrets.ts';
import { SHARED_SSO_DEFINITIONS, SSO_DEFINITIONS } from './sso-definitions.ts';

const minimum = (what: string): SettingPart => ({
  type: 'integer',
  label: `Minimum ${what} in a local password`,
  helpText: `New passwords need at least this many ${what}. 0 sets no minimum.`,
  defaultValue: 0,
  minimum: 0,
});

/** The settings outside single sign-on, in the controller's order. */
const DEFINITIONS: readonly SettingDefinition[] = [
  ...definitions('authentication', {
    SESSION_COOKIE_AGE: {
      type: 'integer',
      label: 'Idle session timeout',
      helpText: 'Users who send no requests for this long must log in again.',
      defaultValue: 1800,
      required: true,
      minimum: 60,
      maximum: 30_000_000_000,
      unit: 'seconds',
    },
    SESSIONS_PER_USER: {
      type: 'integer',
      label: 'Maximum concurrent sessions per user',
      helpText: 'A login that exceeds the limit ends the oldest session. -1 means no limit.',
      defaultValue: -1,
      required: true,
      minimum: -1,
    },
    DISABLE_LOCAL_AUTH: {
      type: 'boolean',
      label: 'Disable local accounts',
      helpText:
        'Only users from a configured identity provider can log in. Requires a configured identity provider.',
      defaultValue: false,
      required: true,
    },
    AUTH_BASIC_ENABLED: {
      type: 'boolean',
      label: 'Enable HTTP Basic authentication',
      helpText: 'Whether the API accepts a user name and password with each request.',
      defaultValue: true,
      required: true,
    },
    OAUTH2_PROVIDER: {
      type: 'nested object',
      label: 'OAuth 2 lifetimes',
      helpText:
        'Lifetime of access tokens, authorization codes and refresh tokens: ACCESS_TOKEN_EXPIRE_SECONDS, ' +
        'AUTHORIZATION_CODE_EXPIRE_SECONDS and REFRESH_TOKEN_EXPIRE_SECONDS. Omitted keys keep their values.',
      defaultValue: DEFAULT_LIFETIMES,
      minimum: 1,
      maximum: MAX_LIFETIME,
      unit: 'seconds',
    },
    ALLOW_OAUTH2_FOR_EXTERNAL_USERS: {
      type: 'boolean',
      label: 'Let external users create tokens',
      helpText:
        'Whether users from an identity provider can create tokens. Turning it off does not revoke existing tokens.',
      defaultValue: false,
    },
    LOGIN_REDIRECT_OVERRIDE: {
      type: 'string',
      label: 'Login redirect override URL',
      helpText:
        "Users who are not logged in are redirected to this URL. Leave empty to use the service's login page.",
      defaultValue: '',
      warningText:
        'A wrong URL prevents users from reaching the login page. /api/login/ itself always works.',
    },
    ALLOW_METRICS_FOR_ANONYMOUS_USERS: {
      type: 'boolean',
      label: 'Allow anonymous metrics',
      helpText: 'Whether metrics can be read without logging in.',
      defaultValue: false,
    },
    AUTHENTICATION_BACKENDS: {
      type: 'list',
      label: 'Authentication backends',
      helpText: 'The enabled authentication backends.',
      defaultValue: ['local'],
      readOnly: true,
    },
  }),
  ...SHARED_SSO_DEFINITIONS,
  ...definitions('authentication', {
    LOCAL_PASSWORD_MIN_LENGTH: minimum('characters'),
    LOCAL_PASSWORD_MIN_DIGITS: minimum('digits'),
    LOCAL_PASSWORD_MIN_UPPER: minimum('uppercase letters'),
    LOCAL_PASSWORD_MIN_SPECIAL: minimum('special characters'),
  }),
  ...definitions('system', {
    INSTALL_UUID: {
      type: 'string',
      label: 'Installation UUID',
      helpText: 'A random ID of this installation, generated at the first start.',
      defaultValue: '',
      readOnly: true,
    },
  }),
];

export const ALL_DEFINITIONS: readonly SettingDefinition[] = [...DEFINITIONS, ...SSO_DEFINITIONS];

/** The settings of single sign-on, common ones and those of each provider. */
export const SSO_SETTINGS: readonly SettingDefinition[] = ALL_DEFINITIONS.filter(({ key }) =>
  key.startsWith('SOCIAL_AUTH_'),
);

/** The effective single sign-on settings: stored ones and the environment's. An undecryptable secret is null. */
export async function ssoSettings(
  service: { readonly fixedSettings: ReadonlyMap<string, unknown>; readonly secrets: SecretBox },
  database: Queryable,
): Promise<ReadonlyMap<string, unknown>> {
  const stored = await readSettings(database);
  return new Map(
    SSO_SETTINGS.map(({ key, secret, defaultValue }) => {
      if (service.fixedSettings.has(key)) return [key, service.fixedSettings.get(key)];
      const value = stored.has(key) ? stored.get(key) : defaultValue;
      return [
        key,
        secret && typeof value === 'string' && value !== '' ? service.secrets.open(key, value) : value,
      ];
    }),
  );
}

export function shown({ secret }: Pick<SettingDefinition, 'secret'>, value: unknown): unknown {
  return secret && value !== '' ? MASK : value;
}

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
 * Reads the settings from the database, uncached: a change applies to the next request on every replica. If a
 * stored OAUTH2_PROVIDER lacks keys, as in a controller's database, the defaults complete it.
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
