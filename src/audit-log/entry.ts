import { z } from 'zod';
import type { TreeState } from '../domain/merkle-tree.ts';
import type { Entry, EntrySelection, Head } from '../operations/ports/audit-log.ts';

const count = z.number().int().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const texts = z.record(z.string(), z.string());

const schema = z.strictObject({
  v: z.literal(1),
  seq: count.min(1),
  at: z.iso.datetime({ precision: 3 }),
  previous: hash,
  open: z.array(count),
  kind: z.enum(['intent', 'outcome', 'note']),
  operation: z.string().min(1),
  run: z.string().min(1),
  actor: texts,
  target: texts,
  // z.record would copy each member.
  data: z.custom((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  closes: count.optional(),
});

/** Null if the line is not a valid entry. */
export function parseEntry(line: Buffer): Entry | null {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    // The value itself: the schema's copy lacks keys such as `__proto__`.
    return schema.safeParse(value).success ? (value as Entry) : null;
  } catch {
    return null;
  }
}

/** The operation of the first entry in each file, except in the very first file. */
export const ROTATE = 'log.rotate';

/** The operation of the entry that records the removal of old files. */
export const PRUNE = 'log.prune';

/** The state of the log before a file: its head, and the Merkle tree of all earlier entries. */
export interface FileStart {
  readonly head: Head;
  readonly tree: TreeState;
}

/** The `data` of the note at the start of a new file: the state of the log before it. */
export function rotationData(archive: string, { head, tree }: FileStart): Entry['data'] {
  return { archive, size: head.size, hash: head.hash, tree: tree.peaks.map((peak) => peak.toString('hex')) };
}

/** Reads the note of {@link rotationData}. Null for another entry, and for an inconsistent note. */
export function readRotation(entry: Entry): FileStart | null {
  const { size, hash, tree } = entry.data;
  if (entry.operation !== ROTATE || size !== entry.seq - 1 || hash !== entry.previous) return null;
  if (!Array.isArray(tree) || !tree.every((peak) => /^[0-9a-f]{64}$/.test(String(peak)))) return null;
  // A tree has one perfect subtree for each 1 in the binary form of its size.
  if (tree.length !== size.toString(2).replaceAll('0', '').length) return null;
  const peaks = tree.map((peak) => Buffer.from(String(peak), 'hex'));
  return { head: { size, hash }, tree: { size, peaks } };
}

/** The number of the last entry that retention removed; null for an entry that does not record a removal. */
export function readPruning({ operation, data }: Entry): number | null {
  const { upTo } = data;
  return operation === PRUNE && typeof upTo === 'number' ? upTo : null;
}

/**
 * The text before and after the operation in an entry's canonical form, which has sorted keys. Quotes in
 * strings are escaped there, and no array follows, so the last match in a line is the entry's operation.
 */
const BEFORE_OPERATION = '],"operation":"';
const AFTER_OPERATION = '","previous":"';

/** Selects entries by operation. Rejects most other lines by their bytes, without parsing them. */
export class OperationFilter {
  readonly #operations: ReadonlySet<string>;
  readonly #escaped: ReadonlySet<string>;

  constructor({ operations }: EntrySelection) {
    this.#operations = new Set(operations);
    this.#escaped = new Set(operations.map(escaped));
  }

  /** Whether a line certainly has another operation. False for a line that may not be an entry. */
  rejects(line: Buffer): boolean {
    const found = line.lastIndexOf(BEFORE_OPERATION);
    if (found === -1) return false;
    const start = found + BEFORE_OPERATION.length;
    const end = line.indexOf(AFTER_OPERATION, start);
    return end !== -1 && !this.#escaped.has(line.toString('utf8', start, end));
  }

  accepts({ operation }: Pick<Entry, 'operation'>): boolean {
    return this.#operations.has(operation);
  }
}

/** A text that every line with one of the operations contains, and possibly others. */
export function operationPrefix({ operations }: EntrySelection): string {
  return `${BEFORE_OPERATION}${operations.map(escaped).reduce(commonPrefix)}`;
}

function commonPrefix(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

/** A text as between the quotes of a JSON string. */
function escaped(operation: string): string {
  return JSON.stringify(operation).slice(1, -1);
}
