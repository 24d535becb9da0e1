import type { Runtime } from '../../app/runtime.ts';
import { cleaningOf } from '../../domain/investigation/cleaning.ts';
import { inDatabase } from '../../domain/investigation/cleaning-in-database.ts';
import { objectText } from '../../domain/investigation/collect-items.ts';
import {
  type BeforeToken,
  describedSummary,
  type Investigation,
  type InvestigationItem,
  isStillThere,
  isStolenToken,
  stateText,
} from '../../domain/investigation/investigation.ts';
import { objectPath } from '../../domain/investigation/kinds.ts';
import { gatherRecord } from '../../operations/incident/gather-report.ts';
import { type Marks, marksOf, standingOf } from '../../operations/incident/marked-items.ts';
import { type OwnAct, ownActOf } from '../../operations/incident/own-acts.ts';
import { verifiedItems } from '../../operations/incident/verified-items.ts';
import {
  isIrreversible,
  neverCleaned,
  notInDatabase,
  takesNaming,
} from '../../operations/investigation/plan-cleaning.ts';
import { unknownsOf } from '../../operations/investigation/unknowns.ts';
import type { Controller } from '../controllers.ts';
import { controllerOfCase } from './case-controller.ts';
import { CaseFiles } from './case-files.ts';

/** The items of an investigation that the page gets; the file has all. */
export const MAX_ITEMS = 2_000;
/** The changes of an item that the page gets. */
const MAX_CHANGES = 20;
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
export interface Known {
  readonly marks: Marks;
  /** When a cleaning verified that an item does not remain. */
  readonly cleaned: ReadonlyMap<string, string>;
  readonly ways: Ways;
}

/** What tokenctl itself did for the incident. */
interface Own {
  readonly ownActs: readonly OwnAct[];
}

/**
 * What an item is now, each counted once: cleaned and verified since, marked as honest work, dealt with by hand as a person says,
 * found again after somebody said that, left to others, there still or not checked, or gone, undone or finished. The stolen token is
 * none of these once it is gone.
 */
type ItemFate =
  | 'remains'
  | 'seen_again'
  | 'by_hand'
  | 'handed_over'
  | 'honest'
  | 'cleaned'
  | 'over'
  | 'stolen';

export function fateOf(
  item: InvestigationItem,
  { marks, cleaned }: Pick<Known, 'marks' | 'cleaned'>,
  of: Investigation,
): ItemFate {
  const { madeAt } = of;
  const isCleaned = cleanedAtOf(item, cleaned, madeAt) !== null;
  if (isStolenToken(item, of) && (!isStillThere(item) || isCleaned)) return 'stolen';
  if (isCleaned) return 'cleaned';
  if (marks.honest.has(item.id)) return 'honest';
  return standingOf(item, { madeAt, marks })?.is ?? 'over';
}

/** Why the console cleans an item in no way; null where it may. */
function notCleanable(item: InvestigationItem, { isDatabaseOnly }: Ways): string | null {
  if (!isStillThere(item)) return null;
  return neverCleaned(item)?.why ?? (isDatabaseOnly ? notInDatabase(item) : null);
}

/** An investigation in a list: what it found, counted. */
export function summaryOf(
  investigation: Investigation,
  { name, path, ...known }: { readonly name: string; readonly path: string } & Known,
) {
  const { madeAt, since, until, subject, items, target, stream } = investigation;
  const fates = Map.groupBy(items, (item) => fateOf(item, known, investigation));
  const count = (fate: ItemFate) => fates.get(fate)?.length ?? 0;
  const remaining = [...(fates.get('remains') ?? []), ...(fates.get('seen_again') ?? [])];
  return {
    ...{ name, path, madeAt, since, until, subject },
    context: target.context,
    /** When the oldest entry of the activity stream was written; null for an empty one. */
    oldest: stream.oldest,
    entries: stream.read,
    /** What was done; the stolen token is not. */
    items: items.filter((item) => !isStolenToken(item, investigation)).length,
    /** How many were there or not checked when it was made; this does not change afterwards. */
    found: items.filter(isStillThere).length,
    /** What became of the items since, each counted once; `remaining` is what is to be cleaned, marked or done by hand. */
    remaining: remaining.length,
    /** How many of these no cleaning ends. */
    notCleanable: remaining.filter((item) => notCleanable(item, known.ways) !== null).length,
    /** How many of these somebody said before to have dealt with by hand. */
    seenAgain: count('seen_again'),
    byHand: count('by_hand'),
    handedOver: count('handed_over'),
    honest: count('honest'),
    cleaned: count('cleaned'),
    over: count('over'),
  };
}

/**
 * When a cleaning verified that an item does not remain; null if none did, or an investigation after it found the item there or did not
 * check it.
 */
function cleanedAtOf(
  item: InvestigationItem,
  cleaned: ReadonlyMap<string, string>,
  madeAt: string,
): string | null {
  const at = cleaned.get(item.id);
  return at !== undefined && (Date.parse(at) > Date.parse(madeAt) || !isStillThere(item)) ? at : null;
}

/** An investigation as the page shows it. */
export type ShownInvestigation = Awaited<ReturnType<typeof shownInvestigation>>;

