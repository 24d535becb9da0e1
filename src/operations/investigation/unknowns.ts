import { someOf } from '@tokenctl/common/text.ts';
import type {
  EvidenceLimit,
  Investigation,
  NamelessEntries,
  UnattributedEntry,
} from '../../domain/investigation/investigation.ts';
import { type OwnAct, ownActOf } from '../journal/own-acts.ts';

interface UnknownGroup {
  readonly title: string;
  readonly texts: readonly string[];
}

/** What investigations cannot know, in readable form. */
export interface Unknowns {
  /** The most important first. */
  readonly groups: readonly UnknownGroup[];
  /** Some of the entries about access without an actor, which may be the intruder's, and their number. */
  readonly unattributed: readonly UnattributedEntry[];
  readonly unattributedCount: number;
  /** How many of these entries were attributed to tokenctl, and to which runs, as sentences; may be empty. */
  readonly ours: string;
}

type Limit = EvidenceLimit['limit'];

/** The kinds of limits by title, those that hide most first. */
const GROUPS: readonly (readonly [title: string, limits: readonly Limit[]])[] = [
  ['What may be missing', ['visibility', 'stream_pruned', 'entries_missing', 'bound_reached', 'stream_off']],
  ['Who did it', ['no_actor', 'token_unknown', 'honest_work', 'renamed', 'links_lost']],
  ['What was not read or recorded', ['not_listed', 'jobs_missing', 'not_recorded']],
];
const READ = 'What may have been read';
const REST = 'Times and other notes';

type Found = Pick<Investigation, 'limits' | 'mayHaveRead' | 'unattributed' | 'unattributedCount'>;

/** What is unknown, in groups. Entries that match actions of tokenctl in the audit log count as known. */
export function unknownsOf(investigations: readonly Found[], acts: readonly OwnAct[]): Unknowns {
  const all = investigations.flatMap(({ unattributed }) => unattributed);
  const owned = ownedEntries(all, acts);
  const isOurs = ({ entry }: UnattributedEntry) => owned.has(entry);
  const limits = investigations.flatMap((found) => {
    const ours = found.unattributed.filter(isOurs).length;
    const access = (found.unattributedCount ?? found.unattributed.length) - ours;
    return found.limits.map(({ text, entries, ...each }) => ({
      ...each,
      text: entries === undefined ? text : namelessText(entries, { ours, access }),
    }));
  });
  const textsOf = (kinds: readonly Limit[]) =>
    kinds.flatMap((kind) => limits.flatMap(({ limit, text }) => (limit === kind ? text : [])));
  const grouped = new Set(GROUPS.flatMap(([, kinds]) => kinds));
  const groups = [
    ...GROUPS.map(([title, kinds]) => ({ title, texts: textsOf(kinds) })),
    { title: READ, texts: investigations.flatMap(({ mayHaveRead }) => mayHaveRead) },
    { title: REST, texts: limits.flatMap(({ limit, text }) => (grouped.has(limit) ? [] : text)) },
  ].map(({ title, texts }) => ({
    title,
    texts: [...new Set(texts)].filter((text) => text !== '').map(withoutFractions),
  }));
  const unattributed = all.filter((entry) => !isOurs(entry));
  const counted = investigations.reduce(
    (sum, each) => sum + (each.unattributedCount ?? each.unattributed.length),
    0,
  );
  return {
    groups: groups.filter(({ texts }) => texts.length > 0),
    unattributed,
    unattributedCount: counted - (all.length - unattributed.length),
    ours: oursText([...owned.values()]),
  };
}

/** The entries that are actions of runs, by id. An action wrote one entry: a similar one may be anyone's. */
function ownedEntries(entries: readonly UnattributedEntry[], acts: readonly OwnAct[]) {
  const owned = new Map<number, OwnAct>();
  const left = new Set(acts);
  for (const entry of entries.toSorted((one, other) => one.entry - other.entry)) {
    const act = owned.has(entry.entry) ? null : ownActOf(entry, [...left]);
    if (act === null) continue;
    left.delete(act);
    owned.set(entry.entry, act);
  }
  return owned;
}

const MAX_RUNS = 10;

/** The entries attributed to runs of tokenctl, one action per entry. */
function oursText(acts: readonly OwnAct[]): string {
  if (acts.length === 0) return '';
  const runs = [...Map.groupBy(acts, ({ run }) => run)].map(
    ([run, [act, ...more]]) => `${1 + more.length} ${act?.command} by ${act?.by} (run ${run.slice(0, 8)})`,
  );
  return `Without an actor, and considered tokenctl's own work: ${acts.length === 1 ? '1 entry' : `${acts.length} entries`} about access. According to its audit log, ${runs.length === 1 ? 'this run' : 'these runs'} did the same to the same objects at that time: ${someOf(runs, MAX_RUNS)}.`;
}

/** The same text with times rounded down to seconds, for readers. */
function withoutFractions(text: string): string {
  return text.replace(/(?<=T\d\d:\d\d:\d\d)\.\d+(?=Z)/g, '');
}

/** The tokenctl runs among entries without an actor, and how many of the other entries are about access. */
interface Told {
  readonly ours: number;
  readonly access: number;
}

/** How many entries have no actor and why, and what the others' entries are. Empty if all are tokenctl's. */
export function namelessText({ count, lack, why }: NamelessEntries, told?: Told): string {
  const { ours = 0, access = 0 } = told ?? {};
  const left = count === null ? null : Math.max(0, count - ours);
  if (left === 0) return '';
  const [has, have] =
    lack === 'actor' ? ['has no actor', 'have no actor'] : ['names no user', 'name no user'];
  const counted =
    left === 1
      ? `1 entry in the period ${has}`
      : `${left ?? 'More than 2,000'} entries in the period ${have}`;
  const about = told === undefined ? '' : aboutText(left, access);
  const beside =
    ours === 0
      ? ''
      : ` ${ours} more ${ours === 1 ? 'is' : 'are'} tokenctl's own, according to its audit log.`;
  return `${counted}${about}. ${why}${beside}`;
}

/** How many entries without an actor are about access; empty if not all were read and none of those is. */
function aboutText(left: number | null, access: number): string {
  if (left === 1)
    return access > 0 ? ' and affects access: it may be part of this' : ' and does not affect access';
  if (access > 0) return `, ${access} of them about access, which may be part of this`;
  return left === null ? '' : ', 0 of them about access';
}
