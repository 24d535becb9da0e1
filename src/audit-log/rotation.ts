import { constants } from 'node:fs';
import { type FileHandle, link, open, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { TokenctlError } from '../domain/errors.ts';
import { MerkleTree } from '../domain/merkle-tree.ts';
import type {
  AuditLog,
  EntryDraft,
  LogActor,
  LogObserver,
  Pruning,
  Rotation,
} from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/scheduler.ts';
import { type ChainState, linkEntry } from './chain.ts';
import { PRUNE, parseEntry, ROTATE, rotationData } from './entry.ts';
import { linesOf, tailOf } from './lines.ts';
import { type Archive, archivePath, archivesOf, openForReading, syncFolder } from './log-files.ts';
import type { Segments } from './segments.ts';
import { verifyChain } from './verify-chain.ts';

/** The log file to rotate. */
export interface RotateFile {
  readonly path: string;
  /** The current file. It ends with a complete line. */
  readonly file: FileHandle;
  readonly state: ChainState;
  readonly clock: Clock;
  /** Who rotates, and in which run. */
  readonly draft: Pick<EntryDraft, 'actor' | 'run'>;
}

/**
 * Closes the file of a log under its archive name, and starts a new one whose first entry follows from the last entry
 * of the old file. The caller holds the lock of the log. After a crash at any point the log is complete, and either
 * rotated or not.
 *
 * @throws TokenctlError `log_broken` if the chain of the file is broken; the error of the file system.
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

/** The tree of all entries up to the end of the current file, and the number of its first entry. */
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
  const found = await verifyChain(linesOf(file), { observer, isPart: true });
  if (found.break === null) return { tree, first };
  throw new TokenctlError('log_broken', `The audit log ${path} is broken: ${found.break.message}`, {
    hint: 'Keep the file as it is, and run `tokenctl log verify`.',
  });
}

async function writeDurably(path: string, text: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  await using file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  await file.writeFile(text);
  await file.sync();
}

/** An earlier rotation that crashed may have left the current file under the name of an archive as well. */
async function removeOtherNames(path: string, file: FileHandle): Promise<void> {
  const own = await file.stat();
  for (const archive of await archivesOf(path)) {
    const { dev, ino } = await stat(archive.path);
    if (dev === own.dev && ino === own.ino) await unlink(archive.path);
  }
}

/** The log to prune. */
export interface PruneArchives {
  readonly segments: Segments;
  /** Files with an entry at or after this instant are kept. */
  readonly before: Date;
  readonly actor: LogActor;
  readonly log: Pick<AuditLog, 'append'>;
}

/**
 * Removes the oldest archives whose entries are all old enough and have an outcome. First records the removal in an
 * entry, without which verification reports them as missing.
 *
 * @returns Null if no archive is old enough.
 */
export async function pruneArchives({
  segments,
  before,
  actor,
  log,
}: PruneArchives): Promise<Pruning | null> {
  const old: Archive[] = [];
  const open = await openNumbers(segments);
  for (const archive of segments.archives) {
    const isNeeded = open.some((seq) => seq <= archive.last);
    if (isNeeded || !(await isOlder(archive, before))) break;
    old.push(archive);
  }
  const last = old.at(-1);
  if (last === undefined) return null;
  const files = old.map(({ path }) => basename(path));
  const entry = await log.append({
    kind: 'note',
    operation: PRUNE,
    ...actor,
    target: {},
    data: { upTo: last.last, files },
  });
  for (const { path } of old) await unlink(path);
  await syncFolder(dirname(last.path));
  return { files, entry };
}

/** The numbers of the open intents, as the last entry lists them. */
async function openNumbers({ current }: Segments): Promise<readonly number[]> {
  if (current === null) return [];
  const { line } = await tailOf(current, (await current.stat()).size);
  return (line === null ? null : parseEntry(line))?.open ?? [];
}

async function isOlder({ path }: Archive, before: Date): Promise<boolean> {
  await using file = await openForReading(path);
  if (file === null) return false;
  const { line } = await tailOf(file, (await file.stat()).size);
  const entry = line === null ? null : parseEntry(line);
  return entry !== null && Date.parse(entry.at) < before.getTime();
}
