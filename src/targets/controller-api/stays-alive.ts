import { TokenctlError } from '../../core/errors.ts';
import type { StaysAlive } from '../../core/plan.ts';
import type { AuthenticationSettings } from '../../operations/ports/authentication-settings.ts';

/**
 * What revoking access tokens over the REST API leaves alive. A controller lists neither refresh tokens
 * nor sessions there, and deleting an access token leaves its refresh token able to mint another.
 */
export async function staysAlive(
  facts: { readonly tokensWithRefreshToken: number },
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<readonly StaysAlive[]> {
  return [
    ...refreshTokens(facts.tokensWithRefreshToken),
    {
      what: 'sessions',
      count: null,
      why: 'Whoever is logged in in a browser stays so: the REST API lists no sessions.',
      remedy: 'Run `awx-manage expire_sessions` there (--user for one user).',
    },
    ...(await basicAuthentication(readSettings)),
  ];
}

function refreshTokens(count: number): StaysAlive[] {
  if (count === 0) return [];
  return [
    {
      what: 'refresh_tokens',
      count,
      why: 'They mint new access tokens, and the REST API neither lists nor revokes them.',
      remedy:
        'Run `awx-manage revoke_oauth2_tokens --all` there (--user for one user), or delete the application.',
    },
  ];
}

async function basicAuthentication(
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<StaysAlive[]> {
  const enabled = await isEnabled(readSettings);
  if (enabled === false) return [];
  return [
    {
      what: 'basic_authentication',
      count: null,
      why:
        enabled === null
          ? 'This account may not read whether passwords are accepted by the API: they may be.'
          : 'The API accepts passwords: whoever has one needs no token, and can make new ones.',
      remedy: 'Turn it off with `tokenctl settings basic-auth off`, and change the passwords that are known.',
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
