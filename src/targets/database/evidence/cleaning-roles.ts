import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, sql } from '@tokenctl/common/db/sql.ts';
import type { CleaningAct } from '../../../domain/investigation/cleaning.ts';
import { refusedAct } from '../../../domain/investigation/cleaning.ts';
import { definedRoleField, kindOfModel } from '../../../domain/investigation/kinds.ts';
import { ROLE_MEMBERS, recordRemoval } from './cleaning-entries.ts';

const MEMBERS = sql`main_rbac_roles_members`;
const ASSIGNMENTS = sql`dab_rbac_roleuserassignment`;
const TEAM_ASSIGNMENTS = sql`dab_rbac_roleteamassignment`;
const OBJECT_ROLES = sql`dab_rbac_objectrole`;
const DEFINITIONS = sql`dab_rbac_roledefinition`;
/** The tables that refer to a role of an object. The controller deletes their rows with the last holder. */
const OF_OBJECT_ROLE = [
  ...['dab_rbac_objectrole_provides_teams', 'dab_rbac_roleevaluation', 'dab_rbac_roleevaluationuuid'],
];

/** The tables from which rows are deleted to remove a user's role. All but the first are also read. */
export const ROLE_TABLES = [MEMBERS.text, ASSIGNMENTS.text, OBJECT_ROLES.text, ...OF_OBJECT_ROLE];
export const ROLE_TABLES_READ = [TEAM_ASSIGNMENTS.text, DEFINITIONS.text];

interface RoleRow {
  readonly field: string;
  readonly type: number | null;
  readonly about: number | null;
  readonly model: string | null;
}

interface AssignedRow {
  readonly id: number;
  readonly role: number;
  readonly name: string;
}

/**
 * Removes an object's role from a user, in the old and the new role tables of controller 24.6.1, as the
 * controller does [seen: the same rows].
 * @param entry The entry that granted it; null if unknown.
 * @throws TokenctlError `unsupported` for a system role, or if the new tables do not show which role it is.
 */
export async function removeRole(
  transaction: Queryable,
  {
    object,
    other,
    entry,
  }: Pick<Extract<CleaningAct, { readonly act: 'disassociate' }>, 'object' | 'other'> & {
    entry: number | null;
  },
): Promise<'done' | 'unchanged'> {
  const role =
    await sql`SELECT r.role_field AS field, r.content_type_id AS type, r.object_id AS about, c.model
    FROM main_rbac_roles r LEFT JOIN django_content_type c ON c.id = r.content_type_id
    WHERE r.id = ${object.id}`.first<RoleRow>(transaction);
  if (role === null) return 'unchanged';
  if (role.model === null || role.about === null) {
    throw refusedAct('a system role can only be removed over REST', 'rest_only');
  }
  const isMember = await sql`DELETE FROM ${MEMBERS} m
    WHERE m.role_id = ${object.id} AND m.user_id = ${other.id} RETURNING m.id`.exists(transaction);
  const assigned = await sql`SELECT a.id, a.object_role_id AS role, d.name
    FROM ${ASSIGNMENTS} a JOIN ${DEFINITIONS} d ON d.id = a.role_definition_id
    WHERE a.user_id = ${other.id} AND a.content_type_id = ${role.type}
      AND a.object_id = ${String(role.about)}::text`.rows<AssignedRow>(transaction);
  const meant = assigned.filter(({ name }) => definedRoleField(name) === role.field);
  if (assigned.length > 0 && meant.length !== 1) {
    throw refusedAct(`which of the user's roles is ${role.field} is not known`, 'rest_only');
  }
  for (const { id, role: objectRole } of meant) {
    await sql`DELETE FROM ${ASSIGNMENTS} WHERE id = ${id}`.execute(transaction);
    await deleteUnused(transaction, objectRole);
  }
  if (!isMember && meant.length === 0) return 'unchanged';
  const about = { kind: kindOfModel(role.model), id: role.about };
  await recordRemoval(transaction, {
    object: about,
    other: { kind: 'user', id: other.id },
    relationship: ROLE_MEMBERS,
    links: [object, other, about],
    like: entry,
  });
  return 'done';
}

/** Deletes an object's role without members, together with what the controller derived from it. */
async function deleteUnused(transaction: Queryable, objectRole: number): Promise<void> {
  const isUnused = await sql`SELECT r.id FROM ${OBJECT_ROLES} r WHERE r.id = ${objectRole}
       AND NOT EXISTS (SELECT FROM ${ASSIGNMENTS} a WHERE a.object_role_id = r.id)
       AND NOT EXISTS (SELECT FROM ${TEAM_ASSIGNMENTS} t WHERE t.object_role_id = r.id)`.exists(transaction);
  if (!isUnused) return;
  for (const table of OF_OBJECT_ROLE) {
    const column = table === 'dab_rbac_objectrole_provides_teams' ? sql`objectrole_id` : sql`role_id`;
    await sql`DELETE FROM ${identifier(table)} WHERE ${column} = ${objectRole}`.execute(transaction);
  }
  await sql`DELETE FROM ${OBJECT_ROLES} WHERE id = ${objectRole}`.execute(transaction);
}
