import { constants } from 'node:fs';
import { type FileHandle, link, open, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import { MerkleTree } from '../domain/merkle-tree.ts';
import type { EntryDraft, LogObserver, Rotation } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { archivePath, archivesOf } from './archives.ts';
import { linkEntry } from './chain.ts';
import { chunksOf } from './lines.ts';
import type { ChainState } from './link-group.ts';
import { syncFolder } from './log-folder.ts';
import { ROTATE, rotationData } from './rotation-note.ts';
import { verifyChunks } from './verify-chain.ts';

/** A log file that is to be closed. */
export interface RotateFile {
  readonly path: string;
  /** The current file, which ends with a whole line. */
  readonly file: FileHandle;
  /** Where the log stands. */
  readonly state: ChainState;
  readonly clock: Clock;
  /** Who rotates, and in which run. */
  readonly draft: Pick<EntryDraft, 'actor' | 'run'>;
}

/**
 * Closes a log's file under a name of its own and begins a new one, whose first entry follows from the
 * last of the old. The caller holds the log's lock. After a crash at any point the log is whole, and
 * either rotated or not.
 *
 * @throws TokenctlError `log_broken` where the file's chain does not hold; the file system's error.
 */
export async function rotateFile({ path, file, state, clock, draft }: RotateFile): Promise<Rotation> {
  const { tree, first } = await treeOf(path, file);
  const archive = archivePath(path, { first, last: state.head.size });
  const { entry, line } = linkEntry(
    {
      kind: 'note',
      operation: ROTATE,
      ...draft,
      target: {},
      data: rotationData(basename(archive), { head: state.head, tree: tree.state() }),
    },
    { ...state, at: clock.now() },
  );
  const next = `${path}.next`;
  await writeDurably(next, `${line}\n`);
  await removeOtherNames(path, file);
  await link(path, archive);
  await syncFolder(dirname(path));
  await rename(next, path);
  await syncFolder(dirname(path));
  return { entry, archive };
}

/** The tree of all entries up to the end of the current file, and the number of the file's first one. */
async function treeOf(path: string, file: FileHandle): Promise<{ tree: MerkleTree; first: number }> {
  let tree = new MerkleTree();
  let first = 1;
  const observer: LogObserver = {
    begins(before) {
      tree = new MerkleTree(before);
      first = before.size + 1;
    },
    line: (bytes) => tree.add(bytes),
  };
  const found = await verifyChunks(chunksOf(file), { observer, isPart: true });
  if (found.break === null) return { tree, first };
  throw new TokenctlError('log_broken', `The audit log ${path} does not hold: ${found.break.message}`, {
    hint: 'Keep the file as it is, and find out more with `tokenctl log verify`.',
  });
}

async function writeDurably(path: string, text: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  await using file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  await file.writeFile(text);
  await file.sync();
}

/** Another rotation that crashed half-way left the current file under an archive's name as well. */
async function removeOtherNames(path: string, file: FileHandle): Promise<void> {
  const own = await file.stat();
  for (const archive of await archivesOf(path)) {
    const { dev, ino } = await stat(archive.path);
    if (dev === own.dev && ino === own.ino) await unlink(archive.path);
  }
}
