import { ItemCollector } from '../../domain/investigation/collect-items.ts';
import { type Deed, isSameActor, readDeed, type StreamEntry } from '../../domain/investigation/deed.ts';
import type { Actor, ChainLink } from '../../domain/investigation/investigation.ts';
import type { EntryTally, Evidence, Window } from '../ports/evidence.ts';
import { InventoryCounts } from './inventory-counts.ts';
import type { SettingNames } from './setting-names.ts';

/** The maximum depth of the chain: from the subject to a user it created, to one created by that, etc. */
const MAX_DEPTH = 5;
/** The maximum number of users in the chain. */
const MAX_USERS = 200;
/** The maximum number of objects in an investigation. */
const MAX_ITEMS = 20_000;

/** A user in the chain, while it is being followed. */
interface Member extends Pick<ChainLink, 'how' | 'by' | 'through' | 'depth'> {
  user: Actor;
  since: Date;
}

export interface FollowedChain {
  readonly members: readonly Readonly<Member>[];
  readonly items: ItemCollector;
  readonly read: number;
  /** Which entries were read, by the objects they are linked to. */
  readonly tallies: Pick<Tallies, 'of'>;
  readonly counts: Pick<InventoryCounts, 'items'>;
  /** The limits that were reached, as the beginnings of sentences. */
  readonly bounds: readonly string[];
}

/**
 * Reads the actions of the subjects in a period, and those of users they created or whose passwords they set,
 * from then on. A user counts once, from the earliest instant, however many paths lead to it.
 */
export async function followChain(
  evidence: Evidence,
  options: Window & {
    readonly subjects: readonly { readonly user: Actor; readonly since: Date }[];
    /** The users that still exist, with their current names. Entries of deleted ones are read differently. */
    readonly existing: (users: readonly Actor[]) => Promise<ReadonlyMap<number, string>>;
    readonly settingNames: SettingNames;
    /** False skips the actions of users that they created. */
    readonly isFollowed?: boolean;
  },
): Promise<FollowedChain> {
  const { until, existing, settingNames, isFollowed = true } = options;
  const items = new ItemCollector(MAX_ITEMS);
  const chain = new Chain(options.subjects);
  const tallies = new Tallies(MAX_ITEMS);
  const counts = new InventoryCounts();
  const seen = new Set<number>();
  let read = 0;
  for (let wave = chain.next(until); wave.length > 0; wave = chain.next(until)) {
    const present = await existing(wave.map(({ member }) => member.user));
    for (const { member, until: before } of wave) {
      const isPresent = chain.isPresent(member, present);
      for await (const entry of entriesBy(evidence, { member, until: before, isPresent, seen })) {
        counts.add(entry, member.user);
        const recorded = readDeed(entry);
        if (recorded === null) continue;
        // Only for resets: other entries are far more numerous.
        const deed = recorded.object.kind === 'setting' ? await settingNames.named(recorded) : recorded;
        read += 1;
        tallies.add(entry, deed);
        const through = items.add(deed, member.user);
        const joined = newMember(deed, { member, through });
        if (joined !== null && isFollowed) chain.add(joined);
      }
    }
  }
  if (items.isFull) chain.bounds.add(`More than ${MAX_ITEMS} objects were changed`);
  return { members: chain.members, items, read, tallies, counts, bounds: [...chain.bounds] };
}

/** Users whose actions are still to be read, and until when. */
interface Reading {
  readonly member: Member;
  readonly until: Date;
}

class Chain {
  readonly members: Member[];
  readonly bounds = new Set<string>();
  #waiting: { readonly member: Member; readonly until: Date | null }[];

  constructor(subjects: readonly { readonly user: Actor; readonly since: Date }[]) {
    this.members = subjects.map(({ user, since }) => ({
      user,
      since,
      how: 'subject',
      by: null,
      through: null,
      depth: 0,
    }));
    this.#waiting = this.members.map((member) => ({ member, until: null }));
  }

