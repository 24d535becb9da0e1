import type { Secret } from '@tokenctl/common/secret.ts';
import type { IncidentEntry } from '../../domain/incident/incident.ts';
import type { TreeState } from '../../domain/merkle-tree.ts';

/** An entry to append, without its number and time. */
export type EntryDraft = Omit<IncidentEntry, 'seq' | 'at'>;

export interface Entry extends IncidentEntry {
  /** The version of the entry format. */
  readonly v: 1;
  /** SHA-256 (hex) of the line before it; 64 zeros for the first. */
  readonly previous: string;
  /**
   * The numbers of the intents that have no outcome yet, including this entry, ascending: the last entry
   * shows what is unfinished without reading the whole log.
   */
  readonly open: readonly number[];
}

export interface EntrySelection {
  /** The full operation names, in dotted form. */
  readonly operations: readonly string[];
}

/** The head of a log: the number of entries, and the hash of the last line. */
export interface Head {
  readonly size: number;
  readonly hash: string;
}

/** The first break in a log's chain. */
export interface LogBreak {
  /** The first line that does not match, counted from 1; in a database the row. */
  readonly line: number;
  /** The file of the line, if the log has several. */
  readonly file?: string;
  /** The expected number of the entry: all entries before it are intact. */
  readonly expected: number;
  /** The number that the entry on this line claims; null if it claims none. */
  readonly seq: number | null;
  readonly problem: 'unreadable' | 'edited' | 'removed' | 'inserted' | 'reordered' | 'emptied';
  /** The break as a sentence. */
  readonly message: string;
}

/**
 * The result of reading a whole log. `break` is null if the chain is intact. A chain alone cannot show that
 * its end was cut off or that its last entry was edited: comparing `head` with a copy kept elsewhere can.
 */
export interface LogVerification {
  /** The number of the last intact entry. */
  readonly entries: number;
  /** The number of the last entry removed by retention; absent if the first entry exists. */
  readonly removed?: number;
  /** The head of the log after them. */
  readonly head: Head;
  readonly break: LogBreak | null;
  /** The length of an unfinished last line, left by a crash during an append; 0 for none. */
  readonly tornBytes: number;
}

/** Receives the lines of a log while it is verified. */
export interface LogObserver {
  /** Called before the first line if retention removed entries, with the tree of the removed ones. */
  begins(before: TreeState): void;
  /** Called for each intact line, in order, without its line feed. */
  line(bytes: Uint8Array): void;
}

/** The actor and run of a change to the log itself. */
export type LogActor = Pick<EntryDraft, 'actor' | 'run'>;

/** A closed file, and the first entry of the next one. */
export interface Rotation {
  readonly archive: string;
  readonly entry: Entry;
}

export interface Pruning {
  readonly files: readonly string[];
  /** The entry that records the removal. */
  readonly entry: Entry;
}

/**
 * The audit log. `append` returns only when the entry is on stable storage, and throws `TokenctlError`
 * (`audit_unavailable`) otherwise: await it before making a change. An intent has one outcome: a second one
 * from any process is refused (`intent_closed`).
 */
export interface AuditLog {
  append(draft: EntryDraft): Promise<Entry>;
  /**
   * Streams the entries in order, starting at this number. `only` skips other operations, many times faster
   * than reading them: lines that clearly state another operation are not parsed. Throws `log_broken` at a
   * line that is not an entry.
   */
  entries(from?: number, only?: EntrySelection): AsyncIterable<Entry>;
  head(): Promise<Head>;
  verify(observer?: LogObserver): Promise<LogVerification>;
  /** Locks a run until disposed of or the process ends. Call it before the run's first intent. */
  lockRun(run: string): Promise<Disposable>;
  /** The intents without an outcome whose run no process has locked, left by killed processes. */
  abandonedIntents(): Promise<readonly Entry[]>;
  /**
   * Closes the log's file and continues in a new one, whose first entry is chained to the last of the old;
   * null for an empty log. Absent if the log is not a file.
   * @throws TokenctlError `log_broken`, `audit_unavailable`.
   */
  rotate?(actor: LogActor): Promise<Rotation | null>;
  /**
   * Removes closed files whose entries are all older than an instant and have an outcome, after recording
   * that in an entry. Null if no file qualifies. Absent if the log is not a file.
   * @throws TokenctlError `audit_unavailable`.
   */
  prune?(before: Date, actor: LogActor): Promise<Pruning | null>;
  /**
   * The names of the files that `prune` would remove after a rotation, with the current file under its
   * current name. Absent with `prune`.
   * @throws TokenctlError `audit_unavailable`.
   */
  filesToPrune?(before: Date): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Stores the keys that sign checkpoints, in the text form of `domain/note-key.ts`. */
export interface LogKeys {
  /** Stores a new key. Throws `configuration` if one exists, or it cannot be stored. */
  create(key: { readonly signer: Secret; readonly verifier: string }): Promise<void>;
  /** The private key. Throws `configuration` if it is missing or cannot be read. */
  signer(): Promise<Secret>;
  /**
   * The public keys, oldest first: replaced ones still verify what they signed.
   * @throws TokenctlError `configuration` if they are missing or cannot be read.
   */
  verifiers(): Promise<readonly string[]>;
  /** Stores a key next to the one in use, for {@link LogKeys.adopt}. */
  stage(signer: Secret): Promise<void>;
  /** Replaces the key in use with the staged key, whose public key is given. */
  adopt(verifier: string): Promise<void>;
}
