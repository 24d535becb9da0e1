import type { Condition } from './listing/filters.ts';
import type { TokenRecord } from './store/tokens.ts';
import type { UserRecord } from './store/users.ts';

/** Whether a user comes from an identity provider: an LDAP name without a local password, or a linked account. */
export function isExternal(user: UserRecord): boolean {
  return externalAccount(user) !== null;
}

/** Which kind of identity provider a user comes from, in the controller's words; null for a local account. */
export function externalAccount(user: UserRecord): 'ldap' | 'social' | 'enterprise' | null {
  if (user.ldap_dn !== '' && user.password.startsWith('!')) return 'ldap';
  if (user.social_accounts.length > 0) return 'social';
  return user.has_enterprise_account ? 'enterprise' : null;
}

/** Superusers and system auditors see everything. */
export function seesEverything(user: UserRecord): boolean {
  return user.is_superuser || user.is_system_auditor;
}

/** Which tokens a user sees, over rows `t` and applications `a`: own ones, and those of applications of organizations that the user administers. */
export function visibleTokens(user: UserRecord, first = 1): Condition {
  if (seesEverything(user)) return { sql: 'TRUE', values: [] };
  return {
    sql: `t.user_id = $${first} OR a.organization_id = ANY($${first + 1}::integer[])`,
    values: [user.id, user.admin_of],
  };
}

/**
 * Which entries of the activity stream a user sees, over rows of ACTIVITY_FROM: those about what the user
 * sees while it exists (own tokens, own account, applications), and, with a role of admin or auditor in an
 * organization, those about it, its members and its applications. Not what the user did to things that are
 * gone since, or to others' (the controller's rule).
 */
export function visibleActivity(user: UserRecord, first = 1): Condition {
  if (seesEverything(user)) return { sql: 'TRUE', values: [] };
  const [me, administered, watched, all] = [first, first + 1, first + 2, first + 3].map((n) => `$${n}`);
  return {
    sql: `t.user_id = ${me}::integer OR b.id = ${me}::integer
      OR ta.organization_id = ANY(${administered}::integer[])
      OR a.organization_id = ANY(${all}::integer[])
      OR o.id = ANY(${watched}::integer[])
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

/** Whether a user sees this token. */
export function maySeeToken(user: UserRecord, token: TokenRecord): boolean {
  return seesEverything(user) || mayChangeToken(user, token);
}

/** Whether a user may change or delete this token: its owner, a superuser, an admin of its application's organization. */
export function mayChangeToken(user: UserRecord, token: TokenRecord): boolean {
  if (user.is_superuser || token.user_id === user.id) return true;
  const { application_organization_id: organization } = token;
  return organization !== null && user.admin_of.includes(organization);
}

/**
 * Which users a user sees, over rows `u`: oneself, superusers and the members of one's organizations; an
 * organization's admin sees all, to be able to add them (the controller's ORG_ADMINS_CAN_SEE_ALL_USERS).
 */
export function visibleUsers(user: UserRecord): Condition {
  if (seesEverything(user) || user.admin_of.length > 0) return { sql: 'TRUE', values: [] };
  return {
    sql: `u.id = $1 OR u.is_superuser OR EXISTS (
      SELECT FROM service_role r
      WHERE r.user_id = u.id AND r.role = 'member' AND r.organization_id = ANY($2::integer[]))`,
    values: [user.id, [...user.member_of, ...user.auditor_of]],
  };
}

/** Whether a user may change this user: oneself, superusers, an admin of all the organizations that the other belongs to. */
export function mayChangeUser(user: UserRecord, other: UserRecord): boolean {
  if (user.is_superuser || user.id === other.id) return true;
  return administers(user, other);
}

/** Whether a user may delete this user: as changing, but never oneself. */
export function mayDeleteUser(user: UserRecord, other: UserRecord): boolean {
  return user.id !== other.id && (user.is_superuser || administers(user, other));
}

function administers(user: UserRecord, other: UserRecord): boolean {
  const organizations = [...other.member_of, ...other.admin_of, ...other.auditor_of];
  const privileged = other.is_superuser || other.is_system_auditor;
  return !privileged && organizations.length > 0 && organizations.every((id) => user.admin_of.includes(id));
}

/** Which organizations a user sees, over rows `o`: those in which the user has a role. */
export function visibleOrganizations(user: UserRecord): Condition {
  if (seesEverything(user)) return { sql: 'TRUE', values: [] };
  return {
    sql: 'o.id = ANY($1::integer[])',
    values: [[...user.admin_of, ...user.auditor_of, ...user.member_of]],
  };
}

/** Which of an organization's things a user sees, by the SQL expression of their organization's id. */
export function visibleByOrganization(user: UserRecord, organization: string): Condition {
  if (seesEverything(user)) return { sql: 'TRUE', values: [] };
  return { sql: `${organization} = ANY($1::integer[])`, values: [[...user.admin_of, ...user.auditor_of]] };
}

/** Which applications a user sees, over rows `a` or `g`: those of the organizations in which the user has any role. */
export function visibleApplications(user: UserRecord, first = 1, rows: 'a' | 'g' = 'a'): Condition {
  if (seesEverything(user)) return { sql: 'TRUE', values: [] };
  return {
    sql: `${rows}.organization_id = ANY($${first}::integer[])`,
    values: [[...user.admin_of, ...user.auditor_of, ...user.member_of]],
  };
}

/** Whether a user sees the applications of an organization, and may have tokens for them: any role in it will do. */
export function seesApplications(user: UserRecord, organization: number | null): boolean {
  if (seesEverything(user)) return true;
  const roles = [...user.admin_of, ...user.auditor_of, ...user.member_of];
  return organization !== null && roles.includes(organization);
}

/**
 * Whether an organization's admin may give this user a role there, or take it. Who is in an organization can
 * be changed by its admins, password and all; so it takes the right to change the user already, or a user
 * without any privilege or organization (the controller's rule, against escalation).
 */
export function mayEnlist(user: UserRecord, other: UserRecord): boolean {
  const orphan = other.member_of.length + other.admin_of.length + other.auditor_of.length === 0;
  return (orphan && !other.is_superuser && !other.is_system_auditor) || mayChangeUser(user, other);
}

/** Whether a user may change an organization and what is in it. */
export function administersOrganization(user: UserRecord, organization: number | null): boolean {
  return user.is_superuser || (organization !== null && user.admin_of.includes(organization));
}
