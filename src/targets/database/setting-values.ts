import { z } from 'zod';
import type { AuthenticationSettings } from '../../operations/ports/target.ts';

/**
 * The longest lifetime, in seconds: some 7,900 years, so that an expiry made today keeps a year of four
 * digits. A controller takes more and then fails at every new token.
 */
const LONGEST_LIFETIME = 250_000_000_000;

const lifetime = z.number().int().min(1).max(LONGEST_LIFETIME);

/** What a value must be to be written, key by key: the controller's own rules, which its API checks. */
export const WRITABLE = {
  AUTH_BASIC_ENABLED: z.boolean(),
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
  SESSION_COOKIE_AGE: z.number().int().min(60).max(30_000_000_000),
  SESSIONS_PER_USER: z.number().int().min(-1),
  DISABLE_LOCAL_AUTH: z.boolean(),
  OAUTH2_PROVIDER: z.object({
    ACCESS_TOKEN_EXPIRE_SECONDS: lifetime,
    REFRESH_TOKEN_EXPIRE_SECONDS: lifetime,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: lifetime,
  }),
  LOGIN_REDIRECT_OVERRIDE: z.string(),
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: z.boolean(),
} as const satisfies Record<keyof AuthenticationSettings, z.ZodType>;

/** The names of the settings. */
export const KEYS = Object.keys(WRITABLE) as readonly (keyof AuthenticationSettings)[];

/** What holds where nothing was ever changed: the defaults of controller 24.6. */
export const DEFAULTS: AuthenticationSettings = {
  AUTH_BASIC_ENABLED: true,
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  SESSION_COOKIE_AGE: 1800,
  SESSIONS_PER_USER: -1,
  DISABLE_LOCAL_AUTH: false,
  OAUTH2_PROVIDER: {
    ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
    REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  },
  LOGIN_REDIRECT_OVERRIDE: '',
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: false,
};

/** What a stored value may be to be understood; more than may be written. */
const seconds = z.number().int().nonnegative();
const lifetimes = z
  .object({
    ACCESS_TOKEN_EXPIRE_SECONDS: seconds,
    REFRESH_TOKEN_EXPIRE_SECONDS: seconds,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: seconds,
  })
  .partial();
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
 * The settings that hold, from stored values and the defaults.
 *
 * @param partialLifetime What a key counts as that a stored OAUTH2_PROVIDER lacks: the controller stores a
 * partial object as it is given and then has 0 there; the service fills in the defaults.
 * @returns The key whose stored value makes no sense, or the settings.
 */
export function settingsOf(
  stored: ReadonlyMap<string, unknown>,
  partialLifetime: 'zero' | 'default',
): { readonly settings: AuthenticationSettings } | { readonly senseless: string } {
  const values: Record<string, unknown> = { ...DEFAULTS };
  for (const [key, schema] of Object.entries(READABLE)) {
    if (!stored.has(key)) continue;
    const read = schema.safeParse(stored.get(key));
    if (!read.success) return { senseless: key };
    values[key] = read.data;
  }
  if (stored.has('OAUTH2_PROVIDER')) {
    const read = lifetimes.safeParse(stored.get('OAUTH2_PROVIDER'));
    if (!read.success) return { senseless: 'OAUTH2_PROVIDER' };
    values['OAUTH2_PROVIDER'] = {
      ...(partialLifetime === 'zero' ? NONE : DEFAULTS.OAUTH2_PROVIDER),
      ...given(read.data),
    };
  }
  return { settings: values as unknown as AuthenticationSettings };
}

const NONE: AuthenticationSettings['OAUTH2_PROVIDER'] = {
  ACCESS_TOKEN_EXPIRE_SECONDS: 0,
  REFRESH_TOKEN_EXPIRE_SECONDS: 0,
  AUTHORIZATION_CODE_EXPIRE_SECONDS: 0,
};

/** Without the keys that are undefined. */
function given(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
