import { TokenctlError } from '../../domain/errors.ts';
import { type CleaningAct, cleaningOf } from '../../domain/investigation/cleaning.ts';
import {
  type Investigation,
  type InvestigationItem,
  remains,
} from '../../domain/investigation/investigation.ts';
import type { TargetDescription } from '../ports/target.ts';

/** Which items are meant: those that any of these name; all without any. */
export interface CleaningSelection {
  readonly items?: readonly string[] | undefined;
  readonly rules?: readonly string[] | undefined;
}

/** An item that will be ended. */
export interface PlannedCleaning {
  readonly item: InvestigationItem;
  readonly act: CleaningAct;
  /** A user is deactivated, not deleted: in a database. */
  readonly deactivates: boolean;
  readonly undoable: boolean;
}

/** An item that stays, and why. */
interface KeptItem {
  readonly item: InvestigationItem;
  /** `by_hand`: not possible here; `changed_since`: by another user; `shared`: perhaps the work of another user; `own`: the caller's own. */
  readonly reason: 'by_hand' | 'changed_since' | 'shared' | 'own' | 'unknown';
  readonly why: string;
}

/** What a cleaning would do, in order. */
export interface CleaningPlan {
  readonly investigation: Investigation;
  readonly clean: readonly PlannedCleaning[];
  readonly keep: readonly KeptItem[];
}

/**
 * Plans how to end what remains of an investigation: ways in first, then what runs and would run. What another user changed
 * since stays; so does what may be the work of a user whose password was set, unless it is named.
 *
 * @throws TokenctlError `lockout_refused` if the caller is one of the actors, `not_found` for an unknown item or rule.
 */
export function planCleaning(
  investigation: Investigation,
  options: {
    readonly selection: CleaningSelection;
    readonly description: TargetDescription;
    readonly ownTokens: readonly number[];
  },
): CleaningPlan {
  const { selection, description, ownTokens } = options;
  const { identity } = description;
  if (
    identity.id !== null &&
    investigation.chain.some(({ user, how }) => how !== 'password_set' && user.id === identity.id)
  ) {
    throw new TokenctlError(
      'lockout_refused',
      `tokenctl signs in as ${identity.username}, who is investigated`,
      {
        hint: 'Use another account.',
      },
    );
  }
  requireKnown(investigation, selection);
  const clean: PlannedCleaning[] = [];
  const keep: KeptItem[] = [];
  for (const item of investigation.items.filter((each) => remains(each) && isSelected(each, selection))) {
    const planned = decide(item, { investigation, description, ownTokens, selection });
    if ('act' in planned) clean.push(planned);
    else keep.push(planned);
  }
  return { investigation, clean: clean.sort((a, b) => rank(a) - rank(b)), keep };
}

function requireKnown({ items }: Investigation, selection: CleaningSelection): void {
  const rules = new Set(items.flatMap(({ findings }) => findings.map(({ rule }) => rule)));
  const unknown =
    selection.items?.find((id) => !items.some((item) => item.id === id)) ??
    selection.rules?.find((rule) => !rules.has(rule));
  if (unknown === undefined) return;
  throw new TokenctlError('not_found', `The investigation has no item or finding "${unknown}"`, {
    hint: 'List them with `tokenctl incident investigate --all`: the id of an item is in brackets.',
    details: { kind: 'item', names: [unknown] },
  });
}

function isSelected({ id, findings }: InvestigationItem, { items, rules }: CleaningSelection): boolean {
  if (items === undefined && rules === undefined) return true;
  return items?.includes(id) === true || findings.some(({ rule }) => rules?.includes(rule) === true);
}

/** What can be done in a database without the controller's own code. */
const IN_DATABASE: ReadonlySet<string> = new Set(['o_auth2_access_token', 'o_auth2_application', 'user']);

function decide(
  item: InvestigationItem,
  context: Parameters<typeof planCleaning>[1] & { readonly investigation: Investigation },
): PlannedCleaning | KeptItem {
  const { object } = item;
  const keep = (reason: KeptItem['reason'], why: string): KeptItem => ({ item, reason, why });
  const cleaning = cleaningOf(item);
  if (cleaning === null) return keep('unknown', item.stateReason ?? 'What it is now is not known.');
  if (cleaning.act === 'manual') return keep('by_hand', cleaning.why);
  if (object.kind === 'o_auth2_access_token' && object.id !== null && context.ownTokens.includes(object.id)) {
    return keep('own', 'It may be the credential of this context: revoke it last.');
  }
  // A user who was deactivated is still the actor's.
  const later = item.changedSince.find(({ fields }) => fields.join() !== 'is_active');
  // Of changed fields, only those are restored without a change since; a role or link has no other state.
  if (later !== undefined && cleaning.act === 'delete') {
    return keep(
      'changed_since',
      `Changed since by ${later.by?.username ?? 'a user who is not recorded'}: decide by hand.`,
    );
  }
  if (isShared(item, context.investigation) && context.selection.items?.includes(item.id) !== true) {
    return keep(
      'shared',
      `Perhaps the work of ${item.by.map(({ username }) => username).join(', ')}: name it with --item to end it.`,
    );
  }
  const isDatabase = context.description.credential === 'database_role';
  if (isDatabase && !(cleaning.act === 'delete' && IN_DATABASE.has(object.kind))) {
    return keep('by_hand', 'Only the REST API can do it: run the same in a context with a URL.');
  }
  const deactivates = isDatabase && object.kind === 'user';
  return { item, act: cleaning, deactivates, undoable: cleaning.undoable || deactivates };
}

/** Whether only users did it whose passwords were set. */
function isShared({ by }: InvestigationItem, { chain }: Investigation): boolean {
  const shared = chain.filter(({ how }) => how === 'password_set').map(({ user }) => user.username);
  return by.length > 0 && by.every(({ username }) => shared.includes(username));
}

/** Ways in first. Users after their roles, which go with them. */
function rank({ item: { object, role }, act }: PlannedCleaning): number {
  if (object.kind === 'o_auth2_access_token') return 0;
  if (object.kind === 'o_auth2_application') return 1;
  if (role !== null) return 2;
  if (object.kind === 'user') return 3;
  return { cancel: 4, restore: 5, disassociate: 6, delete: object.kind === 'schedule' ? 4 : 7 }[act.act];
}