  /** The users who joined since the last call. */
  next(until: Date): readonly Reading[] {
    const wave = this.#waiting.map((each) => ({ member: each.member, until: each.until ?? until }));
    this.#waiting = [];
    return wave;
  }

  /** Whether a user still exists, under its current name, which the intruder may have changed. */
  isPresent({ user }: Member, present: ReadonlyMap<number, string>): boolean {
    const username = user.id === null ? undefined : present.get(user.id);
    if (username === undefined) return false;
    for (const member of this.members) {
      if (member.user.id === user.id) member.user = { ...user, username };
    }
    return true;
  }

  add(joined: Member): void {
    const known = this.members.find(({ user }) => isSameActor(user, joined.user));
    if (known !== undefined) this.#extend(known, joined.since);
    else if (joined.depth > MAX_DEPTH) this.bounds.add(`The chain is longer than ${MAX_DEPTH} users`);
    else if (this.members.length >= MAX_USERS) this.bounds.add(`The chain has more than ${MAX_USERS} users`);
    else {
      this.members.push(joined);
      this.#waiting.push({ member: joined, until: null });
    }
  }

  /** Adds an earlier path to a known user: the actions in between are read as well. */
  #extend(known: Member, since: Date): void {
    if (known.how === 'subject' || since >= known.since) return;
    this.#waiting.push({ member: { ...known, since }, until: known.since });
    known.since = since;
  }
}

class Tallies {
  readonly #byKind = new Map<string, Map<number, { count: number; sum: number }>>();
  readonly #max: number;
  #size = 0;

  /** @param max The maximum number of objects. Entries of further objects are not counted. */
  constructor(max: number) {
    this.#max = max;
  }

  of(kind: string): ReadonlyMap<number, EntryTally> {
    return this.#byKind.get(kind) ?? new Map();
  }

  /** Counts an entry for each object it is linked to. Links of an object's first entry need not be read. */
  add({ id, operation, links }: StreamEntry, { object }: Deed): void {
    if (operation === 'create' && object.id !== null) this.#count(id, object.kind, object.id);
    else for (const [kind, linked] of links) for (const each of linked) this.#count(id, kind, each.id);
  }

  #count(entry: number, kind: string, id: number): void {
    let ofKind = this.#byKind.get(kind);
    if (ofKind === undefined) {
      ofKind = new Map();
      this.#byKind.set(kind, ofKind);
    }
    const known = ofKind.get(id);
    if (known !== undefined) {
      known.count += 1;
      known.sum += entry;
    } else if (this.#size < this.#max) {
      this.#size += 1;
      ofKind.set(id, { count: 1, sum: entry });
    }
  }
}

/**
 * The actions of a user from when it joined the chain. Over REST, deleted users with the same name have the
 * same entries: each counts once.
 */
async function* entriesBy(
  evidence: Evidence,
  { member, until, isPresent, seen }: { member: Member; until: Date; isPresent: boolean; seen: Set<number> },
): AsyncGenerator<StreamEntry, void> {
  const { user, since } = member;
  const window = { since, until };
  if (isPresent && user.id !== null) {
    yield* evidence.deeds({ ...window, actorIds: [user.id] });
    return;
  }
  for await (const entry of evidence.deedsOfDeleted({ ...window, users: [user] })) {
    if (!seen.has(entry.id)) yield entry;
    seen.add(entry.id);
  }
}

/** The user that an entry adds to the chain: a created user, or one whose password another user set. */
function newMember(
  { operation, object, changes, at }: Deed,
  { member, through }: { member: Member; through: string | null },
): Member | null {
  if (object.kind !== 'user' || object.name === null) return null;
  const user = { id: object.id, username: object.name };
  const isPassword = operation === 'update' && Object.hasOwn(changes, 'password');
  if (isSameActor(user, member.user) || (operation !== 'create' && !isPassword)) return null;
  const how = operation === 'create' ? 'made' : 'password_set';
  return { user, how, by: member.user, through, depth: member.depth + 1, since: at };
}
