/** A notification. Plain JSON; no secrets. */
export interface Notice {
  /** Stable for the same event, so that a receiver can drop duplicates. */
  readonly id: string;
  /** The event type in dotted form: `token.expiring`. */
  readonly type: string;
  readonly at: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A message to one person. Plain text; no secrets. */
export interface Mail {
  /** Stable for the same message, so that mail programs show a duplicate only once. */
  readonly id: string;
  readonly at: Date;
  /** An address without a name: `alice@example.org`. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

export interface Mailer {
  /** Its name in the audit log; contains no secret. */
  readonly name: string;
  /**
   * Sends a message within a bounded time.
   * @returns `sent` once it was accepted; `refused` if the recipient is permanently refused (RFC 5321: 5yz).
   * @throws TokenctlError `target_unreachable` if a later attempt may succeed; `permission_refused` or
   * `target_misbehaved` if the server accepts no message from this sender.
   */
  send(mail: Mail): Promise<'sent' | 'refused'>;
  close(): Promise<void>;
}

export interface Notifier {
  /** Its name in the audit log, the same in every run; contains no secret. */
  readonly name: string;
  /**
   * Sends a notice within a bounded time; returns once it was accepted.
   * @throws TokenctlError `target_unreachable` if a later attempt may succeed, `target_misbehaved` or
   * `permission_refused` if the notice was permanently refused.
   */
  send(notice: Notice): Promise<void>;
  close(): Promise<void>;
}
