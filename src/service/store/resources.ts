import type { Queryable } from '../../db/database.ts';
import { type RoleName, roleIds } from './object-roles.ts';

/** A kind of resource with a name, which belongs to an organization, or to an inventory of one. */
export type ResourceType = 'inventory' | 'host' | 'credential' | 'project';

/** A resource with its organization. Which of the last members it has depends on its kind. */
export interface ResourceRecord {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly organization: number | null;
  readonly organization_name: string | null;
  readonly organization_description: string | null;
  readonly variables?: string;
  readonly total_hosts?: number;
  readonly enabled?: boolean;
  readonly inventory?: number;
  readonly inventory_name?: string;
  readonly local_path?: string;
  /** The ids of its roles; a host has none. */
  readonly roles?: Readonly<Partial<Record<RoleName, number>>>;
}

/** Where the resources of a kind are stored. */
interface Storage {
  readonly table: string;
  /** Rows `x` with their organization `o`, and the inventory `i` of a host. */
  readonly from: string;
  /** The columns of a {@link ResourceRecord} that not all kinds have. */
  readonly columns: string;
  /** The column in whose rows names are unique. */
  readonly owner: 'organization_id' | 'inventory_id';
}

const OF_ORGANIZATION = 'LEFT JOIN main_organization o ON o.id = x.organization_id';

const STORAGE: Readonly<Record<ResourceType, Storage>> = {
  inventory: {
    table: 'main_inventory',
    from: `main_inventory x ${OF_ORGANIZATION}`,
    columns:
      ', x.variables, (SELECT count(*)::integer FROM main_host h WHERE h.inventory_id = x.id) AS total_hosts',
    owner: 'organization_id',
  },
  host: {
    table: 'main_host',
    from: `main_host x JOIN main_inventory i ON i.id = x.inventory_id
      LEFT JOIN main_organization o ON o.id = i.organization_id`,
    columns: ', x.variables, x.enabled, x.inventory_id AS inventory, i.name AS inventory_name',
    owner: 'inventory_id',
  },
  credential: {
    table: 'main_credential',
    from: `main_credential x ${OF_ORGANIZATION}`,
    columns: '',
    owner: 'organization_id',
  },
  project: {
    table: 'service_project',
    from: `service_project x ${OF_ORGANIZATION}`,
    columns: ', x.local_path',
    owner: 'organization_id',
  },
};

/** The rows `x` of a kind with their organization `o`. */
export function resourceFrom(type: ResourceType): string {
  return STORAGE[type].from;
}

/** The columns of a {@link ResourceRecord} over {@link resourceFrom}. */
export function resourceColumns(type: ResourceType): string {
  return `x.id, x.created, x.modified, x.name, x.description, o.id AS organization, o.name AS organization_name,
    o.description AS organization_description${STORAGE[type].columns}${
      type === 'host' ? '' : `, ${roleIds(type, 'x.id')} AS roles`
    }`;
}

/** A resource by id, or null. */
export async function findResource(
  database: Queryable,
  type: ResourceType,
  id: number,
): Promise<ResourceRecord | null> {
  const rows = await database.query<ResourceRecord>(
    `SELECT ${resourceColumns(type)} FROM ${resourceFrom(type)} WHERE x.id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/**
 * The id of the resource of this name in the organization of that name, or a host's in its inventory there;
 * or null.
 */
export async function findResourceId(
  database: Queryable,
  type: ResourceType,
  { name, organization, inventory }: ResourceName,
): Promise<number | null> {
  const rows = await database.query<{ id: number }>(
    `SELECT x.id FROM ${resourceFrom(type)}
     WHERE x.name = $1 AND COALESCE(o.name, '') = $2${type === 'host' ? ' AND i.name = $3' : ''}`,
    [name, organization, ...(type === 'host' ? [inventory ?? ''] : [])],
  );
  return rows[0]?.id ?? null;
}

/** What names a resource; the organization is empty for one without. */
export interface ResourceName {
  readonly name: string;
  readonly organization: string;
  /** Of a host. */
  readonly inventory?: string;
}

/** The same, locked until the transaction ends. */
export async function lockResource(
  transaction: Queryable,
  type: ResourceType,
  id: number,
): Promise<ResourceRecord | null> {
  await transaction.query(`SELECT FROM ${STORAGE[type].table} WHERE id = $1 FOR UPDATE`, [id]);
  return findResource(transaction, type, id);
}

/** An inventory by id with its organization, or null. */
export async function findInventory(
  database: Queryable,
  id: number,
): Promise<{ readonly id: number; readonly organization_id: number | null } | null> {
  const rows = await database.query<{ id: number; organization_id: number | null }>(
    'SELECT id, organization_id FROM main_inventory WHERE id = $1',
    [id],
  );
  return rows[0] ?? null;
}

/** The columns that a request may write. */
const COLUMNS: Readonly<Record<string, string>> = {
  name: 'name',
  description: 'description',
  variables: 'variables',
  enabled: 'enabled',
  inventory: 'inventory_id',
  organization: 'organization_id',
  local_path: 'local_path',
};

/** The values of a resource by the names of their fields. */
export type ResourceValues = Readonly<Record<string, unknown>>;

function written(values: ResourceValues): readonly (readonly [column: string, value: unknown])[] {
  return Object.entries(values).map(([name, value]) => {
    const column = COLUMNS[name];
    if (column === undefined) throw new Error(`no column of a resource is written as ${name}`);
    return [column, value] as const;
  });
}

/** Adds a resource. Returns its id, or null if its organization or inventory has one of this name. */
export async function insertResource(
  transaction: Queryable,
  type: ResourceType,
  { values, at }: { readonly values: ResourceValues; readonly at: Date },
): Promise<number | null> {
  const pairs = written(values);
  const places = pairs.map((_pair, index) => `$${index + 2}`);
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO ${STORAGE[type].table} (created, modified, ${pairs.map(([column]) => column).join(', ')})
     VALUES ($1, $1, ${places.join(', ')}) ON CONFLICT DO NOTHING RETURNING id`,
    [at, ...pairs.map(([, value]) => value)],
  );
  return rows[0]?.id ?? null;
}

