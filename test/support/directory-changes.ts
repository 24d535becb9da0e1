import fc from 'fast-check';
import type { KnownEntry } from '../../src/operations/directories/compare-users.ts';
import { PAGINGS, type Person, type Provided, REPLIES, type Source, type Tie } from './directory-source.ts';

const CHANGES = [
  'disabled',
  'enabled',
  'deleted',
  'restored',
  'renamed',
  'renamed',
  'replaced by a newcomer',
  'replaced by a disabled newcomer',
  'moved to the group',
  'moved to the group within',
  'moved out of the group',
] as const;

type Verdict = 'offboarded' | 'in doubt' | 'stays';

/**
 * What becomes of a user after some changes, in an answer without a fault: who is known by the id of an account, by an entry that an
 * earlier answer had, and by nothing but a name. The table of docs/identity-providers.md.
 */
export const CASES: readonly (readonly [
  changes: readonly (typeof CHANGES)[number][],
  byId: Verdict,
  byEntry: Verdict,
  byName: Verdict,
])[] = [
  [['disabled'], 'offboarded', 'offboarded', 'offboarded'],
  [['moved out of the group'], 'offboarded', 'offboarded', 'offboarded'],
  [['moved to the group within'], 'stays', 'stays', 'stays'],
  [['deleted'], 'offboarded', 'offboarded', 'in doubt'],
  [['renamed'], 'stays', 'stays', 'in doubt'],
  [['renamed', 'disabled'], 'offboarded', 'offboarded', 'in doubt'],
  [['replaced by a newcomer'], 'stays', 'stays', 'stays'],
  [['replaced by a disabled newcomer'], 'stays', 'stays', 'offboarded'],
  [['replaced by a newcomer', 'disabled'], 'offboarded', 'in doubt', 'stays'],
  [['deleted', 'replaced by a newcomer'], 'offboarded', 'in doubt', 'stays'],
  [['deleted', 'replaced by a disabled newcomer'], 'offboarded', 'offboarded', 'offboarded'],
  [['deleted', 'restored'], 'stays', 'stays', 'stays'],
];

/** Ways in which a list is incomplete. */
const CUTS = ['none', 'ends early', 'begins late', 'leaves out every third'] as const;

/** What a list says how many users there are: those that it shows, all that there are, or those of one page. */
const TOTALS = ['list', 'all', 'page'] as const;

/** Mostly without a fault: with several, one hides the others. */
const mostly = <Value>(values: readonly [Value, ...Value[]]) =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(values[0]) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
  );

const rounds = fc.record({
  changes: fc.array(fc.record({ who: fc.nat(9), what: fc.constantFrom(...CHANGES) }), { maxLength: 8 }),
  cut: mostly(CUTS),
  keep: fc.integer({ min: 1, max: 8 }),
  total: mostly(TOTALS),
  paging: mostly(PAGINGS),
  replies: mostly(REPLIES),
});

/** What happens between two answers of a directory, and what is wrong with the second one. */
export type Round = typeof rounds extends fc.Arbitrary<infer Value> ? Value : never;

/** A directory with its users, and what happens to them before each of some answers. */
export const courses = fc.record({
  size: fc.integer({ min: 2, max: 10 }),
  tie: fc.nat(2),
  /** Whether an answer from before the first change is known. */
  isKnown: fc.boolean(),
  rounds: fc.array(rounds, { minLength: 1, maxLength: 2 }),
});

/** The id of the first user of the controller. */
const FIRST = 10;

/** A user of a controller, with what it is known by there. */
export interface Account {
  readonly id: number;
  readonly username: string;
  /** Whose it is, as the person was at first. */
  readonly person: Person;
  readonly tied: string;
}

/** What is true of a user of a controller. */
interface Truth {
  /** Whether the person may sign in. */
  readonly isThere: boolean;
  /** Whether another one has the name by which alone the user is known: nothing tells the two apart. */
  readonly isMistaken: boolean;
  /** Whether a faultless answer leaves no doubt. */
  readonly isCertain: boolean;
}

/** The people of a directory while it changes. The first one stays as it is: someone is always there. */
export class ChangingStaff {
  readonly accounts: readonly Account[];
  readonly #source: Source;
  readonly tie: Tie;
  readonly #people = new Map<string, Person>();
  readonly #deleted = new Map<string, Person>();
  readonly #known = new Map<number, string>();
  #made = 0;

