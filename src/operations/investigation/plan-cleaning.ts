import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type CleaningAct, cleaningOf, leftByHand } from '../../domain/investigation/cleaning.ts';
import { inDatabase } from '../../domain/investigation/cleaning-in-database.ts';
import {
  type Investigation,
  type InvestigationItem,
  isOtherChangeLeft,
  isStillThere,
  remains,
  whoText,
} from '../../domain/investigation/investigation.ts';
import { nameField } from '../../domain/investigation/kinds.ts';
import { nearestName } from '../../domain/nearest-name.ts';
import type { HandedOver, ItemMark } from '../journal/marked-items.ts';
import type { Cleaner } from '../ports/evidence.ts';
import type { RightsPurpose, TargetDescription } from '../ports/target.ts';
import { type Naming, orderCleaning } from './order-cleaning.ts';

/** Selects items that match any of these; all if none is given. */
export interface CleaningSelection {
  readonly items?: readonly string[] | undefined;
  readonly rules?: readonly string[] | undefined;
}

/** The fields of an item that actions and reports need. */
export type CleanedItem = Pick<
  InvestigationItem,
  'id' | 'summary' | 'risk' | 'object' | 'other' | 'role' | 'entries' | 'remedy'
> &
  /** Missing for an item from the audit log. */
  Partial<Pick<InvestigationItem, 'by' | 'first' | 'last' | 'changes'>>;

export interface PlannedCleaning {
  readonly item: CleanedItem;
  readonly act: CleaningAct;
  /** The access used: the database of the context, or the REST API. */
  readonly way: CleaningWay;
}

export interface CleaningWay {
  readonly via: 'database' | 'rest';
  readonly context: string;
  /** tokenctl's identity there. */
  readonly description: TargetDescription;
  /** Whether it is the context itself: its target revokes tokens, deletes applications, deactivates users. */
  readonly isTarget: boolean;
  readonly cleaner: Cleaner;
}

export interface KeptItem {
  readonly item: CleanedItem;
  /**
   * `by_hand`: not possible here; `changed_since`: changed by another user; `shared`: possibly the work of
   * another or an unknown user; `own`: the caller's own; `legitimate`: marked as legitimate; `handed_over`:
   * someone else decides; `not_undoable`: cannot be undone; `irreversible`: possible, but not confirmed.
   */
  readonly reason:
    | 'by_hand'
    | 'changed_since'
    | 'shared'
    | 'own'
    | 'unknown'
    | 'legitimate'
    | 'handed_over'
    | 'not_undoable'
    | 'irreversible';
  readonly why: string;
}

/** What a cleaning would do, in order. */
export interface CleaningPlan {
  readonly investigation: Investigation;
  /** The ids of all items that existed when the plan was made, including those the investigation omits. */
  readonly known: ReadonlySet<string>;
  /** Why a database context uses no REST API; null if it uses one, or none is configured. */
  readonly restProblem: string | null;
  readonly clean: readonly PlannedCleaning[];
  readonly keep: readonly KeptItem[];
}

/**
 * Plans how to end what remains of an investigation: access paths first, then what runs or would run. Items
 * that another user changed since stay. Unless named, so do items that may be the work of a user whose
 * password was set, and items that give no access and run no code.
 * @throws TokenctlError `lockout_refused` if the caller is one of the actors, `not_found` for an unknown item
 * or rule.
 */
export function planCleaning(
  investigation: Investigation,
  options: {
    readonly selection: CleaningSelection;
    /** In the order they are tried: the context itself first. */
    readonly ways: readonly CleaningWay[];
    readonly restProblem?: string | null;
    readonly ownTokens: readonly number[];
    /** Items marked as legitimate, by id. */
    readonly legitimate?: ReadonlyMap<string, Pick<ItemMark, 'by' | 'at'>>;
    /** Items that others decide about, by id: cleaned only if named. */
    readonly handedOver?: ReadonlyMap<string, Pick<HandedOver, 'by' | 'at' | 'to'>>;
    /** All items that were found, if the investigation omits some. */
    readonly found?: readonly Pick<InvestigationItem, 'id'>[];
  },
): CleaningPlan {
  const { selection, ways, restProblem = null, found = [] } = options;
  const actor = ways.find(({ description: { identity } }) =>
    investigation.chain.some(
      ({ user, how }) => identity.id !== null && how !== 'password_set' && user.id === identity.id,
    ),
  );
  if (actor !== undefined) {
    throw new TokenctlError(
      'lockout_refused',
      `tokenctl is logged in as ${actor.description.identity.username}, who is being investigated`,
      { hint: 'Use another account.' },
    );
  }
  requireKnown(investigation, selection);
  const clean: PlannedCleaning[] = [];
  const keep: KeptItem[] = [];
  for (const item of investigation.items.filter((each) => isMeant(each, selection))) {
    const planned = decide(item, { ...options, restProblem, investigation });
    if ('act' in planned) clean.push(planned);
    else keep.push(planned);
    const why = 'act' in planned ? leftByHand(item, planned.act) : null;
    if (why !== null) keep.push({ item: { ...item, remedy: null }, reason: 'by_hand', why });
  }
  const ordered = orderCleaning(clean, (planned) => namingOf(planned, investigation));
  const known = new Set([...investigation.items, ...found].map(({ id }) => id));
  return { investigation, known, restProblem, clean: ordered, keep };
}

