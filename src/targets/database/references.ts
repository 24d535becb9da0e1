import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { Whose } from '../../domain/selector.ts';
import type { ApplicationReference, UserReference } from '../../domain/token.ts';
import type { Connection } from './connection.ts';
import { type Layout, TABLES } from './tables.ts';

/** The columns of an access token or a refresh token that refer to other tables. */
interface ReferringRow {
  readonly user_id: number | null;
  readonly application_id: number | null;
}

/** The users and applications of token rows, read as their pages arrive. */
export class TokenReferences {
  readonly #users: ReferenceCache<UserReference>;
  readonly #applications: ReferenceCache<ApplicationReference>;

  constructor(layout: Layout) {
    this.#users = new ReferenceCache((database, ids) => readUserNames(database, { layout, ids }));
    this.#applications = new ReferenceCache((database, ids) =>
      sql`SELECT a.id, a.name FROM ${TABLES[layout].applications} a
        WHERE a.id = ANY(${ids}::bigint[])`.rows<ApplicationReference>(database),
    );
  }

  /** Reads the references of a page that are not cached yet. */
  load(connection: Connection, rows: readonly ReferringRow[]): Promise<void> {
    return this.loadIds(connection, {
      user_id: rows.map((row) => row.user_id),
      application_id: rows.map((row) => row.application_id),
    });
  }

  /** Like {@link load}, for the ids in the columns of a page. */
  loadIds(
    connection: Connection,
    ids: { readonly [Name in keyof ReferringRow]: readonly (number | null)[] | null },
  ): Promise<void> {
    return connection.read(async (database) => {
      await this.#users.load(database, ids.user_id ?? []);
      await this.#applications.load(database, ids.application_id ?? []);
    });
  }

  user(id: number | null): UserReference | null {
    return this.#users.get(id);
  }

  application(id: number | null): ApplicationReference | null {
    return this.#applications.get(id);
  }
}

/** Users or applications by id, each read once: sending names with a million tokens would cost most of the time. */
class ReferenceCache<Reference extends UserReference | ApplicationReference> {
  readonly #cached = new Map<number, Reference | null>();
  readonly #read: (database: Queryable, ids: readonly number[]) => Promise<readonly Reference[]>;

  constructor(read: (database: Queryable, ids: readonly number[]) => Promise<readonly Reference[]>) {
    this.#read = read;
  }

  async load(database: Queryable, ids: Iterable<number | null>): Promise<void> {
    const missing = new Set<number>();
    for (const id of ids) if (id !== null && !this.#cached.has(id)) missing.add(id);
    if (missing.size === 0) return;
    for (const reference of await this.#read(database, [...missing])) {
      this.#cached.set(reference.id, reference);
      missing.delete(reference.id);
    }
    for (const id of missing) this.#cached.set(id, null);
  }

  /** Null without an id, or if the row was deleted. */
  get(id: number | null): Reference | null {
    return id === null ? null : (this.#cached.get(id) ?? null);
  }
}

/** The users and applications of a selector. */
export interface Owners {
  readonly userIds: readonly number[] | undefined;
  readonly applicationIds: readonly number[] | undefined;
}

/** Resolves the names in a selector to ids once, so that pages need no joins. */
export function resolveNames(connection: Connection, names: Whose): Promise<Owners> {
  const tables = TABLES[connection.layout];
  return connection.read(async (database) => ({
    userIds:
      names.userIds ?? (await idsNamed(database, sql`${tables.users} t WHERE t.username`, names.users)),
    // Several organizations may have applications with the same name.
    applicationIds:
      names.applicationIds ??
      (await idsNamed(database, sql`${tables.applications} t WHERE t.name`, names.applications)),
  }));
}

async function idsNamed(database: Queryable, column: Sql, names: readonly string[] | undefined) {
  return names && (await sql`SELECT t.id FROM ${column} = ANY(${names}::text[])`.ids(database));
}

export function readUserNames(
  database: Queryable,
  { layout, ids }: { layout: Layout; ids: readonly number[] },
): Promise<UserReference[]> {
  return sql`SELECT u.id, u.username FROM ${TABLES[layout].users} u
    WHERE u.id = ANY(${ids}::bigint[])`.rows<UserReference>(database);
}
