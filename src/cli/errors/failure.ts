import { CLIError, ExitError } from '@oclif/core/errors';
import { TokenctlError, type TokenctlErrorCode } from '../../domain/errors.ts';
import { ManagementError } from '../awx-manage/error.ts';
import { exitCodeOf, exitCodes } from './exit-codes.ts';
import { usageMistake } from './usage-mistake.ts';

/** What the user is told of an error: these fields, and nothing else that the error may carry. */
export interface Failure {
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
