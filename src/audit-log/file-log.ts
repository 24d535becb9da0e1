import { createHash, randomUUID } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type {
  AuditLog,
  Entry,
  EntryDraft,
  EntrySelection,
  Head,
  LogActor,
  LogBreak,
  LogObserver,
  LogVerification,
  Pruning,
  Rotation,
} from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { AppendQueue } from './append-queue.ts';
import { type ChainState, emptyHead, type LinkResult, linkGroup, stateAfter } from './chain.ts';
import { OperationFilter, parseEntry } from './entry.ts';
import { invalidLine, logUnavailable } from './failures.ts';
import { tailOf } from './lines.ts';
import {
  hadEntries,
  LogLock,
  openForAppending,
  openForReading,
  RunLocks,
  rememberEntries,
} from './log-files.ts';
import { filesToPrune, pruneArchives, rotateFile, Segments } from './segments.ts';
import { verifyChain } from './verify-chain.ts';

export interface FileLogOptions {
  /** The path of the file (`…/audit.jsonl`). The first append creates it and its folder. */
  readonly path: string;
  readonly clock: Clock;
}

/**
 * Opens an audit log in a file: one entry per line, appended under a lock that several processes share, and synced to
 * the disk before an append returns. Pending appends share one sync. Nothing is read or created before the first use.
 */
export function openFileLog(options: FileLogOptions): AuditLog {
  return new FileLog(options);
}

const EMPTIED: LogBreak = {
  line: 1,
  seq: null,
  expected: 1,
  problem: 'emptied',
  message: 'it has no entries, but its lock file shows that some were appended',
};

class FileLog implements AuditLog {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #lock: LogLock;
  readonly #runLocks: RunLocks;
  readonly #queue: AppendQueue;
  #end: FileEnd | null = null;

