import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import type { MissingRight, RightsPurpose } from '../../operations/ports/target.ts';
import { PURPOSES, requiredRights } from './required-rights.ts';
import { type Layout, TABLES } from './tables.ts';

/** The rights that the current role lacks for some purposes, as one exact statement for each purpose and table. */
export async function missingRights(
  database: Queryable,
  layout: Layout,
  purposes: readonly RightsPurpose[] = PURPOSES,
): Promise<MissingRight[]> {
  const required = purposes.flatMap((purpose) =>
    requiredRights(purpose, layout).map((right) => ({ purpose, ...right })),
  );
  const byColumn = required.flatMap(({ columns = [''], ...right }) =>
    columns.map((column) => ({ ...right, column })),
  );
  const missing = (await readMissingPrivileges(database, byColumn)).flatMap(({ position, ...found }) => {
    const right = byColumn[position - 1];
    return right === undefined ? [] : [{ ...right, ...found }];
  });
  const inserts = required.filter(({ privilege }) => privilege === 'INSERT');
  const sequences = await readUnusableSequences(database, [...new Set(inserts.map(({ table }) => table))]);
  return purposes.flatMap((purpose) => [
    ...grantStatements(missing.filter((right) => right.purpose === purpose)).map((grant) => ({
      purpose,
      grant,
      ...(grant.includes(`.${TABLES[layout].authorizationCodes.text} TO `) && { codesOnly: true as const }),
    })),
    ...sequences
      .filter(({ table }) => inserts.some((right) => right.purpose === purpose && right.table === table))
      .map(({ sequence, role }) => ({ purpose, grant: `GRANT USAGE ON SEQUENCE ${sequence} TO ${role}` })),
  ]);
}

function grantStatements(missing: readonly (Privilege & QuotedNames)[]): string[] {
  const byTable = Map.groupBy(missing, ({ qualified }) => qualified);
  return [...byTable].map(([table, rights]) => {
    const byPrivilege = Map.groupBy(rights, ({ privilege }) => privilege);
    const privileges = [...byPrivilege].map(([privilege, each]) => {
      const columns = each.map(({ column }) => column).filter((column) => column !== '');
      return columns.length === 0 ? privilege : `${privilege} (${columns.join(', ')})`;
    });
    return `GRANT ${privileges.join(', ')} ON ${table} TO ${rights[0]?.role ?? 'CURRENT_USER'}`;
  });
}

/** A privilege on one column of a table; with an empty column, on the whole table. */
interface Privilege {
  readonly table: string;
  readonly column: string;
  readonly privilege: string;
}

interface QuotedNames {
  /** The table with its schema, quoted for SQL. */
  readonly qualified: string;
  /** The current role, quoted for SQL. */
  readonly role: string;
}

interface MissingPrivilege extends QuotedNames {
  /** The index in the list of privileges, from 1. */
  readonly position: number;
}

/** Which of these privileges the current role lacks, in the same order. */
function readMissingPrivileges(database: Queryable, privileges: readonly Privilege[]) {
  const of = (name: keyof Privilege) => privileges.map((each) => each[name]);
  return sql`SELECT r.position, quote_ident(current_user) AS role,
       (SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = to_regclass(r."table")) AS qualified
     FROM unnest(${of('table')}::text[], ${of('column')}::text[], ${of('privilege')}::text[])
       WITH ORDINALITY AS r("table", "column", privilege, position)
     WHERE NOT CASE WHEN r."column" = '' THEN has_table_privilege(to_regclass(r."table"), r.privilege)
       ELSE has_column_privilege(to_regclass(r."table"), r."column", r.privilege) END
     ORDER BY r.position`.rows<MissingPrivilege>(database);
}

interface UnusableSequence {
  readonly table: string;
  /** Quoted for SQL. */
  readonly sequence: string;
  /** Quoted for SQL. */
  readonly role: string;
}

/**
 * The sequences of the `id` columns of these tables that the current role may not use. Current installations
 * have identity columns, which need no separate right; old ones have a default from a sequence.
 */
function readUnusableSequences(database: Queryable, tables: readonly string[]): Promise<UnusableSequence[]> {
  return sql`SELECT s."table", s.sequence, quote_ident(current_user) AS role
     FROM (SELECT w.name AS "table", pg_get_serial_sequence(w.name, 'id') AS sequence
           FROM unnest(${tables}::text[]) AS w(name)
           JOIN pg_catalog.pg_attribute a
             ON a.attrelid = to_regclass(w.name) AND a.attname = 'id' AND a.attidentity = '') s
     WHERE s.sequence IS NOT NULL
       AND NOT has_sequence_privilege(s.sequence, 'USAGE')`.rows<UnusableSequence>(database);
}
