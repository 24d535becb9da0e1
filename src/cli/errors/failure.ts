import { CLIError, ExitError } from '@oclif/core/errors';
import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import { onScreen, printable, type Screen } from '../../reports/tables/text.ts';
import { usageMistake } from './usage-errors.ts';

/** The fields of an error that are shown to the user; all others are dropped. */
export interface Failure {
  /** The prefix of the message in text mode. */
  readonly label: string;
  readonly exit: number;
  /** For scripts. */
  readonly code: TokenctlErrorCode | 'bug';
  /** What failed, as a sentence. */
  readonly message: string;
  /** What to do. */
  readonly hint: string | undefined;
  /** Further data, depending on the code. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

const LABEL = 'Error';
const DEBUG_HINT = 'Run the command again with TOKENCTL_DEBUG=1 and report the bug with that output.';

/** A bug in one of several contexts. Its message has the failures of all, but not the bug's message. */
export class BugInContexts extends TokenctlError {
  constructor(message: string, contexts: readonly string[], cause: unknown) {
    super('partly_done', message, { cause, details: { contexts } });
  }
}

/** Translates any thrown value. An unexpected error is a bug, without its message, which may be secret. */
export function failureOf(error: unknown): Failure {
  if (error instanceof TokenctlError && !(error instanceof BugInContexts)) {
    const inManagementWords = error instanceof ManagementError;
    return {
      label: inManagementWords ? ManagementError.label : LABEL,
      exit: inManagementWords ? exitCodes.managementError : exitCodeOf(error.code),
      code: error.code,
      message: inManagementWords ? error.message : sentence(withoutParserFrame(error.message)),
      hint: error.hint === undefined ? undefined : sentence(error.hint),
      details: error.details,
    };
  }
  const mistake = error instanceof CLIError ? usageMistake(error) : undefined;
  if (mistake !== undefined) return failureOf(mistake);
  const isInContexts = error instanceof BugInContexts;
  return {
    label: LABEL,
    exit: exitCodes.bug,
    code: 'bug',
    message: isInContexts ? sentence(error.message) : `Bug in tokenctl: unexpected ${errorName(error)}.`,
    hint: DEBUG_HINT,
    details: isInContexts ? error.details : undefined,
  };
}

/** The exit code if the framework ends the program without an error, as after `--help`. */
export function quietExit(error: unknown): number | undefined {
  return error instanceof ExitError ? (error.oclif.exit ?? exitCodes.done) : undefined;
}

/** A failure as `--json` prints it on stdout instead of a result. The exit code shows the kind of failure. */
export interface FailureJson {
  readonly error: Omit<Failure, 'label' | 'exit'>;
}

export function failureToJson({ code, message, hint, details }: Failure): FailureJson {
  return { error: { code, message, hint, details } };
}

export function failureToText({ label, message, hint }: Failure): string {
  return hint === undefined ? `${label}: ${message}\n` : `${label}: ${message}\n${hint}\n`;
}

/** The failure as printable lines, laid out for a terminal. */
export function failureOnScreen(failure: Failure, screen: Screen): string {
  const text = onScreen(printable.lines(failureToText(failure)), screen);
  return screen.paint('bad', failure.label) + text.slice(failure.label.length);
}

/** Removes the flag parser's wrapper around the message of a flag's own check. */
function withoutParserFrame(message: string): string {
  const match = /^Parsing (--\S+) \n\t(.*)\nSee more help with --help$/s.exec(message);
  return match?.[2] === undefined ? message : `${match[1]}: ${match[2]}`;
}

/** Ends a message with a full stop. */
function sentence(text: string): string {
  return /[.!?:`]$/.test(text) ? text : `${text}.`;
}

function errorName(error: unknown): string {
  return error instanceof Error && /^\w{1,40}$/.test(error.name) ? error.name : 'error';
}

/** The exit codes, with and without `--json`. Scripts rely on them: never give a number a second meaning. */
export const exitCodes = {
  /** Done, or nothing to do. */
  done: 0,
  /** A bug in tokenctl: any error without a code below. */
  bug: 1,
  /** For the awx-manage replacements only: errors for which awx-manage exits with 1. */
  managementError: 1,
  /** Invalid flags, arguments or configuration, or a refusal before any change. */
  usage: 2,
  /** Findings at or above `--fail-on`. */
  findings: 3,
  /** The target refused: credentials, permission, or an unsupported operation. */
  refused: 4,
  /** Partly done: the report lists what is left. */
  partlyDone: 5,
  /** The audit log cannot be written, or its verification failed. */
  auditLog: 6,
  /** The target or the database is unreachable, or sent an invalid response. */
  unreachable: 7,
  /** Interrupted, after the batch in progress was finished and recorded. */
  interrupted: 130,
} as const;

const byErrorCode: Readonly<Record<TokenctlErrorCode, number>> = {
  usage: exitCodes.usage,
  configuration: exitCodes.usage,
  not_found: exitCodes.usage,
  lockout_refused: exitCodes.usage,
  plan_too_large: exitCodes.usage,
  plan_outdated: exitCodes.usage,
  store_changed: exitCodes.refused,
  not_approved: exitCodes.usage,
  not_confirmed: exitCodes.usage,
  already_running: exitCodes.usage,
  findings: exitCodes.findings,
  credentials_refused: exitCodes.refused,
  permission_refused: exitCodes.refused,
  unsupported: exitCodes.refused,
  partly_done: exitCodes.partlyDone,
  audit_unavailable: exitCodes.auditLog,
  outcome_unrecorded: exitCodes.auditLog,
  intent_closed: exitCodes.auditLog,
  log_broken: exitCodes.auditLog,
  target_unreachable: exitCodes.unreachable,
  target_misbehaved: exitCodes.unreachable,
  database_unreachable: exitCodes.unreachable,
  busy: exitCodes.unreachable,
  interrupted: exitCodes.interrupted,
};

export function exitCodeOf(code: TokenctlErrorCode): number {
  return byErrorCode[code];
}

/** A failure with the message and exit code (1) of an awx-manage command, for scripts that check them. */
export class ManagementError extends TokenctlError {
  /** The prefix of an awx-manage error on stderr. */
  static readonly label = 'CommandError';
}
