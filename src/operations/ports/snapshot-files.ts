/** A file that is being written, of mode 0600. */
export interface SnapshotFile {
  /** Where it will be. */
  readonly path: string;
  write(text: string): Promise<void>;
  /**
   * Puts it in place, durably.
   *
   * @returns The SHA-256 (hex) of what was written.
   * @throws TokenctlError `configuration` where that fails; then there is no file.
   */
  commit(): Promise<string>;
  /** Leaves nothing behind. */
  discard(): Promise<void>;
}

/** Where snapshots are kept. */
export interface SnapshotFiles {
  /**
   * Begins a file.
   *
   * @param name Without folder: `inc-1a2b3c4d-production-20261120T100000Z.jsonl`.
   * @throws TokenctlError `configuration` where it cannot be made.
   */
  create(name: string): Promise<SnapshotFile>;
}
