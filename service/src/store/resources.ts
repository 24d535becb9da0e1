import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { type ResourceWithRoles, type RoleName, roleIds } from './object-roles.ts';
import { type Person, personColumns } from './users.ts';

/** The common columns of named resources. */
export interface ResourceRow {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly organization?: number | null;
  readonly inventory?: number | null;
  /** The ids of its roles. Hosts and groups have none. */
  readonly roles?: Readonly<Partial<Record<RoleName, number>>>;
}

/** A resource with its organization. Which of the last members exist depends on its kind. */
export interface ResourceRecord extends ResourceRow {
  readonly organization: number | null;
  readonly organization_name: string | null;
  readonly organization_description: string | null;
  readonly variables?: string;
  readonly total_hosts?: number;
  readonly total_groups?: number;
  /** The number of groups that contain the host directly, and the first five. */
  readonly groups?: unknown;
  readonly enabled?: boolean;
  readonly inventory?: number;
  readonly inventory_name?: string;
  readonly local_path?: string;
}

export interface Storage {
  readonly table: string;
  /** Rows `x` of the table, joined with the rows that its columns and the resource's fields use. */
  readonly from: Sql;
  /** The columns that only some kinds have. */
  readonly columns: Sql;
  /** The column of the last change, if it is not `modified`. */
  readonly modified?: 'modified' | 'updated';
  /** The writable fields. Their columns have the same names, with `_id` for related resources. */
  readonly written: readonly string[];
  /** The column within whose rows names are unique. Without it, names are unique in the table. */
  readonly owner?: 'organization_id' | 'inventory_id';
  /** Its objects have roles of this type. */
  readonly roles?: ResourceWithRoles;
  /** The roles whose ids have their own columns. */
  readonly memberships?: readonly RoleName[];
  /** Whether it has columns for the users who created and last changed it: `c` and `m` in `from`. */
  readonly hasMakers?: true;
}

/** The users who created and last changed a record; null if unknown. */
export type Makers = Person<'created_by'> & Person<'modified_by'>;

/** Joins the users `c` who created and `m` who last changed the rows `x`. */
export const MAKERS_FROM = sql`LEFT JOIN auth_user c ON c.id = x.created_by_id
  LEFT JOIN auth_user m ON m.id = x.modified_by_id`;

const MAKER_COLUMNS = joined([personColumns('c', 'created_by'), personColumns('m', 'modified_by')]);

/** Joins the organization `o` of the rows `x`. */
export const OF_ORGANIZATION = sql`LEFT JOIN main_organization o ON o.id = x.organization_id`;

export const ORGANIZATION_OF = sql`o.id AS organization, o.name AS organization_name,
  o.description AS organization_description`;

const IN_ORGANIZATION = ['name', 'description', 'organization'];

export const INVENTORIES: Storage = {
  table: 'main_inventory',
  from: sql`main_inventory x ${OF_ORGANIZATION}`,
  columns: sql`${ORGANIZATION_OF}, x.variables,
    (SELECT count(*)::integer FROM main_host h WHERE h.inventory_id = x.id) AS total_hosts,
    (SELECT count(*)::integer FROM main_group g WHERE g.inventory_id = x.id) AS total_groups`,
  written: [...IN_ORGANIZATION, 'variables'],
  owner: 'organization_id',
  roles: 'inventory',
};

export const HOSTS: Storage = {
  table: 'main_host',
  from: sql`main_host x JOIN main_inventory i ON i.id = x.inventory_id
    LEFT JOIN main_organization o ON o.id = i.organization_id`,
  columns: sql`${ORGANIZATION_OF}, x.variables, x.enabled, x.inventory_id AS inventory,
    i.name AS inventory_name, json_build_object(
      'count', (SELECT count(*) FROM main_group_hosts l WHERE l.host_id = x.id),
      'results', COALESCE((SELECT json_agg(json_build_object('id', f.id, 'name', f.name) ORDER BY f.id)
        FROM (SELECT g.id, g.name FROM main_group_hosts l JOIN main_group g ON g.id = l.group_id
          WHERE l.host_id = x.id ORDER BY l.group_id LIMIT 5) f), '[]')) AS groups`,
  written: ['name', 'description', 'variables', 'enabled', 'inventory'],
  owner: 'inventory_id',
};

