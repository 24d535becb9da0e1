import type { Queryable } from '../../../db/database.ts';

/** The columns of those of these tables that the search path finds. */
export async function readColumns(
  database: Queryable,
  tables: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await database.query<{ name: string; columns: string[] }>(
    `SELECT w.name, array_agg(a.attname::text) AS columns
     FROM unnest($1::text[]) AS w(name)
     JOIN pg_catalog.pg_attribute a ON a.attrelid = to_regclass(w.name) AND a.attnum > 0 AND NOT a.attisdropped
     GROUP BY w.name`,
    [tables],
  );
  return new Map(rows.map(({ name, columns }) => [name, new Set(columns)]));
}

/** A right on one column of a table, or with an empty column on the whole table. */
export interface Right {
  readonly table: string;
  readonly column: string;
  readonly privilege: string;
}

/** A right that is not held. */
export interface LackingRight {
  /** Where it stands among those that were asked for, from 1. */
  readonly position: number;
  /** The table with its schema, quoted for SQL. */
  readonly qualified: string;
  /** The current role, quoted for SQL. */
  readonly role: string;
}

/** Those of these rights that the current role does not hold, in their order. */
export async function readLackingRights(
  database: Queryable,
  rights: readonly Right[],
): Promise<LackingRight[]> {
  return database.query<LackingRight>(
    `SELECT r.position, quote_ident(current_user) AS role,
       (SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = to_regclass(r."table")) AS qualified
     FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS r("table", "column", privilege, position)
     WHERE NOT CASE WHEN r."column" = '' THEN has_table_privilege(to_regclass(r."table"), r.privilege)
       ELSE has_column_privilege(to_regclass(r."table"), r."column", r.privilege) END
     ORDER BY r.position`,
    [
      rights.map(({ table }) => table),
      rights.map(({ column }) => column),
      rights.map(({ privilege }) => privilege),
    ],
  );
}

/** A sequence, quoted for SQL, that numbers the rows of a table, where the current role may not use it. */
export interface LackingSequence {
  readonly table: string;
  readonly sequence: string;
  readonly role: string;
}

/**
 * The sequences behind the `id` of these tables that the current role may not use. An identity column, as a
 * controller's installation makes them today, needs no right of its own; one that was installed long ago
 * has a default from a sequence instead.
 */
export async function readLackingSequences(
  database: Queryable,
  tables: readonly string[],
): Promise<LackingSequence[]> {
  return database.query<LackingSequence>(
    `SELECT s."table", s.sequence, quote_ident(current_user) AS role
     FROM (SELECT w.name AS "table", pg_get_serial_sequence(w.name, 'id') AS sequence
           FROM unnest($1::text[]) AS w(name)
           JOIN pg_catalog.pg_attribute a
             ON a.attrelid = to_regclass(w.name) AND a.attname = 'id' AND a.attidentity = '') s
     WHERE s.sequence IS NOT NULL AND NOT has_sequence_privilege(s.sequence, 'USAGE')`,
    [tables],
  );
}

/** The name of the current role. */
export async function readRole(database: Queryable): Promise<string> {
  const [row] = await database.query<{ role: string }>('SELECT current_user::text AS role');
  return row?.role ?? '';
}