  constructor({ path, clock }: FileLogOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#lock = new LogLock(path);
    this.#runLocks = new RunLocks(path);
    this.#queue = new AppendQueue({
      name: path,
      write: (drafts) => this.#write(drafts),
      failure: (cause) => logUnavailable(path, 'write', cause),
    });
  }

  append(draft: EntryDraft): Promise<Entry> {
    return this.#queue.append(draft);
  }

  async *entries(from = 1, only?: EntrySelection): AsyncIterable<Entry> {
    await using segments = await this.#segments();
    const filter = only === undefined ? null : new OperationFilter(only);
    let number = 0;
    for await (const block of segments.blocks(from)) {
      for (const { bytes, ended } of block) {
        number += 1;
        if (!ended) return;
        if (filter?.rejects(bytes) === true) continue;
        const entry = parseEntry(bytes);
        if (entry === null) throw invalidLine(this.#path, segments.placeOf(number));
        if (entry.seq >= from && filter?.accepts(entry) !== false) yield entry;
      }
    }
    if (number === 0 && segments.archives.length === 0) await this.#requireKept(segments.current);
  }

  async head(): Promise<Head> {
    await using file = await this.#open();
    await this.#requireKept(file);
    if (file === null) return emptyHead;
    const { line } = await tailOf(file, (await file.stat()).size);
    return stateAfter(this.#path, line).head;
  }

  async verify(observer?: LogObserver): Promise<LogVerification> {
    await using segments = await this.#segments();
    const found = await verifyChain(segments.blocks(), { observer });
    if (found.entries === 0 && found.break === null && (await hadEntries(this.#path)))
      return { ...found, break: EMPTIED };
    if (found.break === null || segments.archives.length === 0) return found;
    return { ...found, break: { ...found.break, ...segments.placeOf(found.break.line) } };
  }

  async lockRun(run: string): Promise<Disposable> {
    try {
      return await this.#runLocks.lock(run);
    } catch (cause) {
      throw logUnavailable(this.#path, 'write', cause);
    }
  }

  async abandonedIntents(): Promise<readonly Entry[]> {
    await using segments = await this.#segments();
    const abandoned: Entry[] = [];
    for (const intent of await segments.openIntents()) {
      if (!(await this.#runLocks.isLocked(intent.run))) abandoned.push(intent);
    }
    return abandoned;
  }

  async rotate(actor: LogActor): Promise<Rotation | null> {
    try {
      using _lock = await this.#lock.take();
      await using file = await openForAppending(this.#path);
      // Like every append, this removes an unfinished last line.
      const { end } = await this.#append(file, []);
      if (end.head.size === 0) return null;
      this.#end = null;
      return await rotateFile({ path: this.#path, file, state: end, clock: this.#clock, draft: actor });
    } catch (cause) {
      throw logUnavailable(this.#path, 'rotate', cause);
    }
  }

  async prune(before: Date, actor: LogActor): Promise<Pruning | null> {
    try {
      await using segments = await this.#segments();
      return await pruneArchives({ segments, before, actor, log: this });
    } catch (cause) {
      throw logUnavailable(this.#path, 'prune', cause);
    }
  }

  async filesToPrune(before: Date): Promise<readonly string[]> {
    try {
      await using segments = await this.#segments();
      return await filesToPrune(this.#path, segments, before);
    } catch (cause) {
      throw logUnavailable(this.#path, 'read', cause);
    }
  }

  async close(): Promise<void> {
    await this.#queue.idle();
  }

  /** Throws `log_broken` for a log whose entries are missing: it would look like an empty log. */
  async #requireKept(file: FileHandle | null): Promise<void> {
    const { size = 0 } = (await file?.stat()) ?? {};
    if (size > 0 || !(await hadEntries(this.#path))) return;
    throw new TokenctlError('log_broken', `The audit log ${this.#path} is broken: ${EMPTIED.message}`, {
      hint: 'Leave the log unchanged, and compare it with a backup or an earlier checkpoint.',
    });
  }

  async #open() {
    try {
      return await openForReading(this.#path);
    } catch (cause) {
      throw logUnavailable(this.#path, 'read', cause);
    }
  }

  async #segments(): Promise<Segments> {
    try {
      return await Segments.open(this.#path);
    } catch (cause) {
      throw logUnavailable(this.#path, 'read', cause);
    }
  }

  async #write(drafts: readonly EntryDraft[]): Promise<readonly LinkResult[]> {
    using _lock = await this.#lock.take();
    await using file = await openForAppending(this.#path);
    return (await this.#append(file, drafts)).links;
  }

  /** Appends under the lock, and remembers the end of the file on success. */
  async #append(file: FileHandle, drafts: readonly EntryDraft[]): Promise<AppendResult> {
    const known = this.#end;
    this.#end = null;
    const appended = await appendGroup({ path: this.#path, file, drafts, clock: this.#clock, known });
    this.#end = appended.end;
    if (known === null && appended.end.size > 0) await rememberEntries(this.#path);
    return appended;
  }
}

/** The end of a log file after the last append of this process. */
interface FileEnd extends ChainState {
  readonly device: number;
  readonly inode: number;
  readonly size: number;
}

interface AppendOptions {
  readonly path: string;
  readonly file: FileHandle;
  readonly drafts: readonly EntryDraft[];
  readonly clock: Clock;
  /** The end that this process remembers. It is valid as long as the file is the same and has the same size. */
  readonly known: FileEnd | null;
}

/** One result per draft, in the same order, and the end of the file after them. */
interface AppendResult {
  readonly links: readonly LinkResult[];
  readonly end: FileEnd;
}

/**
 * Appends several entries with one write and one sync. The caller holds the log's lock. Removes and notes an
 * unfinished last line, which a crash left behind.
 * @throws The error of the file system. The file then has the same size as before.
 */
async function appendGroup(options: AppendOptions): Promise<AppendResult> {
  const { file, clock } = options;
  const { end, torn } = await findEnd(options);
  if (torn.length > 0) await file.truncate(end.size);
  const drafts = torn.length > 0 ? [repairNote(torn, options.drafts), ...options.drafts] : options.drafts;
  const { links, state } = linkGroup(drafts, { name: options.path, state: end, clock });
  const text = links.map((link) => ('line' in link ? `${link.line}\n` : '')).join('');
  const bytes = Buffer.from(text);
  await writeDurably(file, bytes, end.size);
  return {
    links: links.slice(drafts.length - options.drafts.length),
    end: { ...end, ...state, size: end.size + bytes.length },
  };
}

/** Writes all bytes or none: a failed write is undone. */
async function writeDurably(file: FileHandle, bytes: Buffer, size: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
    }
    await file.datasync();
  } catch (error) {
    // If this fails too, the next append removes the rest of the line, which was never acknowledged.
    await file.truncate(size).catch(() => undefined);
    await file.datasync().catch(() => undefined);
    throw error;
  }
}

async function findEnd({ path, file, known }: AppendOptions): Promise<{ end: FileEnd; torn: Buffer }> {
  const { dev, ino, size } = await file.stat();
  if (known !== null && known.device === dev && known.inode === ino && known.size === size) {
    return { end: known, torn: Buffer.alloc(0) };
  }
  const { line, torn } = await tailOf(file, size);
  return { end: { device: dev, inode: ino, size: size - torn.length, ...stateAfter(path, line) }, torn };
}

/** How much of an unfinished line the note quotes, in characters. */
const MAX_QUOTE_LENGTH = 1_000;

function repairNote(torn: Buffer, drafts: readonly EntryDraft[]): EntryDraft {
  return {
    kind: 'note',
    operation: 'log.repair',
    run: randomUUID(),
    actor: drafts[0]?.actor ?? {},
    target: {},
    data: {
      what: 'Removed an incomplete last line that no operation relied on.',
      bytes: torn.length,
      sha256: createHash('sha256').update(torn).digest('hex'),
      text: torn.toString('utf8').slice(0, MAX_QUOTE_LENGTH).toWellFormed(),
    },
  };
}
