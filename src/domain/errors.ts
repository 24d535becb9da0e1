/**
 * The ways in which an operation can fail, as a closed set. Codes say what happened in the domain's
 * terms; exit codes (`cli/errors/exit-codes.ts`) and HTTP statuses (`service/error-handler.ts`) are derived
 * from them at the edges and nowhere else.
 */
export type TokenctlErrorCode =
  /** Flags, arguments or input that cannot be meant: nothing was tried. */
  | 'usage'
  /** The configuration, or a file or variable it names, is missing, unreadable or invalid. */
  | 'configuration'
  /** The target did not accept the credentials. */
  | 'credentials_refused'
  /** The target accepted the credentials, and they may not do this. */
  | 'permission_refused'
  /** The target cannot do this at all (a capability it lacks). */
  | 'unsupported'
  /** The target was reached and answered in a way that makes no sense. */
  | 'target_misbehaved'
  /** The target could not be reached: name, port, TLS or time-out. */
  | 'target_unreachable'
  /** The database could not be reached or opened. */
  | 'database_unreachable'
  /** What was named (user, application, token, context) does not exist. */
  | 'not_found'
  /** Doing it would take away the caller's own access. */
  | 'lockout_refused'
  /** The plan is larger than `--at-most` allows. */
  | 'plan_too_large'
  /** The confirmation was not given, or not as asked. */
  | 'not_confirmed'
  /** The audit log could not be written before the act: nothing was changed. */
  | 'audit_unavailable'
  /** Something was changed and its outcome could not be recorded; the next run reconciles it. */
  | 'outcome_unrecorded'
  /** The audit log's chain does not hold. */
  | 'log_broken'
  /** Some of the work was done; the report says what is left. */
  | 'partly_done'
  /** Findings at or above the level of `--fail-on`. */
  | 'findings'
  /** A signal ended the operation after the batch in flight was finished and recorded. */
  | 'interrupted'
  /** Another process holds what this one needs (a data folder, a log). */
  | 'busy';

/** What a {@link TokenctlError} is made of besides its code and message. */
export interface TokenctlErrorOptions {
  /** What the reader can do about it, as an imperative sentence; may name a command. */
  hint?: string;
  /** The error underneath. It is never rendered to users: it may hold what they must not see. */
  cause?: unknown;
  /** Machine-readable facts for `--json`: plain JSON, never a secret. */
  details?: Readonly<Record<string, unknown>>;
}

/**
 * The only error that core and operations throw. The message says what happened to what; it holds no
 * secret, no HTTP status and no exit code.
 */
export class TokenctlError extends Error {
  override readonly name = 'TokenctlError';
  readonly code: TokenctlErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: TokenctlErrorCode, message: string, options: TokenctlErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.details = options.details;
  }
}