/** Changes a resource. Returns false if its organization or inventory has another one of this name. */
export async function updateResource(
  transaction: Queryable,
  type: ResourceType,
  change: { readonly id: number; readonly values: ResourceValues; readonly at: Date },
): Promise<boolean> {
  const { id, values, at } = change;
  const { table, owner } = STORAGE[type];
  const pairs = written(values);
  const place = (name: string) => {
    const index = pairs.findIndex(([column]) => column === name);
    return index === -1 ? `x.${name}` : `$${index + 3}`;
  };
  const touched = await transaction.execute(
    `UPDATE ${table} x SET modified = $2, ${pairs.map(([column], index) => `${column} = $${index + 3}`).join(', ')}
     WHERE x.id = $1 AND NOT EXISTS (
       SELECT FROM ${table} other
       WHERE other.name = ${place('name')} AND other.${owner} = ${place(owner)} AND other.id <> $1)`,
    [id, at, ...pairs.map(([, value]) => value)],
  );
  return touched === 1;
}

/** Deletes a resource; an inventory with its hosts. */
export async function deleteResource(
  transaction: Queryable,
  type: ResourceType,
  id: number,
): Promise<boolean> {
  return (await transaction.execute(`DELETE FROM ${STORAGE[type].table} WHERE id = $1`, [id])) === 1;
}

/**
 * How many hosts the organization of an inventory may have (0: any number) and has. Other transactions that
 * ask wait until this one ends.
 */
export async function lockHostLimit(
  transaction: Queryable,
  inventory: number,
): Promise<{ readonly max_hosts: number; readonly hosts: number }> {
  const [limit] = await transaction.query<{ id: number; max_hosts: number }>(
    `SELECT o.id, o.max_hosts FROM main_organization o JOIN main_inventory i ON i.organization_id = o.id
     WHERE i.id = $1 AND o.max_hosts > 0 FOR UPDATE OF o`,
    [inventory],
  );
  if (limit === undefined) return { max_hosts: 0, hosts: 0 };
  const [row] = await transaction.query<{ hosts: number }>(
    `SELECT count(*)::integer AS hosts FROM main_host h JOIN main_inventory i ON i.id = h.inventory_id
     WHERE i.organization_id = $1`,
    [limit.id],
  );
  return { max_hosts: limit.max_hosts, hosts: row?.hosts ?? 0 };
}

/**
 * The folders that projects use, and keeps other transactions from using more of them until this one ends.
 */
export async function lockProjectFolders(transaction: Queryable): Promise<ReadonlySet<string>> {
  await transaction.execute('LOCK TABLE service_project IN SHARE ROW EXCLUSIVE MODE', []);
  return projectFoldersInUse(transaction);
}

export async function projectFoldersInUse(database: Queryable): Promise<ReadonlySet<string>> {
  const rows = await database.query<{ local_path: string }>(
    "SELECT DISTINCT local_path FROM service_project WHERE local_path <> ''",
  );
  return new Set(rows.map(({ local_path }) => local_path));
}

/** Whether job templates use a project. */
export async function hasJobTemplates(database: Queryable, projectId: number): Promise<boolean> {
  const rows = await database.query('SELECT FROM service_job_template WHERE project_id = $1 LIMIT 1', [
    projectId,
  ]);
  return rows.length > 0;
}

/** The pending and running jobs of an inventory, a project or a job template. */
export function activeJobs(
  database: Queryable,
  column: 'inventory_id' | 'project_id' | 'job_template_id',
  id: number,
): Promise<{ readonly id: number; readonly type: 'job' }[]> {
  return database.query(
    `SELECT id, 'job' AS type FROM service_job
     WHERE ${column} = $1 AND status IN ('pending', 'running') ORDER BY id LIMIT 200`,
    [id],
  );
}
