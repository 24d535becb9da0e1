import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { ServiceContext } from '../context.ts';
import { compiled, type Expression } from '../settings/sso-schemas.ts';
import { insertActivity } from '../store/activity.ts';
import { findOrganizationId, ORGANIZATIONS } from '../store/organizations.ts';
import { insertResource, type ResourceValues, type Storage } from '../store/resources.ts';
import { changeRole, type OrganizationRole } from '../store/roles.ts';
import { findTeamId, TEAMS } from '../store/teams.ts';
import type { Identity } from './backends.ts';
import type { UserRules } from './configuration.ts';

/** A role in an organization or in one of its teams, by name. */
interface MappedRole {
  readonly organization: string;
  readonly role: OrganizationRole;
  /** The team of which the role makes the user a member. */
  readonly team?: string;
}

/** The roles to grant, and those to remove if the user has them. */
interface MappedRoles {
  readonly granted: readonly MappedRole[];
  readonly withdrawn: readonly MappedRole[];
}

/** The new value of a flag; null means no change. */
type FlagChange = boolean | null;

/** An entry of a map: a role, whether the user should have it (null: no change), and whether to remove it otherwise. */
interface Rule extends MappedRole {
  readonly holds: boolean | null;
  readonly remove: boolean;
}

/**
 * Applies the organization and team maps to a user. A team makes a user a member of it and of its
 * organization. A role that one entry grants is not removed by another. Roles that do not match are removed
 * unless the entry says `remove: false`, as on the controller.
 */
export function mappedRoles({ organizations, teams }: UserRules, identity: Identity): MappedRoles {
  const rules: Rule[] = [];
  for (const [name, entry] of Object.entries(organizations ?? {})) {
    const organization = entry.organization_alias ?? name;
    const remove = entry.remove ?? true;
    const rule = (role: OrganizationRole, expression: typeof entry.users, removes: boolean | undefined) =>
      rules.push({ organization, role, holds: matches(expression, identity), remove: removes ?? remove });
    rule('member', entry.users, entry.remove_users);
    rule('admin', entry.admins, entry.remove_admins);
    rule('auditor', entry.auditors, entry.remove_auditors);
  }
  for (const [team, { organization, users, remove = true }] of Object.entries(teams ?? {})) {
    const rule = { organization, role: 'member', holds: matches(users, identity), remove } as const;
    rules.push(rule, { ...rule, team });
  }
  const granted = distinct(rules.filter(({ holds }) => holds === true));
  const withdrawn = distinct(rules.filter(({ holds, remove }) => holds === false && remove));
  const keys = new Set(granted.map(keyOf));
  return { granted, withdrawn: withdrawn.filter((role) => !keys.has(keyOf(role))) };
}

