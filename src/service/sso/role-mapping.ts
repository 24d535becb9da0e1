import type { OrganizationRole } from '../store/organizations.ts';
import type { Identity } from './backends.ts';
import type { UserRules } from './configuration.ts';
import { hasValue, means } from './expression.ts';

/** A role in an organization, by the organization's name. */
export interface MappedRole {
  readonly organization: string;
  readonly role: OrganizationRole;
}

/** What maps say of a user: what to give, and what to take away where the user has it. */
export interface MappedRoles {
  readonly granted: readonly MappedRole[];
  readonly withdrawn: readonly MappedRole[];
}

/** A flag as maps say: null where they say nothing. */
type MappedFlag = boolean | null;

/** One entry of a map: a role, whether it is the user's, and whether it is taken away if not. */
interface Rule extends MappedRole {
  readonly holds: boolean | null;
  readonly remove: boolean;
}

/**
 * The roles that a user of an identity provider has by the maps. What one entry grants no other takes away.
 * Taking away is the rule, as on the controller, unless an entry says `remove: false`.
 */
export function mappedRoles({ organizations, teams }: UserRules, identity: Identity): MappedRoles {
  const rules: Rule[] = [];
  for (const [name, entry] of Object.entries(organizations ?? {})) {
    const organization = entry.organization_alias ?? name;
    const remove = entry.remove ?? true;
    const rule = (role: OrganizationRole, expression: typeof entry.users, removes: boolean | undefined) =>
      rules.push({ organization, role, holds: means(expression, identity), remove: removes ?? remove });
    rule('member', entry.users, entry.remove_users);
    rule('admin', entry.admins, entry.remove_admins);
    rule('auditor', entry.auditors, entry.remove_auditors);
  }
  for (const { organization, users, remove } of Object.values(teams ?? {})) {
    rules.push({ organization, role: 'member', holds: means(users, identity), remove: remove ?? true });
  }
  const granted = distinct(rules.filter(({ holds }) => holds === true));
  const withdrawn = distinct(rules.filter(({ holds, remove }) => holds === false && remove));
  const keys = new Set(granted.map(keyOf));
  return { granted, withdrawn: withdrawn.filter((role) => !keys.has(keyOf(role))) };
}

/** Whether attributes make the user a superuser, and a system auditor. */
export function mappedFlags(
  { flags }: UserRules,
  identity: Identity,
): { readonly superuser: MappedFlag; readonly auditor: MappedFlag } {
  return {
    superuser: flag(identity, {
      attribute: flags.is_superuser_attr,
      value: flags.is_superuser_value,
      remove: flags.remove_superusers,
    }),
    auditor: flag(identity, {
      attribute: flags.is_system_auditor_attr,
      value: flags.is_system_auditor_value,
      remove: flags.remove_system_auditors,
    }),
  };
}

/** Without a value to compare with, any value of the attribute will do, as on the controller. */
function flag(
  identity: Identity,
  rule: {
    readonly attribute: string | undefined;
    readonly value: string | readonly string[] | undefined;
    readonly remove: boolean | undefined;
  },
): MappedFlag {
  const { attribute, value, remove = true } = rule;
  if (attribute === undefined) return null;
  const holds =
    value === undefined
      ? (identity.attributes.get(attribute) ?? []).some((one) => one !== '')
      : hasValue(identity, attribute, value);
  return holds || remove ? holds : null;
}

function distinct(rules: readonly Rule[]): readonly MappedRole[] {
  const roles = rules.map(({ organization, role }) => ({ organization, role }));
  return [...new Map(roles.map((role) => [keyOf(role), role])).values()];
}

function keyOf({ organization, role }: MappedRole): string {
  return `${role} ${organization}`;
}
