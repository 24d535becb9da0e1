import type { Entry, EntrySelection } from '../operations/ports/audit-log.ts';

/**
 * What stands before and behind an entry's operation in its canonical form, whose keys are sorted. Quotes inside
 * of strings are escaped there, and what follows holds no array: so the last of these in a line is the entry's.
 */
const BEFORE = '],"operation":"';
const BEHIND = '","previous":"';

const before = Buffer.from(BEFORE);
const behind = Buffer.from(BEHIND);

/** Tells by a line's bytes what its operation is, without parsing it. */
export class OperationTest {
  readonly #meant: ReadonlySet<string>;
  readonly #escaped: ReadonlySet<string>;

  constructor({ operations }: EntrySelection) {
    this.#meant = new Set(operations);
    this.#escaped = new Set(operations.map(escaped));
  }

  /** Whether a line evidently states an operation that is not meant; not of one that may be no entry. */
  isOther(line: Buffer): boolean {
    const found = line.lastIndexOf(before);
    if (found === -1) return false;
    const start = found + before.length;
    const end = line.indexOf(behind, start);
    return end !== -1 && !this.#escaped.has(line.toString('utf8', start, end));
  }

  /** Whether an entry is meant. */
  isMeant({ operation }: Pick<Entry, 'operation'>): boolean {
    return this.#meant.has(operation);
  }
}

/** What stands in every line that states one of some operations, though maybe in others too. */
export function operationClue({ operations }: EntrySelection): string {
  return `${BEFORE}${operations.map(escaped).reduce(commonBeginning)}`;
}

function commonBeginning(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

/** As it stands between the quotes of JSON. */
function escaped(operation: string): string {
  return JSON.stringify(operation).slice(1, -1);
}
