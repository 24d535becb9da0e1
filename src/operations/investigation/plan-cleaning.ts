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

/** Which items are meant: those that any of these name; all without any. */
export interface CleaningSelection {
  readonly items?: readonly string[] | undefined;
  readonly rules?: readonly string[] | undefined;
}

/** An item, as far as acts and reports need it. */
export type CleanedItem = Pick<
  InvestigationItem,
  'id' | 'summary' | 'risk' | 'object' | 'other' | 'role' | 'entries' | 'remedy'
> &
  /** Missing for an item of the audit log. */
  Partial<Pick<InvestigationItem, 'by' | 'first' | 'last' | 'changes'>>;

/** An item that will be ended. */
export interface PlannedCleaning {
  readonly item: CleanedItem;
  readonly act: CleaningAct;
  /** The way that is taken: the database of the context, or the REST API. */
  readonly way: CleaningWay;
}

/** A way to end items. */
export interface CleaningWay {
  readonly via: 'database' | 'rest';
  /** The context that it belongs to. */
  readonly context: string;
  /** Who tokenctl is there. */
  readonly description: TargetDescription;
  /** Whether it is the context itself, whose target revokes tokens, deletes applications and deactivates users. */
  readonly isTarget: boolean;
  readonly cleaner: Cleaner;
}

/** An item that stays, and why. */
export interface KeptItem {
  readonly item: CleanedItem;
  /**
   * `by_hand`: not possible here; `changed_since`: by another user; `shared`: perhaps the work of another user, or of an unknown one; `own`: the caller's
   * own; `legitimate`: marked as legitimate; `handed_over`: someone else decides; `not_undoable`: nothing undoes it; `irreversible`: it can be
   * done, but was not confirmed.
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
  /** The ids of all items that were there when it was planned, also of those that the investigation leaves out. */
  readonly known: ReadonlySet<string>;
  /** Why no REST API is used beside a database; null where one is, or none is configured. */
  readonly restProblem: string | null;
  readonly clean: readonly PlannedCleaning[];
  readonly keep: readonly KeptItem[];
}

/**
 * Plans how to end what remains of an investigation: ways in first, then what runs and would run. What another user changed
 * since stays; so does what may be the work of a user whose password was set, and what gives no access and runs no code, unless it is
 * named.
 *
 * @throws TokenctlError `lockout_refused` if the caller is one of the actors, `not_found` for an unknown item or rule.
 */
export function planCleaning(
  investigation: Investigation,
  options: {
    readonly selection: CleaningSelection;
    /** In the order in which they are tried: the context itself first. */
    readonly ways: readonly CleaningWay[];
    readonly restProblem?: string | null;
    readonly ownTokens: readonly number[];
    /** What is marked as legitimate, by the ids of the items. */
    readonly legitimate?: ReadonlyMap<string, Pick<ItemMark, 'by' | 'at'>>;
    /** What others decide about, by the ids of the items: it is cleaned only where it is named. */
    readonly handedOver?: ReadonlyMap<string, Pick<HandedOver, 'by' | 'at' | 'to'>>;
    /** All items that were found, where the investigation leaves some out. */
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

/** Whether nothing restores what an act takes away, in whole or in part: it needs a confirmation of its own. */
export function isIrreversible({ act }: Pick<PlannedCleaning, 'act'>): boolean {
  return !act.undoable || (act.act === 'restore' && (act.survey !== null || act.newWebhookKey !== null));
}

/** The same plan without what cannot be undone. */
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

/** The names of an object that gets its name back. */
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
  // Ids end in numbers: of two that differ in a digit, neither was meant.
  const near = item === undefined ? nearestName(unknown, [...rules]) : undefined;
  throw new TokenctlError('not_found', `The investigation has no item or finding "${unknown}"`, {
    hint:
      near === undefined
        ? 'List them with `tokenctl incident investigate --all`. Item IDs are in brackets.'
        : `Did you mean "${near}"?`,
    details: { kind: 'item', names: [unknown] },
  });
}

/** Other changes, which give no access and run no code, are restored only where they are named. */
function isMeant(item: InvestigationItem, selection: CleaningSelection): boolean {
  const isNamed = selection.items !== undefined || selection.rules !== undefined;
  return (remains(item) || (isNamed && isOtherChangeLeft(item))) && isSelected(item, selection);
}

function isSelected({ id, findings }: InvestigationItem, { items, rules }: CleaningSelection): boolean {
  if (items === undefined && rules === undefined) return true;
  return items?.includes(id) === true || findings.some(({ rule }) => rules?.includes(rule) === true);
}

const NOT_KNOWN = 'Its current state is not known.';

/** Why no cleaning ends an item, whichever way it has; null where one may. Of an item that remains. */
function neverCleaned(item: InvestigationItem): KeptItem | null {
  const cleaning = cleaningOf(item);
  if (cleaning === null) return { item, reason: 'unknown', why: item.stateReason ?? NOT_KNOWN };
  if (cleaning.act === 'manual') return { item, reason: 'by_hand', why: cleaning.why };
  // A user, schedule or host that was switched off or on is still the actor's.
  const later = item.changedSince.find(({ fields }) => !['is_active', 'enabled'].includes(fields.join()));
  // Of changed fields, only those are restored without a change since; a role or link has no other state.
  if (later === undefined || cleaning.act !== 'delete') return null;
  const by = later.by?.username ?? 'an unknown user';
  return { item, reason: 'changed_since', why: `Changed since by ${by}. Decide manually.` };
}

/**
 * What ends an item, without asking how a context reaches the controller: by the tables where it is a database, and else over REST; or
 * why nothing does. Null for an item that does not remain.
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

/** The first way that can do it, or why none can. */
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

/** Rights that acts of a database's target take, by kind of object. */
const PURPOSES: Readonly<Record<string, RightsPurpose>> = {
  o_auth2_access_token: 'revoke',
  o_auth2_application: 'applications',
  user: 'users',
};

/** Whether the target of the context does it, not the cleaner. */
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

/** Whether it is a user of whom nothing says who made it: perhaps an administrator. */
function isUnrecordedUser({
  object,
  by,
  entryCount,
}: Pick<InvestigationItem, 'object' | 'by' | 'entryCount'>): boolean {
  return object.kind === 'user' && by.length === 0 && entryCount === 0;
}

/** Whether an item may be the work of someone else: it is cleaned only where it is named. */
export function takesNaming(
  item: Pick<InvestigationItem, 'object' | 'by' | 'entryCount'>,
  investigation: Pick<Investigation, 'chain'>,
): boolean {
  return isShared(item, investigation) || isUnrecordedUser(item);
}

/** Whether only users did it whose passwords were set. */
function isShared({ by }: Pick<InvestigationItem, 'by'>, { chain }: Pick<Investigation, 'chain'>): boolean {
  const shared = chain.filter(({ how }) => how === 'password_set').map(({ user }) => user.username);
  return by.length > 0 && by.every(({ username }) => shared.includes(username));
}
