import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { requiredColumns } from './required-rights.ts';
import { ID_TOKENS, type Layout, TABLES } from './tables.ts';

/** The layout of a database, with the possible differences between databases of one layout. */
export interface RecognizedLayout {
  readonly layout: Layout;
  /** Whether it is the database of tokenctl's own service, which reads its settings with each request. */
  readonly isServiceDatabase: boolean;
  /** Whether there is a table of session owners. Only recent gateways have one. */
  readonly hasSessionOwners: boolean;
  /**
   * The tables that show which of a controller's users come from an identity provider. Controllers without their own
   * single sign-on (after 24.6.1) have none, and no setting for such users [seen on devel of 2024-10].
   */
  readonly accountTables: ReadonlySet<AccountTable>;
  readonly hasIdTokens: boolean;
  /** Whether a controller's activity stream stores JSON in text columns, as up to 22.3 [seen on 21.14.0]. */
  readonly hasTextActivity: boolean;
}

/** A controller's tables of users of identity providers. */
export const ACCOUNT_TABLES = [
  'sso_userenterpriseauth',
  'social_auth_usersocialauth',
  'main_profile',
] as const;

type AccountTable = (typeof ACCOUNT_TABLES)[number];

type Columns = ReadonlyMap<string, ReadonlyMap<string, string>>;

const LAYOUTS: readonly Layout[] = ['controller', 'service', 'gateway'];

/** The tables that a service has and a controller does not. */
const SERVICE_TABLES = ['service_migration', 'service_role'] as const;

/** Every table that a layout requires, and those that distinguish the layouts. */
const ALL_TABLES: readonly string[] = [
  ...new Set([...LAYOUTS.flatMap((layout) => [...requiredColumns(layout).keys()]), ...SERVICE_TABLES]),
];

const KNOWN_RELEASES: Readonly<Record<Layout, string>> = {
  controller: 'controllers from 21.14 on',
  service: 'the service of the same version',
  gateway: 'the platform gateway of 2.5 and later',
};

/** The value of `search_path` that finds tables only in this schema. */
export function onlySchema(schema: string): string {
  return `"${schema.replaceAll('"', '""')}",pg_temp`;
}

/**
 * Detects the layout of a database by the names and columns of its tables, in the schema on the role's search
 * path that has most of them. Use only that schema afterwards: otherwise a table with the same name in an
 * earlier schema would be read and changed.
 * @throws TokenctlError `unsupported` if no schema has such tables, if two have the same one, and with the
 * name of a missing table or column.
 */
export async function recognizeLayout(
  database: Queryable,
  address: string,
): Promise<RecognizedLayout & { readonly schema: string }> {
  const { schema, columns } = onlyOne(await readSchemas(database), address);
  const layout = layoutOf(columns);
  requireTables(layout, columns, address);
  return {
    schema,
    layout,
    isServiceDatabase: columns.has('service_migration'),
    hasSessionOwners: columns.has(TABLES[layout].sessionMemberships.text),
    hasIdTokens: columns.has(ID_TOKENS.text),
    hasTextActivity: columns.get(TABLES.controller.activity.text)?.get('setting') === 'text',
    accountTables: new Set(ACCOUNT_TABLES.filter((table) => columns.has(table))),
  };
}

/** A schema, and the columns of its known tables. */
interface Schema {
  readonly schema: string;
  readonly columns: Columns;
}

/** The schemas on the search path with known tables, those with most of them first. */
async function readSchemas(database: Queryable): Promise<Schema[]> {
  const rows = await sql`SELECT n.nspname::text AS schema, c.relname::text AS "table",
       array_agg(a.attname::text) AS columns, array_agg(format_type(a.atttypid, NULL)) AS types
     FROM pg_catalog.pg_namespace n
     JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = ANY (${ALL_TABLES})
     JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = ANY (current_schemas(false))
     GROUP BY n.nspname, c.relname ORDER BY c.relname`.rows<{
    schema: string;
    table: string;
    columns: readonly string[];
    types: readonly string[];
  }>(database);
  return [...Map.groupBy(rows, (row) => row.schema)]
    .map(([schema, tables]) => ({
      schema,
      columns: new Map(
        tables.map(({ table, columns, types }) => [
          table,
          new Map(columns.map((column, index) => [column, types[index] ?? ''])),
        ]),
      ),
    }))
    .toSorted((one, other) => other.columns.size - one.columns.size);
}

function onlyOne([found, ...others]: readonly Schema[], address: string): Schema {
  if (found === undefined) {
    throw unusable(
      `${address} is neither a controller's nor a platform gateway's database: it has none of their tables`,
      "Check the database name and the role's search_path.",
    );
  }
  for (const { schema, columns } of others) {
    const twice = [...columns.keys()].find((table) => found.columns.has(table));
    if (twice === undefined) continue;
    throw unusable(
      `${address} has the table ${twice} in two schemas on the search path: ${found.schema} and ${schema}`,
      'Specify the right schema in the connection string, for example ?options=-csearch_path%3Dpublic. If you do not know the other table, find out who created it.',
    );
  }
  return found;
}

/** A platform's controller may also have tables with a gateway's names, so the controller's own tables decide. */
function layoutOf(columns: Columns): Layout {
  const isGateway =
    columns.has(TABLES.gateway.accessTokens.text) && !columns.has(TABLES.controller.accessTokens.text);
  if (isGateway) return 'gateway';
  return SERVICE_TABLES.every((table) => columns.has(table)) ? 'service' : 'controller';
}

function requireTables(layout: Layout, columns: Columns, address: string): void {
  const tables = [...requiredColumns(layout)].filter(
    ([table]) => !isOptional(layout, table) || columns.has(table),
  );
  for (const [table, required] of tables) {
    const present = columns.get(table);
    const missing = present === undefined ? null : required.find((column) => !present.has(column));
    if (missing === undefined) continue;
    const what = missing === null ? `the table ${table}` : `the column ${table}.${missing}`;
    throw unusable(
      `${address} is not a ${layout} database that this version supports: ${what} is missing`,
      `This version supports the tables of ${KNOWN_RELEASES[layout]}. Check the role's search_path, or use the REST API.`,
    );
  }
}

/** Whether a table may be missing: then no right is required for it, and it is not queried. */
function isOptional(layout: Layout, table: string): boolean {
  if (layout === 'gateway')
    return table === TABLES.gateway.sessionMemberships.text || table === ID_TOKENS.text;
  return layout === 'controller' && ACCOUNT_TABLES.some((each) => each === table);
}

function unusable(message: string, hint: string): TokenctlError {
  return new TokenctlError('unsupported', message, { hint });
}
