import { basicAuthCaution, managementCommands } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { StaysAlive } from '../../domain/plan.ts';
import type { AuthenticationSettings } from '../../operations/ports/target.ts';
import type { Dialect } from './api.ts';

type DialectName = Dialect['name'];

/**
 * What stays alive after access tokens are revoked over the REST API. It lists neither refresh tokens nor sessions, and
 * a refresh token whose access token was deleted still creates new access tokens.
 */
export async function staysAlive(
  facts: { readonly tokensWithRefreshToken: number; readonly dialect: DialectName },
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<readonly StaysAlive[]> {
  const { dialect } = facts;
  return [
    ...refreshTokensStayAlive(facts.tokensWithRefreshToken, dialect),
    {
      what: 'sessions',
      count: null,
      why: 'Browser sessions stay logged in: the REST API does not list sessions.',
      remedy: sessionsRemedy(dialect),
    },
    ...(await passwordsStayAlive(dialect, readSettings)),
  ];
}

function refreshTokensStayAlive(count: number, dialect: DialectName): StaysAlive[] {
  if (count === 0) return [];
  const { revokeTokens } = managementCommands(dialect);
  return [
    {
      what: 'refresh_tokens',
      count,
      why: 'They create new access tokens, and the REST API neither lists nor revokes them.',
      remedy: `Run \`${revokeTokens}\` there (--user for one user), or delete the application.`,
    },
  ];
}

function sessionsRemedy(dialect: DialectName): string {
  const { endSessions } = managementCommands(dialect);
  if (endSessions !== null) return `Run \`${endSessions}\` there (--user for one user).`;
  return 'Run `tokenctl sessions expire` in a context for its database, which requires a recent release of the gateway: `aap-gateway-manage clearsessions` only removes expired sessions.';
}

async function passwordsStayAlive(
  dialect: DialectName,
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<StaysAlive[]> {
  const enabled = await isBasicAuthEnabled(readSettings);
  if (enabled === false) return [];
  const caution = basicAuthCaution(dialect);
  return [
    {
      what: 'basic_authentication',
      count: null,
      why:
        enabled === null
          ? 'The API may accept passwords: this account may not read the setting.'
          : 'The API accepts passwords: a user with a password needs no token, and can create new ones.',
      remedy: `Turn it off with \`tokenctl settings basic-auth off\`, and change the passwords that are known.${caution === null ? '' : ` ${caution}`}`,
    },
  ];
}

/** Null if this account may not read the setting. */
async function isBasicAuthEnabled(
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<boolean | null> {
  try {
    return (await readSettings()).AUTH_BASIC_ENABLED;
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'permission_refused') return null;
    throw error;
  }
}

/** Refresh tokens are not listed, and to revoke one over OAuth2 takes its value. */
export function refreshTokensUnsupported(dialect: DialectName): TokenctlError {
  const { revokeTokens } = managementCommands(dialect);
  return unsupported(
    'Refresh tokens can be neither listed nor revoked over the REST API',
    `Use a database context, run \`${revokeTokens}\` there, or delete the application.`,
  );
}

/** Sessions are not listed. */
export function sessionsUnsupported(dialect: DialectName): TokenctlError {
  const { endSessions } = managementCommands(dialect);
  return unsupported(
    'Sessions can be neither listed nor ended over the REST API',
    endSessions === null
      ? 'Use a database context, which requires a recent release of the gateway.'
      : `Use a database context, or run \`${endSessions}\` there.`,
  );
}

/** Users create tokens only for themselves. */
export function tokenForOtherUserUnsupported(user: string, dialect: DialectName): TokenctlError {
  const { createToken } = managementCommands(dialect);
  return unsupported(
    `Only ${user} can create a token for ${user} over the REST API`,
    `Authenticate as ${user}, use a database context, or run \`${createToken} ${user}\` there.`,
  );
}

function unsupported(message: string, hint: string): TokenctlError {
  return new TokenctlError('unsupported', message, { hint });
}
