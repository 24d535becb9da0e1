import type { User } from '../../domain/token.ts';
import type { Target, UserSelector } from '../ports/target.ts';

/** A user of whom it is known whether active. */
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
