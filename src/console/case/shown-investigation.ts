import type { Runtime } from '../../app/runtime.ts';
import { type ChainBranch, chainTree } from '../../domain/investigation/chain-tree.ts';
import {
  type BeforeToken,
  describedSummary,
  type Investigation,
  type InvestigationItem,
  isStillThere,
  stateText,
} from '../../domain/investigation/investigation.ts';
import { objectPath } from '../../domain/investigation/kinds.ts';
import {
  type CaseItem,
  caseItems,
  type ItemFate,
  isOpen,
  type KnownItems,
} from '../../operations/incident/case-items.ts';
import { gatherRecord } from '../../operations/incident/gather-report.ts';
import { endingOf, isIrreversible, takesNaming } from '../../operations/investigation/plan-cleaning.ts';
import { unknownsOf } from '../../operations/investigation/unknowns.ts';
import { howText } from '../../reports/incident/chain-picture.ts';
import {
  fatesTexts,
  itemFacts,
  labelOf,
  notReadText,
  setBackText,
} from '../../reports/incident/item-words.ts';
import type { Controller } from '../controllers.ts';
import { controllerOfCase } from './case-controller.ts';
import { CaseFiles } from './case-files.ts';

/** The maximum number of an investigation's items that the page gets; the file has all. */
export const MAX_ITEMS = 2_000;
/** The maximum number of items from before a stolen token was created that the page gets. */
const MAX_BEFORE = 200;

/** How the console reaches a controller, as far as it decides what can be cleaned. */
export interface Ways {
  /** Whether the context is a database, and whether it has no REST context. */
  readonly isDatabase: boolean;
  readonly isDatabaseOnly: boolean;
  /** The URL of the REST API; null if no context has one. */
  readonly rest: string | null;
}

export const NO_WAYS: Ways = { isDatabase: false, isDatabaseOnly: false, rest: null };

export function waysOf({ places }: Pick<Controller, 'places'>, place: string): Ways {
  // The name of a platform's component is not a context for commands.
  const rest = places.find(({ via, place: name }) => via === 'rest' && !name.includes('/'));
  const own = places.find((each) => each.place === place);
  const isDatabase = own?.via === 'database';
  return { isDatabase, isDatabaseOnly: isDatabase && rest === undefined, rest: rest?.address ?? null };
}

/** Facts about items from outside an investigation. */
type Known = KnownItems & { readonly ways: Ways };

/** An investigation in a list, with the number of findings. */
export function summaryOf(
  investigation: Investigation,
  { name, path, ways, ...known }: { name: string; path: string } & Known,
) {
  const { madeAt, since, until, subject, items, target, stream } = investigation;
  const all = caseItems(investigation, known);
  const count = (fate: ItemFate) => all.filter((each) => each.fate === fate).length;
  const remaining = all.filter(isOpen);
  return {
    ...{ name, path, madeAt, since, until, subject },
    context: target.context,
    /** The time of the oldest entry of the activity stream; null for an empty stream. */
    oldest: stream.oldest,
    entries: stream.read,
    /** Without the stolen token. */
    items: all.filter(({ isStolen }) => !isStolen).length,
    /** The number of items that existed or were not checked when it was made; does not change afterwards. */
    found: items.filter(isStillThere).length,
    /** The items' current states, each counted once; `remaining` must be cleaned, marked or resolved. */
    remaining: remaining.length,
    /** The number of these that were marked earlier as resolved manually. */
    seenAgain: count('seen_again'),
    byHand: count('by_hand'),
    handedOver: count('handed_over'),
    legitimate: count('legitimate'),
    cleaned: count('cleaned'),
    /** The same in words. */
    became: fatesTexts(all, { remains: 'to decide', over: false }),
  };
}

/** An investigation as the page shows it. */
export type ShownInvestigation = ReturnType<typeof shownOf>;

export async function shownInvestigation(
  runtime: Runtime,
  { name, ways, ...of }: { place: string; incident: string; name: string; ways: Ways },
): Promise<ShownInvestigation> {
  const { incident } = of;
  const investigation = new CaseFiles(runtime.environment, incident).investigation(name);
  const [log, description] = [await runtime.auditLog(), await controllerOfCase(runtime, of)];
  const known = await gatherRecord({ log, description, incident, investigations: [], shown: investigation });
  return shownOf(investigation, { ...known, ways });
}

