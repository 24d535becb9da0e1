import { z } from 'zod';
import type { User } from '../../core/token.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';

/** An id: a whole number from 1. */
export const id = z.number().int().positive();

/** A date and time in text, as a Date. */
export const instant = z.string().transform((text, context) => {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  context.addIssue('not a date');
  return z.NEVER;
});

const user = z
  .object({
    id,
    username: z.string(),
    is_superuser: z.boolean(),
    is_system_auditor: z.boolean().default(false),
    is_active: z.boolean().optional(),
    external_account: z.string().nullish(),
    last_login: instant.nullish(),
  })
  .transform(
    (body): User => ({
      id: body.id,
      username: body.username,
      isSuperuser: body.is_superuser,
      isSystemAuditor: body.is_system_auditor,
      isActive: body.is_active,
      externalAccount: body.external_account || null,
      lastLogin: body.last_login ?? null,
    }),
  );

/** Reads a user; null for what is none. */
export function readUser(body: unknown): User | null {
  return user.safeParse(body).data ?? null;
}

/**
 * Seconds of a lifetime. The controller stores a partial object as it is given, and reads what is
 * missing as 0.
 */
const seconds = z.number().int().nonnegative().default(0);

const settings = z.object({
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

/** Reads the authentication settings; null for what are none. */
export function readSettings(body: unknown): AuthenticationSettings | null {
  return settings.safeParse(body).data ?? null;
}

const root = z.object({
  current_version: z.string().optional(),
  apis: z.record(z.string(), z.unknown()).optional(),
});

/** What `/api/` presents: a controller's own API, a platform gateway's list of APIs, or neither. */
export function readDialect(body: unknown): 'controller' | 'gateway' | null {
  const { data } = root.safeParse(body);
  if (data?.apis !== undefined) return 'gateway';
  return data?.current_version === undefined ? null : 'controller';
}

const ping = z.object({ version: z.string() });

/** The version that `/api/v2/ping/` states; null for none. */
export function readVersion(body: unknown): string | null {
  return ping.safeParse(body).data?.version ?? null;
}

const me = z.object({ results: z.tuple([user]) });

/** The caller, from `/api/v2/me/`; null for what is none. */
export function readMe(body: unknown): User | null {
  return me.safeParse(body).data?.results[0] ?? null;
}

const created = z.object({ token: z.string().min(1) });

/** The value of a token just created; null for none. */
export function readTokenValue(body: unknown): string | null {
  return created.safeParse(body).data?.token ?? null;
}

const metadata = z.object({ actions: z.record(z.string(), z.unknown()) });

/** Reads the actions that an OPTIONS answer names; null where it names none. */
export function readActions(body: unknown): Readonly<Record<string, unknown>> | null {
  return metadata.safeParse(body).data?.actions ?? null;
}
