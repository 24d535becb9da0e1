import { z } from 'zod';
import type { AuthenticationSettings } from '../../../operations/ports/authentication-settings.ts';
import { refuseAbsent } from '../../absent-settings.ts';
import type { SettingsDialect } from '../dialect.ts';

/** Of every section; a setting's name is the same in all of them. */
const body = z
  .object({
    gateway_basic_auth_enabled: z.boolean(),
    ALLOW_OAUTH2_FOR_EXTERNAL_USERS: z.boolean(),
    SESSION_COOKIE_AGE: z.number().int(),
    // Only the newest gateways limit sessions.
    SESSIONS_PER_USER: z.number().int().optional(),
    LOGIN_REDIRECT_OVERRIDE: z.string().nullish(),
  })
  .transform(
    (values): AuthenticationSettings => ({
      AUTH_BASIC_ENABLED: values.gateway_basic_auth_enabled,
      ALLOW_OAUTH2_FOR_EXTERNAL_USERS: values.ALLOW_OAUTH2_FOR_EXTERNAL_USERS,
      SESSION_COOKIE_AGE: values.SESSION_COOKIE_AGE,
      SESSIONS_PER_USER: values.SESSIONS_PER_USER ?? null,
      ...ABSENT,
      LOGIN_REDIRECT_OVERRIDE: values.LOGIN_REDIRECT_OVERRIDE ?? '',
    }),
  );

/** What no gateway has a setting for. Its `gateway_access_token_expiration` is of tokens between components. */
const ABSENT = { DISABLE_LOCAL_AUTH: null, OAUTH2_PROVIDER: null, ALLOW_METRICS_FOR_ANONYMOUS_USERS: null };

/**
 * The gateway's settings. `all` holds every section, and a PUT to it takes a part of the names: all of them are
 * set, or none.
 */
export const settings: SettingsDialect = {
  path: 'settings/all/',
  method: 'PUT',
  read: (value) => body.safeParse(value).data ?? null,
  bodyOf: (change) => {
    refuseAbsent(change, ABSENT);
    const { AUTH_BASIC_ENABLED: gateway_basic_auth_enabled, ...others } = change;
    const named = Object.entries({ gateway_basic_auth_enabled, ...others });
    return Object.fromEntries(named.filter(([, value]) => (value ?? null) !== null));
  },
};
