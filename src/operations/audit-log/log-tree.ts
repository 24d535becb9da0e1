import { emptyTree, MerkleTree, type TreeState } from '../../domain/merkle-tree.ts';
import type { LogObserver } from '../ports/audit-log.ts';

/** What a tree is built for. */
export interface LogTreeOptions {
  /** The number of entries at which the tree is looked at. */
  readonly mark?: number | undefined;
  /** The number of an entry that is to be proved. */
  readonly prove?: number | undefined;
}

/** The Merkle tree of a log's entries, built while the log is verified. */
export class LogTree implements LogObserver {
  readonly #mark: number | undefined;
  readonly #prove: number | undefined;
  #tree: MerkleTree;
  /** The root at the mark, once that was reached. */
  markedRoot: Buffer | null = null;
  /** What proves the entry in the tree of the mark. */
  path: readonly Buffer[] | null = null;
  /** The line of the entry that is proved. */
  leaf: Buffer | null = null;

  constructor({ mark, prove }: LogTreeOptions = {}) {
    this.#mark = mark;
    this.#prove = prove;
    this.#tree = this.#treeFrom(emptyTree);
    this.#look();
  }

  /** The whole tree. */
  get tree(): MerkleTree {
    return this.#tree;
  }

  begins(before: TreeState): void {
    this.#tree = this.#treeFrom(before);
    this.#look();
  }

  line(bytes: Uint8Array): void {
    this.#tree.add(bytes);
    if (this.#tree.size === this.#prove) this.leaf = Buffer.from(bytes);
    this.#look();
  }

  #treeFrom(start: TreeState): MerkleTree {
    return new MerkleTree(start, this.#prove === undefined ? null : this.#prove - 1);
  }

  #look(): void {
    if (this.#tree.size !== this.#mark) return;
    this.markedRoot = this.#tree.root();
    if (this.leaf !== null) this.path = this.#tree.path();
  }
}
