import { TokenctlError } from '../../domain/errors.ts';
import { managementCommands } from '../../domain/management-commands.ts';
import type { Dialect } from './dialect.ts';

type Name = Dialect['name'];

/**
 * What is not done over a REST API, as an error.
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

/** Refresh tokens were asked for: none are listed, and revoking one takes its value. */
export function noRefreshTokens(dialect: Name): TokenctlError {
  const { revokeTokens } = managementCommands(dialect);
  return notOverRest(
    'Refresh tokens can be neither listed nor revoked',
    `Use a context of the database, run \`${revokeTokens}\` there, or delete the application.`,
  );
}

/** Sessions were asked for: none are listed. */
export function noSessions(dialect: Name): TokenctlError {
  const { endSessions } = managementCommands(dialect);
  return notOverRest(
    'Sessions can be neither listed nor ended',
    endSessions === null
      ? 'Use a context of the database, which takes a late release of the gateway.'
      : `Use a context of the database, or run \`${endSessions}\` there.`,
  );
}

/** A token for somebody else was asked for: tokens are made for the caller only. */
export function notForOthers(user: string, dialect: Name): TokenctlError {
  const { createToken } = managementCommands(dialect);
  return notOverRest(
    `A token of ${user} can be created by ${user} only`,
    `Sign in as ${user}, use a context of the database, or run \`${createToken} ${user}\` there.`,
  );
}