export const CREDENTIALS: Storage = {
  table: 'main_credential',
  from: sql`main_credential x ${OF_ORGANIZATION}`,
  columns: ORGANIZATION_OF,
  written: IN_ORGANIZATION,
  owner: 'organization_id',
  roles: 'credential',
};

export const PROJECTS: Storage = {
  table: 'service_project',
  from: sql`service_project x ${OF_ORGANIZATION}`,
  columns: sql`${ORGANIZATION_OF}, x.local_path`,
  written: [...IN_ORGANIZATION, 'local_path'],
  owner: 'organization_id',
  roles: 'project',
};

/** The columns of a resource over the rows of its storage. */
export function resourceColumns({ columns, roles, memberships = [], hasMakers, modified }: Storage): Sql {
  const ids = memberships.map((role) => sql`${literal(role)}, ${identifier(`x.${role}_role_id`)}`);
  return joined([
    sql`x.id, x.created, ${identifier(`x.${modified ?? 'modified'}`)} AS modified, x.name, x.description,
      ${columns}`,
    ...(roles === undefined
      ? []
      : [sql`(${roleIds(roles, sql`x.id`)}::jsonb || jsonb_build_object(${joined(ids)})) AS roles`]),
    ...(hasMakers ? [MAKER_COLUMNS] : []),
  ]);
}

export function findResource<R extends ResourceRow>(
  database: Queryable,
  storage: Storage,
  id: number,
): Promise<R | null> {
  return sql`SELECT ${resourceColumns(storage)} FROM ${storage.from} WHERE x.id = ${id}`.first<R>(database);
}

/** The id of the resource that meets a condition, or null. */
export async function findResourceId(
  database: Queryable,
  { from }: Storage,
  condition: Sql,
): Promise<number | null> {
  const row = await sql`SELECT x.id FROM ${from} WHERE ${condition}`.first<{ id: number }>(database);
  return row?.id ?? null;
}

/** A resource by id, locked until the transaction ends, or null. */
export async function lockResource<R extends ResourceRow>(
  transaction: Queryable,
  storage: Storage,
  id: number,
): Promise<R | null> {
  await sql`SELECT FROM ${identifier(storage.table)} WHERE id = ${id} FOR UPDATE`.rows(transaction);
  return findResource<R>(transaction, storage, id);
}

export function findInventory(
  database: Queryable,
  id: number,
): Promise<{ readonly id: number; readonly organization_id: number | null } | null> {
  return sql`SELECT id, organization_id FROM main_inventory
    WHERE id = ${id}`.first<{ id: number; organization_id: number | null }>(database);
}

/** A resource's values by field name. */
export type ResourceValues = Readonly<Record<string, unknown>>;

/** The time and user of a change; the user is null for an identity provider's mapping. */
interface Written {
  readonly values: ResourceValues;
  readonly at: Date;
  readonly by: number | null;
}

const OTHERS = new Set(['organization', 'inventory', 'project']);

function columnsOf({ written }: Storage, values: ResourceValues): ResourceValues {
  return Object.fromEntries(
    Object.entries(values).map(([field, value]) => {
      if (!written.includes(field)) throw new Error(`no column of a resource is written as ${field}`);
      return [OTHERS.has(field) ? `${field}_id` : field, value];
    }),
  );
}

/** Adds a resource. Returns its id, or null if its name exists. */
export async function insertResource(
  transaction: Queryable,
  storage: Storage,
  { values, at, by }: Written,
): Promise<number | null> {
  const { table, hasMakers, modified = 'modified' } = storage;
  const columns = {
    created: at,
    [modified]: at,
    ...columnsOf(storage, values),
    ...(hasMakers && { created_by_id: by, modified_by_id: by }),
  };
  const row = await sql`INSERT INTO ${identifier(table)} (${joined(Object.keys(columns).map(identifier))})
    VALUES (${joined(Object.values(columns).map((value) => sql`${value}`))})
    ON CONFLICT DO NOTHING RETURNING id`.first<{ id: number }>(transaction);
  return row?.id ?? null;
}

