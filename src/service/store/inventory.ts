import type { Queryable } from '../../db/database.ts';

/** The common fields of hosts, inventories, credentials and job templates. */
export interface NamedRecord {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
}

/** A host in its inventory. */
export interface HostRecord extends NamedRecord {
  readonly enabled: boolean;
  readonly variables: string;
  readonly inventory: number;
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

/** A new object of an organization. */
export interface NewNamed {
  readonly name: string;
  readonly description: string;
  readonly organization: number | null;
}

/** Adds an inventory or a credential. Returns its row, or null if the organization has one of this name. */
export async function insertNamed(
  database: Queryable,
  table: 'main_inventory' | 'main_credential',
  { name, description, organization }: NewNamed,
): Promise<(NamedRecord & { readonly organization: number | null }) | null> {
  const rows = await database.query<NamedRecord & { organization: number | null }>(
    `INSERT INTO ${table} (name, description, organization_id) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING
     RETURNING id, created, modified, name, description, organization_id AS organization`,
    [name, description, organization],
  );
  return rows[0] ?? null;
}

/** Adds a host. Returns its id, or null if the inventory has one of this name. */
export async function insertHost(
  database: Queryable,
  host: Pick<HostRecord, 'name' | 'description' | 'enabled' | 'variables' | 'inventory'>,
): Promise<number | null> {
  const rows = await database.query<{ id: number }>(
    `INSERT INTO main_host (name, description, enabled, variables, inventory_id)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING id`,
    [host.name, host.description, host.enabled, host.variables, host.inventory],
  );
  return rows[0]?.id ?? null;
}

/** A host by id, or null. */
export async function findHost(database: Queryable, id: number): Promise<HostRecord | null> {
  const rows = await database.query<HostRecord>(
    `SELECT id, created, modified, name, description, enabled, variables, inventory_id AS inventory
     FROM main_host WHERE id = $1`,
    [id],
  );
  return rows[0] ?? null;
}
