import type { Queryable } from '../../db/database.ts';
import { notFound, unauthenticated } from '../failure.ts';
import { findUser, lockUsers, type UserRecord } from '../store/users.ts';

/**
 * Locks a user, and the one who is about to change or delete this user, and reads both as they are now: what
 * is decided and written then holds, even where the caller was deactivated or lost a privilege after the
 * request began.
 *
 * @throws RequestFailure 401 where the caller is gone or inactive, 404 where the user is gone.
 */
export async function lockUser(
  transaction: Queryable,
  { caller, id }: { readonly caller: UserRecord; readonly id: number },
): Promise<{ readonly caller: UserRecord; readonly user: UserRecord }> {
  await lockUsers(transaction, [caller.id, id]);
  const changer = await findUser(transaction, caller.id);
  if (changer === null || !changer.is_active) throw unauthenticated();
  const user = changer.id === id ? changer : await findUser(transaction, id);
  if (user === null) throw notFound();
  return { caller: changer, user };
}
