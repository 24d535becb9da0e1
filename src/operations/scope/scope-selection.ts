import type { LockdownScope } from '../../domain/incident/incident.ts';
import type { Selector } from '../../domain/selector.ts';
import type { User, UserReference } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';
import type { UserSelector } from '../ports/target-parts.ts';

/**
 * The users that a scope currently means; an identity provider can create more at any time. Empty for
 * applications; users that do not exist are omitted. Uses the scope's ids if it has them.
 * @throws TokenctlError whatever the target throws.
 */
export async function usersOf(scope: LockdownScope, target: Target): Promise<readonly KnownUser[]> {
  if (scope.kind === 'applications') return [];
  if (scope.kind === 'users') {
    const { names, bound } = scope;
    return await readUsers(target, bound === undefined ? { names } : { ids: bound.map(({ id }) => id) });
  }
  const users = await readUsers(target, {});
  if (scope.kind === 'all') return users;
  return users.filter(({ externalAccount }) =>
    scope.provider === 'any' ? externalAccount !== null : externalAccount === scope.provider,
  );
}

/** The tokens that a scope currently covers; null if it covers no user. Throws as {@link usersOf}. */
export async function selectorOf(scope: LockdownScope, target: Target): Promise<Selector | null> {
  switch (scope.kind) {
    case 'all':
      return { all: true };
    case 'applications':
      return {
        applications: scope.names,
        ...(scope.bound && { applicationIds: scope.bound.map(({ id }) => id) }),
      };
    // The tokens of a deleted user are deleted with it.
    case 'users':
    case 'identity_provider': {
      return selectorOfUsers(await usersOf(scope, target));
    }
  }
}

export function selectorOfUsers(users: readonly UserReference[]): Selector | null {
  if (users.length === 0) return null;
  return { users: users.map(({ username }) => username), userIds: users.map(({ id }) => id) };
}

export type KnownUser = User & { readonly isActive: boolean };

/**
 * Reads users with their active state. If the target does not show it per user, the deactivated ones are
 * read.
 * @throws TokenctlError whatever the target throws.
 */
export async function readUsers(target: Target, selector: UserSelector): Promise<readonly KnownUser[]> {
  const users = await Array.fromAsync(target.users.list(selector));
  const inactive = new Set<number>();
  if (users.some(({ isActive }) => isActive === null)) {
    for await (const { id } of target.users.list({ ...selector, inactive: true })) inactive.add(id);
  }
  return users.map((user) => ({ ...user, isActive: user.isActive ?? !inactive.has(user.id) }));
}
