import { z } from 'zod';
import type { SettingsDialect } from '../dialect.ts';

/**
 * Seconds of a lifetime. The controller stores a partial object as it is given, and reads what is
 * missing as 0.
 */
const seconds = z.number().int().nonnegative().default(0);

const body = z.object({
  AUTH_BASIC_ENABLED: z.boolean(),
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
  SESSION_COOKIE_AGE: z.number().int(),
  SESSIONS_PER_USER: z.number().int(),
  DISABLE_LOCAL_AUTH: z.boolean(),
  OAUTH2_PROVIDER: z.object({
    ACCESS_TOKEN_EXPIRE_SECONDS: seconds,
    REFRESH_TOKEN_EXPIRE_SECONDS: seconds,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: seconds,
  }),
  LOGIN_REDIRECT_OVERRIDE: z
    .string()
    .nullable()
    .transform((text) => text ?? ''),
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: z.boolean(),
});

/** The controller's authentication settings: one section with names and values as tokenctl has them. */
export const settings: SettingsDialect = {
  path: 'settings/authentication/',
  method: 'PATCH',
  read: (value) => body.safeParse(value).data ?? null,
  bodyOf: (change) => change,
};
