import { managementCommands } from '../../domain/dialect.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { StaysAlive } from '../../domain/plan.ts';
import {
  authorizationCodesRemedy,
  expiredText,
  passwordsRemedy,
  type RemedyPlace,
  refreshTokensRemedy,
  sessionsRemedy,
} from '../../domain/remedies.ts';
import type { AuthenticationSettings, RevocationFacts } from '../../operations/ports/target.ts';
import type { Dialect } from './api.ts';

type DialectName = Dialect['name'];

/** How long a code from before is assumed to be valid at least: the default, and the maximum of RFC 6749 §4.1.2. */
const DEFAULT_CODE_LIFETIME_S = 600;

/**
 * What stays alive after access tokens are revoked over the REST API: it lists neither authorization codes nor refresh
 * tokens nor sessions.
 */
export async function staysAlive(
  facts: RevocationFacts & { readonly place: RemedyPlace },
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<readonly StaysAlive[]> {
  const { place, selection, tokensWithRefreshToken } = facts;
  const settings = await readIfAllowed(readSettings);
  // A code that was issued before the setting was lowered, as by a lockdown, lives longer than it says now.
  const lifetime = Math.max(
    settings?.OAUTH2_PROVIDER?.AUTHORIZATION_CODE_EXPIRE_SECONDS ?? 0,
    DEFAULT_CODE_LIFETIME_S,
  );
  return [
    {
      what: 'refresh_tokens',
      count: tokensWithRefreshToken === 0 ? null : tokensWithRefreshToken,
      why: `Not checked: the REST API neither lists nor revokes refresh tokens.${expiredText(facts)}`,
      remedy: refreshTokensRemedy(selection, place),
    },
    ...(selection.kind === 'tokens' ? [] : [codesStayAlive({ lifetime, selection, place })]),
    {
      what: 'sessions',
      count: null,
      why: 'Not checked: the REST API does not list sessions, and revoking tokens does not end them.',
      remedy: sessionsRemedy(selection, place),
    },
    ...passwordsStayAlive(settings, passwordsRemedy(selection, place)),
  ];
}

function codesStayAlive(options: {
  readonly lifetime: number;
  readonly selection: RevocationFacts['selection'];
  readonly place: RemedyPlace;
}): StaysAlive {
  const { lifetime, selection, place } = options;
  return {
    what: 'authorization_codes',
    count: null,
    why: `Not checked: the REST API neither lists nor deletes authorization codes. One that was issued before can be exchanged for tokens for up to ${lifetime} seconds.`,
    remedy: authorizationCodesRemedy(selection, place),
    lifetime,
  };
}

function passwordsStayAlive(settings: AuthenticationSettings | null, remedy: string): StaysAlive[] {
  if (settings?.AUTH_BASIC_ENABLED === false) return [];
  const why =
    settings === null
      ? 'The API may accept passwords: this account may not read the setting.'
      : 'The API accepts passwords: a user with a password needs no token, and can create new ones.';
  return [{ what: 'basic_authentication', count: null, why, remedy }];
}

/** Null if this account may not read the settings. */
async function readIfAllowed(
  readSettings: () => Promise<AuthenticationSettings>,
): Promise<AuthenticationSettings | null> {
  try {
    return await readSettings();
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'permission_refused') return null;
    throw error;
  }
}

/** Refresh tokens are not listed, and to revoke one over OAuth2 takes its value. */
export function refreshTokensUnsupported(): TokenctlError {
  return unsupported(
    'Refresh tokens can be neither listed nor revoked over the REST API',
    'Use a database context.',
  );
}

/** Authorization codes are not listed either. */
export function authorizationCodesUnsupported(): TokenctlError {
  return unsupported(
    'Authorization codes can be neither listed nor deleted over the REST API',
    'Use a database context.',
  );
}

/** Sessions are not listed. */
export function sessionsUnsupported(dialect: DialectName): TokenctlError {
  return unsupported(
    'Sessions can be neither listed nor ended over the REST API',
    dialect === 'gateway'
      ? 'Use a database context, which requires a recent release of the gateway.'
      : 'Use a database context.',
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

/** A controller 24.6.1 and a gateway ignore the expiry of a request, and use their setting [seen]. */
export function tokenLifetimeUnsupported(): TokenctlError {
  return unsupported(
    'The REST API gives every new token the lifetime of its settings',
    'Leave out --expires and change the setting with `tokenctl settings token-lifetime`, or use a database context.',
  );
}

function unsupported(message: string, hint: string): TokenctlError {
  return new TokenctlError('unsupported', message, { hint });
}
