import type { Command } from '@oclif/core/command';
import type { Config } from '@oclif/core/config';
import { nearestName } from '../../config/nearest-name.ts';
import { TokenctlError } from '../../domain/errors.ts';
import { flagName } from './flag-name.ts';

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
