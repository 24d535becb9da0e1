import type { CLIError } from '@oclif/core/errors';
import { nearestName } from '../../config/nearest-name.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { type FlagRules, flagConflicts } from './flag-conflicts.ts';
import { flagName } from './flag-name.ts';

/** What the flag parser attaches to its errors, as far as it is used here. */
interface ParserError {
  /** Flags that do not exist, as they were typed. */
  readonly flags?: readonly string[];
  /** Arguments that are missing (as they are declared) or too many (as they were typed). */
  readonly args?: readonly unknown[];
  readonly parse?: {
    readonly input?: { readonly flags?: FlagRules; readonly args?: Readonly<Record<string, unknown>> };
    readonly output?: { readonly flags?: Readonly<Record<string, unknown>> };
  };
}

const SEE_HELP = 'Add --help to the command to see what it takes.';

/**
 * Turns an error of the command framework (a flag that does not exist, an argument too many, a missing
 * value) into a usage error in tokenctl's own terms, with the nearest flag that does exist.
 *
 * The framework quotes what was typed, and a secret may be among it: only the names of flags and
 * arguments are taken over, never a value.
 *
 * @returns undefined for an error that is about something else than what was typed
 */
export function usageMistake(error: CLIError): TokenctlError | undefined {
  const { flags, args, parse } = error as unknown as ParserError;
  const known = parse?.input?.flags ?? {};
  if (Array.isArray(flags)) return unknownFlag(flags.map(String), Object.keys(known));
  const message = Array.isArray(args)
    ? wrongArguments(args, Object.keys(parse?.input?.args ?? {}))
    : (wrongValue(error.message) ?? wrongTogether(known, parse?.output?.flags));
  return message === undefined ? undefined : new TokenctlError('usage', message, { hint: SEE_HELP });
}

function unknownFlag(typed: readonly string[], known: readonly string[]): TokenctlError {
  const unknown = typed.map(flagName);
  const message =
    unknown.length === 1
      ? `There is no flag ${unknown[0]} here.`
      : `There are no flags ${unknown.join(', ')} here.`;
  const nearest = unknown
    .map((flag) => nearestName(flag.replace(/^-+/, ''), known))
    .filter((name) => name !== undefined);
  const hint = nearest.length === 0 ? SEE_HELP : `Did you mean ${nearest.map((n) => `--${n}`).join(', ')}?`;
  return new TokenctlError('usage', message, { hint });
}

function wrongArguments(args: readonly unknown[], taken: readonly string[]): string {
  const missing = args.filter(isDeclared);
  if (missing.length === 0) {
    const names = taken.map((name) => name.toUpperCase()).join(' ');
    return `There are more arguments than this command takes${names === '' ? '' : `: ${names}`}.`;
  }
  return missing
    .map(({ name, options }) => {
      const choice = options === undefined ? '' : `: one of ${options.join(', ')}`;
      return `The argument ${name.toUpperCase()} is missing${choice}`;
    })
    .join('; ');
}

function isDeclared(
  arg: unknown,
): arg is { readonly name: string; readonly options?: readonly string[] | undefined } {
  return typeof arg === 'object' && arg !== null && 'name' in arg;
}

/** Of these errors there is only the text, with the typed value in its middle. */
function wrongValue(message: string): string | undefined {
  const [, once, problem] =
    /^Flag (--[\w-]+) (expects a value|expects one of these values: .*|can only be specified once)/.exec(
      message,
    ) ?? [];
  if (problem !== undefined) {
    return `${once} ${problem.replace('can only be specified once', 'can be given only once')}`;
  }
  const [, flag, choices] = /^Expected (--[\w-]+=)?.* to be one of: (.*)$/ms.exec(message) ?? [];
  if (choices === undefined) return undefined;
  const what = flag === undefined ? 'The argument' : flag.slice(0, -1);
  return `${what} has to be one of: ${choices.split('\n', 1)[0]}`;
}

function wrongTogether(
  known: FlagRules,
  given: Readonly<Record<string, unknown>> | undefined,
): string | undefined {
  if (given === undefined) return undefined;
  return flagConflicts(known, given).join('; ') || 'These flags cannot be used together';
}
