import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { insertActivity, linkChange } from './activity.ts';
import { changeGrant, grantedTo, type ResourceWithRoles, type RoleName } from './object-roles.ts';
import type { UserRecord } from './users.ts';

export type OrganizationRole = 'admin' | 'auditor' | 'member';

/** A role in a team: its admins change it and its members, its members see it. It gives no further rights. */
export type TeamRole = 'admin' | 'member';

interface ObjectRole {
  readonly roleId: number;
  readonly role: RoleName;
  readonly resource: { readonly type: ResourceWithRoles; readonly id: number };
}

type RoleOf =
  | { readonly organizationId: number; readonly role: OrganizationRole }
  | { readonly teamId: number; readonly role: TeamRole }
  | ObjectRole;

export type RoleChange = RoleOf & {
  readonly operation: 'associate' | 'disassociate';
  readonly userId: number;
  /** The id of the role if the request is about the user's roles, which the activity stream records. */
  readonly rolesOfUser?: number;
};

const CLASSES: Readonly<Record<ResourceWithRoles, string>> = {
  organization: 'organization.Organization',
  team: 'organization.Team',
  project: 'projects.Project',
  inventory: 'inventory.Inventory',
  credential: 'credential.Credential',
  job_template: 'jobs.JobTemplate',
};

/** The controller's name for a role's relation, by which its user interface recognizes role changes. */
export function roleRelation(type: ResourceWithRoles, role: RoleName): string {
  return `awx.main.models.${CLASSES[type]}.${role}_role`;
}

/** The object of a role change, and whether anything changed. */
async function applyChange(transaction: Queryable, change: RoleChange) {
  if ('resource' in change) return { ...change.resource, isChanged: await changeGrant(transaction, change) };
  const { operation, userId, role } = change;
  const isTeam = 'teamId' in change;
  const [type, id] = isTeam
    ? (['team', change.teamId] as const)
    : (['organization', change.organizationId] as const);
  const [table, column] = [isTeam ? sql`service_team_role` : sql`service_role`, identifier(`${type}_id`)];
  const changed =
    operation === 'associate'
      ? sql`INSERT INTO ${table} (user_id, role, ${column}) VALUES (${userId}, ${role}, ${id})
          ON CONFLICT DO NOTHING`
      : sql`DELETE FROM ${table} WHERE user_id = ${userId} AND role = ${role} AND ${column} = ${id}`;
  return { type, id, isChanged: (await changed.execute(transaction)) > 0 };
}

/**
 * Grants a role to a user or removes it, with an entry in the activity stream. Does nothing if that changes nothing.
 * @param by The user who changes the role; null for an identity provider's mapping.
 */
export async function changeRole(
  transaction: Queryable,
  change: RoleChange,
  by: { readonly actorId: number | null; readonly at: Date; readonly node: string },
): Promise<void> {
  const { operation, userId, role, rolesOfUser } = change;
  const { type, id, isChanged } = await applyChange(transaction, change);
  if (!isChanged) return;
  // As on the controller: the request's subject comes first, and a role is recorded by its id.
  const user = ['user', userId] as const;
  const objects =
    rolesOfUser === undefined ? ([[type, id], user] as const) : ([user, [type, rolesOfUser]] as const);
  await insertActivity(transaction, {
    ...by,
    ...linkChange(operation, 'awx.main.models.rbac.Role_members', objects),
    relationship: roleRelation(type, role),
    ...(type === 'organization' ? { organizationId: id } : { resource: { type, id } }),
    userId,
  });
}

/** A role with its object. */
export interface RoleRecord {
  readonly id: number;
  readonly role: RoleName;
  readonly resource_type: ResourceWithRoles;
  readonly resource_id: number;
  readonly resource_name: string;
  /** The organization, or the object's organization. */
  readonly organization_id: number | null;
}

/** The types of objects, with the tables of their names and organizations. */
const OBJECTS = [
  ['organization', 'main_organization'],
  ['team', 'main_team'],
  ['project', 'service_project'],
  ['inventory', 'main_inventory'],
  ['credential', 'main_credential'],
  ['job_template', 'service_job_template'],
] as const;

/** The memberships, whose role ids have their own columns. */
const MEMBERSHIPS = [
  ['organization', 'admin'],
  ['organization', 'auditor'],
  ['organization', 'member'],
  ['team', 'admin'],
  ['team', 'member'],
] as const;

const nameOf = (type: ResourceWithRoles) => identifier(`n_${type}.name`);
const organizationOf = (type: ResourceWithRoles) =>
  identifier(`n_${type}.${type === 'organization' ? 'id' : 'organization_id'}`);

/**
 * Rows `x` of the roles of all objects. Each part has one table and the same types, so that its index finds a
 * role by id, or the first roles. The names are joined last, and only if needed.
 */
export const ROLE_FROM = sql`(
  SELECT r.id, r.role, r.resource_type, r.resource_id, COALESCE(${joined(OBJECTS.map(([type]) => nameOf(type)))})
      AS resource_name, COALESCE(${joined(OBJECTS.map(([type]) => organizationOf(type)))}) AS organization_id
  FROM (SELECT id, role::text, resource_type::text, resource_id FROM service_object_role ${joined(
    MEMBERSHIPS.map(
      ([type, role]) => sql`
    UNION ALL SELECT ${identifier(`${role}_role_id`)}, ${literal(role)}::text, ${literal(type)}::text, id
    FROM ${identifier(`main_${type}`)}`,
    ),
    ' ',
  )}) r ${joined(
    OBJECTS.map(
      ([type, table]) => sql`
  LEFT JOIN ${identifier(table)} ${identifier(`n_${type}`)}
    ON r.resource_type = ${literal(type)} AND ${identifier(`n_${type}.id`)} = r.resource_id`,
    ),
    ' ',
  )}) x`;

