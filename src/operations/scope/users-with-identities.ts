import type { User } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';
import type { UserIdentities } from '../ports/target-parts.ts';

/** A user of a controller, with its identity provider data. */
export interface IdentifiedUser {
  readonly user: User;
  /** Undefined for a user created in the meantime, and if not requested. */
  readonly identities: UserIdentities | undefined;
}

/**
 * Streams the visible users with their identity provider data. Both lists ascend by id and are read in
 * parallel, so that a hundred thousand users are never kept in memory.
 * @param options.isIdentified Whether to read the identity provider data.
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

/** The items; closes their source when disposed of. */
async function* disposable<Item>(items: AsyncIterable<Item> | Iterable<Item>): AsyncGenerator<Item, void> {
  yield* items;
}
