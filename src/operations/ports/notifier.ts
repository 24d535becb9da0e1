/** Something to tell somebody. Plain JSON; no secrets. */
export interface Notice {
  /** The same for the same thing to tell, so that a receiver can drop what it got before. */
  readonly id: string;
  /** What kind of thing, in dotted form: `token.expiring`. */
  readonly type: string;
  readonly at: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A way to tell somebody. */
export interface Notifier {
  /** Names it in the audit log, the same in every run; holds no secret. */
  readonly name: string;
  /**
   * Tells it, and returns once it was taken. Takes a bounded time.
   *
   * @throws TokenctlError `target_unreachable`, `target_misbehaved` or `permission_refused` where it was not.
   */
  send(notice: Notice): Promise<void>;
  /** Lets go of connections. */
  close(): Promise<void>;
}
