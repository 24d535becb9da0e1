import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files that are made from others. */
export interface Made {
  /** The folder that `sources` are in. */
  readonly root: string;
  /** The file that keeps the digest of the sources, in the folder of what is made: both are deleted at once. */
  readonly stamp: string;
  /** Patterns of the files that the result depends on. */
  readonly sources: readonly string[];
}

/** Makes files, unless they were made from the same sources before. */
export async function unlessMade(
  { root, stamp, sources }: Made,
  make: () => void | Promise<void>,
): Promise<void> {
  const hash = createHash('sha256');
  for (const file of globSync(sources, { cwd: root }).toSorted()) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  const digest = hash.digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  await make();
  writeFileSync(stamp, digest);
}
