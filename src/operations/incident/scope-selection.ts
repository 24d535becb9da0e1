import type { LockdownScope } from '../../domain/incident/incident.ts';
import type { Selector } from '../../domain/selector.ts';
import type { User } from '../../domain/token.ts';
import type { Target, UserSelector } from '../ports/target.ts';

/**
 * The users that a scope means now: those of an identity provider may be others in a minute, since it makes
 * accounts. None for applications; named users that do not exist are left out.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function usersOf(scope: LockdownScope, target: Target): Promise<readonly KnownUser[]> {
  if (scope.kind === 'applications') return [];
  const users = await readUsers(target, scope.kind === 'users' ? { names: scope.names } : {});
  return users.filter((user) => isMeant(user, scope));
}

/**
 * The tokens that a scope currently covers; null if it covers no user.
 *
 * @throws TokenctlError as {@link usersOf}.
 */
export async function selectorOf(scope: LockdownScope, target: Target): Promise<Selector | null> {
  switch (scope.kind) {
    case 'all':
      return { all: true };
    case 'applications':
      return { applications: scope.names };
    // The tokens of a deleted user are deleted with it.
    case 'users':
    case 'identity_provider': {
      const users = (await usersOf(scope, target)).map(({ username }) => username);
      return users.length === 0 ? null : { users };
    }
  }
}

function isMeant({ externalAccount }: Pick<User, 'externalAccount'>, scope: LockdownScope): boolean {
  if (scope.kind !== 'identity_provider') return true;
  return scope.provider === 'any' ? externalAccount !== null : externalAccount === scope.provider;
}

/** A user with a known active state. */
export type KnownUser = User & { readonly isActive: boolean };

/**
 * Reads users, and whether each is active: where the target does not tell it of each user, it is asked for the
 * deactivated ones.
 *
 * @throws TokenctlError whatever the target throws.
 */
export async function readUsers(target: Target, selector: UserSelector): Promise<readonly KnownUser[]> {
  const users: User[] = [];
  for await (const user of target.users(selector)) users.push(user);
  const inactive = new Set<number>();
  if (users.some(({ isActive }) => isActive === undefined)) {
    for await (const { id } of target.users({ ...selector, inactive: true })) inactive.add(id);
  }
  return users.map((user) => ({ ...user, isActive: user.isActive ?? !inactive.has(user.id) }));
}
