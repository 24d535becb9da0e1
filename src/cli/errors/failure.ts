import { CLIError, ExitError } from '@oclif/core/errors';
import { TokenctlError, type TokenctlErrorCode } from '../../domain/errors.ts';
import type { Stopped } from '../../operations/journal/operation-run.ts';
import { usageMistake } from './usage-errors.ts';

/** What the user is told of an error: these fields, and nothing else that the error may carry. */
interface Failure {
  /** What stands before the message for people. */
  readonly label: string;
  readonly exit: number;
  readonly code: TokenctlErrorCode | 'bug';
  readonly message: string;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

const LABEL = 'Error';
const DEBUG_HINT = 'Run it again with TOKENCTL_DEBUG=1 to see where, and report it with that output.';

/**
 * Translates whatever was thrown. An error that nobody foresaw is a bug of ours: its own message is
 * not shown, because nobody has checked what it holds.
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof TokenctlError) {
    const inManagementWords = error instanceof ManagementError;
    return {
      label: inManagementWords ? ManagementError.label : LABEL,
      exit: inManagementWords ? exitCodes.managementError : exitCodeOf(error.code),
      code: error.code,
      message: sentence(withoutParserFrame(error.message)),
      hint: error.hint === undefined ? undefined : sentence(error.hint),
      details: error.details,
    };
  }
  const mistake = error instanceof CLIError ? usageMistake(error) : undefined;
  if (mistake !== undefined) return failureOf(mistake);
  return {
    label: LABEL,
    exit: exitCodes.bug,
    code: 'bug',
    message: `This is a bug of tokenctl: an unforeseen ${errorName(error)} ended the command.`,
    hint: DEBUG_HINT,
    details: undefined,
  };
}

/** The exit code with which the framework asked to end quietly (after `--help`), if it did. */
export function quietExit(error: unknown): number | undefined {
  return error instanceof ExitError ? (error.oclif.exit ?? exitCodes.done) : undefined;
}

/** The stable JSON form of a failure. */
export function failureToJson({ code, message, hint, details }: Failure): object {
  return { error: { code, message, hint, details } };
}

/** The failure as lines for people. */
export function failureToText({ label, message, hint }: Failure): string {
  return hint === undefined ? `${label}: ${message}\n` : `${label}: ${message}\n${hint}\n`;
}

/** The flag parser wraps the message of a flag's own check in its name and a pointer to --help. */
function withoutParserFrame(message: string): string {
  const match = /^Parsing (--\S+) \n\t(.*)\nSee more help with --help$/s.exec(message);
  return match?.[2] === undefined ? message : `${match[1]}: ${match[2]}`;
}

/** Messages are written as phrases or sentences; here all of them become sentences. */
function sentence(text: string): string {
  return /[.!?:`]$/.test(text) ? text : `${text}.`;
}

function errorName(error: unknown): string {
  return error instanceof Error && /^\w{1,40}$/.test(error.name) ? error.name : 'error';
}

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

/** How a piece of work ended, as its report says. */
interface Ending {
  readonly interrupted: boolean;
  readonly stopped: Stopped | null;
  /** What was not tried or not done, as a phrase. */
  readonly left: string;
  /** Whether anything else is open: failed, or found when reading again. */
  readonly open: boolean;
}

const GO_ON = 'Run the same command again: it goes on with what is left.';

/** What says that not all is done; undefined where all is. */
export function unfinishedWork({ interrupted, stopped, left, open }: Ending): TokenctlError | undefined {
  if (interrupted) return new TokenctlError('interrupted', `Interrupted: ${left}`, { hint: GO_ON });
  if (stopped !== null) {
    return new TokenctlError('partly_done', `Stopped: ${stopped.message}. ${left}`, {
      hint: stopped.hint ?? GO_ON,
    });
  }
  return open ? new TokenctlError('partly_done', left, { hint: GO_ON }) : undefined;
}

/**
 * A failure in the words of one of the controller's management commands, which end with 1 after it: scripts
 * that were written for those compare both.
 */
export class ManagementError extends TokenctlError {
  /** What a management command puts before its message on stderr. */
  static readonly label = 'CommandError';
}
