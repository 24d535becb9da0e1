import { notNamed } from '../../domain/investigation/earlier-items.ts';
import {
  type Investigation,
  type InvestigationItem,
  isStillThere,
  isStolenToken,
} from '../../domain/investigation/investigation.ts';

/** The findings of all investigations, using the last one of each subject. */
export interface Found extends Investigation {
  /** The findings of each subject. */
  readonly subjects: readonly Investigation[];
  /** The last investigation of each subject. */
  readonly lasts: readonly Investigation[];
  /** The ids of items that are stolen tokens: not actions of the intruder. */
  readonly stolen: ReadonlySet<string>;
}

/** Merges investigations, in the order they were made; null if there are none. */
export function foundBy(investigations: readonly Investigation[]): Found | null {
  const last = investigations.at(-1);
  if (last === undefined) return null;
  const groups = bySubject(investigations);
  const lasts = groups.flatMap((each) => each.slice(-1));
  const stolen = investigations.flatMap((each) => each.items.filter((item) => isStolenToken(item, each)));
  return {
    ...combined(investigations, last),
    subjects: groups.flatMap((each) => each.slice(-1).map((own) => combined(each, own))),
    lasts,
    stolen: new Set(stolen.map(({ id }) => id)),
  };
}

/** The investigations of each subject, by time. An investigation of a token counts for its owner. */
function bySubject(investigations: readonly Investigation[]): readonly (readonly Investigation[])[] {
  const groups = Map.groupBy(investigations, ({ subject }) =>
    JSON.stringify(subject.kind === 'token' ? ['user', subject.user] : [subject.kind, subject.name]),
  );
  return [...groups.values()];
}

function combined(investigations: readonly Investigation[], last: Investigation): Investigation {
  const items = new Map<string, InvestigationItem>();
  for (const item of bySubject(investigations).flatMap(itemsOf)) {
    const known = items.get(item.id);
    // Found with two subjects: an item that may remain is not hidden by the other subject's result.
    if (known === undefined || !isStillThere(known)) items.set(item.id, item);
  }
  const chain = new Map(
    investigations
      .flatMap((each) => each.chain)
      .map((link) => [`${link.user.id}:${link.user.username}`, link]),
  );
  const hole = bySubject(investigations).flatMap((each) => each.at(-1)?.stream.hole ?? []);
  const stream = { ...last.stream, ...(hole[0] !== undefined && { hole: hole[0] }) };
  return { ...last, stream, items: [...items.values()], chain: [...chain.values()] };
}

/** The findings of the investigations of one subject, as of the last one. */
function itemsOf(investigations: readonly Investigation[]): readonly InvestigationItem[] {
  const last = investigations.at(-1);
  if (last === undefined) return [];
  const before = new Map(
    investigations.slice(0, -1).flatMap(({ items }) => items.map((item) => [item.id, item])),
  );
  const known = new Set([...before.values()].flatMap(({ entries }) => entries));
  const named = last.items.filter(({ id, object, entries }) => {
    const isLost = object.id === null && entries.length > 0 && entries.every((entry) => known.has(entry));
    return before.has(id) || !isLost;
  });
  const withKnownNames = named.map((item) => withNames(item, before.get(item.id)));
  return [...notNamed([...before.values()], last), ...withKnownNames];
}

/** The stream loses the names of deleted objects: an earlier investigation still had them. */
function withNames(item: InvestigationItem, before: InvestigationItem | undefined): InvestigationItem {
  const isNamed = [item.object, item.other].every((each) => each === null || each.name !== null);
  return isNamed || before === undefined ? item : { ...item, summary: before.summary, object: before.object };
}
