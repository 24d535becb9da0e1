import type { TreeState } from '../domain/merkle-tree.ts';
import type { Entry, Head } from '../operations/ports/audit-log.ts';

/** The operation of the first entry of each file but the first of all. */
export const ROTATE = 'log.rotate';

/** The operation of an entry that precedes the removal of older files. */
export const PRUNE = 'log.prune';

/** What stands before a file: where the log stood, and the tree of the entries up to there. */
export interface FileBeginning {
  readonly head: Head;
  readonly tree: TreeState;
}

/** What the note at the beginning of a new file says of all before it, as its `data`. */
export function rotationData(archive: string, { head, tree }: FileBeginning): Entry['data'] {
  return {
    archive,
    size: head.size,
    hash: head.hash,
    tree: tree.peaks.map((peak) => peak.toString('hex')),
  };
}

/** Reads what a file begins with; null where it is no such note, or one that contradicts itself. */
export function readRotation(entry: Entry): FileBeginning | null {
  const { size, hash, tree } = entry.data;
  if (entry.operation !== ROTATE || size !== entry.seq - 1 || hash !== entry.previous) return null;
  if (!Array.isArray(tree) || !tree.every((peak) => /^[0-9a-f]{64}$/.test(String(peak)))) return null;
  if (tree.length !== onesIn(size)) return null;
  const peaks = tree.map((peak) => Buffer.from(String(peak), 'hex'));
  return { head: { size, hash }, tree: { size, peaks } };
}

/** The last entry that retention removed, as its note says; null for another entry. */
export function readPruning({ operation, data }: Entry): number | null {
  const { upTo } = data;
  return operation === PRUNE && typeof upTo === 'number' ? upTo : null;
}

/** How many perfect subtrees a tree of a size has: a bit each. */
function onesIn(size: number): number {
  return size.toString(2).replaceAll('0', '').length;
}
