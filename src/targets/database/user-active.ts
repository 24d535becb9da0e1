import { TokenctlError } from '../../domain/errors.ts';
import type { Connection } from './connection.ts';
import { readUserNames, updateUserActive } from './queries/users.ts';

/** Deactivates a user or activates one again, with an entry in the activity stream. Says whether anything changed. */
export function changeUserActive(connection: Connection, userId: number, active: boolean): Promise<boolean> {
  const { layout } = connection;
  return connection.change('users', async (transaction) => {
    if (await updateUserActive(transaction, { layout, userId, active })) return true;
    const [user] = await readUserNames(transaction, { layout, ids: [userId] });
    if (user === undefined) throw new TokenctlError('not_found', `There is no user with the id ${userId}`);
    return false;
  });
}
