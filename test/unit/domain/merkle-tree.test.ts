import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isIncluded, MerkleTree } from '../../../src/domain/merkle-tree.ts';

// The definitions of RFC 6962, section 2.1, word for word: slow, and in no way like the tree under test.
const sha256 = (...parts: readonly Uint8Array[]) =>
  createHash('sha256').update(Buffer.concat(parts)).digest();

function split(length: number): number {
  let k = 1;
  while (k * 2 < length) k *= 2;
  return k;
}

function mth(leaves: readonly Buffer[]): Buffer {
  const [leaf] = leaves;
  if (leaf === undefined) return sha256();
  if (leaves.length === 1) return sha256(Buffer.of(0), leaf);
  const k = split(leaves.length);
  return sha256(Buffer.of(1), mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}

function path(index: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const k = split(leaves.length);
  return index < k
    ? [...path(index, leaves.slice(0, k)), mth(leaves.slice(k))]
    : [...path(index - k, leaves.slice(k)), mth(leaves.slice(0, k))];
}

const leavesOf = (count: number) => Array.from({ length: count }, (_, index) => Buffer.from(`leaf ${index}`));

function treeOf(leaves: readonly Buffer[], watched: number | null = null): MerkleTree {
  const tree = new MerkleTree(undefined, watched);
  for (const leaf of leaves) tree.add(leaf);
  return tree;
}

describe('MerkleTree', () => {
  test('has the root that RFC 6962 defines, at each size', () => {
    const tree = new MerkleTree();
    const leaves = leavesOf(70);
    expect(tree.root()).toEqual(mth([]));
    leaves.forEach((leaf, index) => {
      tree.add(leaf);
      expect(tree.root()).toEqual(mth(leaves.slice(0, index + 1)));
    });
  });

  test('gives the path that RFC 6962 defines, which proves that leaf and no other', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 70 }), fc.nat(), fc.nat(), (size, seed, other) => {
        const leaves = leavesOf(size);
        const index = seed % size;
        const tree = treeOf(leaves, index);
        const proof = tree.path();
        expect(proof).toEqual(path(index, leaves));
        const inclusion = {
          leaf: leaves[index] ?? Buffer.alloc(0),
          index,
          size,
          root: tree.root(),
          path: proof,
        };
        expect(isIncluded(inclusion)).toBe(true);
        expect(isIncluded({ ...inclusion, leaf: Buffer.from('another') })).toBe(false);
        expect(isIncluded({ ...inclusion, root: mth([]) })).toBe(false);
        expect(isIncluded({ ...inclusion, path: [...proof, mth([])] })).toBe(false);
        expect(isIncluded({ ...inclusion, path: proof.slice(0, -1) })).toBe(proof.length === 0);
        fc.pre(other % size !== index);
        expect(isIncluded({ ...inclusion, index: other % size })).toBe(false);
      }),
    );
  });

  test('goes on from a state without its leaves, also with proofs', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.integer({ min: 1, max: 40 }), fc.nat(), (before, behind, seed) => {
        const leaves = leavesOf(before + behind);
        const index = before + (seed % behind);
        const tree = new MerkleTree(treeOf(leaves.slice(0, before)).state(), index);
        for (const leaf of leaves.slice(before)) tree.add(leaf);
        expect(tree.size).toBe(leaves.length);
        expect(tree.root()).toEqual(mth(leaves));
        expect(tree.path()).toEqual(path(index, leaves));
      }),
    );
  });
});
