import type { Queryable } from '../../db/database.ts';
import type { MissingRight, RightsPurpose } from '../../operations/ports/target.ts';
import type { Layout } from './layout.ts';
import { needsOf, PURPOSES } from './needs/needs.ts';
import { readLackingRights, readLackingSequences } from './queries/catalogue.ts';

/**
 * What the role of a database lacks for some purposes: for each purpose and table one statement that grants
 * exactly that, down to the columns.
 */
export async function missingRights(
  database: Queryable,
  layout: Layout,
  purposes: readonly RightsPurpose[] = PURPOSES,
): Promise<MissingRight[]> {
  const needs = purposes.flatMap((purpose) => needsOf(purpose, layout).map((need) => ({ purpose, ...need })));
  const wanted = needs.flatMap(({ columns = [''], ...need }) =>
    columns.map((column) => ({ ...need, column })),
  );
  const lacking = await readLackingRights(database, wanted);
  const rights = lacking.flatMap(({ position, ...found }) => {
    const right = wanted[position - 1];
    return right === undefined ? [] : [{ ...right, ...found }];
  });
  const filled = needs.filter(({ privilege }) => privilege === 'INSERT');
  const sequences = await readLackingSequences(database, [...new Set(filled.map(({ table }) => table))]);
  return purposes.flatMap((purpose) => [
    ...grants(rights.filter((right) => right.purpose === purpose)).map((grant) => ({ purpose, grant })),
    ...sequences
      .filter(({ table }) => filled.some((need) => need.purpose === purpose && need.table === table))
      .map(({ sequence, role }) => ({ purpose, grant: `GRANT USAGE ON SEQUENCE ${sequence} TO ${role}` })),
  ]);
}

/** A right that is missing, with the names that a statement needs. */
interface NamedRight {
  readonly qualified: string;
  readonly role: string;
  readonly privilege: string;
  readonly column: string;
}

/** One statement for each table. */
function grants(lacking: readonly NamedRight[]): string[] {
  const byTable = Map.groupBy(lacking, ({ qualified }) => qualified);
  return [...byTable].map(([table, rights]) => {
    const byPrivilege = Map.groupBy(rights, ({ privilege }) => privilege);
    const privileges = [...byPrivilege].map(([privilege, each]) => {
      const columns = each.map(({ column }) => column).filter((column) => column !== '');
      return columns.length === 0 ? privilege : `${privilege} (${columns.join(', ')})`;
    });
    return `GRANT ${privileges.join(', ')} ON ${table} TO ${rights[0]?.role ?? 'CURRENT_USER'}`;
  });
}
