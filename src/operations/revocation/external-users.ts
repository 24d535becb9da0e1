import type { User } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';

/**
 * The names of all users that come from an identity provider: whom ALLOW_OAUTH2_FOR_EXTERNAL_USERS is
 * about. Reads only.
 *
 * @returns Their names, ascending; empty where there are none, which as a selector would select nothing.
 */
export async function externalUserNames(options: { target: Target }): Promise<string[]> {
  const names: string[] = [];
  for await (const user of options.target.users()) {
    if (isExternal(user)) names.push(user.username);
  }
  return names.sort();
}

function isExternal(user: Pick<User, 'externalAccount'>): boolean {
  return user.externalAccount !== null;
}
