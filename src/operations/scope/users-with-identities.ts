import type { User } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';
import type { UserIdentities } from '../ports/target-parts.ts';

/** A user of a controller with how identity providers know it. */
export interface IdentifiedUser {
  readonly user: User;
  /** Undefined for a user who was created meanwhile, and where it is not asked. */
  readonly identities: UserIdentities | undefined;
}

/**
 * Streams the users that the caller may see with how identity providers know them. Both lists ascend by id
 * and are read side by side, so that a hundred thousand users are never kept.
 * @param options.isIdentified Whether to ask how identity providers know them.
 * @throws TokenctlError whatever the target throws.
 */
export async function* usersWithIdentities(
  { users }: Pick<Target, 'users'>,
  { isIdentified = true }: { isIdentified?: boolean } = {},
): AsyncGenerator<IdentifiedUser, void> {
  await using known = isIdentified ? disposable(users.identities()) : disposable<UserIdentities>([]);
  let next = await known.next();
  for await (const user of users.list()) {
    while (!next.done && next.value.id < user.id) next = await known.next();
    yield { user, identities: next.done || next.value.id !== user.id ? undefined : next.value };
  }
}

/** The items, whose reading ends with the block that uses them. */
async function* disposable<Item>(items: AsyncIterable<Item> | Iterable<Item>): AsyncGenerator<Item, void> {
  yield* items;
}
