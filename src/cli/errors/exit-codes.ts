import type { TokenctlErrorCode } from '../../domain/errors.ts';

/**
 * The exit codes of the program, each with one meaning. Scripts rely on them: a number is never given
 * a second meaning, and it is the same with and without `--json`.
 */
export const exitCodes = {
  /** Done, or nothing to do. */
  done: 0,
  /** A bug of tokenctl: anything that no code below stands for. */
  bug: 1,
  /** Of the drop-ins for management commands alone: what those end with 1 for. */
  managementError: 1,
  /** Flags, arguments, configuration, or a refusal before anything was tried. */
  usage: 2,
  /** Findings at or above `--fail-on`. */
  findings: 3,
  /** The target refused: credentials, permission, or something it cannot do. */
  refused: 4,
  /** Partly done: the report says what is left. */
  partlyDone: 5,
  /** The audit log could not be written, or does not hold. */
  auditLog: 6,
  /** The target or the database could not be reached, or did not make sense. */
  unreachable: 7,
  /** Interrupted, after the batch in flight was finished and recorded. */
  interrupted: 130,
} as const;

const byErrorCode: Readonly<Record<TokenctlErrorCode, number>> = {
  usage: exitCodes.usage,
  configuration: exitCodes.usage,
  not_found: exitCodes.usage,
  lockout_refused: exitCodes.usage,
  plan_too_large: exitCodes.usage,
  not_confirmed: exitCodes.usage,
  findings: exitCodes.findings,
  credentials_refused: exitCodes.refused,
  permission_refused: exitCodes.refused,
  unsupported: exitCodes.refused,
  partly_done: exitCodes.partlyDone,
  audit_unavailable: exitCodes.auditLog,
  outcome_unrecorded: exitCodes.auditLog,
  log_broken: exitCodes.auditLog,
  target_unreachable: exitCodes.unreachable,
  target_misbehaved: exitCodes.unreachable,
  database_unreachable: exitCodes.unreachable,
  busy: exitCodes.unreachable,
  interrupted: exitCodes.interrupted,
};

/** The exit code that an error of the domain ends the program with. */
export function exitCodeOf(code: TokenctlErrorCode): number {
  return byErrorCode[code];
}
