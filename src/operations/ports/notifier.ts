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
  /** Stable for the same message, so that mail programs show a message that is sent twice only once. */
  readonly id: string;
  readonly at: Date;
  /** An address without a name: `alice@example.org`. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

/** A way to send mail. */
export interface Mailer {
  /** Names it in the audit log; holds no secret. */
  readonly name: string;
  /**
   * Sends it. Takes a bounded time.
   * @returns `sent` once it was accepted; `refused` if the recipient is refused for good (RFC 5321: 5yz).
   * @throws TokenctlError `target_unreachable` if a later attempt may succeed; `permission_refused` or
   * `target_misbehaved` if the server takes no message of this sender.
   */
  send(mail: Mail): Promise<'sent' | 'refused'>;
  close(): Promise<void>;
}

/** A notification channel. */
export interface Notifier {
  /** Names it in the audit log, the same in every run; holds no secret. */
  readonly name: string;
  /**
   * Sends it, and returns when it was accepted. Takes a bounded time.
   * @throws TokenctlError `target_unreachable` if a later attempt may succeed, `target_misbehaved` or
   * `permission_refused` if the notice was refused for good.
   */
  send(notice: Notice): Promise<void>;
  close(): Promise<void>;
}
