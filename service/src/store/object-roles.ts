import type { Queryable } from '@tokenctl/common/db/database.ts';
import { literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';

export type ResourceWithRoles =
  | 'organization'
  | 'team'
  | 'project'
  | 'inventory'
  | 'credential'
  | 'job_template';

/** All role names. No type of object has all of them. */
export type RoleName =
  | 'admin'
  | 'execute'
  | 'project_admin'
  | 'inventory_admin'
  | 'credential_admin'
  | 'workflow_admin'
  | 'notification_admin'
  | 'job_template_admin'
  | 'execution_environment_admin'
  | 'auditor'
  | 'member'
  | 'read'
  | 'approval'
  | 'use'
  | 'update'
  | 'adhoc';

/** A role that a user has, directly or as a member of a team. */
export interface HeldRole {
  readonly resource_type: ResourceWithRoles;
  readonly resource_id: number;
  readonly role: RoleName;
}

/** The grants `g` of a user, in SQL. `user` is the expression of the user's id. */
export function grantedTo(user: Sql): Sql {
  // An array of teams instead of IN, so that indexes find both.
  return sql`(g.user_id = ${user}
    OR g.team_id = ANY(ARRAY(SELECT h.team_id FROM service_team_role h WHERE h.user_id = ${user})))`;
}

/** A user's object roles, except admins, auditors and members of organizations. Empty for a superuser. */
export async function heldRoles(
  database: Queryable,
  user: { readonly id: number; readonly is_superuser: boolean },
): Promise<readonly HeldRole[]> {
  if (user.is_superuser) return [];
  return sql`SELECT r.resource_type, r.resource_id, r.role
    FROM service_role_grant g JOIN service_object_role r ON r.id = g.role_id
    WHERE ${grantedTo(sql`${user.id}::integer`)}
    UNION SELECT 'team', h.team_id, h.role FROM service_team_role h
    WHERE h.user_id = ${user.id}`.rows<HeldRole>(database);
}

/** The ids of an object's roles by role, as an SQL expression. `id` is the expression of the object's id. */
export function roleIds(type: ResourceWithRoles, id: Sql): Sql {
  return sql`(SELECT json_object_agg(e.role, e.id) FROM service_object_role e
    WHERE e.resource_type = ${literal(type)} AND e.resource_id = ${id})`;
}

/** Grants an object's role to a user or team, or removes it. Returns whether anything changed. */
export function changeGrant(
  transaction: Queryable,
  {
    operation,
    roleId,
    ...to
  }: { operation: 'associate' | 'disassociate'; roleId: number } & (
    | { readonly userId: number }
    | { readonly teamId: number }
  ),
): Promise<boolean> {
  const [column, id] = 'userId' in to ? [sql`user_id`, to.userId] : [sql`team_id`, to.teamId];
  const change =
    operation === 'associate'
      ? sql`INSERT INTO service_role_grant (role_id, ${column})
        VALUES (${roleId}, ${id}) ON CONFLICT DO NOTHING`
      : sql`DELETE FROM service_role_grant WHERE role_id = ${roleId} AND ${column} = ${id}`;
  return change.touchesOne(transaction);
}
