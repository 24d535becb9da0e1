import { TokenctlError } from '../../core/errors.ts';
import type { Queryable } from '../../db/database.ts';
import { readColumns } from './queries/catalogue.ts';
import { tablesOf } from './tables.ts';

/**
 * Whose tables a database has: a controller's, or those of tokenctl's own service, which carry the same
 * names. A controller keeps tokens as they are, the service their SHA-256 (hex).
 */
export type Layout = 'controller' | 'service';

/** By these the service's own tables are told from a controller's. */
const OF_THE_SERVICE = ['service_migration', 'service_role'] as const;

/** By this a platform gateway is recognised. */
const OF_THE_GATEWAY = 'dab_oauth2_provider_oauth2accesstoken';

/**
 * Finds out whose tables a database has, by their names and columns, along the role's search path.
 *
 * @throws TokenctlError `unsupported` for a platform gateway's, and where a table or column is missing that
 * the queries need, with its name.
 */
export async function recogniseLayout(database: Queryable, address: string): Promise<Layout> {
  const all = [...new Set([...tablesOf('controller').keys(), ...tablesOf('service').keys()])];
  const columns = await readColumns(database, [...all, ...OF_THE_SERVICE, OF_THE_GATEWAY]);
  if (!columns.has('main_oauth2accesstoken') && columns.has(OF_THE_GATEWAY)) {
    throw new TokenctlError(
      'unsupported',
      `${address} is a platform gateway's database, which this version does not administer`,
      { hint: "Use the controller's own database." },
    );
  }
  const layout = OF_THE_SERVICE.every((table) => columns.has(table)) ? 'service' : 'controller';
  requireTables(layout, columns, address);
  return layout;
}

function requireTables(
  layout: Layout,
  columns: ReadonlyMap<string, ReadonlySet<string>>,
  address: string,
): void {
  const tables = [...tablesOf(layout)];
  if (tables.every(([table]) => !columns.has(table))) {
    throw new TokenctlError(
      'unsupported',
      `${address} is no controller's database: none of its tables is there`,
      {
        hint: 'Check the name of the database, and the search_path of the role.',
      },
    );
  }
  for (const [table, wanted] of tables) {
    const present = columns.get(table);
    const missing = present === undefined ? null : wanted.find((column) => !present.has(column));
    if (missing === undefined) continue;
    const what = missing === null ? `the table ${table}` : `the column ${table}.${missing}`;
    throw new TokenctlError(
      'unsupported',
      `${address} is no ${layout}'s database as this version knows it: ${what} is missing`,
      {
        hint: 'This version knows the tables of controller 24.6. Check the search_path of the role, or use the REST API.',
      },
    );
  }
}
