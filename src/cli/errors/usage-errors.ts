import type { Command } from '@oclif/core/command';
import type { Config } from '@oclif/core/config';
import type { CLIError } from '@oclif/core/errors';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { nearestName } from '../../domain/nearest-name.ts';

/** The fields used from the flag parser's errors. */
interface ParserError {
  /** Unknown flags, as typed. */
  readonly flags?: readonly string[];
  /** Missing arguments (as declared) or extra arguments (as typed). */
  readonly args?: readonly unknown[];
  readonly parse?: {
    readonly input?: { readonly flags?: FlagRules; readonly args?: Readonly<Record<string, unknown>> };
    readonly output?: { readonly flags?: Readonly<Record<string, unknown>> };
  };
}

const SEE_INCIDENTS = '`incident status --all` lists all incidents.';
const SEE_FIELDS = 'To print only some fields of the JSON, write --json=FIELD,FIELD.';
const SEE_HELP = 'Add --help to the command to see its usage.';

/**
 * Turns an error of the command framework (an unknown flag, an extra argument, a missing value) into a usage
 * error that suggests the nearest known flag.
 *
 * The framework's messages quote the input, which may contain a secret. Only the names of flags and arguments
 * are used, never a value.
 * @returns undefined for an error that is not about usage
 */
export function usageMistake(error: CLIError): TokenctlError | undefined {
  const { flags, args, parse } = error as unknown as ParserError;
  const known = parse?.input?.flags ?? {};
  if (Array.isArray(flags)) return unknownFlag(flags.map(String), Object.keys(known));
  const choice = Array.isArray(args) ? undefined : wrongChoice(error.message);
  if (choice !== undefined) return choice;
  const message = Array.isArray(args)
    ? wrongArguments(args, Object.keys(parse?.input?.args ?? {}))
    : (wrongValue(error.message) ?? wrongTogether(known, parse?.output?.flags));
  if (message === undefined) return undefined;
  const lacksIncident = args?.some((arg) => isDeclared(arg) && arg.name === 'incident') === true;
  const takesNone = Object.keys(parse?.input?.args ?? {}).length === 0;
  const meantFields = Array.isArray(args) && takesNone && parse?.output?.flags?.['json'] === true;
  return new TokenctlError('usage', message, {
    hint: meantFields ? SEE_FIELDS : lacksIncident ? SEE_INCIDENTS : SEE_HELP,
  });
}

function unknownFlag(typed: readonly string[], known: readonly string[]): TokenctlError {
  const unknown = typed.map(flagName);
  const message =
    unknown.length === 1 ? `Unknown flag ${unknown[0]}.` : `Unknown flags ${unknown.join(', ')}.`;
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
    return `Too many arguments${names === '' ? '' : `: expected ${names}`}.`;
  }
  return missing
    .map(({ name, options }) => {
      const choice = options === undefined ? '' : `: one of ${options.join(', ')}`;
      return `Missing argument ${name.toUpperCase()}${choice}`;
    })
    .join('; ');
}

function isDeclared(
  arg: unknown,
): arg is { readonly name: string; readonly options?: readonly string[] | undefined } {
  return typeof arg === 'object' && arg !== null && 'name' in arg;
}

/** These errors only have a text, which quotes the value. */
function wrongValue(message: string): string | undefined {
  const [, once, problem] =
    /^Flag (--[\w-]+) (expects a value|expects one of these values: .*|can only be specified once)/.exec(
      message,
    ) ?? [];
  if (problem === undefined) return undefined;
  return `${once} ${problem}`;
}

/** The error for a value that is not one of a flag's choices, without the value, which may be a secret. */
function wrongChoice(message: string): TokenctlError | undefined {
  const [, flag, typed = '', text] = /^Expected (--[\w-]+=)?(.*) to be one of: (.*)$/ms.exec(message) ?? [];
  const [choices] = text?.split('\n', 1) ?? [];
  if (choices === undefined) return undefined;
  const what = flag === undefined ? 'the argument' : flag.slice(0, -1);
  const near = nearestName(typed.slice(0, MAX_COMPARED), choices.split(', '));
  return new TokenctlError('usage', `Invalid value for ${what}: expected one of ${choices}`, {
    hint: near === undefined ? SEE_HELP : `Did you mean ${near}?`,
  });
}

