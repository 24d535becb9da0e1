import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Entry } from '../operations/ports/audit-log.ts';
import { stateAfter } from './chain.ts';
import { findEntry, type Line, lineBefore, linesOf, tailOf } from './lines.ts';
import { type Archive, archivesOf, openForReading } from './log-files.ts';

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

  /**
   * Opens the files of a log. The current file is opened first: if it is rotated meanwhile, it is among the archives
   * with the same inode, and is not read twice.
   */
  static async open(logPath: string): Promise<Segments> {
    const current = await openForReading(logPath);
    const own = await current?.stat();
    const archives: Archive[] = [];
    for (const archive of await archivesOf(logPath)) {
      await using file = await openForReading(archive.path);
      const status = await file?.stat();
      const isCurrent = own !== undefined && status?.ino === own.ino && status.dev === own.dev;
      if (status !== undefined && !isCurrent) archives.push(archive);
    }
    return new Segments(logPath, { current, archives });
  }

  /**
   * All lines, oldest first, in blocks as `linesOf` returns them. Archives were complete when they were closed, so the
   * last line of an archive always counts as ended.
   *
   * @param from The number of an entry. Lines before it may be left out.
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

  /**
   * The intents that the last entry lists as open.
   *
   * @throws TokenctlError `audit_unavailable` if the last line is not an entry.
   */
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
