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

/** The items of an investigation that the page gets; the file has all. */
export const MAX_ITEMS = 2_000;
/** The items from before a stolen token was made that the page gets. */
const MAX_BEFORE = 200;

/** How the console reaches a controller, as far as it decides what can be cleaned. */
export interface Ways {
  /** Whether the context is a database, and whether none over REST stands beside it. */
  readonly isDatabase: boolean;
  readonly isDatabaseOnly: boolean;
  /** The address of the REST API; null where no context has it. */
  readonly rest: string | null;
}

export const NO_WAYS: Ways = { isDatabase: false, isDatabaseOnly: false, rest: null };

export function waysOf({ places }: Pick<Controller, 'places'>, place: string): Ways {
  // The name of a component of a platform is no context of a command.
  const rest = places.find(({ via, place: name }) => via === 'rest' && !name.includes('/'));
  const own = places.find((each) => each.place === place);
  const isDatabase = own?.via === 'database';
  return { isDatabase, isDatabaseOnly: isDatabase && rest === undefined, rest: rest?.address ?? null };
}

/** What is known of items beside an investigation. */
type Known = KnownItems & { readonly ways: Ways };

/** An investigation in a list: what it found, counted. */
export function summaryOf(
  investigation: Investigation,
  { name, path, ways, ...known }: { readonly name: string; readonly path: string } & Known,
) {
  const { madeAt, since, until, subject, items, target, stream } = investigation;
  const all = caseItems(investigation, known);
  const count = (fate: ItemFate) => all.filter((each) => each.fate === fate).length;
  const remaining = all.filter(isOpen);
  return {
    ...{ name, path, madeAt, since, until, subject },
    context: target.context,
    /** When the oldest entry of the activity stream was written; null for an empty one. */
    oldest: stream.oldest,
    entries: stream.read,
    /** What was done; the stolen token is not. */
    items: all.filter(({ isStolen }) => !isStolen).length,
    /** How many were there or not checked when it was made; this does not change afterwards. */
    found: items.filter(isStillThere).length,
    /** What became of the items since, each counted once; `remaining` is what is to be cleaned, marked or resolved manually. */
    remaining: remaining.length,
    /** How many of these someone said before to have dealt with by hand. */
    seenAgain: count('seen_again'),
    byHand: count('by_hand'),
    handedOver: count('handed_over'),
    legitimate: count('legitimate'),
    cleaned: count('cleaned'),
    over: count('over'),
    /** The same in words. */
    became: fatesTexts(all, { remains: 'to decide', over: false }),
  };
}

/** An investigation as the page shows it. */
export type ShownInvestigation = ReturnType<typeof shownOf>;

export async function shownInvestigation(
  runtime: Runtime,
  {
    name,
    ways,
    ...of
  }: { readonly place: string; readonly incident: string; readonly name: string; readonly ways: Ways },
): Promise<ShownInvestigation> {
  const { incident } = of;
  const investigation = new CaseFiles(runtime.environment, incident).investigation(name);
  const [log, description] = [await runtime.auditLog(), await controllerOfCase(runtime, of)];
  const known = await gatherRecord({ log, description, incident, investigations: [], shown: investigation });
  return shownOf(investigation, { ...known, ways });
}

/** An investigation with what people said of its items, and what a cleaning verified since. */
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
  // Of very many, the page gets what remains. Their order is that of the file: it is the same after a cleaning.
  const most = items.toSorted((one, other) => Number(isStillThere(other)) - Number(isStillThere(one)));
  const shown = new Set(most.slice(0, MAX_ITEMS));
  const { groups, unattributedCount, ours } = unknownsOf([investigation], known.provenActs);
  const all = caseItems(investigation, known);
  const stolen = new Set(all.flatMap(({ isStolen, item }) => (isStolen ? item.id : [])));
  const drawn = items.filter((item) => shown.has(item));
  return {
    ...rest,
    /** Who made what. */
    tree: chainTree(investigation.chain, drawn, { stolen, ...DRAWN }).map(shownBranch),
    total: items.length,
    notRead: notReadText(investigation),
    /** What became of the items but the stolen token; of a case, the list has how many remain. */
    became: fatesTexts(
      all.filter(({ isStolen }) => !isStolen),
      { remains: investigation.incident === null ? 'still there or not checked' : null, over: true },
    ),
    /** What is from before the stolen token was made, and taken for the owner's own work; null where nothing was set apart. */
    beforeToken: beforeToken === undefined ? null : shownBefore(beforeToken),
    /** What is not known, the weightiest first; entries without an actor that are tokenctl's own are told apart. */
    unknowns: { groups, unattributedCount, ours },
    items: all
      .filter(({ item }) => shown.has(item))
      .map((each) => shownItem(each, { of: investigation, known })),
  };
}

/** What is drawn of the tree, and under one user. */
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

/** What the page gets of it: it is neither cleaned nor marked. */
function shownBefore({ madeAt, items, isWhole }: BeforeToken) {
  const some = items.slice(0, MAX_BEFORE).map(({ id, summary, first }) => ({ id, summary, first }));
  return { madeAt, isWhole, count: items.length, items: some };
}

function shownItem(
  each: CaseItem,
  { of, known: { ways, ownActs } }: { readonly of: Investigation; readonly known: Known },
) {
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
    /** Whether it is to be cleaned, marked or resolved manually. */
    remains: isOpen(each),
    label: labelOf(each, of),
    facts: itemFacts(each, ownActs).facts.map(([name, values]) => ({ name, values: [values].flat() })),
    mark: said.legitimate,
    /** Who said that it was resolved manually; where it remains, it was found again since. */
    handled: said.byHand,
    /** Who decides about it. */
    handedOver: said.handedOver,
    /** Why it cannot be cleaned here; null where it can be picked. */
    notCleanable: ending !== null && 'why' in ending ? ending.why : null,
    /** What a cleaning does to end it; null where none may. */
    ending: isEnded ? { act: ending.act.act, isForGood: isIrreversible(ending) } : null,
    /** The values that this sets back; null where it does something else. */
    setsBack: isEnded ? setBackText({ item, ...ending }) : null,
    page: pageOf(item, of, ways),
    /** Perhaps the work of someone else: it is cleaned only where it is picked. */
    takesNaming: takesNaming(item, of),
    rules: item.findings.map(({ rule }) => rule),
  };
}

/** Where a browser shows an object: the page of a web interface, or what a REST API says of it. */
interface ObjectPage {
  readonly href: string;
  readonly opens: 'web' | 'api';
}

/** The kinds that have pages in the web interface of the automation service, by the first parts of their addresses. */
const SERVICE_PAGES: Readonly<Record<string, string>> = {
  ...{ user: 'users', organization: 'organizations', team: 'teams', o_auth2_application: 'applications' },
  ...{ inventory: 'inventories', host: 'hosts', group: 'groups', project: 'projects' },
  ...{ credential: 'credentials', job_template: 'templates' },
};

/** The page of an object; null where none is known. The addresses of a controller's own web interface are not. */
function pageOf({ object }: InvestigationItem, { target }: Investigation, { rest }: Ways): ObjectPage | null {
  const { id, kind } = object;
  if (rest === null || target.dialect === 'gateway' || id === null || !/^https?:/.test(rest)) return null;
  const section = target.dialect === 'service' ? SERVICE_PAGES[kind] : undefined;
  if (section !== undefined) return { href: new URL(`/${section}/${id}`, rest).href, opens: 'web' };
  const path = objectPath(kind, id);
  return path === null ? null : { href: new URL(path, rest).href, opens: 'api' };
}
