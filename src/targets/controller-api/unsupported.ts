import { TokenctlError } from '@tokenctl/common/errors.ts';
import { managementCommands } from '../../domain/dialect.ts';
import type { Dialect } from './api.ts';

type DialectName = Dialect['name'];

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