/** The columns of a {@link RoleRecord} over {@link ROLE_FROM}. */
export const ROLE_COLUMNS = sql`x.id, x.role, x.resource_type, x.resource_id, x.resource_name,
  x.organization_id`;

/** Whether roles `x` belong to these organizations or to objects in them, of these types. It needs no joins. */
export function isRoleIn(organizations: readonly number[], types = OBJECTS.map(([type]) => type)): Sql {
  const ids = sql`ANY(${organizations}::integer[])`;
  const conditions = OBJECTS.filter(([type]) => types.includes(type)).map(([type, table]) =>
    type === 'organization'
      ? sql`x.resource_type = 'organization' AND x.resource_id = ${ids}`
      : sql`x.resource_type = ${literal(type)} AND (SELECT n.organization_id FROM ${identifier(table)} n
          WHERE n.id = x.resource_id) = ${ids}`,
  );
  return joined(conditions, ' OR ');
}

/**
 * A statement for the `count` of the roles of objects that meet a condition on rows `x` with their `organization_id`.
 * It counts objects, which are fewer than roles: an object has all roles of its type from its creation on.
 */
export function countingRoles(ofEach: (type: ResourceWithRoles) => number, condition: Sql): Sql {
  const objects = OBJECTS.map(
    ([type, table]) => sql`SELECT ${literal(type)}::text AS resource_type, id AS resource_id,
      ${type === 'organization' ? sql`id` : sql`organization_id`} AS organization_id, ${literal(ofEach(type))} AS roles
    FROM ${identifier(table)}`,
  );
  return sql`SELECT COALESCE(sum(x.roles), 0) AS count
    FROM (${joined(objects, ' UNION ALL ')}) x WHERE ${condition}`;
}

/** Like {@link isRoleIn}, over the rows of {@link countingRoles}. */
export function isObjectIn(organizations: readonly number[], types = OBJECTS.map(([type]) => type)): Sql {
  return sql`x.resource_type IN (${joined(types.map(literal))}) AND x.organization_id = ANY(${organizations}::integer[])`;
}

/** Rows `a`: the roles `role_id` that users `user_id` have directly, or as members or admins of a team `team_id`. */
export const HELD_FROM = sql`(
  SELECT g.user_id, g.role_id, NULL::integer AS team_id FROM service_role_grant g WHERE g.user_id IS NOT NULL
  UNION ALL SELECT h.user_id, CASE h.role WHEN 'admin' THEN t.admin_role_id ELSE t.member_role_id END, NULL
  FROM service_team_role h JOIN main_team t ON t.id = h.team_id
  UNION ALL SELECT h.user_id, CASE h.role WHEN 'admin' THEN o.admin_role_id WHEN 'auditor' THEN o.auditor_role_id
    ELSE o.member_role_id END, NULL
  FROM service_role h JOIN main_organization o ON o.id = h.organization_id
  UNION ALL SELECT h.user_id, g.role_id, h.team_id
  FROM service_team_role h JOIN service_role_grant g ON g.team_id = h.team_id) a`;

/** Whether a role is admin, auditor or member of an organization or team, which are stored separately. */
export function isMembership({ role, resource_type }: Pick<RoleRecord, 'role' | 'resource_type'>): boolean {
  return (
    (resource_type === 'organization' && ['admin', 'auditor', 'member'].includes(role)) ||
    (resource_type === 'team' && ['admin', 'member'].includes(role))
  );
}

export function findRole(database: Queryable, id: number): Promise<RoleRecord | null> {
  return sql`SELECT ${ROLE_COLUMNS} FROM ${ROLE_FROM} WHERE x.id = ${id}`.first<RoleRecord>(database);
}

/**
 * Whether a user has a role outside organizations that another user neither has nor can grant: one in a team of an
 * organization that the other does not administer, if the other is not an admin of the team, or not even a member.
 */
export function hasRolesWithout(
  database: Queryable,
  { user, without }: { user: UserRecord; without: UserRecord },
): Promise<boolean> {
  const administered = sql`ANY(${without.admin_of}::integer[])`;
  return sql`SELECT FROM service_team_role h JOIN main_team t ON t.id = h.team_id
    WHERE h.user_id = ${user.id} AND NOT (t.organization_id = ${administered}) AND NOT EXISTS (
      SELECT FROM service_team_role c
      WHERE c.user_id = ${without.id} AND c.team_id = h.team_id AND c.role IN (h.role, 'admin'))
    UNION ALL
    SELECT FROM service_role_grant a JOIN ${ROLE_FROM} ON x.id = a.role_id
    WHERE a.user_id = ${user.id} AND NOT COALESCE(x.organization_id = ${administered}, false) AND NOT EXISTS (
      SELECT FROM service_role_grant g JOIN service_object_role r ON r.id = g.role_id
      WHERE ${grantedTo(sql`${without.id}::integer`)} AND r.resource_type = x.resource_type
      AND r.resource_id = x.resource_id
        AND r.role IN (x.role, 'admin'))
    LIMIT 1`.exists(database);
}
