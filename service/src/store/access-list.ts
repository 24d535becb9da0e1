import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { ResourceWithRoles, RoleName } from './object-roles.ts';
import { holdsRole, ROLE_COLUMNS, ROLE_FROM, type RoleRecord } from './roles.ts';

/** An object to which users have access, with its organization (itself for one). */
export interface AccessedObject {
  readonly type: ResourceWithRoles;
  readonly id: number;
  readonly organization: number | null;
  /** The roles of the organization that give one on the object. */
  readonly organizationRoles: readonly RoleName[];
}

/** A role by which a user has access, as a member of a team or by itself. */
export interface AccessRole extends RoleRecord {
  readonly user_id: number;
  readonly team_id: number | null;
  readonly team_name: string | null;
}

/** The users `u` with a role on an object or one that gives it, with superusers and system auditors. */
export function hasAccess({ type, id, organization, organizationRoles }: AccessedObject): Sql {
  const roles = sql`ANY(${organizationRoles}::text[])`;
  const granted = sql`service_role_grant g JOIN service_object_role r ON r.id = g.role_id
    AND (r.resource_type = ${type} AND r.resource_id = ${id}::integer
      OR r.resource_type = 'organization' AND r.resource_id = ${organization}::integer AND r.role = ${roles})`;
  // One list of ids, since to look for each of many users takes seconds.
  return sql`(${SEES_ALL} OR u.id IN (
    SELECT h.user_id FROM service_role h WHERE h.organization_id = ${organization}::integer AND h.role = ${roles}
    UNION ALL SELECT h.user_id FROM service_team_role h WHERE ${type} = 'team' AND h.team_id = ${id}::integer
    UNION ALL SELECT g.user_id FROM ${granted} WHERE g.user_id IS NOT NULL
    UNION ALL SELECT h.user_id FROM ${granted} JOIN service_team_role h ON h.team_id = g.team_id))`;
}

/** Superusers and system auditors among users `u`. */
export const SEES_ALL = sql`(u.is_superuser OR EXISTS (SELECT FROM service_role s
  WHERE s.user_id = u.id AND s.role = 'system_auditor'))`;

/** The roles of users on an object and in its organization, each with the team by which a user has it. */
export async function rolesOn(
  database: Queryable,
  { type, id, organization }: AccessedObject,
  users: readonly number[],
): Promise<readonly AccessRole[]> {
  const here = sql`(x.resource_type = ${type} AND x.resource_id = ${id}
    OR x.resource_type = 'organization' AND x.resource_id = ${organization})`;
  return sql`SELECT u.id AS user_id, NULL::integer AS team_id, NULL::text AS team_name, ${ROLE_COLUMNS}
    FROM ${ROLE_FROM} CROSS JOIN auth_user u
    WHERE u.id = ANY(${users}::integer[]) AND ${here} AND ${holdsRole(sql`u.id`)}
    UNION ALL
    SELECT DISTINCT h.user_id, t.id, t.name, ${ROLE_COLUMNS}
    FROM ${ROLE_FROM} JOIN service_role_grant g ON g.role_id = x.id JOIN main_team t ON t.id = g.team_id
      JOIN service_team_role h ON h.team_id = t.id
    WHERE h.user_id = ANY(${users}::integer[]) AND ${here}
    ORDER BY id, team_id`.rows<AccessRole>(database);
}
