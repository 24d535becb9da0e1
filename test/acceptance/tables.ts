import type { Installation } from './installation.ts';

/** A row of any table, as JSON. */
type Row = Readonly<Record<string, unknown>>;

/** The rows of the tables that say who has access, by table and primary key. */
export type Tables = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** What changed in a table: whole rows, and for a changed row its columns with both values. */
export interface TableChange {
  readonly added: readonly Row[];
  readonly removed: readonly Row[];
  readonly changed: readonly {
    readonly row: Row;
    readonly columns: Readonly<Record<string, readonly [unknown, unknown]>>;
  }[];
}

/**
 * The tables that say who has access, of controllers, gateways and the bundled service. Others change by themselves at an
 * installation that runs, as its instances report.
 */
const ACCESS_TABLES = [
  ...['main_oauth2accesstoken', 'main_oauth2application', 'oauth2_provider_refreshtoken'],
  ...['oauth2_provider_grant', 'django_session', 'main_usersessionmembership', 'auth_user', 'conf_setting'],
  ...['main_rbac_roles_members', 'dab_rbac_roleuserassignment', 'service_role', 'service_role_grant'],
  ...['dab_oauth2_provider_oauth2accesstoken', 'dab_oauth2_provider_oauth2refreshtoken'],
  ...['dab_oauth2_provider_oauth2application', 'aap_gateway_api_user', 'aap_gateway_api_preference'],
  'aap_gateway_api_usersessionmembership',
];

/** What any request changes by itself. */
const BY_ITSELF = new Set([
  'last_used',
  'modified',
  'modified_by_id',
  'last_login',
  'expire_date',
  'session_data',
]);

/** What the tables with the tokens and users are called at an installation. */
export function tableNames({ isGateway }: Installation) {
  return isGateway
    ? {
        access: 'dab_oauth2_provider_oauth2accesstoken',
        refresh: 'dab_oauth2_provider_oauth2refreshtoken',
        user: 'aap_gateway_api_user',
      }
    : { access: 'main_oauth2accesstoken', refresh: 'oauth2_provider_refreshtoken', user: 'auth_user' };
}

/** All rows of the tables that say who has access, in one statement. */
export async function tablesOf(it: Installation): Promise<Tables> {
  const names = await it.sql<{ name: string; key: string | null }>(
    `SELECT c.relname AS name, (SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND
       a.attnum = i.indkey[0] WHERE i.indrelid = c.oid AND i.indisprimary) AS key
     FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relname = ANY($1)
       AND pg_table_is_visible(c.oid) ORDER BY 1`,
    [ACCESS_TABLES],
  );
  const rows = await it.sql<{ name: string; key: string; row: Row }>(
    names
      .map(
        ({ name, key }) => `SELECT '${name}' AS name, ${key === null ? 't' : `t."${key}"`}::text AS key,
        to_jsonb(t) AS row FROM "${name}" t`,
      )
      .join(' UNION ALL '),
  );
  const tables = new Map<string, Map<string, Row>>(names.map(({ name }) => [name, new Map()]));
  for (const { name, key, row } of rows) tables.get(name)?.set(key, row);
  return tables;
}

/** What changed between two snapshots, of the tables in which anything did. */
export function changes(before: Tables, after: Tables): Readonly<Record<string, TableChange>> {
  const found: Record<string, TableChange> = {};
  for (const [table, rows] of after) {
    const earlier = before.get(table) ?? new Map<string, Row>();
    const added = [...rows].filter(([key]) => !earlier.has(key)).map(([, row]) => row);
    const removed = [...earlier].filter(([key]) => !rows.has(key)).map(([, row]) => row);
    const changed = [...rows].flatMap(([key, row]) => {
      const old = earlier.get(key);
      if (old === undefined) return [];
      const columns = Object.keys(row)
        .filter((column) => !BY_ITSELF.has(column))
        .filter((column) => JSON.stringify(row[column]) !== JSON.stringify(old[column]))
        .map((column): [string, [unknown, unknown]] => [column, [old[column], row[column]]]);
      return columns.length === 0 ? [] : [{ row, columns: Object.fromEntries(columns) }];
    });
    if (added.length + removed.length + changed.length > 0) found[table] = { added, removed, changed };
  }
  return found;
}

/** How many rows each table gained, lost and kept with other values. */
export function counts(
  found: Readonly<Record<string, TableChange>>,
): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries(
    Object.entries(found).map(([table, { added, removed, changed }]) => [
      table,
      [added.length, removed.length, changed.length],
    ]),
  );
}
