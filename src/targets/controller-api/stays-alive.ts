import { basicAuthCaution } from '../../domain/basic-auth-caution.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { managementCommands } from '../../domain/management-commands.ts';
import type { StaysAlive } from '../../domain/plan.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';
import type { Dialect } from './dialect.ts';

type Name = Dialect['name'];

/**
 * What revoking access tokens over the REST API leaves alive. Neither refresh tokens nor sessions are listed
 * there, and deleting an access token leaves its refresh token able to mint another.
 */
export async function staysAlive(
  facts: { readonly tokensWithRefreshToken: number; readonly dialect: Name },
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<readonly StaysAlive[]> {
  const { dialect } = facts;
  return [
    ...refreshTokens(facts.tokensWithRefreshToken, dialect),
    {
      what: 'sessions',
      count: null,
      why: 'Whoever is logged in in a browser stays so: the REST API lists no sessions.',
      remedy: sessionsRemedy(dialect),
    },
    ...(await basicAuthentication(dialect, readSettings)),
  ];
}

function refreshTokens(count: number, dialect: Name): StaysAlive[] {
  if (count === 0) return [];
  const { revokeTokens } = managementCommands(dialect);
  return [
    {
      what: 'refresh_tokens',
      count,
      why: 'They mint new access tokens, and the REST API neither lists nor revokes them.',
      remedy: `Run \`${revokeTokens}\` there (--user for one user), or delete the application.`,
    },
  ];
}

function sessionsRemedy(dialect: Name): string {
  const { endSessions } = managementCommands(dialect);
  if (endSessions !== null) return `Run \`${endSessions}\` there (--user for one user).`;
  return 'Run `tokenctl sessions expire` in a context of its database, which takes a late release of the gateway: `aap-gateway-manage clearsessions` removes only those that have expired.';
}

async function basicAuthentication(
  dialect: Name,
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<StaysAlive[]> {
  const enabled = await isEnabled(readSettings);
  if (enabled === false) return [];
  const caution = basicAuthCaution(dialect);
  return [
    {
      what: 'basic_authentication',
      count: null,
      why:
        enabled === null
          ? 'This account may not read whether passwords are accepted by the API: they may be.'
          : 'The API accepts passwords: whoever has one needs no token, and can make new ones.',
      remedy: `Turn it off with \`tokenctl settings basic-auth off\`, and change the passwords that are known.${caution === null ? '' : ` ${caution}`}`,
    },
  ];
}

/** Whether passwords are accepted; null where this account may not know. */
async function isEnabled(readSettings: () => Promise<AuthenticationSettings>): Promise<boolean | null> {
  try {
    return (await readSettings()).AUTH_BASIC_ENABLED;
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'permission_refused') return null;
    throw error;
  }
}
