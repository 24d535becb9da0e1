import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { requiredColumns } from './required-rights.ts';
import { type Layout, TABLES } from './tables.ts';

/** The layout of a database, and what can differ between databases of the same layout. */
export interface RecognizedLayout {
  readonly layout: Layout;
  /** Whether tokenctl's own service uses the database. It reads its settings with each request. */
  readonly isServiceDatabase: boolean;
  /** Whether a table holds the owners of sessions. Only recent gateways have one. */
  readonly hasSessionOwners: boolean;
}

type Columns = ReadonlyMap<string, ReadonlySet<string>>;

const LAYOUTS: readonly Layout[] = ['controller', 'service', 'gateway'];

/** The tables that a service has and a controller does not. */
const SERVICE_TABLES = ['service_migration', 'service_role'] as const;

const KNOWN_RELEASES: Readonly<Record<Layout, string>> = {
  controller: 'controller 24.6',
  service: 'the service of the same version',
  gateway: 'the platform gateway of 2.5 and later',
};

/**
 * Recognizes the layout of a database by the names and columns of its tables, along the role's search path.
 *
 * @throws TokenctlError `unsupported` with the name of a table or column that is missing.
 */
export async function recognizeLayout(database: Queryable, address: string): Promise<RecognizedLayout> {
  const tables = new Set(LAYOUTS.flatMap((layout) => [...requiredColumns(layout).keys()]));
  const columns = await readColumns(database, [...tables, ...SERVICE_TABLES]);
  const layout = layoutOf(columns);
  requireTables(layout, columns, address);
  return {
    layout,
    isServiceDatabase: columns.has('service_migration'),
    hasSessionOwners: columns.has(TABLES[layout].sessionMemberships),
  };
}

/** The columns of those of these tables that the search path finds. */
async function readColumns(database: Queryable, tables: readonly string[]): Promise<Columns> {
  const rows = await database.query<{ name: string; columns: string[] }>(
    `SELECT w.name, array_agg(a.attname::text) AS columns
     FROM unnest($1::text[]) AS w(name)
     JOIN pg_catalog.pg_attribute a ON a.attrelid = to_regclass(w.name) AND a.attnum > 0 AND NOT a.attisdropped
     GROUP BY w.name`,
    [tables],
  );
  return new Map(rows.map(({ name, columns }) => [name, new Set(columns)]));
}

/** The controller of a platform may also have tables with a gateway's names: its own tables decide. */
function layoutOf(columns: Columns): Layout {
  const isGateway = columns.has(TABLES.gateway.accessTokens) && !columns.has(TABLES.controller.accessTokens);
  if (isGateway) return 'gateway';
  return SERVICE_TABLES.every((table) => columns.has(table)) ? 'service' : 'controller';
}

function requireTables(layout: Layout, columns: Columns, address: string): void {
  const tables = [...requiredColumns(layout)].filter(
    ([table]) => !isOptional(layout, table) || columns.has(table),
  );
  if (tables.every(([table]) => !columns.has(table))) {
    throw new TokenctlError(
      'unsupported',
      `${address} is neither a controller's nor a platform gateway's database: it has none of their tables`,
      { hint: 'Check the name of the database and the search_path of the role.' },
    );
  }
  for (const [table, required] of tables) {
    const present = columns.get(table);
    const missing = present === undefined ? null : required.find((column) => !present.has(column));
    if (missing === undefined) continue;
    const what = missing === null ? `the table ${table}` : `the column ${table}.${missing}`;
    throw new TokenctlError(
      'unsupported',
      `${address} is not a ${layout} database that this version supports: ${what} is missing`,
      {
        hint: `This version supports the tables of ${KNOWN_RELEASES[layout]}. Check the search_path of the role, or use the REST API.`,
      },
    );
  }
}

function isOptional(layout: Layout, table: string): boolean {
  return layout === 'gateway' && table === TABLES.gateway.sessionMemberships;
}
