import { createHash } from 'node:crypto';

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** The hash of a leaf (RFC 6962, section 2.1): SHA-256 of a zero byte and the leaf. */
function leafHash(leaf: Uint8Array): Buffer {
  return createHash('sha256').update(LEAF).update(leaf).digest();
}

/** The hash of a node: SHA-256 of a byte 1, the left hash and the right one. */
function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return createHash('sha256').update(NODE).update(left).update(right).digest();
}

/** A tree's size, and the roots of its perfect subtrees, largest first. */
export interface TreeState {
  readonly size: number;
  readonly peaks: readonly Buffer[];
}

export const emptyTree: TreeState = { size: 0, peaks: [] };

/**
 * A Merkle tree (RFC 6962) that grows leaf by leaf and stores one hash per level. Given an index to watch, it
 * also stores what proves that leaf's inclusion.
 */
export class MerkleTree {
  #size = 0;
  /** The perfect subtrees, by the binary logarithm of their size. */
  readonly #subtrees: (Buffer | null)[] = [];
  readonly #watched: number | null;
  /** The siblings of the subtrees that contain the watched leaf, by level. */
  readonly #neighbours: Buffer[] = [];

  /** @param watched The index of a leaf (from 0) after those of `start`. */
  constructor(start: TreeState = emptyTree, watched: number | null = null) {
    this.#watched = watched;
    this.#size = start.size;
    const peaks = start.peaks.values();
    for (const level of levelsOf(start.size)) {
      const peak = peaks.next().value;
      if (peak === undefined) throw new Error(`A tree of ${start.size} leaves has more subtrees`);
      this.#subtrees[level] = peak;
      this.#watch(peak, { level, leaf: Math.floor(start.size / 2 ** (level + 1)) * 2 ** (level + 1) });
    }
  }

  get size(): number {
    return this.#size;
  }

  add(leaf: Uint8Array): void {
    let hash = leafHash(leaf);
    let level = 0;
    this.#watch(hash, { level, leaf: this.#size });
    for (let left = this.#subtrees[0]; left != null; left = this.#subtrees[level]) {
      hash = nodeHash(left, hash);
      this.#subtrees[level] = null;
      level += 1;
      this.#watch(hash, { level, leaf: this.#size });
    }
    this.#subtrees[level] = hash;
    this.#size += 1;
  }

  root(): Buffer {
    return foldUp(this.#peaksBelow(this.#subtrees.length)) ?? createHash('sha256').digest();
  }

  /** The state from which the tree can be continued. */
  state(): TreeState {
    return { size: this.#size, peaks: this.#peaksBelow(this.#subtrees.length).toReversed() };
  }

  /** The watched leaf's inclusion proof (audit path of RFC 6962, from its sibling up). Throws without one. */
  path(): readonly Buffer[] {
    const watched = this.#watched;
    if (watched === null || watched >= this.#size) throw new Error('The watched leaf is not in the tree');
    const level = this.#levelOf(watched);
    const right = foldUp(this.#peaksBelow(level));
    const left = this.#subtrees.slice(level + 1).filter((subtree) => subtree !== null);
    return [...this.#neighbours.slice(0, level), ...(right === null ? [] : [right]), ...left];
  }

  /** The level of the perfect subtree that contains a leaf. */
  #levelOf(leaf: number): number {
    let begin = 0;
    for (const level of levelsOf(this.#size)) {
      begin += 2 ** level;
      if (leaf < begin) return level;
    }
    throw new Error('The leaf is not in the tree');
  }

  /** The perfect subtrees below a level, smallest first. */
  #peaksBelow(level: number): Buffer[] {
    return this.#subtrees.slice(0, level).filter((subtree) => subtree !== null);
  }

  #watch(hash: Buffer, { level, leaf }: { level: number; leaf: number }): void {
    if (this.#watched === null) return;
    const index = Math.floor(leaf / 2 ** level);
    const own = Math.floor(this.#watched / 2 ** level);
    if (index === (own % 2 === 0 ? own + 1 : own - 1)) this.#neighbours[level] = hash;
  }
}

/** The powers of two that add up to a size, largest first. */
function levelsOf(size: number): number[] {
  const levels: number[] = [];
  for (let level = 0; 2 ** level <= size; level += 1) {
    if (Math.floor(size / 2 ** level) % 2 === 1) levels.unshift(level);
  }
  return levels;
}

/** One hash for several neighboring subtrees, given smallest first; null for none. */
function foldUp(subtrees: readonly Buffer[]): Buffer | null {
  return subtrees.reduce<Buffer | null>(
    (folded, subtree) => (folded === null ? subtree : nodeHash(subtree, folded)),
    null,
  );
}

/** A leaf, and the claimed proof that a tree contains it. */
export interface Inclusion {
  readonly leaf: Uint8Array;
  /** From 0. */
  readonly index: number;
  readonly size: number;
  readonly root: Uint8Array;
  readonly path: readonly Buffer[];
}

/** Whether a path proves a leaf's inclusion (RFC 9162, section 2.1.3.2). */
export function isIncluded({ leaf, index, size, root, path }: Inclusion): boolean {
  if (index >= size) return false;
  let hash = leafHash(leaf);
  let own = index;
  let last = size - 1;
  for (const neighbour of path) {
    if (last === 0) return false;
    if (own % 2 === 1 || own === last) {
      hash = nodeHash(neighbour, hash);
      while (own % 2 === 0 && own !== 0) {
        own = Math.floor(own / 2);
        last = Math.floor(last / 2);
      }
    } else {
      hash = nodeHash(hash, neighbour);
    }
    own = Math.floor(own / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && hash.equals(root);
}
