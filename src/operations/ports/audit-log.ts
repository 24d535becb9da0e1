import type { Secret } from '@tokenctl/common/secret.ts';
import type { IncidentEntry } from '../../domain/incident/incident.ts';
import type { TreeState } from '../../domain/merkle-tree.ts';

/** What one entry of the audit log states, before it has a number and a time. */
export type EntryDraft = Omit<IncidentEntry, 'seq' | 'at'>;

/** A recorded entry. */
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

/** Which entries are meant, of any number. */
export interface EntrySelection {
  /** Those of these operations, in dotted form and whole. */
  readonly operations: readonly string[];
}

/** The head of a log: the number of entries, and the hash of the last line. */
export interface Head {
  readonly size: number;
  readonly hash: string;
}

/** Where and how a log's chain does not hold. */
export interface LogBreak {
  /** The first line that is not as it was, counted from 1; in a database the row. */
  readonly line: number;
  /** The file that the line is in, where the log has several. */
  readonly file?: string;
  /** The number of the entry that belongs there: all before it hold. */
  readonly expected: number;
  /** The number that the entry on this line claims; null where it claims none. */
  readonly seq: number | null;
  readonly problem: 'unreadable' | 'edited' | 'removed' | 'inserted' | 'reordered' | 'emptied';
  /** What was found, as a sentence. */
  readonly message: string;
}

/**
 * What a whole reading of a log found. `break` is null where the chain holds. A chain cannot tell that
 * its end was cut off or that its last entry was edited: `head` compared with one kept elsewhere can.
 */
export interface LogVerification {
  /** The number up to which the entries hold. */
  readonly entries: number;
  /** The number up to which retention removed them; absent where the first one is there. */
  readonly removed?: number;
  /** The head of the log after them. */
  readonly head: Head;
  readonly break: LogBreak | null;
  /** The length of an unfinished last line, 0 for none: an append that a crash cut short. */
  readonly tornBytes: number;
}

/** Receives the lines of a log while it is verified. */
export interface LogObserver {
  /** Before the first line, where retention removed what was before: the tree of that. */
  begins(before: TreeState): void;
  /** Each line that holds, in order, without its line feed. */
  line(bytes: Uint8Array): void;
}

/** Who does something to the log itself, and in which run. */
export type LogActor = Pick<EntryDraft, 'actor' | 'run'>;

/** A file that was closed, and the first entry of the one that follows. */
export interface Rotation {
  readonly archive: string;
  readonly entry: Entry;
}

/** Files that were removed. */
export interface Pruning {
  readonly files: readonly string[];
  /** The entry that says so. */
  readonly entry: Entry;
}

/**
 * The audit log. `append` returns only when the entry is on stable storage, and throws
 * `TokenctlError` (`audit_unavailable`) otherwise: await it before making a change. An intent has one outcome: a
 * second one is refused (`intent_closed`), whichever process appends it.
 */
export interface AuditLog {
  append(draft: EntryDraft): Promise<Entry>;
  /**
   * Streams the entries, first to last, from the one of this number. `only` leaves out all others, many times
   * faster than reading them: what evidently states another operation is read no further. Throws `log_broken`
   * at a line that is no entry.
   */
  entries(from?: number, only?: EntrySelection): AsyncIterable<Entry>;
  head(): Promise<Head>;
  /** Reads the whole log and checks its chain. */
  verify(observer?: LogObserver): Promise<LogVerification>;
  /** Marks a run as being worked on, until disposed of or the process ends. Taken before its first intent. */
  lockRun(run: string): Promise<Disposable>;
  /** The intents without an outcome whose run no process has locked: what a killed process left behind. */
  abandonedIntents(): Promise<readonly Entry[]>;
  /**
   * Closes the log's file and goes on in a new one, whose first entry follows from the last of the old; null
   * for an empty log. Absent if the log is not a file.
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
   * The names of the files that `prune` would remove after a rotation; the current file goes by its own name.
   * Absent with `prune`.
   * @throws TokenctlError `audit_unavailable`.
   */
  filesToPrune?(before: Date): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Stores the keys that sign checkpoints, in the text form of `domain/note-key.ts`. */
export interface LogKeys {
  /** Keeps a new key. Throws `configuration` where there is one already, or it cannot be kept. */
  create(key: { readonly signer: Secret; readonly verifier: string }): Promise<void>;
  /** The private key. Throws `configuration` if it is missing or cannot be read. */
  signer(): Promise<Secret>;
  /**
   * The public keys, oldest first: those that were replaced still verify what they signed.
   * @throws TokenctlError `configuration` if they are missing or cannot be read.
   */
  verifiers(): Promise<readonly string[]>;
  /** Keeps a key beside the one in use, which {@link LogKeys.adopt} puts in its place. */
  stage(signer: Secret): Promise<void>;
  /** Puts the staged key, whose public one is given, in the place of the one in use. */
  adopt(verifier: string): Promise<void>;
}
