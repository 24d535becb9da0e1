import type { FileHandle } from 'node:fs/promises';
import type {
  AuditLog,
  Entry,
  EntryDraft,
  EntrySelection,
  Head,
  LogActor,
  LogObserver,
  LogVerification,
  Pruning,
  Rotation,
} from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import { AppendQueue } from './append-queue.ts';
import { emptyHead } from './chain.ts';
import { parseEntry } from './entry.ts';
import { auditUnavailable, notAnEntry } from './failures.ts';
import { appendGroup, type End, type GroupAppended, stateAfter } from './group-append.ts';
import { tailOf } from './lines.ts';
import type { Linked } from './link-group.ts';
import { openForAppending, openForReading } from './log-folder.ts';
import { LogLock } from './log-lock.ts';
import { openIntents } from './open-intents.ts';
import { OperationTest } from './operation-test.ts';
import { pruneArchives } from './prune.ts';
import { rotateFile } from './rotate.ts';
import { RunHolds } from './run-holds.ts';
import { Segments } from './segments.ts';
import { verifyChunks } from './verify-chain.ts';
import { verifyParallel } from './verify-parallel.ts';

/** Where the log stands, and whose time it tells. */
export interface FileLogOptions {
  /** The path of the file (`…/audit.jsonl`), made with its folder at the first append. */
  readonly path: string;
  readonly clock: Clock;
}

/**
 * Opens an audit log kept in a file: one entry per line, appended under a lock that several processes
 * share, and synced to the disk before an append returns. Appends that wait at the same time share one
 * sync. Nothing is read or made before the first use.
 */
export function openFileLog(options: FileLogOptions): AuditLog {
  return new FileLog(options);
}

class FileLog implements AuditLog {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #lock: LogLock;
  readonly #holds: RunHolds;
  readonly #queue: AppendQueue;
  #end: End | null = null;

  constructor({ path, clock }: FileLogOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#lock = new LogLock(path);
    this.#holds = new RunHolds(path);
    this.#queue = new AppendQueue({
      name: path,
      write: (drafts) => this.#write(drafts),
      failure: (cause) => auditUnavailable(path, 'written', cause),
    });
  }

  append(draft: EntryDraft): Promise<Entry> {
    return this.#queue.append(draft);
  }

  async *entries(from = 1, only?: EntrySelection): AsyncIterable<Entry> {
    await using segments = await this.#segments();
    const test = only === undefined ? null : new OperationTest(only);
    let number = 0;
    for await (const block of segments.blocks(from)) {
      for (const { bytes, ended } of block) {
        number += 1;
        if (!ended) return;
        if (test?.isOther(bytes) === true) continue;
        const entry = parseEntry(bytes);
        if (entry === null) throw notAnEntry(this.#path, segments.placeOf(number));
        if (entry.seq >= from && test?.isMeant(entry) !== false) yield entry;
      }
    }
  }

  async head(): Promise<Head> {
    await using file = await this.#open();
    if (file === null) return emptyHead;
    const { line } = await tailOf(file, (await file.stat()).size);
    return stateAfter(this.#path, line).head;
  }

  async verify(observer?: LogObserver): Promise<LogVerification> {
    await using segments = await this.#segments();
    const isOneFile = segments.current !== null && segments.archives.length === 0;
    if (isOneFile && observer === undefined) {
      const { size } = await segments.current.stat();
      const verified = await verifyParallel({ path: this.#path, size });
      if (verified !== null) return verified;
    }
    const found = await verifyChunks(segments.chunks(), { observer });
    if (found.break === null || segments.archives.length === 0) return found;
    return { ...found, break: { ...found.break, ...segments.placeOf(found.break.line) } };
  }

  async holdRun(run: string): Promise<Disposable> {
    try {
      return await this.#holds.hold(run);
    } catch (cause) {
      throw auditUnavailable(this.#path, 'written', cause);
    }
  }

  async abandonedIntents(): Promise<readonly Entry[]> {
    await using segments = await this.#segments();
    const abandoned: Entry[] = [];
    for (const intent of await openIntents(this.#path, segments)) {
      if (!(await this.#holds.isHeld(intent.run))) abandoned.push(intent);
    }
    return abandoned;
  }

  async rotate(actor: LogActor): Promise<Rotation | null> {
    try {
      using _lock = await this.#lock.take();
      await using file = await openForAppending(this.#path);
      // An unfinished last line is dealt with as by any append.
      const { end } = await this.#append(file, []);
      if (end.head.size === 0) return null;
      this.#end = null;
      return await rotateFile({ path: this.#path, file, state: end, clock: this.#clock, draft: actor });
    } catch (cause) {
      throw auditUnavailable(this.#path, 'rotated', cause);
    }
  }

  async prune(before: Date, actor: LogActor): Promise<Pruning | null> {
    try {
      await using segments = await this.#segments();
      return await pruneArchives({ segments, before, actor, log: this });
    } catch (cause) {
      throw auditUnavailable(this.#path, 'pruned', cause);
    }
  }

  async close(): Promise<void> {
    await this.#queue.idle();
  }

  async #open() {
    try {
      return await openForReading(this.#path);
    } catch (cause) {
      throw auditUnavailable(this.#path, 'read', cause);
    }
  }

  async #segments(): Promise<Segments> {
    try {
      return await Segments.open(this.#path);
    } catch (cause) {
      throw auditUnavailable(this.#path, 'read', cause);
    }
  }

  async #write(drafts: readonly EntryDraft[]): Promise<readonly Linked[]> {
    using _lock = await this.#lock.take();
    await using file = await openForAppending(this.#path);
    return (await this.#append(file, drafts)).links;
  }

  /** Appends under the lock, and remembers the file's end where that went well. */
  async #append(file: FileHandle, drafts: readonly EntryDraft[]): Promise<GroupAppended> {
    const known = this.#end;
    this.#end = null;
    const appended = await appendGroup({ path: this.#path, file, drafts, clock: this.#clock, known });
    this.#end = appended.end;
    return appended;
  }
}
