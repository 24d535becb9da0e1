import type { Command } from '@oclif/core/command';
import type { Config } from '@oclif/core/config';
import type { CLIError } from '@oclif/core/errors';
import { nearestName } from '../../config/nearest-name.ts';
import { TokenctlError } from '../../domain/errors.ts';

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

/** What flags ask of each other, as the command framework keeps it. */
export type FlagRules = Readonly<
  Record<
    string,
    {
      readonly required?: boolean | undefined;
      readonly dependsOn?: readonly unknown[] | undefined;
      readonly exclusive?: readonly unknown[] | undefined;
    }
  >
>;

/**
 * What is wrong with flags as a whole: required ones that are missing, and those that need or exclude
 * each other. Phrases that name flags only: a flag's value may be a secret.
 *
 * @param given the values by flag; undefined for a flag that was not given
 */
export function flagConflicts(rules: FlagRules, given: Readonly<Record<string, unknown>>): string[] {
  const isGiven = (name: string) => given[name] !== undefined;
  const conflicts = Object.entries(rules).flatMap(([name, { required, dependsOn, exclusive }]) => {
    if (!isGiven(name)) return required === true ? [`--${name} is missing`] : [];
    return [
      ...names(dependsOn)
        .filter((other) => !isGiven(other))
        .map((other) => `--${name} needs --${other} beside it`),
      ...names(exclusive)
        .filter(isGiven)
        .map((other) => `${[`--${name}`, `--${other}`].sort().join(' and ')} cannot be used together`),
    ];
  });
  return [...new Set(conflicts)];
}

function names(flags: readonly unknown[] = []): string[] {
  return flags.filter((flag) => typeof flag === 'string');
}

/** A flag as it was typed, without the value that may be joined to it: of `--flag=value`, of `-fvalue`. */
export function flagName(typed: string): string {
  return typed.startsWith('--') ? (typed.split('=', 1)[0] ?? '') : typed.slice(0, 2);
}

/**
 * Explains arguments that the framework takes for the name of a command that does not exist: a mistyped
 * name, or one argument too many after a command that takes none.
 *
 * @returns undefined where they do name a command and what follows it may be meant
 */
export function unknownCommand(argv: readonly string[], config: Config): TokenctlError | undefined {
  const words = wordsBeforeFlags(argv);
  if (words.length === 0) return flagsFirst(argv, config);
  for (let length = words.length; length > 0; length -= 1) {
    const command = config.findCommand(words.slice(0, length).join(':'));
    if (command === undefined) continue;
    const extra = words.slice(length);
    if (extra.length === 0 || Object.keys(command.args).length > 0) return undefined;
    // The arguments themselves are not shown: one of them may be a secret, pasted into the wrong place.
    const message = `tokenctl ${words.slice(0, length).join(' ')} takes no argument, and there ${extra.length === 1 ? 'is one' : `are ${extra.length}`}`;
    return new TokenctlError('usage', message, { hint: 'Add --help to the command to see what it takes' });
  }
  return noSuchCommand(words, config);
}

function wordsBeforeFlags(argv: readonly string[]): readonly string[] {
  const firstFlag = argv.findIndex((word) => word.startsWith('-'));
  return firstFlag === -1 ? argv : argv.slice(0, firstFlag);
}

/** Flags before the command: `tokenctl --context lab tokens list`. */
function flagsFirst(argv: readonly string[], config: Config): TokenctlError {
  const flags = argv.filter((word) => word.startsWith('-')).map(flagName);
  const meant = commandWithin(argv, config);
  const example = meant === undefined ? 'COMMAND' : meant.id.replaceAll(':', ' ');
  return new TokenctlError('usage', `The command comes first, and ${flags.join(', ')} after it.`, {
    hint: `Write \`tokenctl ${example} ${flags[0]} …\`, and --help for what the command takes.`,
  });
}

/** The first command that stands anywhere among the words, the longer name before the shorter one. */
function commandWithin(argv: readonly string[], config: Config): Command.Loadable | undefined {
  for (const start of argv.keys()) {
    const words = wordsBeforeFlags(argv.slice(start));
    for (let length = words.length; length > 0; length -= 1) {
      const command = config.findCommand(words.slice(0, length).join(':'));
      if (command !== undefined) return command;
    }
  }
  return undefined;
}

function noSuchCommand(words: readonly string[], config: Config): TokenctlError {
  const topics = config.topics.map(({ name }) => name);
  // Only what can be a command's name: what follows it is an argument, and may be a secret.
  const typed = words.slice(0, topics.includes(words[0] ?? '') ? 2 : 1).join(' ');
  const known = [...config.commandIDs, ...topics].map((command) => command.replaceAll(':', ' '));
  const near = nearestCommand(words, known);
  return new TokenctlError('usage', `There is no command "${typed}".`, {
    hint: near === undefined ? 'tokenctl --help lists the commands' : `Did you mean \`tokenctl ${near}\`?`,
  });
}

/** Arguments may follow the command's words: compares with as many words as each command has. */
function nearestCommand(words: readonly string[], known: readonly string[]): string | undefined {
  const lengths = [...new Set(known.map((command) => command.split(' ').length))].sort((a, b) => b - a);
  for (const length of lengths) {
    const candidates = known.filter((command) => command.split(' ').length === length);
    const nearest = nearestName(words.slice(0, length).join(' '), candidates);
    if (nearest !== undefined) return nearest;
  }
  return undefined;
}
