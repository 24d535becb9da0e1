import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { canSeeEverything, GIVING, heldOn, type SharedType } from './access.ts';
import { EVERY_ROW } from './listing/filters.ts';
import type { HeldRole, ResourceWithRoles, RoleName } from './store/object-roles.ts';
import type { UserRecord } from './store/users.ts';

/** The organizations `x` that a user sees and in which the user has a role. */
export function organizationsWithRole(user: UserRecord, held: readonly HeldRole[], role: RoleName): Sql {
  const isAuditor = role === 'auditor' && user.is_system_auditor;
  if (user.is_superuser || isAuditor || role === 'read') return EVERY_ROW;
  // An organization's admins have its other roles, except auditor.
  const members = role === 'member' ? user.member_of : [];
  const own = role === 'auditor' ? user.auditor_of : [...user.admin_of, ...members];
  return sql`x.id = ANY(${[...own, ...heldOn(held, 'organization', [role])]}::integer[])`;
}

export function teamsWithRole(user: UserRecord, held: readonly HeldRole[], role: RoleName): Sql {
  if (user.is_superuser || (role === 'read' && canSeeEverything(user))) return EVERY_ROW;
  const organizations = [...user.admin_of, ...(role === 'read' ? user.auditor_of : [])];
  const roles = role === 'admin' ? ['admin'] : ['admin', 'member'];
  return sql`(x.organization_id = ANY(${organizations}::integer[])
    OR x.id = ANY(${heldOn(held, 'team', [role])}::integer[])
    OR EXISTS (SELECT FROM service_team_role h
      WHERE h.team_id = x.id AND h.user_id = ${user.id} AND h.role = ANY(${roles}::text[])))`;
}

/**
 * The user as a row `viewer` joined to each row of a list, for conditions on related objects: the organizations whose
 * objects the user sees (`watches`), and those in which the user has a role (`belongs_to`).
 */
export function viewerRow(user: UserRecord): Sql {
  const watched = [...user.admin_of, ...user.auditor_of];
  return sql`CROSS JOIN (VALUES (${user.id}::integer, ${canSeeEverything(user)}::boolean,
      ${user.admin_of}::integer[], ${watched}::integer[], ${[...watched, ...user.member_of]}::integer[]))
    AS viewer (id, sees_all, administers, watches, belongs_to)`;
}

/** The roles of a team that another role of the same team implies. */
const IN_TEAM: Readonly<Partial<Record<RoleName, readonly RoleName[]>>> = {
  admin: ['admin', 'member', 'read'],
  member: ['member', 'read'],
  read: ['read'],
};

/** The roles of an object that one of its roles or of its organization's implies, including itself, in order. */
export function rolesGivenBy(
  type: ResourceWithRoles,
  all: readonly RoleName[],
  { role, on }: { role: RoleName; on: 'object' | 'organization' },
): readonly RoleName[] {
  if (on === 'organization' && role === 'admin') return all;
  if (on === 'organization' && role === 'auditor') return ['read'];
  switch (type) {
    case 'organization':
      return all.filter(
        (each) => each === role || each === 'read' || (role === 'admin' && each !== 'auditor'),
      );
    case 'team':
      return on === 'object' ? (IN_TEAM[role] ?? []) : [];
    default:
      return all.filter((each) => gives(type, each, { role, on }));
  }
}

function gives(
  type: SharedType,
  role: RoleName,
  by: { readonly role: RoleName; readonly on: 'object' | 'organization' },
): boolean {
  const giving = GIVING[type][role];
  return giving?.[by.on === 'object' ? 'own' : 'organization'].includes(by.role) ?? false;
}
