import { type Access, makeAccess } from './access.ts';
import type { Installation } from './installation.ts';
import { type Account, makeUser } from './own-objects.ts';
import type { Suite } from './runner.ts';
import { changes, type TableChange, tablesOf } from './tables.ts';

/** A suite of this program. */
export type AcceptanceSuite = Suite<Installation>;

/** A user of a scenario's own with access of every kind. */
export interface Scene {
  readonly account: Account;
  readonly access: Access;
  /** The ids of the user's tokens, personal ones and those of applications. */
  readonly tokenIds: readonly number[];
  /** The access tokens that are gone since then, and those that are new, of any user: as the REST API lists them. */
  readonly listed: () => Promise<{ readonly gone: readonly number[]; readonly made: readonly number[] }>;
  /** What changed since then in the tables that say who has access; nothing without a database. */
  readonly changed: () => Promise<Readonly<Record<string, TableChange>>>;
}

/** Makes a user with access of every kind, and notes what the installation has then. */
export async function scene(it: Installation, own: string, fields: object = {}): Promise<Scene> {
  const account = await makeUser(it, own, fields);
  const access = await makeAccess(it, account);
  const [before, tables] = [await tokensOf(it), it.database === null ? null : await tablesOf(it)];
  return {
    account,
    access,
    tokenIds: before.filter(({ user }) => user === account.id).map(({ id }) => id),
    listed: async () => {
      const after = await tokensOf(it);
      const [old, now] = [new Set(before.map(({ id }) => id)), new Set(after.map(({ id }) => id))];
      return { gone: [...old].filter((id) => !now.has(id)), made: [...now].filter((id) => !old.has(id)) };
    },
    changed: async () => (tables === null ? {} : changes(tables, await tablesOf(it))),
  };
}

/** All access tokens with their owners, as the superuser sees them. */
async function tokensOf(it: Installation) {
  return (await it.all('tokens/?order_by=id')).map(({ id, user }) => ({
    id: Number(id),
    user: typeof user === 'number' ? user : null,
  }));
}
