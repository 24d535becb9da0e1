import type { Entry } from './audit-log.ts';

/** The intents that an entry belongs to, if the log still has them. */
export interface EntryContext {
  /** The intent that an outcome closes. It has the owners of tokens. */
  readonly intent?: Entry | undefined;
  /** The first intent of its run. It has the reason and the ticket. */
  readonly opening?: Entry | undefined;
}

export type ExportFormat = 'ocsf' | 'ecs' | 'cef' | 'syslog' | 'jsonl';

/** Formats audit log entries for export. */
export interface LogFormat {
  /** The records for an entry: one, or one for each token, session or user that it names. */
  records(entry: Entry, context: EntryContext): Iterable<string>;
}

/** The destination of records: a file, a stream, a log collector. */
export interface LogSink {
  /** Its name in messages, without credentials. */
  readonly name: string;
  /**
   * Sends records in order. Returns once the sink accepted all: a file has synced them to disk, a web server
   * confirmed them; the peer of a socket may still lose records in transit.
   * @throws TokenctlError `target_unreachable`, `permission_refused`, `target_misbehaved`, `partly_done`:
   * some records may have been accepted.
   */
  send(records: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

export interface ExportPosition {
  /** The number of the last entry that the sink accepted; 0 for none. */
  readonly seq: number;
  /** That entry's `previous`, which identifies it; null for none. */
  readonly previous: string | null;
}

/** Stores the position of an export between runs. */
export interface ExportCursor {
  /** Null if nothing was exported yet. Throws TokenctlError `configuration`. */
  load(): Promise<ExportPosition | null>;
  /** Replaces the stored position atomically. Throws TokenctlError `partly_done`. */
  save(position: ExportPosition): Promise<void>;
}
