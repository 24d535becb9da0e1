import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { tablesOf } from './needs/needs.ts';
import { readColumns } from './queries/catalogue.ts';
import { TABLES } from './tables.ts';

/**
 * Whose tables a database has: a controller's; those of tokenctl's own service, which carry the same names;
 * or a platform gateway's, which the service has instead where it speaks as a gateway. A controller keeps
 * tokens as they are, the others their SHA-256 (hex).
 */
export type Layout = 'controller' | 'service' | 'gateway';

/** A layout, and what differs from one database of it to another. */
export interface Recognised {
  readonly layout: Layout;
  /** Whether tokenctl's own service works on them, which reads its settings at each request. */
  readonly ofTheService: boolean;
  /** Whether a table says whose a session is: gateways have one only since a late release. */
  readonly tellsSessions: boolean;
}

type Columns = ReadonlyMap<string, ReadonlySet<string>>;

/** By these the service's own tables are told from a controller's. */
const OF_THE_SERVICE = ['service_migration', 'service_role'] as const;

/** Which releases the tables are known from. */
const KNOWN: Readonly<Record<Layout, string>> = {
  controller: 'controller 24.6',
  service: 'the service of the same version',
  gateway: 'the platform gateway of 2.5 and later',
};

/**
 * Finds out whose tables a database has, by their names and columns, along the role's search path.
 *
 * @throws TokenctlError `unsupported` where a table or column is missing that the queries need, with its name.
 */
export async function recogniseLayout(database: Queryable, address: string): Promise<Recognised> {
  const layouts: readonly Layout[] = ['controller', 'service', 'gateway'];
  const all = new Set(layouts.flatMap((layout) => [...tablesOf(layout).keys()]));
  const columns = await readColumns(database, [...all, ...OF_THE_SERVICE]);
  const layout = layoutOf(columns);
  requireTables(layout, columns, address);
  return {
    layout,
    ofTheService: columns.has('service_migration'),
    tellsSessions: columns.has(TABLES[layout].memberships),
  };
}

/** A controller of a platform may have tables by a gateway's names beside its own: those count. */
function layoutOf(columns: Columns): Layout {
  const { accessTokens } = TABLES.gateway;
  if (columns.has(accessTokens) && !columns.has(TABLES.controller.accessTokens)) return 'gateway';
  return OF_THE_SERVICE.every((table) => columns.has(table)) ? 'service' : 'controller';
}

function requireTables(layout: Layout, columns: Columns, address: string): void {
  const tables = [...tablesOf(layout)].filter(([table]) => !mayLack(layout, table) || columns.has(table));
  if (tables.every(([table]) => !columns.has(table))) {
    throw new TokenctlError(
      'unsupported',
      `${address} is no controller's database and no platform gateway's: none of their tables is there`,
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
        hint: `This version knows the tables of ${KNOWN[layout]}. Check the search_path of the role, or use the REST API.`,
      },
    );
  }
}

function mayLack(layout: Layout, table: string): boolean {
  return layout === 'gateway' && table === TABLES.gateway.memberships;
}
