import type { Database } from '@tokenctl/common/db/database.ts';

/** A row, as PostgreSQL's `to_jsonb` gives it. */
export type Row = Readonly<Record<string, unknown>>;

export interface TableChange {
  readonly added: readonly Row[];
  readonly removed: readonly Row[];
  readonly changed: readonly { readonly before: Row; readonly after: Row }[];
}

/** The rows of a table by their key. */
type Rows = ReadonlyMap<string, Row>;

/** A sequence, and the last number that it gave. */
interface Sequence {
  readonly name: string;
  readonly last: string | null;
}

/** All rows of a database at a moment, to find what changed since, and to put it back. */
export class Snapshot {
  readonly #database: Database;
  readonly #sql: string;
  readonly #tables: ReadonlyMap<string, Rows>;
  readonly #sequences: readonly Sequence[];

  private constructor(
    database: Database,
    sql: string,
    tables: ReadonlyMap<string, Rows>,
    sequences: readonly Sequence[],
  ) {
    [this.#database, this.#sql, this.#tables, this.#sequences] = [database, sql, tables, sequences];
  }

  static async take(database: Database): Promise<Snapshot> {
    const tables = await database.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables
       WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1`,
    );
    const sql = tables
      .map(({ name }) => `SELECT '${name}' AS name, to_jsonb(t) AS row FROM ${name} t`)
      .join(' UNION ALL ');
    return new Snapshot(database, sql, await rowsOf(database, sql), await sequencesOf(database));
  }

  /** Every value of a row, to tell a time of before from a new one. */
  *values(): Generator<unknown> {
    for (const rows of this.#tables.values()) for (const row of rows.values()) yield* Object.values(row);
  }

  /** What became of the rows since, by table; tables without changes are left out. */
  async changes(): Promise<ReadonlyMap<string, TableChange>> {
    const found = new Map<string, TableChange>();
    const now = await rowsOf(this.#database, this.#sql);
    for (const name of new Set([...this.#tables.keys(), ...now.keys()])) {
      const [before, after] = [this.#tables.get(name) ?? new Map(), now.get(name) ?? new Map()];
      const change = {
        added: [...after].filter(([key]) => !before.has(key)).map(([, row]) => row as Row),
        removed: [...before].filter(([key]) => !after.has(key)).map(([, row]) => row as Row),
        changed: [...before].flatMap(([key, row]) => {
          const other = after.get(key);
          return other === undefined || JSON.stringify(other) === JSON.stringify(row)
            ? []
            : [{ before: row as Row, after: other as Row }];
        }),
      };
      if (Object.values(change).some((rows) => rows.length > 0)) found.set(name, change);
    }
    return found;
  }

  /** Puts all rows and sequences back. */
  async restore(): Promise<void> {
    const changes = await this.changes();
    await this.#database.transaction(async (transaction) => {
      await transaction.execute('SET LOCAL session_replication_role = replica');
      for (const [name, { added, removed, changed }] of changes) {
        for (const row of [...added, ...changed.map(({ after }) => after)])
          await transaction.execute(`DELETE FROM ${name} t WHERE to_jsonb(t) = $1::jsonb`, [
            JSON.stringify(row),
          ]);
        for (const row of [...removed, ...changed.map(({ before }) => before)])
          await transaction.execute(
            `INSERT INTO ${name} SELECT (jsonb_populate_record(NULL::${name}, $1::jsonb)).*`,
            [JSON.stringify(row)],
          );
      }
      for (const { name, last } of this.#sequences)
        await transaction.execute('SELECT setval($1::regclass, coalesce($2::bigint, 1), $2 IS NOT NULL)', [
          name,
          last,
        ]);
    });
  }
}

async function rowsOf(database: Database, sql: string): Promise<ReadonlyMap<string, Rows>> {
  const tables = new Map<string, Map<string, Row>>();
  for (const { name, row } of await database.query<{ name: string; row: Row }>(sql)) {
    const rows = tables.get(name) ?? new Map<string, Row>();
    tables.set(name, rows);
    const key = row['id'] ?? row['session_key'];
    rows.set(key === undefined ? JSON.stringify(row) : String(key), row);
  }
  return tables;
}

function sequencesOf(database: Database): Promise<Sequence[]> {
  return database.query(
    `SELECT format('%I.%I', schemaname, sequencename) AS name, last_value::text AS last FROM pg_sequences
     WHERE schemaname = 'public'`,
  );
}