export async function shownInvestigation(
  runtime: Runtime,
  {
    name,
    ways,
    ...of
  }: { readonly place: string; readonly incident: string; readonly name: string; readonly ways: Ways },
) {
  const { incident } = of;
  const investigation = new CaseFiles(runtime.environment, incident).investigation(name);
  const [log, description] = [await runtime.auditLog(), await controllerOfCase(runtime, of)];
  const marks = await marksOf({ log, description, incident });
  const cleaned = await verifiedItems({ log, description, incident });
  const { ownActs } = await gatherRecord({ log, description, incident, investigations: [] });
  return shownOf(investigation, { marks, cleaned, ways, ownActs });
}

/** An investigation with what people said of its items, and what a cleaning verified since. */
export function shownOf(investigation: Investigation, known: Known & Own) {
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
  const { groups, unattributedCount, ours } = unknownsOf([investigation], known.ownActs);
  return {
    ...rest,
    total: items.length,
    /** What is from before the stolen token was made, and taken for the owner's own work; null where nothing was set apart. */
    beforeToken: beforeToken === undefined ? null : shownBefore(beforeToken),
    /** What is not known, the weightiest first; entries without an actor that are tokenctl's own are told apart. */
    unknowns: { groups, unattributedCount, ours },
    items: items.filter((item) => shown.has(item)).map((item) => shownItem(item, investigation, known)),
  };
}

/** What the page gets of it: it is neither cleaned nor marked. */
function shownBefore({ madeAt, items, isWhole }: BeforeToken) {
  const some = items.slice(0, MAX_BEFORE).map(({ id, summary, first }) => ({ id, summary, first }));
  return { madeAt, isWhole, count: items.length, items: some };
}

function shownItem(item: InvestigationItem, of: Investigation, known: Known & Own) {
  const { id, group, act, object, by, first, last, entryCount, state, stateReason, risk, remedy } = item;
  const summary = describedSummary(item);
  const { marks, cleaned, ways } = known;
  const fate = fateOf(item, known, of);
  return {
    ...{ id, group, act, summary, first, last, entryCount, state, stateReason, risk, remedy, fate },
    stateText: stateText(item),
    /** What it is about, in a few words. */
    name: shortName(object),
    isStillThere: isStillThere(item),
    /** The theft began with it, at the earliest when it was made. */
    isStolen: isStolenToken(item, of),
    kind: object.kind,
    by: by.map(({ username }) => username),
    /** Whether it is to be cleaned, marked or done by hand. */
    remains: fate === 'remains' || fate === 'seen_again',
    /** When the investigation read it. */
    readAt: of.madeAt,
    cleanedAt: cleanedAtOf(item, cleaned, of.madeAt),
    mark: marks.honest.get(id) ?? null,
    /** Who said that it was dealt with by hand; where it remains, it was found again since. */
    handled: marks.byHand.get(id) ?? null,
    /** Who decides about it. */
    handedOver: marks.handedOver.get(id) ?? null,
    /** Why it cannot be cleaned here; null where it can be picked. */
    notCleanable: notCleanable(item, ways),
    /** What a cleaning does to end it; null where none may. */
    ending: notCleanable(item, ways) === null ? endingOf(item, ways) : null,
    page: pageOf(item, of, ways),
    /** Perhaps the work of somebody else: it is cleaned only where it is picked. */
    takesNaming: takesNaming(item, of),
    findings: item.findings.map(({ rule, severity, message }) => ({ rule, severity, message })),
    changes: item.changes.slice(0, MAX_CHANGES).map(({ field, before, after, hidden, state: now }) => ({
      ...{ field, hidden, state: now },
      ...(!hidden && { before: valueText(before), after: valueText(after) }),
    })),
    setsBack: setsBackOf(item),
    changedSince: item.changedSince.slice(0, MAX_CHANGES).map(({ at, by: actor, operation, fields }) => ({
      ...{ at, operation, fields },
      by: actor?.username ?? ownActorOf({ at, operation, fields, object }, known.ownActs),
    })),
    job:
      item.job === null
        ? null
        : { status: item.job.status, hosts: item.job.hosts, credentials: item.job.credentials },
  };
}

/** An object without its number, where it has a name. */
function shortName(object: InvestigationItem['object']): string {
  const { id, name } = object;
  return id === null
    ? objectText(object)
    : objectText(object).replace(name === null ? /[()]/g : / \(\d+\)$/, '');
}

/** How a cleaning ends an item, and whether nothing gives that back; null where it does not. */
function endingOf(item: InvestigationItem, { isDatabase }: Ways) {
  const cleaning = cleaningOf(item);
  if (cleaning === null || cleaning.act === 'manual') return null;
  const direct = isDatabase ? inDatabase(item, cleaning) : cleaning;
  const act = 'act' in direct ? direct : cleaning;
  return { act: act.act, isForGood: isIrreversible({ act }) };
}

/** The fields that a cleaning sets back; null where it does something else. */
function setsBackOf(item: InvestigationItem): readonly string[] | null {
  const act = cleaningOf(item);
  if (act?.act !== 'restore') return null;
  return [...act.fields.map(({ field }) => field), ...(act.survey === null ? [] : ['survey_spec'])];
}

function ownActorOf(entry: Parameters<typeof ownActOf>[0], acts: readonly OwnAct[]): string | null {
  const own = ownActOf(entry, acts);
  return own === null ? null : `${own.by} by tokenctl, run ${own.run.slice(0, 8)}`;
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

/** The characters of a value that the page gets. */
const MAX_VALUE = 300;

function valueText(value: unknown): string | null {
  if (value === undefined) return null;
  const text = JSON.stringify(value) ?? '';
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}…`;
}
