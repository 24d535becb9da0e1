import type { Queryable } from '../../db/database.ts';
import type { CleaningAct } from '../../domain/investigation/cleaning.ts';
import { definedRoleField, kindOfModel } from '../../domain/investigation/kinds.ts';
import { refusedAct } from '../../domain/investigation/refused-act.ts';
import { record } from './cleaning-entries.ts';

const MEMBERS = 'main_rbac_roles_members';
const ASSIGNMENTS = 'dab_rbac_roleuserassignment';
const TEAM_ASSIGNMENTS = 'dab_rbac_roleteamassignment';
const OBJECT_ROLES = 'dab_rbac_objectrole';
const DEFINITIONS = 'dab_rbac_roledefinition';
/** The tables that refer to a role of an object: the controller deletes their rows with the last holder. */
const OF_OBJECT_ROLE = [
  ...['dab_rbac_objectrole_provides_teams', 'dab_rbac_roleevaluation', 'dab_rbac_roleevaluationuuid'],
];

/** The tables from which rows are deleted to remove a role of a user; all but the first are read as well. */
export const ROLE_TABLES = [MEMBERS, ASSIGNMENTS, OBJECT_ROLES, ...OF_OBJECT_ROLE];
export const ROLE_TABLES_READ = [TEAM_ASSIGNMENTS, DEFINITIONS];

/**
 * Removes a role of an object from a user, in the older and in the newer tables of roles of controller 24.6.1, as the controller does
 * [seen: the same rows].
 *
 * @param entry The entry that granted it; null where it is not known.
 * @throws TokenctlError `unsupported` for a role of the system, or where the newer tables do not tell which role it is.
 */
export async function removeRole(
  transaction: Queryable,
  {
    object,
    other,
    entry,
  }: Pick<Extract<CleaningAct, { readonly act: 'disassociate' }>, 'object' | 'other'> & {
    readonly entry: number | null;
  },
): Promise<'done' | 'unchanged'> {
  const [role] = await transaction.query<{
    field: string;
    type: number | null;
    about: number | null;
    model: string | null;
  }>(
    `SELECT r.role_field AS field, r.content_type_id AS type, r.object_id AS about, c.model
     FROM main_rbac_roles r LEFT JOIN django_content_type c ON c.id = r.content_type_id WHERE r.id = $1`,
    [object.id],
  );
  if (role === undefined) return 'unchanged';
  if (role.model === null || role.about === null) {
    throw refusedAct('a role of the system is removed over REST only', 'rest_only');
  }
  const removed = await transaction.query(
    `DELETE FROM ${MEMBERS} m WHERE m.role_id = $1 AND m.user_id = $2 RETURNING m.id`,
    [object.id, other.id],
  );
  const assigned = await transaction.query<{ id: number; role: number; name: string }>(
    `SELECT a.id, a.object_role_id AS role, d.name FROM ${ASSIGNMENTS} a JOIN ${DEFINITIONS} d ON d.id = a.role_definition_id
     WHERE a.user_id = $1 AND a.content_type_id = $2 AND a.object_id = $3::text`,
    [other.id, role.type, String(role.about)],
  );
  const meant = assigned.filter(({ name }) => definedRoleField(name) === role.field);
  if (assigned.length > 0 && meant.length !== 1) {
    throw refusedAct(`which of the user's roles is ${role.field} is not known`, 'rest_only');
  }
  for (const { id, role: objectRole } of meant) {
    await transaction.execute(`DELETE FROM ${ASSIGNMENTS} WHERE id = $1`, [id]);
    await deleteUnused(transaction, objectRole);
  }
  if (removed.length + meant.length === 0) return 'unchanged';
  const kind = kindOfModel(role.model);
  const about = { kind, id: role.about };
  const relationship = 'awx.main.models.rbac.Role_members';
  const changes = {
    object1: kind,
    object1_pk: role.about,
    object2: 'user',
    object2_pk: other.id,
    action: 'disassociate',
    relationship,
  };
  await record(transaction, {
    operation: 'disassociate',
    object1: kind,
    object2: 'user',
    changes,
    links: [object, other, about],
    like: entry,
  });
  return 'done';
}

/** Deletes a role of an object that has no members any more, with what the controller computed of it. */
async function deleteUnused(transaction: Queryable, objectRole: number): Promise<void> {
  const [unused] = await transaction.query(
    `SELECT r.id FROM ${OBJECT_ROLES} r WHERE r.id = $1
       AND NOT EXISTS (SELECT FROM ${ASSIGNMENTS} a WHERE a.object_role_id = r.id)
       AND NOT EXISTS (SELECT FROM ${TEAM_ASSIGNMENTS} t WHERE t.object_role_id = r.id)`,
    [objectRole],
  );
  if (unused === undefined) return;
  for (const table of OF_OBJECT_ROLE) {
    const column = table === 'dab_rbac_objectrole_provides_teams' ? 'objectrole_id' : 'role_id';
    await transaction.execute(`DELETE FROM ${table} WHERE ${column} = $1`, [objectRole]);
  }
  await transaction.execute(`DELETE FROM ${OBJECT_ROLES} WHERE id = $1`, [objectRole]);
}
