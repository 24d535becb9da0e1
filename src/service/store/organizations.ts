import type { Queryable } from '../../db/database.ts';
import { type RoleName, roleIds } from './object-roles.ts';

/** Who created a record and last changed it; null where that is not known. */
export interface Makers {
  readonly created_by_id: number | null;
  readonly created_by_username: string | null;
  readonly created_by_first_name: string | null;
  readonly created_by_last_name: string | null;
  readonly modified_by_id: number | null;
  readonly modified_by_username: string | null;
  readonly modified_by_first_name: string | null;
  readonly modified_by_last_name: string | null;
}

/** The columns of {@link Makers}, of the users `c` who created and `m` who last changed a row. */
export const MAKER_COLUMNS = `
  c.id AS created_by_id, c.username AS created_by_username, c.first_name AS created_by_first_name,
  c.last_name AS created_by_last_name, m.id AS modified_by_id, m.username AS modified_by_username,
  m.first_name AS modified_by_first_name, m.last_name AS modified_by_last_name`;

/** An organization with its creator and last editor. */
export interface OrganizationRecord extends Makers {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly max_hosts: number;
  readonly admin_role_id: number;
  readonly auditor_role_id: number;
  readonly member_role_id: number;
  /** The ids of its other roles. */
  readonly roles: Readonly<Partial<Record<RoleName, number>>>;
}

/** Rows `o` of main_organization with their creator `c` and last editor `m`. */
export const ORGANIZATION_FROM = `main_organization o
  LEFT JOIN auth_user c ON c.id = o.created_by_id
  LEFT JOIN auth_user m ON m.id = o.modified_by_id`;

/** The columns of an {@link OrganizationRecord} over {@link ORGANIZATION_FROM}. */
export const ORGANIZATION_COLUMNS = `
  o.id, o.created, o.modified, o.name, o.description, o.max_hosts, o.admin_role_id,
  o.auditor_role_id, o.member_role_id, ${roleIds('organization', 'o.id')} AS roles, ${MAKER_COLUMNS}`;

/** An organization by id, or null. */
export async function findOrganization(database: Queryable, id: number): Promise<OrganizationRecord | null> {
  const rows = await database.query<OrganizationRecord>(
    `SELECT ${ORGANIZATION_COLUMNS} FROM ${ORGANIZATION_FROM} WHERE o.id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** The same, locked until the transaction ends. */
export async function lockOrganization(
  transaction: Queryable,
  id: number,
): Promise<OrganizationRecord | null> {
  await transaction.query('SELECT FROM main_organization WHERE id = $1 FOR UPDATE', [id]);
  return findOrganization(transaction, id);
}

/** The id of the organization of this name, or null. */
export async function findOrganizationId(database: Queryable, name: string): Promise<number | null> {
  const rows = await database.query<{ id: number }>('SELECT id FROM main_organization WHERE name = $1', [
    name,
  ]);
  return rows[0]?.id ?? null;
}

/** Adds an organization. Returns its id, or null if the name is taken. */
export async function insertOrganization(
  transaction: Queryable,
  organization: {
    readonly name: string;
    readonly description: string;
    readonly max_hosts: number;
    readonly createdBy: number | null;
    readonly at: Date;
  },
): Promise<number | null> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO main_organization (name, description, max_hosts, created_by_id, modified_by_id, created, modified)
     VALUES ($1, $2, $3, $4, $4, $5, $5) ON CONFLICT (name) DO NOTHING RETURNING id`,
    [
      organization.name,
      organization.description,
      organization.max_hosts,
      organization.createdBy,
      organization.at,
    ],
  );
  return rows[0]?.id ?? null;
}

/** Updates an organization. Returns false if the name is taken. */
export async function updateOrganization(
  transaction: Queryable,
  organization: {
    readonly id: number;
    readonly name: string;
    readonly description: string;
    readonly max_hosts: number;
    readonly modifiedBy: number;
    readonly at: Date;
  },
): Promise<boolean> {
  const touched = await transaction.execute(
    `UPDATE main_organization SET name = $2, description = $3, max_hosts = $4, modified_by_id = $5, modified = $6
     WHERE id = $1 AND NOT EXISTS (SELECT FROM main_organization other WHERE other.name = $2 AND other.id <> $1)`,
    [
      organization.id,
      organization.name,
      organization.description,
      organization.max_hosts,
      organization.modifiedBy,
      organization.at,
    ],
  );
  return touched === 1;
}

/** Deletes an organization, with its teams, its applications, their tokens and its roles. */
export async function deleteOrganization(transaction: Queryable, id: number): Promise<boolean> {
  return (await transaction.execute('DELETE FROM main_organization WHERE id = $1', [id])) === 1;
}
