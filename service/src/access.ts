import { identifier, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { EVERY_ROW } from './listing/filters.ts';
import { entriesIn } from './store/activity.ts';
import { grantedTo, type HeldRole, type ResourceWithRoles, type RoleName } from './store/object-roles.ts';
import { isRoleIn } from './store/roles.ts';
import type { TokenRecord } from './store/tokens.ts';
import type { UserRecord } from './store/users.ts';

/** Whether a user is of an identity provider: an LDAP name without a local password, or a linked account. */
export function isExternal(user: UserRecord): boolean {
  return externalAccount(user) !== null;
}

/** The kind of identity provider in the controller's terms; null for a local account. */
export function externalAccount(user: UserRecord): 'ldap' | 'social' | 'enterprise' | null {
  // In the controller's order: a user of SAML has both a social and an enterprise account, and is an
  // enterprise user.
  if (user.has_enterprise_account) return 'enterprise';
  if (user.social_accounts.length > 0) return 'social';
  return user.ldap_dn !== '' && user.password.startsWith('!') ? 'ldap' : null;
}

/** Whether a user sees everything: superusers and system auditors. */
export function canSeeEverything(user: UserRecord): boolean {
  return user.is_superuser || user.is_system_auditor;
}

/**
 * The tokens that a user sees, over tokens `t` and applications `a`: the user's own, and those of
 * applications in organizations that the user administers.
 */
export function visibleTokens(user: UserRecord): Sql {
  if (canSeeEverything(user)) return EVERY_ROW;
  return sql`t.user_id = ${user.id} OR a.organization_id = ANY(${user.admin_of}::integer[])`;
}

/**
 * The ids of the activity entries that a user sees, in SQL; null if the user sees all: those about existing objects that the
 * user sees (own tokens, own account, own teams, applications) and, for admins and auditors of an organization, about
 * it, its members, its applications and its resources. The user's own changes to deleted objects or to
 * objects of others are not among them (the controller's rule).
 */
export function seenActivity(user: UserRecord): Sql | null {
  if (canSeeEverything(user)) return null;
  const me = sql`${user.id}::integer`;
  const watches = [...user.admin_of, ...user.auditor_of];
  const watched = sql`ANY(${watches}::integer[])`;
  // One way to see an entry for each branch: with OR between two, all tokens or all members are read.
  return sql`SELECT l.activitystream_id FROM main_activitystream_o_auth2_access_token l
      JOIN main_oauth2accesstoken t ON t.id = l.oauth2accesstoken_id WHERE t.user_id = ${me}
    UNION ALL SELECT l.activitystream_id FROM main_activitystream_o_auth2_access_token l
      JOIN main_oauth2accesstoken t ON t.id = l.oauth2accesstoken_id JOIN main_oauth2application a ON a.id = t.application_id
      WHERE a.organization_id = ANY(${user.admin_of}::integer[])
    UNION ALL SELECT l.activitystream_id FROM main_activitystream_o_auth2_application l
      JOIN main_oauth2application a ON a.id = l.oauth2application_id
      WHERE a.organization_id = ANY(${[...watches, ...user.member_of]}::integer[])
    UNION ALL SELECT l.activitystream_id FROM main_activitystream_user l WHERE l.user_id = ${me}
    UNION ALL SELECT l.activitystream_id FROM main_activitystream_user l
      JOIN service_role r ON r.user_id = l.user_id WHERE r.role = 'member' AND r.organization_id = ${watched}
    UNION ALL SELECT l.activitystream_id FROM main_activitystream_organization l WHERE l.organization_id = ${watched}
    UNION ALL SELECT l.activitystream_id FROM main_activitystream_team l
      JOIN service_team_role h ON h.team_id = l.team_id WHERE h.user_id = ${me}
    UNION ALL ${entriesIn(watches)}`;
}

export function canSeeToken(user: UserRecord, token: TokenRecord): boolean {
  return canSeeEverything(user) || canChangeToken(user, token);
}

/** Whether a user may change or delete a token: its owner, a superuser, an admin of its organization. */
export function canChangeToken(user: UserRecord, token: TokenRecord): boolean {
  if (user.is_superuser || token.user_id === user.id) return true;
  const { application_organization_id: organization } = token;
  return organization !== null && user.admin_of.includes(organization);
}

/**
 * The users that a user sees, over users `u`: the user, superusers and the members of the user's
 * organizations. Organization admins see all users, to be able to add them (the controller's
 * ORG_ADMINS_CAN_SEE_ALL_USERS).
 */
export function visibleUsers(user: UserRecord): Sql {
  if (canSeeEverything(user) || user.admin_of.length > 0) return EVERY_ROW;
  return sql`u.id = ${user.id} OR u.is_superuser OR EXISTS (
    SELECT FROM service_role r WHERE r.user_id = u.id AND r.role = 'member'
      AND r.organization_id = ANY(${[...user.member_of, ...user.auditor_of]}::integer[]))`;
}

/** Whether a user may change another: the same user, a superuser, or an admin of all their organizations. */
export function canChangeUser(user: UserRecord, other: UserRecord): boolean {
  if (user.is_superuser || user.id === other.id) return true;
  return administers(user, other);
}

/** Whether a user may delete another: as for changes, but never oneself. */
export function canDeleteUser(user: UserRecord, other: UserRecord): boolean {
  return user.id !== other.id && (user.is_superuser || administers(user, other));
}

function administers(user: UserRecord, other: UserRecord): boolean {
  const organizations = [...other.member_of, ...other.admin_of, ...other.auditor_of];
  const privileged = other.is_superuser || other.is_system_auditor;
  return !privileged && organizations.length > 0 && organizations.every((id) => user.admin_of.includes(id));
}

/** The organizations that a user sees, over organizations `x`: those in which the user has a role. */
export function visibleOrganizations(user: UserRecord): Sql {
  if (canSeeEverything(user)) return EVERY_ROW;
  return sql`x.id = ANY(${[...user.admin_of, ...user.auditor_of, ...user.member_of]}::integer[])
    OR x.id IN (${grantedObjects('organization', user)})`;
}

/** The ids of the objects of a kind in which a user was granted a role, in SQL. */
function grantedObjects(type: ResourceWithRoles, user: UserRecord): Sql {
  return sql`SELECT r.resource_id FROM service_role_grant g JOIN service_object_role r ON r.id = g.role_id
    WHERE r.resource_type = ${literal(type)} AND ${grantedTo(sql`${user.id}::integer`)}`;
}

/**
 * The teams that a user sees, over teams `x`: those in which the user has a role, and those of organizations
 * in which the user has one. Organization admins see all teams, as they see all users (the controller's
 * ORG_ADMINS_CAN_SEE_ALL_USERS).
 */
export function visibleTeams(user: UserRecord): Sql {
  if (canSeeEverything(user) || user.admin_of.length > 0) return EVERY_ROW;
  return teamsIn(user, [...user.auditor_of, ...user.member_of]);
}

/** The teams of these organizations, and those in which a user has a role. */
function teamsIn(user: UserRecord, organizations: readonly number[]): Sql {
  return sql`x.organization_id = ANY(${organizations}::integer[])
    OR EXISTS (SELECT FROM service_team_role h WHERE h.team_id = x.id AND h.user_id = ${user.id})
    OR x.id IN (${grantedObjects('team', user)})`;
}

/**
 * The teams of another that a user sees, over teams `x`: those in which the user has a role as well, and
 * those of organizations that the user administers or audits. That members of an organization see its teams
 * does not tell them who is in which.
 */
export function visibleTeamsOfOthers(user: UserRecord): Sql {
  return canSeeEverything(user) ? EVERY_ROW : teamsIn(user, [...user.admin_of, ...user.auditor_of]);
}

/**
 * The roles that a user sees, over roles `x`: those of the organizations and teams that the user sees, and of
 * other objects of organizations that the user administers or audits, or in which the user has a role.
 * @param isIn How the rows tell their organization.
 */
export function visibleRoles(user: UserRecord, isIn = isRoleIn): Sql {
  if (canSeeEverything(user)) return EVERY_ROW;
  return sql`${isIn([...user.admin_of, ...user.auditor_of])} OR ${isIn(user.member_of, ['organization', 'team'])}
    OR (x.resource_type = 'team' AND (${user.admin_of.length > 0}::boolean
      OR EXISTS (SELECT FROM service_team_role h WHERE h.team_id = x.resource_id AND h.user_id = ${user.id})))
    OR (x.resource_type = 'organization' AND x.resource_id = ANY(ARRAY(${grantedObjects('organization', user)})))
    OR (x.resource_type <> 'organization' AND (x.resource_type, x.resource_id) IN (SELECT r.resource_type, r.resource_id
      FROM service_role_grant g JOIN service_object_role r ON r.id = g.role_id
      WHERE ${grantedTo(sql`${user.id}::integer`)}))`;
}

/** A role that gives another one on an object: one on the object itself, or one in its organization. */
interface Giving {
  readonly own: readonly RoleName[];
  readonly organization: readonly RoleName[];
}

/** The kinds of objects in organizations that users and teams can have roles for. */
export type SharedType = Exclude<ResourceWithRoles, 'organization' | 'team'>;

const of = (organization: readonly RoleName[], ...own: RoleName[]): Giving => ({ own, organization });

/**
 * By which roles a user has one on an object, as on the controller, beside its organization's admins and
 * auditors.
 */
export const GIVING: Readonly<Record<SharedType, Readonly<Partial<Record<RoleName, Giving>>>>> = {
  job_template: {
    admin: of(['job_template_admin'], 'admin'),
    execute: of(['job_template_admin', 'execute'], 'admin', 'execute'),
    read: of(['job_template_admin', 'execute'], 'admin', 'execute', 'read'),
  },
  inventory: {
    admin: of(['inventory_admin'], 'admin'),
    update: of(['inventory_admin'], 'admin', 'update'),
    adhoc: of(['inventory_admin'], 'admin', 'adhoc'),
    use: of(['inventory_admin'], 'admin', 'adhoc', 'use'),
    read: of(['inventory_admin'], 'admin', 'update', 'adhoc', 'use', 'read'),
  },
  project: {
    admin: of(['project_admin'], 'admin'),
    update: of(['project_admin'], 'admin', 'update'),
    use: of(['project_admin'], 'admin', 'use'),
    read: of(['project_admin'], 'admin', 'update', 'use', 'read'),
  },
  credential: {
    admin: of(['credential_admin'], 'admin'),
    use: of(['credential_admin'], 'admin', 'use'),
    read: of(['credential_admin'], 'admin', 'use', 'read'),
  },
};

/** An object, and the role that is asked for. */
export interface AskedRole {
  readonly type: SharedType;
  readonly id: number;
  readonly organization: number | null;
  readonly role: 'admin' | 'execute' | 'use' | 'read';
}

/** The objects of a kind on which a user was granted one of these roles. */
export function heldOn(
  held: readonly HeldRole[],
  type: ResourceWithRoles,
  roles: readonly RoleName[] = [],
): number[] {
  return held
    .filter(({ resource_type, role }) => resource_type === type && roles.includes(role))
    .map(({ resource_id }) => resource_id);
}

/** Whether a user has a role on an object: by it, by its organization, as a superuser or an auditor. */
export function hasRole(
  user: UserRecord,
  held: readonly HeldRole[],
  { type, id, organization, role }: AskedRole,
): boolean {
  if (administersOrganization(user, organization)) return true;
  if (role === 'read' && canSeeEverything(user)) return true;
  if (role === 'read' && organization !== null && user.auditor_of.includes(organization)) return true;
  const giving = GIVING[type][role];
  return held.some(
    ({ resource_type, resource_id, role: has }) =>
      (resource_type === type && resource_id === id && giving?.own.includes(has)) ||
      (resource_type === 'organization' &&
        resource_id === organization &&
        giving?.organization.includes(has)),
  );
}

/** The rows of objects in SQL, and the role that is asked for. */
interface AskedRows {
  readonly type: SharedType;
  /** The SQL expressions of their id and of their organization's id. */
  readonly id: Sql;
  readonly organization: Sql;
  /** Read by default: these are the objects that a user sees. */
  readonly role?: RoleName;
}

/** The objects on which a user has a role; `held` is what {@link heldRoles} says. */
export function visibleObjects(
  user: UserRecord,
  held: readonly HeldRole[],
  { type, id, organization, role = 'read' }: AskedRows,
): Sql {
  if (user.is_superuser || (role === 'read' && canSeeEverything(user))) return EVERY_ROW;
  const giving = GIVING[type][role];
  const audited = role === 'read' ? user.auditor_of : [];
  const organizations = [...user.admin_of, ...audited, ...heldOn(held, 'organization', giving?.organization)];
  return sql`(${organization} = ANY(${organizations}::integer[])
    OR ${id} = ANY(${heldOn(held, type, giving?.own)}::integer[]))`;
}

/** The applications `x` or `g` that a user sees: those of organizations in which the user has any role. */
export function visibleApplications(user: UserRecord, rows: 'x' | 'g' = 'x'): Sql {
  if (canSeeEverything(user)) return EVERY_ROW;
  const organizations = [...user.admin_of, ...user.auditor_of, ...user.member_of];
  return sql`${identifier(`${rows}.organization_id`)} = ANY(${organizations}::integer[])`;
}

/** Whether a user sees an organization's applications and may have tokens for them: with any role in it. */
export function canSeeApplications(user: UserRecord, organization: number | null): boolean {
  if (canSeeEverything(user)) return true;
  const roles = [...user.admin_of, ...user.auditor_of, ...user.member_of];
  return organization !== null && roles.includes(organization);
}

/**
 * Whether an organization's admin may assign or remove a role of this user. Admins of an organization can
 * change its members, including their passwords. To prevent escalation (the controller's rule), the admin
 * must already be able to change the user, or the user must have no privilege, no organization, and no other
 * role that the admin could not give.
 */
export function canAssignRole(user: UserRecord, other: UserRecord, hasForeignRoles: boolean): boolean {
  const orphan = other.member_of.length + other.admin_of.length + other.auditor_of.length === 0;
  const privileged = other.is_superuser || other.is_system_auditor;
  return (orphan && !privileged && !hasForeignRoles) || canChangeUser(user, other);
}

/**
 * Whether a user may create an object of a type: users and organizations only as a superuser, others in an
 * organization that the user administers, or by a role. Organization admins create users in their
 * organizations.
 * @param held What {@link heldRoles} says of the user.
 */
export function canCreate(user: UserRecord, type: string, held: readonly HeldRole[] = []): boolean {
  if (user.is_superuser) return true;
  if (type === 'user' || type === 'organization') return false;
  if (user.admin_of.length > 0) return true;
  // A job template needs a project, a host or a group an inventory; other objects an organization.
  if (type === 'job_template') return holdsAny(held, 'project', 'use', ['own', 'organization']);
  if (type === 'host' || type === 'group')
    return holdsAny(held, 'inventory', 'admin', ['own', 'organization']);
  return isShared(type) && holdsAny(held, type, 'admin', ['organization']);
}

function isShared(type: string): type is SharedType {
  return Object.hasOwn(GIVING, type);
}

function holdsAny(
  held: readonly HeldRole[],
  type: SharedType,
  role: AskedRole['role'],
  by: readonly (keyof Giving)[],
): boolean {
  return by.some((kind) =>
    held.some(
      ({ resource_type, role: has }) =>
        resource_type === (kind === 'own' ? type : 'organization') &&
        GIVING[type][role]?.[kind].includes(has),
    ),
  );
}

/** Whether a user may change an organization and its objects. */
export function administersOrganization(user: UserRecord, organization: number | null): boolean {
  return user.is_superuser || (organization !== null && user.admin_of.includes(organization));
}