  constructor(source: Source, tie: Tie, size: number) {
    this.#source = source;
    this.tie = tie;
    const people = Array.from({ length: size }, () => this.#add(this.#freshName()));
    this.accounts = people.map((person, index) => ({
      ...{ id: FIRST + index, username: person.name, person, tied: tie.of(person) },
    }));
  }

  /** Whose entry is which, as answers showed it. */
  get known(): readonly KnownEntry[] {
    return [...this.#known].map(([userId, entry]) => ({ userId, entry }));
  }

  /** Whether nothing is known, or the entry of the one who stays: a directory of which others only are known looks like another one. */
  get isFamiliar(): boolean {
    return this.#known.size === 0 || this.#known.has(FIRST);
  }

  learn(learned: Iterable<KnownEntry>): void {
    for (const { userId, entry } of learned) this.#known.set(userId, entry);
  }

  /** Makes the changes of a round. */
  change({ changes }: Round): void {
    for (const { who, what } of changes) {
      const account = this.accounts[1 + (who % Math.max(1, this.accounts.length - 1))];
      if (account !== undefined) this.#make(what, account.person.id);
    }
  }

  /** Makes changes to the second one. */
  changeOne(changes: readonly (typeof CHANGES)[number][]): void {
    for (const what of changes) this.#make(what, this.accounts[1]?.person.id ?? '');
  }

  /** What the directory has now, and what its answer shows of it. */
  provided({ cut, keep, total, paging, replies }: Round): Provided {
    const people = [...this.#people.values()];
    const listed =
      cut === 'ends early'
        ? people.slice(0, keep)
        : cut === 'begins late'
          ? people.slice(Math.min(keep, people.length - 1))
          : cut === 'leaves out every third'
            ? people.filter((_, index) => index % 3 !== keep % 3)
            : people;
    const announced = { list: listed.length, all: people.length, page: Math.min(3, listed.length) }[total];
    return { people, listed, announced, paging, replies };
  }

  /** What is true of a user of the controller now. */
  truthOf({ id, person, tied }: Account): Truth {
    const now = this.#people.get(person.id);
    const entry = this.#known.get(id);
    const isKnown = entry === this.#source.idOf(person);
    const isTaken = [...this.#people.values()].some(
      (each) => each.id !== person.id && this.tie.of(each) === tied,
    );
    return {
      isThere: now?.isActive === true && !(this.#source.hasGroup && now.group === 'none'),
      isMistaken: !this.tie.isId && !isKnown && (entry !== undefined || isTaken),
      isCertain: this.tie.isId || (isKnown && !isTaken),
    };
  }

  #make(what: (typeof CHANGES)[number], id: string): void {
    const person = this.#people.get(id);
    const set = (more: Partial<Person>) =>
      person !== undefined && this.#people.set(id, { ...person, ...more });
    switch (what) {
      case 'disabled':
        set({ isActive: false });
        break;
      case 'enabled':
        set({ isActive: true });
        break;
      case 'deleted':
        if (person !== undefined) this.#deleted.set(id, person);
        this.#people.delete(id);
        break;
      case 'restored': {
        const deleted = this.#deleted.get(id);
        if (person !== undefined || deleted === undefined) break;
        const isTaken = [...this.#people.values()].some(({ name }) => name === deleted.name);
        this.#people.set(id, { ...deleted, name: isTaken ? this.#freshName() : deleted.name });
        break;
      }
      case 'renamed':
        set({ name: this.#freshName() });
        break;
      case 'moved to the group':
        set({ group: 'staff' });
        break;
      case 'moved to the group within':
        set({ group: 'nested' });
        break;
      case 'moved out of the group':
        set({ group: 'none' });
        break;
      default:
        this.#replace(id, what === 'replaced by a newcomer');
    }
  }

  /** Gives the name of a user's account to someone new; who has it gets another one. */
  #replace(id: string, isActive: boolean): void {
    const name = this.accounts.find(({ person }) => person.id === id)?.username ?? '';
    for (const each of this.#people.values())
      if (each.name === name) this.#people.set(each.id, { ...each, name: this.#freshName() });
    this.#add(name, isActive);
  }

  #add(name: string, isActive = true): Person {
    this.#made += 1;
    const person: Person = { id: `p${this.#made}`, name, isActive, group: 'staff' };
    this.#people.set(person.id, person);
    return person;
  }

  #freshName(): string {
    this.#made += 1;
    return `n${this.#made}`;
  }
}
