/** A notification. Plain JSON; no secrets. */
export interface Notice {
  /** Stable for the same event, so that a receiver can drop duplicates. */
  readonly id: string;
  /** The event type in dotted form: `token.expiring`. */
  readonly type: string;
  readonly at: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A notification channel. */
export interface Notifier {
  /** Names it in the audit log, the same in every run; holds no secret. */
  readonly name: string;
  /**
   * Sends it, and returns when it was accepted. Takes a bounded time.
   *
   * @throws TokenctlError `target_unreachable` if a later attempt may succeed, `target_misbehaved` or `permission_refused`
   * if the notice was refused for good.
   */
  send(notice: Notice): Promise<void>;
  /** Closes connections. */
  close(): Promise<void>;
}
