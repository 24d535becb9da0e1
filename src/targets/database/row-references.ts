import type { ApplicationReference, UserReference } from '../../domain/token.ts';
import type { Connection } from './connection.ts';
import type { Layout } from './layout.ts';
import { readApplicationIds, readApplicationNames } from './queries/applications.ts';
import { readUserIds, readUserNames } from './queries/users.ts';
import { References } from './references.ts';

/** A row of an access token or a refresh token, as far as it refers to others. */
interface ReferringRow {
  readonly user_id: number | null;
  readonly application_id: number | null;
}

/** The owners and applications of rows, as their pages come. */
export class RowReferences {
  readonly #owners: References<UserReference>;
  readonly #applications: References<ApplicationReference>;

  constructor(layout: Layout) {
    this.#owners = new References((database, ids) => readUserNames(database, { layout, ids }));
    this.#applications = new References((database, ids) => readApplicationNames(database, { layout, ids }));
  }

  /** Looks up those of a page that are not known yet. */
  learn(connection: Connection, rows: readonly ReferringRow[]): Promise<void> {
    return connection.ask('read', async (database) => {
      await this.#owners.learn(
        database,
        rows.map((row) => row.user_id),
      );
      await this.#applications.learn(
        database,
        rows.map((row) => row.application_id),
      );
    });
  }

  owner({ user_id }: ReferringRow): UserReference | null {
    return this.#owners.of(user_id);
  }

  application({ application_id }: ReferringRow): ApplicationReference | null {
    return this.#applications.of(application_id);
  }
}

/** The ids of what a selector names; asked for once, so that the pages need no joins. */
export function idsOfNames(
  connection: Connection,
  names: {
    readonly users?: readonly string[] | undefined;
    readonly applications?: readonly string[] | undefined;
  },
): Promise<{
  readonly userIds: readonly number[] | undefined;
  readonly applicationIds: readonly number[] | undefined;
}> {
  const { users, applications } = names;
  const { layout } = connection;
  return connection.ask('read', async (database) => ({
    userIds: users && (await readUserIds(database, { layout, names: users })),
    applicationIds: applications && (await readApplicationIds(database, { layout, names: applications })),
  }));
}