/** An investigation with the marks of its items, and later verifications by a cleaning. */
export function shownOf(investigation: Investigation, known: Known) {
  const {
    items,
    unattributed: _unattributed,
    unattributedCount: _count,
    limits: _limits,
    beforeToken,
    mayHaveRead: _read,
    ...rest
  } = investigation;
  // If there are very many, the page gets the remaining ones, in the order of the file.
  const most = items.toSorted((one, other) => Number(isStillThere(other)) - Number(isStillThere(one)));
  const shown = new Set(most.slice(0, MAX_ITEMS));
  const { groups, unattributedCount, ours } = unknownsOf([investigation], known.provenActs);
  const all = caseItems(investigation, known);
  const stolen = new Set(all.flatMap(({ isStolen, item }) => (isStolen ? item.id : [])));
  const drawn = items.filter((item) => shown.has(item));
  return {
    ...rest,
    tree: chainTree(investigation.chain, drawn, { stolen, ...DRAWN }).map(shownBranch),
    total: items.length,
    notRead: notReadText(investigation),
    /** The state of the items without the stolen token; a case's list has the number of remaining ones. */
    became: fatesTexts(
      all.filter(({ isStolen }) => !isStolen),
      { remains: investigation.incident === null ? 'still there or not checked' : null, over: true },
    ),
    /** The owner's own work from before the stolen token was created; null if none was excluded. */
    beforeToken: beforeToken === undefined ? null : shownBefore(beforeToken),
    /** What is unknown, most important first; tokenctl's own entries without an actor are distinguished. */
    unknowns: { groups, unattributedCount, ours },
    items: all
      .filter(({ item }) => shown.has(item))
      .map((each) => shownItem(each, { of: investigation, known })),
  };
}

/** The maximum numbers of items drawn in the tree, and per user. */
const DRAWN = { most: 400, mostOfUser: 60 };

/** A user of the chain, or an item by its id. */
export interface ShownBranch {
  readonly user: { readonly name: string; readonly how: string } | null;
  readonly item: string | null;
  readonly children: readonly ShownBranch[];
}

function shownBranch({ of, children }: ChainBranch): ShownBranch {
  const isUser = 'user' in of;
  return {
    user: isUser ? { name: of.user.username, how: howText(of) } : null,
    item: isUser ? null : of.id,
    children: children.map(shownBranch),
  };
}

/** The part for the page: it is neither cleaned nor marked. */
function shownBefore({ madeAt, items, isWhole }: BeforeToken) {
  const some = items.slice(0, MAX_BEFORE).map(({ id, summary, first }) => ({ id, summary, first }));
  return { madeAt, isWhole, count: items.length, items: some };
}

function shownItem(each: CaseItem, { of, known: { ways, ownActs } }: { of: Investigation; known: Known }) {
  const { item, fate, said, isStolen } = each;
  const { id, group, object, by, first, state, stateReason, risk, remedy } = item;
  const ending = endingOf(item, ways);
  const isEnded = ending !== null && 'act' in ending;
  return {
    ...{ id, group, first, state, stateReason, risk, remedy, fate, isStolen },
    summary: describedSummary(item),
    stateText: stateText(item),
    kind: object.kind,
    by: by.map(({ username }) => username),
    /** Whether it must be cleaned, marked or resolved manually. */
    remains: isOpen(each),
    label: labelOf(each, of),
    facts: itemFacts(each, ownActs).facts.map(([name, values]) => ({ name, values: [values].flat() })),
    mark: said.legitimate,
    /** Who marked it as resolved manually; if it remains, it was found again since. */
    handled: said.byHand,
    handedOver: said.handedOver,
    /** Why it cannot be cleaned here; null if it can be picked. */
    notCleanable: ending !== null && 'why' in ending ? ending.why : null,
    /** How a cleaning ends it; null if none may. */
    ending: isEnded ? { act: ending.act.act, isForGood: isIrreversible(ending) } : null,
    /** The values that this restores; null if it does something else. */
    setsBack: isEnded ? setBackText({ item, ...ending }) : null,
    page: pageOf(item, of, ways),
    /** Possibly someone else's work: it is cleaned only if picked. */
    takesNaming: takesNaming(item, of),
    rules: item.findings.map(({ rule }) => rule),
  };
}

/** The page of an object: in a web interface, or in a REST API. */
interface ObjectPage {
  readonly href: string;
  readonly opens: 'web' | 'api';
}

/** The kinds with pages in the automation service's web interface, by path prefix. */
const SERVICE_PAGES: Readonly<Record<string, string>> = {
  ...{ user: 'users', organization: 'organizations', team: 'teams', o_auth2_application: 'applications' },
  ...{ inventory: 'inventories', host: 'hosts', group: 'groups', project: 'projects' },
  ...{ credential: 'credentials', job_template: 'templates' },
};

/** The page of an object; null if unknown. The paths of a controller's own web interface are unknown. */
function pageOf({ object }: InvestigationItem, { target }: Investigation, { rest }: Ways): ObjectPage | null {
  const { id, kind } = object;
  if (rest === null || target.dialect === 'gateway' || id === null || !/^https?:/.test(rest)) return null;
  const section = target.dialect === 'service' ? SERVICE_PAGES[kind] : undefined;
  if (section !== undefined) return { href: new URL(`/${section}/${id}`, rest).href, opens: 'web' };
  const path = objectPath(kind, id);
  return path === null ? null : { href: new URL(path, rest).href, opens: 'api' };
}