/** Whether an action removes something that cannot be fully restored: it needs a separate confirmation. */
export function isIrreversible({ act }: Pick<PlannedCleaning, 'act'>): boolean {
  return !act.undoable || (act.act === 'restore' && (act.survey !== null || act.newWebhookKey !== null));
}

/** The same plan without irreversible actions. */
export function reversible(plan: CleaningPlan): CleaningPlan {
  const why = 'This cannot be undone and was not confirmed. Add --irreversible.';
  const kept = plan.clean
    .filter(isIrreversible)
    .map(({ item }): KeptItem => ({ item, reason: 'irreversible', why }));
  return {
    ...plan,
    clean: plan.clean.filter((planned) => !isIrreversible(planned)),
    keep: [...kept, ...plan.keep],
  };
}

/** The names of an object that is renamed back. */
function namingOf({ item, act }: PlannedCleaning, { items }: Investigation): Naming | null {
  const field = nameField(act.object.kind);
  if (act.act !== 'restore' || !act.fields.some((each) => each.field === field)) return null;
  const change = items.find(({ id }) => id === item.id)?.changes.find((each) => each.field === field);
  const [now, next] = [change?.now ?? change?.after, change?.before];
  return typeof now === 'string' && typeof next === 'string' ? { now, next } : null;
}

function requireKnown({ items }: Investigation, selection: CleaningSelection): void {
  const rules = new Set(items.flatMap(({ findings }) => findings.map(({ rule }) => rule)));
  const ids = new Set(items.map(({ id }) => id));
  const item = selection.items?.find((id) => !ids.has(id));
  const unknown = item ?? selection.rules?.find((rule) => !rules.has(rule));
  if (unknown === undefined) return;
  // Ids end in numbers: for an id that differs in a digit, a suggestion is probably wrong.
  const near = item === undefined ? nearestName(unknown, [...rules]) : undefined;
  throw new TokenctlError('not_found', `The investigation has no item or finding "${unknown}"`, {
    hint:
      near === undefined
        ? 'List them with `tokenctl incident investigate --all`. Item IDs are in brackets.'
        : `Did you mean "${near}"?`,
    details: { kind: 'item', names: [unknown] },
  });
}

/** Other changes, which give no access and run no code, are restored only if named. */
function isMeant(item: InvestigationItem, selection: CleaningSelection): boolean {
  const isNamed = selection.items !== undefined || selection.rules !== undefined;
  return (remains(item) || (isNamed && isOtherChangeLeft(item))) && isSelected(item, selection);
}

function isSelected({ id, findings }: InvestigationItem, { items, rules }: CleaningSelection): boolean {
  if (items === undefined && rules === undefined) return true;
  return items?.includes(id) === true || findings.some(({ rule }) => rules?.includes(rule) === true);
}

const NOT_KNOWN = 'Its current state is not known.';

/** Why no cleaning ends a remaining item, whatever access it has; null if one may. */
function neverCleaned(item: InvestigationItem): KeptItem | null {
  const cleaning = cleaningOf(item);
  if (cleaning === null) return { item, reason: 'unknown', why: item.stateReason ?? NOT_KNOWN };
  if (cleaning.act === 'manual') return { item, reason: 'by_hand', why: cleaning.why };
  // A user, schedule or host that was switched off or on still counts as the actor's.
  const later = item.changedSince.find(({ fields }) => !['is_active', 'enabled'].includes(fields.join()));
  // Of changed fields, only those unchanged since are restored; a role or link has no other state.
  if (later === undefined || cleaning.act !== 'delete') return null;
  const by = later.by?.username ?? 'an unknown user';
  return { item, reason: 'changed_since', why: `Changed since by ${by}. Decide manually.` };
}

/**
 * What ends an item, regardless of how a context reaches the controller: the tables for a database, otherwise
 * REST; or why nothing does. Null for an item that no longer exists.
 */
export function endingOf(
  item: InvestigationItem,
  { isDatabase, isDatabaseOnly }: { isDatabase: boolean; isDatabaseOnly: boolean },
): Pick<PlannedCleaning, 'act'> | { readonly why: string } | null {
  if (!isStillThere(item)) return null;
  const cleaning = cleaningOf(item);
  const never = neverCleaned(item);
  if (never !== null || cleaning === null || cleaning.act === 'manual')
    return { why: never?.why ?? NOT_KNOWN };
  const direct = isDatabase ? inDatabase(item, cleaning) : cleaning;
  if ('act' in direct) return { act: direct };
  return isDatabaseOnly ? direct : { act: cleaning };
}