/** A longer value is not a misspelled choice. */
const MAX_COMPARED = 100;

function wrongTogether(known: FlagRules, given: Readonly<Record<string, unknown>> | undefined) {
  if (given === undefined) return undefined;
  return flagConflicts(known, given).join('; ') || 'These flags cannot be used together';
}

/** The relations between flags, in the command framework's form. */
type FlagRules = Readonly<
  Record<
    string,
    {
      readonly required?: boolean | undefined;
      readonly dependsOn?: readonly unknown[] | undefined;
      readonly exclusive?: readonly unknown[] | undefined;
      readonly exactlyOne?: readonly unknown[] | undefined;
    }
  >
>;

/**
 * Finds missing required flags, and flags that need or exclude each other. The messages contain flag names
 * only, because a value may be a secret. A flag that was not given is undefined.
 */
function flagConflicts(rules: FlagRules, given: Readonly<Record<string, unknown>>): string[] {
  const isGiven = (name: string) => given[name] !== undefined;
  const conflicts = Object.entries(rules).flatMap(
    ([name, { required, dependsOn, exclusive, exactlyOne }]) => {
      const choice = names(exactlyOne);
      if (choice.length > 0 && !choice.some(isGiven))
        return [`${choice.map((flag) => `--${flag}`).join(' or ')} is required`];
      if (!isGiven(name)) return required === true ? [`--${name} is required`] : [];
      return [
        ...names(dependsOn)
          .filter((other) => !isGiven(other))
          .map((other) => `--${name} requires --${other}`),
        ...[...names(exclusive), ...choice.filter((other) => other !== name)]
          .filter(isGiven)
          .map((other) => `${[`--${name}`, `--${other}`].sort().join(' and ')} cannot be used together`),
      ];
    },
  );
  return [...new Set(conflicts)];
}

function names(flags: readonly unknown[] = []): string[] {
  return flags.filter((flag) => typeof flag === 'string');
}

/** A flag as typed, without a joined value (`--flag=value`, `-fvalue`). */
function flagName(typed: string): string {
  return typed.startsWith('--') ? (typed.split('=', 1)[0] ?? '') : typed.slice(0, 2);
}

/** Explains a misspelled command or an extra argument; undefined if the arguments name a command. */
export function unknownCommand(argv: readonly string[], config: Config): TokenctlError | undefined {
  const words = wordsBeforeFlags(argv);
  if (words.length === 0) return flagsFirst(argv, config);
  for (let length = words.length; length > 0; length -= 1) {
    const command = config.findCommand(words.slice(0, length).join(':'));
    if (command === undefined) continue;
    const extra = words.slice(length);
    if (extra.length === 0 || Object.keys(command.args).length > 0) return undefined;
    // The arguments are not shown, because one may be a secret pasted into the wrong place.
    const message = `tokenctl ${words.slice(0, length).join(' ')} takes no arguments, but ${extra.length} ${extra.length === 1 ? 'was' : 'were'} given`;
    return new TokenctlError('usage', message, { hint: SEE_HELP });
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
  return new TokenctlError('usage', `Flags must follow the command: ${flags.join(', ')}.`, {
    hint: `Use \`tokenctl ${example} ${flags[0]} …\`.`,
  });
}

/** The first command among the words; a longer name wins over a shorter one. */
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
  // Only the command name: an argument after it may be a secret.
  const typed = words.slice(0, topics.includes(words[0] ?? '') ? 2 : 1).join(' ');
  const known = [...config.commandIDs, ...topics].map((command) => command.replaceAll(':', ' '));
  const near = nearestCommand(words, known);
  return new TokenctlError('usage', `Unknown command "${typed}".`, {
    hint:
      near === undefined
        ? 'Run `tokenctl --help` for a list of commands.'
        : `Did you mean \`tokenctl ${near}\`?`,
  });
}

/** Compares as many words as each command has, because arguments may follow. */
function nearestCommand(words: readonly string[], known: readonly string[]): string | undefined {
  const lengths = [...new Set(known.map((command) => command.split(' ').length))].sort((a, b) => b - a);
  for (const length of lengths) {
    const candidates = known.filter((command) => command.split(' ').length === length);
    const nearest = nearestName(words.slice(0, length).join(' '), candidates);
    if (nearest !== undefined) return nearest;
  }
  return undefined;
}
