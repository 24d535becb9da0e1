import { remedyOf } from '../../domain/investigation/cleaning.ts';
import { NOT_IN_STREAM, objectText, UNRECORDED_WAY_IN } from '../../domain/investigation/collect-items.ts';
import { isSameActor } from '../../domain/investigation/deed.ts';
import type {
  Actor,
  AssignedRole,
  InvestigationItem,
  ItemFinding,
  ObjectReference,
} from '../../domain/investigation/investigation.ts';
import { definedRoleField } from '../../domain/investigation/kinds.ts';
import { findingsOn } from '../../domain/investigation/risk.ts';
import type { Evidence, RoleAssignment, RoleDefinition, Window } from '../ports/evidence.ts';
import type { FollowedChain } from './follow-chain.ts';

export interface AssignedRoleItems {
  readonly items: readonly InvestigationItem[];
  /** Number of assignments in the period with an unknown author; `unread`: unreadable; `absent`: no list. */
  readonly read: { readonly unattributed: number } | 'unread' | 'absent';
}

/**
 * The roles that the chain assigned or defined at `/api/v2/role_user_assignments/`, `role_team_assignments/`
 * and `role_definitions/`. They are effective on a controller 24.6.1, which neither records them in the
 * activity stream nor lists them with the roles of users [seen]. A role that was also given as an older role
 * is in both, and counts once.
 */
export async function assignedRoleItems(
  evidence: Evidence,
  found: {
    readonly chain: FollowedChain;
    /** The items from the activity stream. */
    readonly items: readonly InvestigationItem[];
    readonly window: Window;
    readonly context: string;
  },
): Promise<AssignedRoleItems> {
  const { chain, items, window, context } = found;
  const by = chain.members.flatMap(({ user }) => user.id ?? []);
  const roles = await evidence.assignedRoles({ ...window, by });
  if (roles === null || roles === 'absent') return { items: [], read: roles ?? 'unread' };
  const isOfChain = (actor: Actor | null, at: Date) =>
    actor !== null && chain.members.some(({ user, since }) => isSameActor(user, actor) && at >= since);
  const assigned = roles.assignments
    .filter((each) => isOfChain(each.by, each.at) && !items.some((item) => isRecordedAs(each, item)))
    .map((each) => assignmentItem(each, context));
  const defined = roles.definitions
    .filter(
      ({ modified, modifiedBy, created, createdBy }) =>
        isOfChain(modifiedBy, modified) || isOfChain(createdBy, created),
    )
    .map((each) => definitionItem(each, { isMade: isOfChain(each.createdBy, each.created), context }));
  return { items: [...assigned, ...defined], read: { unattributed: roles.unattributed } };
}

/** Whether the stream has the grant as an older role, or the creation of an object, which gives a role. */
function isRecordedAs(
  { holder, about, definition, by }: RoleAssignment,
  { act, role, object, other, entries }: InvestigationItem,
): boolean {
  if (role === null) {
    return (
      act === 'made' &&
      about !== null &&
      isSame(object, about) &&
      holder.kind === 'user' &&
      holder.id === by?.id
    );
  }
  const isGranted = act === 'granted' && entries.length > 0 && isSame(object, holder);
  if (!isGranted || !definition.managed || role.field !== definedRoleField(definition.name)) return false;
  return about === null || other === null ? about === other : isSame(other, about);
}

function isSame(a: ObjectReference, b: ObjectReference): boolean {
  return a.kind === b.kind && a.id === b.id;
}

function assignmentItem(assignment: RoleAssignment, context: string): InvestigationItem {
  const { kind, id, at, by, definition, holder, about } = assignment;
  const on = about === null ? 'of the system' : `on ${objectText(about)}`;
  const findings = assignmentFindings(assignment);
  const item: InvestigationItem = {
    ...UNRECORDED_WAY_IN,
    id: `${kind}:${id}`,
    object: { kind, id, name: `${definition.name} of ${holder.name ?? holder.id}` },
    assignment: assignedRole(assignment),
    summary: `granted ${definition.name} ${on} to ${objectText(holder)}${NOT_IN_STREAM}`,
    by: by === null ? [] : [by],
    first: at.toISOString(),
    last: at.toISOString(),
    findings,
    risk: findings[0]?.severity ?? null,
    remedy: null,
  };
  return { ...item, remedy: remedyOf(item, context) };
}

/** Null if the holder is unknown. */
function assignedRole({ kind, definition, holder, about }: RoleAssignment): AssignedRole | null {
  if (holder.id === null) return null;
  const holderKind = kind === 'role_user_assignment' ? 'user' : 'team';
  return { definition: definition.id, holder: { kind: holderKind, id: holder.id }, about: about?.id ?? null };
}

/** A built-in role follows the rules of the older role. What a custom role allows is unknown here. */
function assignmentFindings({ definition, holder, about }: RoleAssignment): ItemFinding[] {
  if (!definition.managed) {
    const message = `The role is not a built-in one: role_definitions/${definition.id}/ of the API lists what it allows.`;
    return [{ rule: 'custom-role', severity: 'critical', message }];
  }
  const role = { id: null, field: definedRoleField(definition.name) };
  return findingsOn({
    act: 'granted',
    group: 'ways_in',
    object: holder,
    other: about,
    role,
    changes: new Map(),
  });
}

function definitionItem(
  { id, name, created, createdBy, modified, modifiedBy }: RoleDefinition,
  { isMade, context }: { isMade: boolean; context: string },
): InvestigationItem {
  const by = (isMade ? createdBy : null) ?? modifiedBy;
  const findings: ItemFinding[] = [
    {
      rule: 'custom-role',
      severity: 'high',
      message: 'It determines the permissions of everyone who has the role.',
    },
  ];
  const item: InvestigationItem = {
    ...UNRECORDED_WAY_IN,
    id: `role_definition:${id}`,
    act: isMade ? 'made' : 'changed',
    object: { kind: 'role_definition', id, name },
    summary: `${isMade ? 'created' : 'changed'} the role definition ${name} (${id})${NOT_IN_STREAM}`,
    by: by === null ? [] : [by],
    first: (isMade ? created : modified).toISOString(),
    last: modified.toISOString(),
    findings,
    risk: 'high',
    remedy: null,
  };
  return { ...item, remedy: remedyOf(item, context) };
}
