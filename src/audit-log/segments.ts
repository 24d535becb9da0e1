import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Archive, archivesOf } from './archives.ts';
import { lineBefore } from './find-entry.ts';
import { chunksOf, ended, type Line, lineCount, linesOf } from './lines.ts';
import { openForReading } from './log-folder.ts';

/** A log's files, oldest first: what rotation closed, and the current one. */
export class Segments implements AsyncDisposable {
  readonly #logPath: string;
  /** The current file; null where there is none. */
  readonly current: FileHandle | null;
  readonly archives: readonly Archive[];
  /** How many lines each file has given so far, in their order. */
  readonly #given: { readonly path: string; readonly skipped: number; lines: number }[] = [];

  private constructor(logPath: string, files: Pick<Segments, 'current' | 'archives'>) {
    this.#logPath = logPath;
    this.current = files.current;
    this.archives = files.archives;
  }

  /**
   * Opens a log's files as they stand. The current one is opened first: where it is rotated meanwhile, it
   * is among the archives under the same inode, and is not read twice.
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
   * All lines with their line feeds, oldest first, in chunks as `chunksOf` gives them. An archive was whole
   * when it was closed, so that its last line counts.
   *
   * @param from The number of an entry: lines that are known to stand before it may be left out.
   */
  async *chunks(from = 1): AsyncIterable<Buffer> {
    for (const { path, last } of this.archives) {
      await using file = last < from ? null : await openForReading(path);
      if (file !== null) yield* this.#counted(path, file, from);
    }
    if (this.current !== null) yield* this.#counted(this.#logPath, this.current, from);
  }

  /** The same lines one by one, in blocks. */
  async *blocks(from = 1): AsyncIterable<readonly Line[]> {
    for await (const chunk of this.chunks(from)) yield linesOf(chunk);
  }

  /** Where a line stands that {@link chunks} gave as the nth, as far as the lines that were left out are entries. */
  placeOf(line: number): { readonly file: string; readonly line: number } {
    let before = 0;
    for (const { path, skipped, lines } of this.#given) {
      if (line <= before + lines) return { file: basename(path), line: skipped + line - before };
      before += lines;
    }
    return { file: basename(this.#logPath), line: line - before };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.current?.close();
  }

  async *#counted(path: string, file: FileHandle, from: number): AsyncIterable<Buffer> {
    const { offset, skipped } = from > 1 ? await lineBefore(file, from) : { offset: 0, skipped: 0 };
    const given = { path, skipped, lines: 0 };
    this.#given.push(given);
    for await (const chunk of chunksOf(file, { from: offset })) {
      given.lines += lineCount(chunk);
      yield path === this.#logPath ? chunk : ended(chunk);
    }
  }
}
