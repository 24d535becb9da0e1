import type { Queryable } from '../../db/database.ts';
import { insertActivity } from './activity.ts';

/** A role in an organization. */
export type OrganizationRole = 'admin' | 'auditor' | 'member';

/** A role in a team: its admins change it and its members, its members see it. It gives nothing beside. */
export type TeamRole = 'admin' | 'member';

/** A role of an organization or of a team. */
type RoleOf =
  | { readonly organizationId: number; readonly role: OrganizationRole }
  | { readonly teamId: number; readonly role: TeamRole };

/** A role that a user gains or loses. */
export type RoleChange = RoleOf & {
  readonly operation: 'associate' | 'disassociate';
  readonly userId: number;
};

/**
 * Grants a role to a user or withdraws it, with an entry in the activity stream. Does nothing if the user has
 * the role already, or does not have it.
 *
 * @param by The user who changes the role; null for the mapping of an identity provider.
 */
export async function changeRole(
  transaction: Queryable,
  change: RoleChange,
  by: { readonly actorId: number | null; readonly at: Date; readonly node: string },
): Promise<void> {
  const { operation, userId, role } = change;
  const isTeam = 'teamId' in change;
  const [object1, id] = isTeam ? ['team', change.teamId] : ['organization', change.organizationId];
  const table = isTeam ? 'service_team_role' : 'service_role';
  const changed = await transaction.execute(
    operation === 'associate'
      ? `INSERT INTO ${table} (user_id, role, ${object1}_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
      : `DELETE FROM ${table} WHERE user_id = $1 AND role = $2 AND ${object1}_id = $3`,
    [userId, role, id],
  );
  if (changed === 0) return;
  await insertActivity(transaction, {
    ...by,
    operation,
    changes: {
      object1,
      object1_pk: id,
      object2: 'user',
      object2_pk: userId,
      action: operation,
      relationship: 'awx.main.models.rbac.Role_members',
    },
    object1,
    object2: 'user',
    // The controller's name of the relation. Its user interface recognizes role changes by it.
    relationship: `awx.main.models.organization.${isTeam ? 'Team' : 'Organization'}.${role}_role`,
    ...(isTeam ? { resource: { type: 'team', id } } : { organizationId: id }),
    userId,
  });
}

/** A role with what it is a role of. */
export interface RoleRecord {
  readonly id: number;
  readonly role: OrganizationRole;
  readonly resource_type: 'organization' | 'team';
  readonly resource_id: number;
  readonly resource_name: string;
  /** The organization, or that of the team. */
  readonly organization_id: number;
}

/** Rows `x` of the roles of all organizations and teams. */
export const ROLE_FROM = `(
  SELECT r.id, r.role, 'organization' AS resource_type, o.id AS resource_id, o.name AS resource_name,
    o.id AS organization_id
  FROM main_organization o CROSS JOIN LATERAL (VALUES
    (o.admin_role_id, 'admin'), (o.auditor_role_id, 'auditor'), (o.member_role_id, 'member')) AS r (id, role)
  UNION ALL
  SELECT r.id, r.role, 'team', t.id, t.name, t.organization_id
  FROM main_team t CROSS JOIN LATERAL (VALUES
    (t.admin_role_id, 'admin'), (t.member_role_id, 'member')) AS r (id, role)
) x`;

/** The columns of a {@link RoleRecord} over {@link ROLE_FROM}. */
export const ROLE_COLUMNS =
  'x.id, x.role, x.resource_type, x.resource_id, x.resource_name, x.organization_id';

/** Whether a user has a role `x`, in SQL, by the SQL expression of the user's id. */
export function holdsRole(user: string): string {
  return `CASE x.resource_type WHEN 'team' THEN EXISTS (SELECT FROM service_team_role h
      WHERE h.user_id = ${user} AND h.role = x.role AND h.team_id = x.resource_id)
    ELSE EXISTS (SELECT FROM service_role h
      WHERE h.user_id = ${user} AND h.role = x.role AND h.organization_id = x.resource_id) END`;
}

/** A role by id, or null. */
export async function findRole(database: Queryable, id: number): Promise<RoleRecord | null> {
  const rows = await database.query<RoleRecord>(`SELECT ${ROLE_COLUMNS} FROM ${ROLE_FROM} WHERE x.id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}