/** Changes a resource. Returns false if another one has its name. */
export function updateResource(
  transaction: Queryable,
  storage: Storage,
  { id, values, at, by }: Written & { id: number },
): Promise<boolean> {
  const { owner, hasMakers, modified = 'modified' } = storage;
  const columns: ResourceValues = {
    [modified]: at,
    ...columnsOf(storage, values),
    ...(hasMakers && { modified_by_id: by }),
  };
  const isSame = (column: string) => {
    const value = Object.hasOwn(columns, column) ? columns[column] : identifier(`x.${column}`);
    return sql`${identifier(`other.${column}`)} = ${value}`;
  };
  const changes = Object.entries(columns).map(([column, value]) => sql`${identifier(column)} = ${value}`);
  const table = identifier(storage.table);
  return sql`UPDATE ${table} x SET ${joined(changes)}
    WHERE x.id = ${id} AND NOT EXISTS (SELECT FROM ${table} other
      WHERE ${joined(['name', ...(owner === undefined ? [] : [owner])].map(isSame), ' AND ')}
        AND other.id <> ${id})`.touchesOne(transaction);
}

/** Deletes a resource with everything that belongs to it. */
export function deleteResource(transaction: Queryable, { table }: Storage, id: number): Promise<boolean> {
  return sql`DELETE FROM ${identifier(table)} WHERE id = ${id}`.touchesOne(transaction);
}

/** How many hosts the inventory's organization may have (0: any number) and has. Locked until the transaction ends. */
export async function lockHostLimit(
  transaction: Queryable,
  inventory: number,
): Promise<{ readonly max_hosts: number; readonly hosts: number }> {
  const [limit] = await sql`SELECT o.id, o.max_hosts FROM main_organization o
    JOIN main_inventory i ON i.organization_id = o.id
    WHERE i.id = ${inventory} AND o.max_hosts > 0
    FOR UPDATE OF o`.rows<{ id: number; max_hosts: number }>(transaction);
  if (limit === undefined) return { max_hosts: 0, hosts: 0 };
  const [row] = await sql`SELECT count(*)::integer AS hosts FROM main_host h
    JOIN main_inventory i ON i.id = h.inventory_id
    WHERE i.organization_id = ${limit.id}`.rows<{ hosts: number }>(transaction);
  return { max_hosts: limit.max_hosts, hosts: row?.hosts ?? 0 };
}

/** The folders that projects use. Other transactions cannot use more of them until this one ends. */
export async function lockProjectFolders(transaction: Queryable): Promise<ReadonlySet<string>> {
  await sql`LOCK TABLE service_project IN SHARE ROW EXCLUSIVE MODE`.execute(transaction);
  return projectFoldersInUse(transaction);
}

export async function projectFoldersInUse(database: Queryable): Promise<ReadonlySet<string>> {
  const rows = await sql`SELECT DISTINCT local_path FROM service_project
    WHERE local_path <> ''`.rows<{ local_path: string }>(database);
  return new Set(rows.map(({ local_path }) => local_path));
}

export function hasJobTemplates(database: Queryable, projectId: number): Promise<boolean> {
  return sql`SELECT FROM service_job_template WHERE project_id = ${projectId} LIMIT 1`.exists(database);
}

/** The pending and running jobs of an inventory, a project or a job template. */
export function activeJobs(
  database: Queryable,
  column: 'inventory_id' | 'project_id' | 'job_template_id',
  id: number,
): Promise<{ readonly id: number; readonly type: 'job' }[]> {
  return sql`SELECT id, 'job' AS type FROM service_job
    WHERE ${identifier(column)} = ${id} AND status IN ('pending', 'running')
    ORDER BY id LIMIT 200`.rows(database);
}
