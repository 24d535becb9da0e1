import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { ResourceWithRoles, RoleName } from './object-roles.ts';
import { HELD_FROM, ROLE_COLUMNS, ROLE_FROM, type RoleRecord } from './roles.ts';

/** An object to which users have access, with its organization (an organization has itself). */
export interface AccessedObject {
  readonly type: ResourceWithRoles;
  readonly id: number;
  readonly organization: number | null;
  /** The roles of the organization that imply one on the object. */
  readonly organizationRoles: readonly RoleName[];
}

/** A role that gives a user access, through a team or directly. */
export interface AccessRole extends RoleRecord {
  readonly user_id: number;
  readonly team_id: number | null;
  readonly team_name: string | null;
}

/** The ids of the users with a role on an object or an implying role, and of superusers and system auditors. */
export function usersWithAccess({ type, id, organization, organizationRoles }: AccessedObject): Sql {
  const roles = sql`ANY(${organizationRoles}::text[])`;
  const granted = sql`service_role_grant g WHERE g.role_id = ANY(ARRAY(SELECT r.id FROM service_object_role r
    WHERE r.resource_type = ${type} AND r.resource_id = ${id}::integer
      OR r.resource_type = 'organization' AND r.resource_id = ${organization}::integer AND r.role = ${roles}))`;
  return sql`SELECT u.id FROM auth_user u WHERE u.is_superuser
    UNION ALL SELECT s.user_id FROM service_role s WHERE s.organization_id IS NULL AND s.role = 'system_auditor'
    UNION ALL SELECT h.user_id FROM service_role h
      WHERE h.organization_id = ${organization}::integer AND h.role = ${roles}
    UNION ALL SELECT h.user_id FROM service_team_role h WHERE ${type} = 'team' AND h.team_id = ${id}::integer
    UNION ALL SELECT g.user_id FROM ${granted} AND g.user_id IS NOT NULL
    UNION ALL SELECT h.user_id FROM service_team_role h
      WHERE h.team_id = ANY(ARRAY(SELECT g.team_id FROM ${granted} AND g.team_id IS NOT NULL))`;
}

/** Superusers and system auditors among users `u`. */
export const SEES_ALL = sql`(u.is_superuser OR EXISTS (SELECT FROM service_role s
  WHERE s.user_id = u.id AND s.role = 'system_auditor'))`;

/** The roles of users on an object and in its organization, each with the team through which a user has it. */
export async function rolesOn(
  database: Queryable,
  { type, id, organization }: AccessedObject,
  users: readonly number[],
): Promise<readonly AccessRole[]> {
  const here = sql`(x.resource_type = ${type} AND x.resource_id = ${id}
    OR x.resource_type = 'organization' AND x.resource_id = ${organization})`;
  return sql`SELECT DISTINCT a.user_id, t.id AS team_id, t.name AS team_name, ${ROLE_COLUMNS}
    FROM ${ROLE_FROM} JOIN ${HELD_FROM} ON a.role_id = x.id LEFT JOIN main_team t ON t.id = a.team_id
    WHERE a.user_id = ANY(${users}::integer[]) AND ${here}
    ORDER BY x.id, t.id`.rows<AccessRole>(database);
}
