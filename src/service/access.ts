import type { Condition } from './listing/filters.ts';
import { RESOURCE_ORGANIZATION } from './store/activity.ts';
import type { TokenRecord } from './store/tokens.ts';
import type { UserRecord } from './store/users.ts';

/**
 * Whether a user comes from an identity provider: an LDAP name without a local password, or a linked account.
 */
export function isExternal(user: UserRecord): boolean {
  return externalAccount(user) !== null;
}

/** The kind of identity provider in the controller's terms; null for a local account. */
export function externalAccount(user: UserRecord): 'ldap' | 'social' | 'enterprise' | null {
  // In the controller's order: a user of SAML has both a social and an enterprise account, and is an enterprise user.
  if (user.has_enterprise_account) return 'enterprise';
  if (user.social_accounts.length > 0) return 'social';
  return user.ldap_dn !== '' && user.password.startsWith('!') ? 'ldap' : null;
}

/** Whether a user sees everything: superusers and system auditors. */
export function canSeeEverything(user: UserRecord): boolean {
  return user.is_superuser || user.is_system_auditor;
}

/**
 * The tokens that a user sees, over tokens `t` and applications `a`: the user's own, and those of applications
 * in organizations that the user administers.
 */
export function visibleTokens(user: UserRecord, first = 1): Condition {
  if (canSeeEverything(user)) return { sql: 'TRUE', values: [] };
  return {
    sql: `t.user_id = $${first} OR a.organization_id = ANY($${first + 1}::integer[])`,
    values: [user.id, user.admin_of],
  };
}

/**
 * The activity entries that a user sees, over ACTIVITY_FROM: those about existing objects that the user sees
 * (own tokens, own account, own teams, applications) and, for admins and auditors of an organization, about it, its
 * members, its applications and its resources. The user's own changes to deleted objects or to objects of others are not among
 * them (the controller's rule).
 */
export function visibleActivity(user: UserRecord, first = 1): Condition {
  if (canSeeEverything(user)) return { sql: 'TRUE', values: [] };
  const [me, administered, watched, all] = [first, first + 1, first + 2, first + 3].map((n) => `$${n}`);
  return {
    sql: `t.user_id = ${me}::integer OR b.id = ${me}::integer
      OR ta.organization_id = ANY(${administered}::integer[])
      OR a.organization_id = ANY(${all}::integer[])
      OR o.id = ANY(${watched}::integer[])
      OR ${RESOURCE_ORGANIZATION} = ANY(${watched}::integer[])
      OR EXISTS (SELECT FROM service_team_role h WHERE h.user_id = ${me}::integer AND h.team_id = r_team.id)
      OR EXISTS (SELECT FROM service_role r
        WHERE r.user_id = b.id AND r.role = 'member' AND r.organization_id = ANY(${watched}::integer[]))`,
    values: [
      user.id,
      user.admin_of,
      [...user.admin_of, ...user.auditor_of],
      [...user.admin_of, ...user.auditor_of, ...user.member_of],
    ],
  };
}

/** Whether a user sees a token. */
export function canSeeToken(user: UserRecord, token: TokenRecord): boolean {
  return canSeeEverything(user) || canChangeToken(user, token);
}

/**
 * Whether a user may change or delete a token: its owner, a superuser, an admin of its application's
 * organization.
 */
export function canChangeToken(user: UserRecord, token: TokenRecord): boolean {
  if (user.is_superuser || token.user_id === user.id) return true;
  const { application_organization_id: organization } = token;
  return organization !== null && user.admin_of.includes(organization);
}

/**
 * The users that a user sees, over users `u`: the user, superusers and the members of the user's organizations.
 * Organization admins see all users, to be able to add them (the controller's ORG_ADMINS_CAN_SEE_ALL_USERS).
 */
