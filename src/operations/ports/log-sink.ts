import type { Entry } from './audit-log.ts';

/** Intents that an entry belongs to, as far as the log still holds them. */
export interface EntryContext {
  /** Of an outcome: what it closes. It knows the owners of tokens. */
  readonly intent?: Entry | undefined;
  /** What its run began with. It knows the reason and the ticket. */
  readonly opening?: Entry | undefined;
}

/** The name of a format for exported entries. */
export type ExportFormat = 'ocsf' | 'ecs' | 'cef' | 'syslog' | 'jsonl';

/** How entries of the audit log are written for others. */
export interface LogFormat {
  /** The records that stand for an entry: one, or one for each token, session or user that it names. */
  records(entry: Entry, context: EntryContext): Iterable<string>;
}

/** What takes records: a file, a stream, a collector of logs. */
export interface LogSink {
  /** What it is called in messages; without a credential. */
  readonly name: string;
  /**
   * Hands records over, in order. Returns once the sink took them all: a file has them on the disk, a web
   * server said so, a connection's other end may still lose what is on its way.
   * @throws TokenctlError `target_unreachable`, `permission_refused`, `target_misbehaved`, `partly_done`:
   * some of them may have been taken.
   */
  send(records: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Up to where entries were exported. */
export interface ExportPosition {
  /** The number of the last entry that the sink took; 0 for none. */
  readonly seq: number;
  /** That entry's `previous`, by which it is known again; null for none. */
  readonly previous: string | null;
}

/** Remembers how far an export came, from one run to the next. */
export interface ExportCursor {
  /** Null where nothing was exported yet. Throws TokenctlError `configuration`. */
  load(): Promise<ExportPosition | null>;
  /** Replaces what was remembered, in one step. Throws TokenctlError `partly_done`. */
  save(position: ExportPosition): Promise<void>;
}
