import type { Queryable } from '../../db/database.ts';
import type { ServiceContext } from '../context.ts';
import { compiled, type Expression } from '../settings/sso-schemas.ts';
import { insertActivity } from '../store/activity.ts';
import {
  findOrganizationId,
  grantRole,
  insertOrganization,
  type OrganizationRole,
  withdrawRole,
} from '../store/organizations.ts';
import type { Identity } from './backends.ts';
import type { UserRules } from './configuration.ts';

/** A role in an organization, by the organization's name. */
interface MappedRole {
  readonly organization: string;
  readonly role: OrganizationRole;
}

/** What maps say of a user: what to give, and what to take away where the user has it. */
interface MappedRoles {
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

/** Whether an expression of a map means this user; null where it says nothing. */
function means(expression: Expression | undefined, identity: Identity): boolean | null {
  if (expression === undefined || expression === null) return null;
  if (typeof expression === 'boolean') return expression;
  if (typeof expression === 'string') return names(expression, identity);
  if (Array.isArray(expression)) return expression.some((one) => names(one, identity));
  return Object.entries(expression).some(([attribute, wanted]) => hasValue(identity, attribute, wanted));
}

/** Whether an attribute of a user has one of some values. */
function hasValue({ attributes }: Identity, attribute: string, wanted: string | readonly string[]): boolean {
  const values = attributes.get(attribute) ?? [];
  return (typeof wanted === 'string' ? [wanted] : wanted).some((value) => values.includes(value));
}

/** Whether a name, or an expression between slashes, means one of the names that the provider vouches for. */
function names(pattern: string, identity: Identity): boolean {
  const expression = compiled(pattern);
  return identity.names.some((name) => (expression === null ? name === pattern : expression.test(name)));
}

/**
 * Gives a user the roles that maps grant, and takes away those that they withdraw. An organization that does
 * not exist is made, as on the controller.
 */
export async function applyRoles(
  service: ServiceContext,
  transaction: Queryable,
  { userId, roles }: { readonly userId: number; readonly roles: MappedRoles },
): Promise<void> {
  for (const mapped of roles.granted) {
    const organizationId = await organizationOf(service, transaction, mapped);
    const grant = { userId, organizationId, role: mapped.role };
    if (await grantRole(transaction, grant))
      await note(service, transaction, { ...grant, operation: 'associate' });
  }
  for (const mapped of roles.withdrawn) {
    const organizationId = await findOrganizationId(transaction, mapped.organization);
    if (organizationId === null) continue;
    const grant = { userId, organizationId, role: mapped.role };
    if (await withdrawRole(transaction, grant))
      await note(service, transaction, { ...grant, operation: 'disassociate' });
  }
}

async function organizationOf(
  { now, node }: ServiceContext,
  transaction: Queryable,
  { organization: name }: MappedRole,
): Promise<number> {
  const there = await findOrganizationId(transaction, name);
  if (there !== null) return there;
  const at = now();
  const description = '';
  const made = await insertOrganization(transaction, {
    name,
    description,
    max_hosts: 0,
    createdBy: null,
    at,
  });
  if (made !== null) {
    await insertActivity(transaction, {
      operation: 'create',
      at,
      changes: { name, description, max_hosts: 0, id: made },
      object1: 'organization',
      actorId: null,
      node,
      organizationId: made,
    });
    return made;
  }
  const meanwhile = await findOrganizationId(transaction, name);
  if (meanwhile === null) throw new Error('an organization is neither there nor can be made');
  return meanwhile;
}

function note(
  { now, node }: ServiceContext,
  transaction: Queryable,
  change: {
    readonly userId: number;
    readonly organizationId: number;
    readonly role: MappedRole['role'];
    readonly operation: 'associate' | 'disassociate';
  },
): Promise<void> {
  const { userId, organizationId, role, operation } = change;
  const relationship = `awx.main.models.organization.Organization.${role}_role`;
  return insertActivity(transaction, {
    operation,
    at: now(),
    changes: {
      object1: 'organization',
      object1_pk: organizationId,
      object2: 'user',
      object2_pk: userId,
      action: operation,
      relationship,
    },
    object1: 'organization',
    object2: 'user',
    relationship,
    actorId: null,
    node,
    organizationId,
    userId,
  });
}
