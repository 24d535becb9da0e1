import type { User } from '../../domain/token.ts';
import type { UserSelector } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { keysetPages } from './pages.ts';
import { readUserPage } from './queries/users.ts';

/** Streams users, ascending by id. */
export async function* listUsers(connection: Connection, selector: UserSelector): AsyncGenerator<User, void> {
  const { layout } = connection;
  const pages = keysetPages({
    start: 0,
    keyOf: ({ id }: User) => id,
    read: (after) =>
      connection.ask('read', (database) => readUserPage(database, { layout, selector, after })),
  });
  for await (const users of pages) yield* users;
}
