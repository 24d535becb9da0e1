import { TokenctlError } from '../../core/errors.ts';

/**
 * What no controller does over its REST API, as an error.
 *
 * @param what What was asked for, as the beginning of a sentence: `Refresh tokens can be …`.
 * @param hint What does it instead.
 */
function notOverRest(what: string, hint: string): TokenctlError {
  return new TokenctlError('unsupported', `${what} over the REST API`, { hint });
}

/** A stream that has nothing but this error. */
export function refused(error: TokenctlError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

/** Refresh tokens were asked for: a controller lists none, and takes their value to revoke one. */
export function noRefreshTokens(): TokenctlError {
  return notOverRest(
    'Refresh tokens can be neither listed nor revoked',
    'Use a context of the database, run `awx-manage revoke_oauth2_tokens --all` there, or delete the application.',
  );
}

/** Sessions were asked for: a controller lists none. */
export function noSessions(): TokenctlError {
  return notOverRest(
    'Sessions can be neither listed nor ended',
    'Use a context of the database, or run `awx-manage expire_sessions` there.',
  );
}

/** A token for somebody else was asked for: a controller makes tokens for its caller only. */
export function notForOthers(user: string): TokenctlError {
  return notOverRest(
    `A token of ${user} can be created by ${user} only`,
    `Sign in as ${user}, use a context of the database, or run \`awx-manage create_oauth2_token --user ${user}\` there.`,
  );
}
