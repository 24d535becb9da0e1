import { TokenctlError } from '@tokenctl/common/errors.ts';
import { z } from 'zod';
import type { AuthenticationSettings } from '../../operations/ports/target-parts.ts';

/** In seconds: about 7,900 years, for a four-digit year. A controller accepts more, and then creates no tokens. */
const MAX_LIFETIME_SECONDS = 250_000_000_000;

/** OAUTH2_PROVIDER with a value for each of its keys. */
function lifetimes<Value>(of: Value) {
  return {
    ACCESS_TOKEN_EXPIRE_SECONDS: of,
    REFRESH_TOKEN_EXPIRE_SECONDS: of,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: of,
  };
}

/** The values that may be written, by the rules of the controller's API. */
const WRITABLE = {
  AUTH_BASIC_ENABLED: z.boolean(),
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
  SESSION_COOKIE_AGE: z.number().int().min(60).max(30_000_000_000),
  SESSIONS_PER_USER: z.number().int().min(-1),
  MAX_EXTRA_SESSIONS_PER_USER: z.number().int().min(-1),
  DISABLE_LOCAL_AUTH: z.boolean(),
  OAUTH2_PROVIDER: z.object(lifetimes(z.number().int().min(1).max(MAX_LIFETIME_SECONDS))),
  LOGIN_REDIRECT_OVERRIDE: z.string(),
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: z.boolean(),
} as const satisfies Record<keyof AuthenticationSettings, z.ZodType>;

export const SETTING_NAMES = Object.keys(WRITABLE) as readonly (keyof AuthenticationSettings)[];

/** Refuses a value that the settings' own program would refuse too. Throws `unsupported`. */
export function requireValid(
  name: keyof AuthenticationSettings,
  value: unknown,
  at: { readonly program: 'controller' | 'gateway'; readonly address: string },
): void {
  if (WRITABLE[name].safeParse(value).success) return;
  throw new TokenctlError('unsupported', `Invalid value for ${name} in ${at.address}`, {
    hint: `A ${at.program} would reject it too. Check the range in the setting's description.`,
  });
}

/** The defaults of controller 24.6. */
export const DEFAULTS: AuthenticationSettings = {
  AUTH_BASIC_ENABLED: true,
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  SESSION_COOKIE_AGE: 1800,
  SESSIONS_PER_USER: -1,
  MAX_EXTRA_SESSIONS_PER_USER: null,
  DISABLE_LOCAL_AUTH: false,
  OAUTH2_PROVIDER: {
    ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
    REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  },
  LOGIN_REDIRECT_OVERRIDE: '',
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: false,
};

const readableLifetimes = z.object(lifetimes(z.number().int().nonnegative())).partial();

/** The valid stored values, which are more than may be written. */
const READABLE = {
  AUTH_BASIC_ENABLED: z.boolean(),
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
  SESSION_COOKIE_AGE: z.number().int(),
  SESSIONS_PER_USER: z.number().int(),
  DISABLE_LOCAL_AUTH: z.boolean(),
  LOGIN_REDIRECT_OVERRIDE: z
    .string()
    .nullable()
    .transform((text) => text ?? ''),
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: z.boolean(),
} as const;

/**
 * The effective settings: stored values over the defaults.
 * @param missingLifetime The value of a key that a stored OAUTH2_PROVIDER lacks. A controller stores a
 * partial object unchanged and reads a missing key as 0; the service uses the default.
 * @param hasExternalUsers Whether the version has users of identity providers, and the setting for them.
 * @returns The settings, or the name of a setting with an invalid stored value.
 */
export function effectiveSettings(
  stored: ReadonlyMap<string, unknown>,
  missingLifetime: 'zero' | 'default',
  hasExternalUsers = true,
): { readonly settings: AuthenticationSettings } | { readonly invalid: string } {
  const values: Record<string, unknown> = { ...DEFAULTS };
  for (const [name, schema] of Object.entries(READABLE)) {
    if (!stored.has(name)) continue;
    const read = schema.safeParse(stored.get(name));
    if (!read.success) return { invalid: name };
    values[name] = read.data;
  }
  if (stored.has('OAUTH2_PROVIDER')) {
    const read = readableLifetimes.safeParse(stored.get('OAUTH2_PROVIDER'));
    if (!read.success) return { invalid: 'OAUTH2_PROVIDER' };
    values['OAUTH2_PROVIDER'] = {
      ...(missingLifetime === 'zero' ? lifetimes(0) : DEFAULTS.OAUTH2_PROVIDER),
      ...Object.fromEntries(Object.entries(read.data).filter(([, value]) => value !== undefined)),
    };
  }
  if (!hasExternalUsers) values['ALLOW_OAUTH2_FOR_EXTERNAL_USERS'] = null;
  return { settings: values as unknown as AuthenticationSettings };
}
