import { identifier, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { EVERY_ROW } from './listing/filters.ts';
import { entriesIn } from './store/activity.ts';
import { grantedTo, type HeldRole, type ResourceWithRoles, type RoleName } from './store/object-roles.ts';
import { isRoleIn } from './store/roles.ts';
import type { TokenRecord } from './store/tokens.ts';
import type { UserRecord } from './store/users.ts';

/** Whether a user comes from an identity provider: an LDAP name without a local password, or a linked account. */
export function isExternal(user: UserRecord): boolean {
  return externalAccount(user) !== null;
}

/** The kind of identity provider in the controller's terms; null for a local account. */
export function externalAccount(user: UserRecord): 'ldap' | 'social' | 'enterprise' | null {
  // In the controller's order: a SAML user has a social and an enterprise account, and counts as an enterprise user.
  if (user.has_enterprise_account) return 'enterprise';
  if (user.social_accounts.length > 0) return 'social';
  return user.ldap_dn !== '' && user.password.startsWith('!') ? 'ldap' : null;
}

/** Whether a user sees everything: superusers and system auditors. */
export function canSeeEverything(user: UserRecord): boolean {
  return user.is_superuser || user.is_system_auditor;
}

/** The tokens `t` (application `a`) that a user sees: their own, and those in organizations that they administer. */
export function visibleTokens(user: UserRecord): Sql {
  if (canSeeEverything(user)) return EVERY_ROW;
  return sql`t.user_id = ${user.id} OR a.organization_id = ANY(${user.admin_of}::integer[])`;
}

/**
 * The ids of the activity entries that a user sees, in SQL; null if the user sees all. Users see entries
 * about existing objects that they can see: own tokens, own account, own teams, applications. Organization
 * admins and auditors also see entries about the organization, its members, applications and resources. A
 * user's own changes to deleted objects or to others' objects are not included (the controller's rule).
 */
export function seenActivity(user: UserRecord): Sql | null {
  if (canSeeEverything(user)) return null;
  const me = sql`${user.id}::integer`;
  const watches = [...user.admin_of, ...user.auditor_of];
  const watched = sql`ANY(${watches}::integer[])`;
  // One query for each way to see an entry: with OR between two of them, PostgreSQL reads all tokens or all members.
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

/** Whether a user may change or delete a token: its owner, a superuser, or an admin of its organization. */
export function canChangeToken(user: UserRecord, token: TokenRecord): boolean {
  if (user.is_superuser || token.user_id === user.id) return true;
  const { application_organization_id: organization } = token;
  return organization !== null && user.admin_of.includes(organization);
}

/**
 * The users `u` that a user sees: the user, superusers and members of the user's organizations. Organization
 * admins see all users, so that they can add them (the controller's ORG_ADMINS_CAN_SEE_ALL_USERS).
 */
export function visibleUsers(user: UserRecord): Sql {
  if (canSeeEverything(user) || user.admin_of.length > 0) return EVERY_ROW;
  return sql`u.id = ${user.id} OR u.is_superuser OR EXISTS (
    SELECT FROM service_role r WHERE r.user_id = u.id AND r.role = 'member'
      AND r.organization_id = ANY(${[...user.member_of, ...user.auditor_of]}::integer[]))`;
}

/** Whether a user may change another: themselves, a superuser, or an admin of all the other's organizations. */
export function canChangeUser(user: UserRecord, other: UserRecord): boolean {
  if (user.is_superuser || user.id === other.id) return true;
  return administers(user, other);
}

/** Whether a user may delete another. The rules are those of changes, but no one can delete themselves. */
export function canDeleteUser(user: UserRecord, other: UserRecord): boolean {
  return user.id !== other.id && (user.is_superuser || administers(user, other));
}

function administers(user: UserRecord, other: UserRecord): boolean {
  const organizations = [...other.member_of, ...other.admin_of, ...other.auditor_of];
  const privileged = other.is_superuser || other.is_system_auditor;
  return !privileged && organizations.length > 0 && organizations.every((id) => user.admin_of.includes(id));
}

/** The organizations `x` that a user sees: those in which the user has a role. */
export function visibleOrganizations(user: UserRecord): Sql {
  if (canSeeEverything(user)) return EVERY_ROW;
  return sql`x.id = ANY(${[...user.admin_of, ...user.auditor_of, ...user.member_of]}::integer[])
    OR x.id IN (${grantedObjects('organization', user)})`;
}

/** The ids of the objects of a type for which a user was granted a role, in SQL. */
function grantedObjects(type: ResourceWithRoles, user: UserRecord): Sql {
  return sql`SELECT r.resource_id FROM service_role_grant g JOIN service_object_role r ON r.id = g.role_id
    WHERE r.resource_type = ${literal(type)} AND ${grantedTo(sql`${user.id}::integer`)}`;
}

/**
 * The teams `x` that a user sees: those in which the user has a role, and those of organizations in which the user
 * has a role. Organization admins see all teams and all users (the controller's ORG_ADMINS_CAN_SEE_ALL_USERS).
 */
export function visibleTeams(user: UserRecord): Sql {
  if (canSeeEverything(user) || user.admin_of.length > 0) return EVERY_ROW;
  return teamsIn(user, [...user.auditor_of, ...user.member_of]);
}

/** The teams of these organizations, and those in which the user has a role. */
function teamsIn(user: UserRecord, organizations: readonly number[]): Sql {
  return sql`x.organization_id = ANY(${organizations}::integer[])
    OR EXISTS (SELECT FROM service_team_role h WHERE h.team_id = x.id AND h.user_id = ${user.id})
    OR x.id IN (${grantedObjects('team', user)})`;
}

/**
 * Another user's teams `x` that a user sees: those in which the user has a role too, and those of organizations that
 * the user administers or audits. Members of an organization see its teams, but not who is in them.
 */
export function visibleTeamsOfOthers(user: UserRecord): Sql {
  return canSeeEverything(user) ? EVERY_ROW : teamsIn(user, [...user.admin_of, ...user.auditor_of]);
}

/**
 * The roles `x` that a user sees: those of organizations and teams that the user sees, and those of other
 * objects in which the user has a role or whose organization the user administers or audits.
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

/** The roles that imply another role on an object: roles on the object itself, or in its organization. */
interface Giving {
  readonly own: readonly RoleName[];
  readonly organization: readonly RoleName[];
}

/** The types of objects in organizations for which users and teams can have roles. */
export type SharedType = Exclude<ResourceWithRoles, 'organization' | 'team'>;

const of = (organization: readonly RoleName[], ...own: RoleName[]): Giving => ({ own, organization });

/** Which roles imply a role on an object, as on the controller, without admins and auditors of its organization. */
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

export interface AskedRole {
  readonly type: SharedType;
  readonly id: number;
  readonly organization: number | null;
  readonly role: 'admin' | 'execute' | 'use' | 'read';
}

/** The objects of a type on which a user was granted one of these roles. */
export function heldOn(
  held: readonly HeldRole[],
  type: ResourceWithRoles,
  roles: readonly RoleName[] = [],
): number[] {
  return held
    .filter(({ resource_type, role }) => resource_type === type && roles.includes(role))
    .map(({ resource_id }) => resource_id);
}

/** Whether a user has a role on an object: directly, through its organization, or as a superuser or auditor. */
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

/** Whether someone with these roles is an admin of a team itself. */
export function administersTeam(held: readonly HeldRole[], id: number): boolean {
  return held.some(
    ({ resource_type, resource_id, role }) =>
      resource_type === 'team' && resource_id === id && role === 'admin',
  );
}

/** Rows of objects in SQL, and the role that they are checked for. */
interface AskedRows {
  readonly type: SharedType;
  /** SQL expressions for their id and their organization's id. */
  readonly id: Sql;
  readonly organization: Sql;
  /** `read` by default: the objects that a user sees. */
  readonly role?: RoleName;
}

/** The objects on which a user has a role. `held` is the result of {@link heldRoles}. */
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
 * role that the admin could not grant.
 */
export function canAssignRole(user: UserRecord, other: UserRecord, hasForeignRoles: boolean): boolean {
  const orphan = other.member_of.length + other.admin_of.length + other.auditor_of.length === 0;
  const privileged = other.is_superuser || other.is_system_auditor;
  return (orphan && !privileged && !hasForeignRoles) || canChangeUser(user, other);
}

/**
 * Whether a user may create an object of a type. Only superusers create organizations; organization admins
 * create users and other objects in theirs; one of the roles `held` may allow it as well.
 */
export function canCreate(user: UserRecord, type: string, held: readonly HeldRole[] = []): boolean {
  if (user.is_superuser) return true;
  if (type === 'user' || type === 'organization') return false;
  if (user.admin_of.length > 0) return true;
  // A job template needs a role on a project, a host or group on an inventory, other objects on an organization.
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
