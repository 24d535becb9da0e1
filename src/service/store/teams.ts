import type { Queryable } from '../../db/database.ts';
import { type RoleName, roleIds } from './object-roles.ts';
import { MAKER_COLUMNS, type Makers } from './organizations.ts';

/** A team with its organization, its creator and last editor. */
export interface TeamRecord extends Makers {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly organization: number;
  readonly organization_name: string;
  readonly organization_description: string;
  readonly admin_role_id: number;
  readonly member_role_id: number;
  /** The ids of its other roles. */
  readonly roles: Readonly<Partial<Record<RoleName, number>>>;
}

/** Rows `x` of main_team with their organization `o`, creator `c` and last editor `m`. */
export const TEAM_FROM = `main_team x
  JOIN main_organization o ON o.id = x.organization_id
  LEFT JOIN auth_user c ON c.id = x.created_by_id
  LEFT JOIN auth_user m ON m.id = x.modified_by_id`;

/** The columns of a {@link TeamRecord} over {@link TEAM_FROM}. */
export const TEAM_COLUMNS = `
  x.id, x.created, x.modified, x.name, x.description, o.id AS organization, o.name AS organization_name,
  o.description AS organization_description, x.admin_role_id, x.member_role_id, ${roleIds('team', 'x.id')} AS roles, ${MAKER_COLUMNS}`;

/** A team by id, or null. */
export async function findTeam(database: Queryable, id: number): Promise<TeamRecord | null> {
  const rows = await database.query<TeamRecord>(`SELECT ${TEAM_COLUMNS} FROM ${TEAM_FROM} WHERE x.id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** The same, locked until the transaction ends. */
export async function lockTeam(transaction: Queryable, id: number): Promise<TeamRecord | null> {
  await transaction.query('SELECT FROM main_team WHERE id = $1 FOR UPDATE', [id]);
  return findTeam(transaction, id);
}

/** The id of the team of this name in an organization, or null. */
export async function findTeamId(
  database: Queryable,
  name: string,
  organization: string,
): Promise<number | null> {
  const rows = await database.query<{ id: number }>(
    `SELECT t.id FROM main_team t JOIN main_organization o ON o.id = t.organization_id
     WHERE t.name = $1 AND o.name = $2`,
    [name, organization],
  );
  return rows[0]?.id ?? null;
}

/** The values of a team that a request may write. */
export interface TeamValues {
  readonly name: string;
  readonly description: string;
  readonly organization: number | null;
}

/** Adds a team. Returns its id, or null if its organization has one of this name. */
export async function insertTeam(
  transaction: Queryable,
  { name, description, organization }: TeamValues,
  { by, at }: { readonly by: number | null; readonly at: Date },
): Promise<number | null> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO main_team (name, description, organization_id, created_by_id, modified_by_id, created, modified)
     VALUES ($1, $2, $3, $4, $4, $5, $5) ON CONFLICT DO NOTHING RETURNING id`,
    [name, description, organization, by, at],
  );
  return rows[0]?.id ?? null;
}

/** Changes a team. Returns false if its organization has another one of this name. */
export async function updateTeam(
  transaction: Queryable,
  { id, name, description, organization }: TeamValues & { readonly id: number },
  { by, at }: { readonly by: number; readonly at: Date },
): Promise<boolean> {
  const touched = await transaction.execute(
    `UPDATE main_team SET name = $2, description = $3, organization_id = $4, modified_by_id = $5, modified = $6
     WHERE id = $1 AND NOT EXISTS (
       SELECT FROM main_team other WHERE other.name = $2 AND other.organization_id = $4 AND other.id <> $1)`,
    [id, name, description, organization, by, at],
  );
  return touched === 1;
}

/** Deletes a team with its roles. */
export async function deleteTeam(transaction: Queryable, id: number): Promise<boolean> {
  return (await transaction.execute('DELETE FROM main_team WHERE id = $1', [id])) === 1;
}

/** The teams of which a user is an admin. */
export async function teamsAdministeredBy(database: Queryable, userId: number): Promise<ReadonlySet<number>> {
  const rows = await database.query<{ team_id: number }>(
    "SELECT team_id FROM service_team_role WHERE user_id = $1 AND role = 'admin'",
    [userId],
  );
  return new Set(rows.map(({ team_id }) => team_id));
}