function decide(
  item: InvestigationItem,
  context: Parameters<typeof planCleaning>[1] & { readonly investigation: Investigation },
): PlannedCleaning | KeptItem {
  const { object } = item;
  const keep = (reason: KeptItem['reason'], why: string): KeptItem => ({ item, reason, why });
  const mark = context.legitimate?.get(item.id);
  if (mark !== undefined) return keep('legitimate', `Marked as legitimate by ${mark.by}, ${mark.at}.`);
  const cleaning = cleaningOf(item);
  const never = neverCleaned(item);
  const isNamed = context.selection.items?.includes(item.id) === true;
  const handed = context.handedOver?.get(item.id);
  if (handed !== undefined && !isNamed) {
    const named = never === null ? ' To remove it anyway, select it with --item.' : '';
    return keep('handed_over', `Reassigned to ${handed.to} by ${handed.by}, ${handed.at}.${named}`);
  }
  if (never !== null) return never;
  if (cleaning === null || cleaning.act === 'manual') return keep('unknown', NOT_KNOWN);
  if (object.kind === 'o_auth2_access_token' && object.id !== null && context.ownTokens.includes(object.id)) {
    return keep('own', "It may be this context's credential. Revoke it last.");
  }
  const own = context.ways.find(
    ({ description: { identity } }) => identity.id !== null && identity.id === object.id,
  );
  if (object.kind === 'user' && own !== undefined)
    return keep('own', `tokenctl is logged in as ${own.description.identity.username}. Use another account.`);
  if (isShared(item, context.investigation) && !isNamed) {
    return keep('shared', `This may be the work of ${whoText(item)}. Select it with --item to remove it.`);
  }
  if (isUnrecordedUser(item) && !isNamed)
    return keep('shared', 'No entry shows who created it. Select it with --item to remove it.');
  const chosen = choose(item, cleaning, context);
  return 'why' in chosen ? keep('by_hand', chosen.why) : { item, ...chosen };
}

/** The first access that can do it, or why none can. */
export function choose(
  item: Pick<InvestigationItem, 'changes'>,
  cleaning: CleaningAct,
  { ways, restProblem }: { ways: readonly CleaningWay[]; restProblem?: string | null },
): Pick<PlannedCleaning, 'act' | 'way'> | { readonly why: string } {
  const refusals: string[] = [];
  for (const way of ways) {
    const act = way.via === 'database' ? inDatabase(item, cleaning) : cleaning;
    const refusal = 'why' in act ? act.why : refusalOf(way, act);
    if (refusal === null && 'act' in act) return { act, way };
    if (refusal !== null) refusals.push(refusal);
  }
  if (!ways.some(({ via }) => via === 'rest')) {
    refusals.push(restProblem ?? 'Run the same command in a context with a URL, or add --rest-context NAME.');
  }
  return { why: refusals.join(' ') };
}

/** The rights that actions in a database require, by kind of object. */
const PURPOSES: Readonly<Record<string, RightsPurpose>> = {
  o_auth2_access_token: 'revoke',
  o_auth2_application: 'applications',
  user: 'users',
};

/** Whether the context's target carries out the action, not the cleaner. */
export function isOfTarget({ way, act }: Pick<PlannedCleaning, 'way' | 'act'>): boolean {
  return (
    way.isTarget &&
    (act.act === 'disable' || act.act === 'enable'
      ? act.object.kind === 'user'
      : act.act === 'delete' && OF_TARGET.has(act.object.kind))
  );
}

const OF_TARGET: ReadonlySet<string> = new Set(['o_auth2_access_token', 'o_auth2_application']);

function refusalOf(way: CleaningWay, act: CleaningAct): string | null {
  if (act.act === 'enable' && act.object.kind === 'user' && way.via === 'rest') {
    return "A controller's REST API cannot activate users.";
  }
  if (!isOfTarget({ way, act })) return way.cleaner.refusal(act);
  const purpose = PURPOSES[act.object.kind];
  const missing = way.description.missingRights.filter(
    (right) => right.purpose === purpose && !right.codesOnly,
  );
  if (missing.length === 0) return null;
  return `This database role lacks permissions: ${missing.map(({ grant }) => `${grant};`).join(' ')}`;
}

/** Whether it is a user whose creator is not recorded: possibly an administrator. */
function isUnrecordedUser({
  object,
  by,
  entryCount,
}: Pick<InvestigationItem, 'object' | 'by' | 'entryCount'>): boolean {
  return object.kind === 'user' && by.length === 0 && entryCount === 0;
}

/** Whether an item may be someone else's work: it is cleaned only if named. */
export function takesNaming(
  item: Pick<InvestigationItem, 'object' | 'by' | 'entryCount'>,
  investigation: Pick<Investigation, 'chain'>,
): boolean {
  return isShared(item, investigation) || isUnrecordedUser(item);
}

/** Whether it was done only by users whose passwords were set. */
function isShared({ by }: Pick<InvestigationItem, 'by'>, { chain }: Pick<Investigation, 'chain'>): boolean {
  const shared = chain.filter(({ how }) => how === 'password_set').map(({ user }) => user.username);
  return by.length > 0 && by.every(({ username }) => shared.includes(username));
}
