import { constants } from 'node:fs';
import { type FileHandle, link, open, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { MerkleTree } from '../domain/merkle-tree.ts';
import type {
  AuditLog,
  Entry,
  EntryDraft,
  LogActor,
  LogObserver,
  Pruning,
  Rotation,
} from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { type ChainState, linkEntry, stateAfter } from './chain.ts';
import { PRUNE, parseEntry, ROTATE, rotationData } from './entry.ts';
import { findEntry, type Line, lineBefore, linesOf, tailOf } from './lines.ts';
import { type Archive, archivePath, archivesOf, openForReading, syncFolder } from './log-files.ts';
import { verifyChain } from './verify-chain.ts';

/** The files of a log, oldest first: the archives that rotation closed, and the current file. */
export class Segments implements AsyncDisposable {
  readonly #logPath: string;
  /** The current file; null for an empty log. */
  readonly current: FileHandle | null;
  readonly archives: readonly Archive[];
  /** How many lines each file has returned so far, in order. */
  readonly #returned: { readonly path: string; readonly skipped: number; lines: number }[] = [];

  private constructor(logPath: string, files: Pick<Segments, 'current' | 'archives'>) {
    this.#logPath = logPath;
    this.current = files.current;
    this.archives = files.archives;
  }

  /** Opens the files of a log, the current one first: if it is rotated meanwhile, it is not read twice. */
  static async open(logPath: string): Promise<Segments> {
    const current = await openForReading(logPath);
    const found = await archivesOf(logPath);
    const own = found.length === 0 ? undefined : await current?.stat();
    const archives: Archive[] = [];
    for (const archive of found) {
      await using file = await openForReading(archive.path);
      const status = await file?.stat();
      const isCurrent = own !== undefined && status?.ino === own.ino && status.dev === own.dev;
      if (status !== undefined && !isCurrent) archives.push(archive);
    }
    return new Segments(logPath, { current, archives });
  }

  /**
   * All lines, oldest first, in the blocks of `linesOf`. Archives were complete when they were closed, so an
   * archive's last line always counts as ended.
   * @param from The number of an entry. Earlier lines may be omitted.
   */
  async *blocks(from = 1): AsyncIterable<readonly Line[]> {
    for (const { path, last } of this.archives) {
      await using file = last < from ? null : await openForReading(path);
      if (file === null) continue;
      for await (const block of this.#counted(path, file, from)) {
        yield block.map((line) => ({ ...line, ended: true }));
      }
    }
    if (this.current !== null) yield* this.#counted(this.#logPath, this.current, from);
  }

  /** The file and line of the nth line that {@link blocks} returned. */
  placeOf(line: number): { readonly file: string; readonly line: number } {
    let before = 0;
    for (const { path, skipped, lines } of this.#returned) {
      if (line <= before + lines) return { file: basename(path), line: skipped + line - before };
      before += lines;
    }
    return { file: basename(this.#logPath), line: line - before };
  }

  /** The open intents in the last entry. Throws `audit_unavailable` if the last line is not an entry. */
  async openIntents(): Promise<readonly Entry[]> {
    const { current } = this;
    if (current === null) return [];
    const { size } = await current.stat();
    const { line, torn } = await tailOf(current, size);
    const intents: Entry[] = [];
    for (const seq of stateAfter(this.#logPath, line).open) {
      const archive = this.archives.find(({ first, last }) => first <= seq && seq <= last);
      const intent =
        archive === undefined
          ? await findEntry(current, size - torn.length, seq)
          : await findInArchive(archive.path, seq);
      if (intent !== null) intents.push(intent);
    }
    return intents;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.current?.close();
  }

  async *#counted(path: string, file: FileHandle, from: number): AsyncIterable<readonly Line[]> {
    const { offset, skipped } = from > 1 ? await lineBefore(file, from) : { offset: 0, skipped: 0 };
    const returned = { path, skipped, lines: 0 };
    this.#returned.push(returned);
    for await (const block of linesOf(file, offset)) {
      returned.lines += block.length;
      yield block;
    }
  }
}

async function findInArchive(path: string, seq: number): Promise<Entry | null> {
  await using file = await openForReading(path);
  return file === null ? null : await findEntry(file, (await file.stat()).size, seq);
}

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
 * Closes a log's file under its archive name, and starts a new one whose first entry follows the last one of the old
 * file. The caller holds the log's lock. After a crash at any point the log is complete, and either rotated or not.
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

/** The tree of all entries up to the end of the current file, and the number of the file's first entry. */
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
    hint: 'Leave the file unchanged, and run `tokenctl log verify`.',
  });
}

async function writeDurably(path: string, text: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  await using file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
  await file.writeFile(text);
  await file.sync();
}

/** An earlier rotation that crashed may have left the current file also under an archive's name. */
async function removeOtherNames(path: string, file: FileHandle): Promise<void> {
  const own = await file.stat();
  for (const archive of await archivesOf(path)) {
    const { dev, ino } = await stat(archive.path);
    if (dev === own.dev && ino === own.ino) await unlink(archive.path);
  }
}

export interface PruneArchives {
  readonly segments: Segments;
  /** Files with an entry at or after this instant are kept. */
  readonly before: Date;
  readonly actor: LogActor;
  readonly log: Pick<AuditLog, 'append'>;
}

/**
 * Removes the oldest archives whose entries are all old enough and have an outcome. First records the removal
 * in an entry: otherwise verification would report them as missing. Returns null if no archive is old enough.
 */
export async function pruneArchives({
  segments,
  before,
  actor,
  log,
}: PruneArchives): Promise<Pruning | null> {
  const old = await oldArchives(segments, before);
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

/** The oldest archives whose entries are all old enough and have an outcome. */
async function oldArchives(segments: Segments, before: Date): Promise<readonly Archive[]> {
  const old: Archive[] = [];
  const open = await openNumbers(segments);
  for (const archive of segments.archives) {
    const isNeeded = open.some((seq) => seq <= archive.last);
    if (isNeeded || !(await isOlder(archive, before))) break;
    old.push(archive);
  }
  return old;
}

/** The names of the files that {@link pruneArchives} would remove after the current file, at `path`, is closed. */
export async function filesToPrune(
  path: string,
  segments: Segments,
  before: Date,
): Promise<readonly string[]> {
  const old = await oldArchives(segments, before);
  const isAll = old.length === segments.archives.length && (await openNumbers(segments)).length === 0;
  const files = isAll && (await isOlder({ path }, before)) ? [...old, { path }] : old;
  return files.map((file) => basename(file.path));
}

/** The numbers of the open intents in the last entry. */
async function openNumbers({ current }: Segments): Promise<readonly number[]> {
  if (current === null) return [];
  const { line } = await tailOf(current, (await current.stat()).size);
  return (line === null ? null : parseEntry(line))?.open ?? [];
}

async function isOlder({ path }: Pick<Archive, 'path'>, before: Date): Promise<boolean> {
  await using file = await openForReading(path);
  if (file === null) return false;
  const { line } = await tailOf(file, (await file.stat()).size);
  const entry = line === null ? null : parseEntry(line);
  return entry !== null && Date.parse(entry.at) < before.getTime();
}