/** Whether the user's attributes make them a superuser or a system auditor. */
export function mappedFlags(
  { flags }: UserRules,
  identity: Identity,
): { readonly superuser: FlagChange; readonly auditor: FlagChange } {
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

/** Without a configured value, any value of the attribute matches, as on the controller. */
function flag(
  identity: Identity,
  rule: {
    readonly attribute: string | undefined;
    readonly value: string | readonly string[] | undefined;
    readonly remove: boolean | undefined;
  },
): FlagChange {
  const { attribute, value, remove = true } = rule;
  if (attribute === undefined) return null;
  const holds =
    value === undefined
      ? (identity.attributes.get(attribute) ?? []).some((one) => one !== '')
      : hasValue(identity, attribute, value);
  return holds || (remove && !isWithheld(identity, attribute)) ? holds : null;
}

function distinct(rules: readonly Rule[]): readonly MappedRole[] {
  const roles = rules.map(({ organization, role, team }) => ({
    organization,
    role,
    ...(team !== undefined && { team }),
  }));
  return [...new Map(roles.map((role) => [keyOf(role), role])).values()];
}

function keyOf({ organization, role, team }: MappedRole): string {
  return JSON.stringify([organization, role, team]);
}

/** Whether an expression of a map matches the user; null if that is unknown, or the map says `null` or nothing. */
function matches(expression: Expression | undefined, identity: Identity): boolean | null {
  if (expression === undefined || expression === null) return null;
  if (typeof expression === 'boolean') return expression;
  const isNames = typeof expression === 'string' || Array.isArray(expression);
  const holds = isNames
    ? [expression].flat().some((one) => names(one, identity))
    : Object.entries(expression).some(([attribute, wanted]) => hasValue(identity, attribute, wanted));
  const attributes = isNames ? NAME_CLAIMS : Object.keys(expression);
  return holds || !attributes.some((attribute) => isWithheld(identity, attribute)) ? holds : null;
}

/** The source claims of {@link Identity.names}. */
export const NAME_CLAIMS = ['email', 'preferred_username', 'upn'];

/** Whether the provider did not send all of its values, so that an absent value proves nothing. */
function isWithheld({ withheld = [] }: Identity, attribute: string): boolean {
  return withheld.includes(attribute);
}

/** The attributes that the maps and flags use. */
export function mappedAttributes({ organizations, teams, flags }: UserRules): ReadonlySet<string> {
  const expressions = [
    ...Object.values(organizations ?? {}).flatMap(({ users, admins, auditors }) => [users, admins, auditors]),
    ...Object.values(teams ?? {}).map(({ users }) => users),
  ];
  const named = expressions.flatMap((expression) =>
    typeof expression === 'object' && expression !== null && !Array.isArray(expression)
      ? Object.keys(expression)
      : [],
  );
  const flagged = [flags.is_superuser_attr, flags.is_system_auditor_attr];
  return new Set([...named, ...flagged.filter((name) => name !== undefined)]);
}

function hasValue({ attributes }: Identity, attribute: string, wanted: string | readonly string[]): boolean {
  const values = attributes.get(attribute) ?? [];
  return (typeof wanted === 'string' ? [wanted] : wanted).some((value) => values.includes(value));
}

/** Whether a name, or a regular expression between slashes, matches one of the user's verified names. */
function names(pattern: string, identity: Identity): boolean {
  const expression = compiled(pattern);
  return identity.names.some((name) => (expression === null ? name === pattern : expression.test(name)));
}

/** Grants and removes roles, with activity entries. Creates missing organizations and teams, as the controller does. */
export async function applyRoles(
  service: ServiceContext,
  transaction: Queryable,
  { userId, roles }: { userId: number; roles: MappedRoles },
): Promise<void> {
  const by = { actorId: null, at: service.now(), node: service.node };
  for (const mapped of roles.granted) {
    const { organization, role, team } = mapped;
    const organizationId = await existing(service, transaction, {
      type: 'organization',
      storage: ORGANIZATIONS,
      values: { name: organization, description: '', max_hosts: 0 },
      find: () => findOrganizationId(transaction, organization),
    });
    const change = { operation: 'associate', userId } as const;
    if (team === undefined) {
      await changeRole(transaction, { ...change, organizationId, role }, by);
    } else {
      const teamId = await existing(service, transaction, {
        type: 'team',
        storage: TEAMS,
        values: { name: team, description: '', organization: organizationId },
        recorded: { organization: `${organization}-${organizationId}` },
        find: () => findTeamId(transaction, team, organization),
      });
      await changeRole(transaction, { ...change, teamId, role: 'member' }, by);
    }
  }
  for (const mapped of roles.withdrawn) {
    const change = { operation: 'disassociate', userId } as const;
    if (mapped.team === undefined) {
      const organizationId = await findOrganizationId(transaction, mapped.organization);
      if (organizationId === null) continue;
      await changeRole(transaction, { ...change, organizationId, role: mapped.role }, by);
    } else {
      const teamId = await findTeamId(transaction, mapped.team, mapped.organization);
      if (teamId !== null) await changeRole(transaction, { ...change, teamId, role: 'member' }, by);
    }
  }
}

/** The id of a team or an organization, which is created if it is missing. */
async function existing(
  { now, node }: ServiceContext,
  transaction: Queryable,
  wanted: {
    readonly type: 'team' | 'organization';
    readonly storage: Storage;
    readonly values: ResourceValues;
    /** The values that the activity entry has in another form. */
    readonly recorded?: ResourceValues;
    readonly find: () => Promise<number | null>;
  },
): Promise<number> {
  const { type, storage, values, recorded, find } = wanted;
  const found = await find();
  if (found !== null) return found;
  const at = now();
  const id = await insertResource(transaction, storage, { values, by: null, at });
  if (id === null) {
    const createdConcurrently = await find();
    if (createdConcurrently === null) throw new Error(`cannot create the ${type} ${values['name']}`);
    return createdConcurrently;
  }
  await insertActivity(transaction, {
    operation: 'create',
    at,
    changes: { ...values, ...recorded, id },
    object1: type,
    actorId: null,
    node,
    ...(type === 'organization' ? { organizationId: id } : { resource: { type, id } }),
  });
  return id;
}