export function visibleUsers(user: UserRecord): Condition {
  if (canSeeEverything(user) || user.admin_of.length > 0) return { sql: 'TRUE', values: [] };
  return {
    sql: `u.id = $1 OR u.is_superuser OR EXISTS (
      SELECT FROM service_role r
      WHERE r.user_id = u.id AND r.role = 'member' AND r.organization_id = ANY($2::integer[]))`,
    values: [user.id, [...user.member_of, ...user.auditor_of]],
  };
}

/**
 * Whether a user may change another: the same user, a superuser, or an admin of all organizations of the other.
 */
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

/** The organizations that a user sees, over organizations `o`: those in which the user has a role. */
export function visibleOrganizations(user: UserRecord): Condition {
  if (canSeeEverything(user)) return { sql: 'TRUE', values: [] };
  return {
    sql: 'o.id = ANY($1::integer[])',
    values: [[...user.admin_of, ...user.auditor_of, ...user.member_of]],
  };
}

/**
 * The teams that a user sees, over teams `x`: those in which the user has a role, and those of organizations in which the user
 * has one. Organization admins see all teams, as they see all users (the controller's ORG_ADMINS_CAN_SEE_ALL_USERS).
 */
export function visibleTeams(user: UserRecord): Condition {
  if (canSeeEverything(user) || user.admin_of.length > 0) return { sql: 'TRUE', values: [] };
  return {
    sql: `x.organization_id = ANY($1::integer[])
      OR EXISTS (SELECT FROM service_team_role h WHERE h.team_id = x.id AND h.user_id = $2)`,
    values: [[...user.auditor_of, ...user.member_of], user.id],
  };
}

/** The roles that a user sees, over roles `x`: those of the organizations and teams that the user sees. */
export function visibleRoles(user: UserRecord): Condition {
  if (canSeeEverything(user)) return { sql: 'TRUE', values: [] };
  return {
    sql: `x.organization_id = ANY($1::integer[]) OR (x.resource_type = 'team' AND ($2::boolean
      OR EXISTS (SELECT FROM service_team_role h WHERE h.team_id = x.resource_id AND h.user_id = $3)))`,
    values: [[...user.admin_of, ...user.auditor_of, ...user.member_of], user.admin_of.length > 0, user.id],
  };
}

/** The objects of organizations that a user sees, by the SQL expression of the organization's id. */
export function visibleByOrganization(user: UserRecord, organization: string): Condition {
  if (canSeeEverything(user)) return { sql: 'TRUE', values: [] };
  return { sql: `${organization} = ANY($1::integer[])`, values: [[...user.admin_of, ...user.auditor_of]] };
}

/**
 * The applications that a user sees, over applications `a` or `g`: those of organizations in which the user has
 * any role.
 */
export function visibleApplications(user: UserRecord, first = 1, rows: 'a' | 'g' = 'a'): Condition {
  if (canSeeEverything(user)) return { sql: 'TRUE', values: [] };
  return {
    sql: `${rows}.organization_id = ANY($${first}::integer[])`,
    values: [[...user.admin_of, ...user.auditor_of, ...user.member_of]],
  };
}

/**
 * Whether a user sees the applications of an organization and may have tokens for them: with any role in it.
 */
export function canSeeApplications(user: UserRecord, organization: number | null): boolean {
  if (canSeeEverything(user)) return true;
  const roles = [...user.admin_of, ...user.auditor_of, ...user.member_of];
  return organization !== null && roles.includes(organization);
}

/**
 * Whether an organization's admin may assign or remove a role of this user. Admins of an organization can
 * change its members, including their passwords. To prevent escalation (the controller's rule), the admin must
 * already be able to change the user, or the user must have no privilege and no organization.
 */
export function canAssignRole(user: UserRecord, other: UserRecord): boolean {
  const orphan = other.member_of.length + other.admin_of.length + other.auditor_of.length === 0;
  return (orphan && !other.is_superuser && !other.is_system_auditor) || canChangeUser(user, other);
}

/** Whether a user may change an organization and its objects. */
export function administersOrganization(user: UserRecord, organization: number | null): boolean {
  return user.is_superuser || (organization !== null && user.admin_of.includes(organization));
}
