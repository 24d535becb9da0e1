/**
 * The ways in which an operation can fail, as a closed set. Codes describe failures in the domain's terms. Exit codes
 * (`cli/errors/failure.ts`) and HTTP statuses (`service/error-handler.ts`) are derived only at the edges.
 */
export type TokenctlErrorCode =
  /** Invalid flags, arguments or input: nothing was attempted. */
  | 'usage'
  /** The configuration, or a file or variable that it refers to, is missing, unreadable or invalid. */
  | 'configuration'
  /** The target rejected the credentials. */
  | 'credentials_refused'
  /** The target accepted the credentials but denied permission. */
  | 'permission_refused'
  /** The target lacks the capability. */
  | 'unsupported'
  /** The target returned an invalid response. */
  | 'target_misbehaved'
  /** The target could not be reached: name, port, TLS or timeout. */
  | 'target_unreachable'
  /** The database could not be reached or opened. */
  | 'database_unreachable'
  /** The named user, application, token or context does not exist. */
  | 'not_found'
  /** It would end the caller's own access. */
  | 'lockout_refused'
  /** The plan is larger than `--at-most` allows. */
  | 'plan_too_large'
  /** A saved plan is for another controller, or its tokens have changed. */
  | 'plan_outdated'
  /** A secret store contains another value than the one to replace: nothing was written there. */
  | 'store_changed'
  /** The plan needs a second person's approval, and has no valid one. */
  | 'not_approved'
  /** The confirmation was not given. */
  | 'not_confirmed'
  /** The audit log could not be written before the act: nothing was changed. */
  | 'audit_unavailable'
  /** A change was made but its outcome could not be recorded; the next run reconciles it. */
  | 'outcome_unrecorded'
  /** The audit log already has an outcome for this intent. */
  | 'intent_closed'
  /** The hash chain of the audit log is broken. */
  | 'log_broken'
  /** Some of the work was done; the report lists the rest. */
  | 'partly_done'
  /** There are findings at or above the severity of `--fail-on`. */
  | 'findings'
  /** A signal ended the operation after the batch in flight was finished and recorded. */
  | 'interrupted'
  /** Another process locks a required resource (a data folder, a log). */
  | 'busy'
  /** The job is already running: nothing was started. */
  | 'already_running';

export interface TokenctlErrorOptions {
  /** How to fix it, as an imperative sentence. It may contain a command. */
  hint?: string | undefined;
  /** The original error. Never shown to users: it may contain sensitive data. */
  cause?: unknown;
  /** Machine-readable facts for `--json`: plain JSON, never a secret. */
  details?: Readonly<Record<string, unknown>> | undefined;
}

/** The only error that core and operations throw. Its message contains no secret, HTTP status or exit code. */
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

/** The code of an error of the system or of a library, such as `ENOENT`; undefined for one without. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
