import { TokenctlError } from '@tokenctl/common/errors.ts';
import { managementCommands } from './dialect.ts';

/**
 * Refuses a token that the REST API cannot create: users create tokens only for themselves, and a controller
 * 24.6.1 and a gateway ignore the requested expiry, and use their setting [seen]. Throws `unsupported`.
 */
export function requireRestCreates(
  { user, lifetime }: { user?: string | undefined; lifetime?: number | undefined },
  of: { readonly username: string; readonly dialect: Parameters<typeof managementCommands>[0] },
): void {
  if (lifetime !== undefined) {
    throw new TokenctlError(
      'unsupported',
      'The REST API gives every new token the lifetime from the settings',
      {
        hint: 'Omit --expires and change the setting with `tokenctl settings token-lifetime`, or use a database context.',
      },
    );
  }
  if (user === undefined || user === of.username) return;
  const { createToken } = managementCommands(of.dialect);
  throw new TokenctlError('unsupported', `Only ${user} can create a token for ${user} over the REST API`, {
    hint:
      createToken === null
        ? `Authenticate as ${user}, or use a database context.`
        : `Authenticate as ${user}, use a database context, or run \`${createToken} ${user}\` on the server.`,
  });
}
