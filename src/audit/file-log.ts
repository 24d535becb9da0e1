import { TokenctlError } from '../core/errors.ts';
import type { AuditLog, Entry, EntryDraft, Head, LogVerification } from '../operations/audit-log-port.ts';
import type { Clock } from '../operations/ports.ts';
import { emptyHead } from './chain.ts';
import { parseEntry } from './entry.ts';
import { auditUnavailable } from './failures.ts';
import { findEntry } from './find-entry.ts';
import { appendGroup, type End, stateAfter } from './group-append.ts';
import { linesOf, tailOf } from './lines.ts';
import { openForAppending, openForReading } from './log-folder.ts';
import { LogLock } from './log-lock.ts';
import { RunHolds } from './run-holds.ts';
import { verifyChain } from './verify-chain.ts';

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

interface Waiting {
  readonly draft: EntryDraft;
  readonly resolve: (entry: Entry) => void;
  readonly reject: (error: unknown) => void;
}

class FileLog implements AuditLog {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #lock: LogLock;
  readonly #holds: RunHolds;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | null = null;
  #end: End | null = null;

  constructor({ path, clock }: FileLogOptions) {
    this.#path = path;
    this.#clock = clock;
    this.#lock = new LogLock(path);
    this.#holds = new RunHolds(path);
  }

  append(draft: EntryDraft): Promise<Entry> {
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    this.#waiting.push({ draft, resolve, reject });
    this.#flushing ??= this.#flush();
    return promise;
  }

  async *entries(): AsyncIterable<Entry> {
    await using file = await this.#open();
    if (file === null) return;
    let number = 0;
    for await (const { bytes, ended } of linesOf(file)) {
      number += 1;
      if (!ended) return;
      const entry = parseEntry(bytes);
      if (entry === null) throw notAnEntry(this.#path, number);
      yield entry;
    }
  }

  async head(): Promise<Head> {
    await using file = await this.#open();
    if (file === null) return emptyHead;
    const { line } = await tailOf(file, (await file.stat()).size);
    return stateAfter(this.#path, line).head;
  }

  async verify(): Promise<LogVerification> {
    await using file = await this.#open();
    return await verifyChain(file === null ? nothing() : linesOf(file));
  }

  async holdRun(run: string): Promise<Disposable> {
    try {
      return await this.#holds.hold(run);
    } catch (cause) {
      throw auditUnavailable(this.#path, 'written', cause);
    }
  }

  async abandonedIntents(): Promise<readonly Entry[]> {
    await using file = await this.#open();
    if (file === null) return [];
    const { size } = await file.stat();
    const { line, torn } = await tailOf(file, size);
    const abandoned: Entry[] = [];
    for (const seq of stateAfter(this.#path, line).open) {
      const intent = await findEntry(file, size - torn.length, seq);
      if (intent !== null && !(await this.#holds.isHeld(intent.run))) abandoned.push(intent);
    }
    return abandoned;
  }

  async close(): Promise<void> {
    await this.#flushing;
  }

  async #open() {
    try {
      return await openForReading(this.#path);
    } catch (cause) {
      throw auditUnavailable(this.#path, 'read', cause);
    }
  }

  /** Writes what is waiting, and what arrives meanwhile, group by group. */
  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(group);
      } catch (cause) {
        this.#end = null;
        const error = auditUnavailable(this.#path, 'written', cause);
        for (const { reject } of group) reject(error);
      }
    }
    this.#flushing = null;
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    using _lock = await this.#lock.take();
    await using file = await openForAppending(this.#path);
    const drafts = group.map(({ draft }) => draft);
    const appended = await appendGroup({
      path: this.#path,
      file,
      drafts,
      clock: this.#clock,
      known: this.#end,
    });
    this.#end = appended.end;
    appended.links.forEach((link, index) => {
      const waiting = group[index];
      if ('entry' in link) waiting?.resolve(link.entry);
      else waiting?.reject(notPlain(this.#path, link.unfit));
    });
  }
}

async function* nothing() {}

function notPlain(path: string, cause: unknown): TokenctlError {
  return new TokenctlError(
    'audit_unavailable',
    `The audit log ${path} cannot hold this entry: it is not plain JSON`,
    {
      cause,
    },
  );
}

function notAnEntry(path: string, line: number): TokenctlError {
  return new TokenctlError('log_broken', `Line ${line} of the audit log ${path} is not an entry`, {
    hint: 'Find out more with `tokenctl log verify`.',
    details: { line },
  });
}
