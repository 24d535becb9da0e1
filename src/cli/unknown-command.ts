import type { Config } from '@oclif/core/config';
import { nearestName } from '../config/nearest-name.ts';
import { TokenctlError } from '../core/errors.ts';

/**
 * Explains arguments that the framework takes for the name of a command that does not exist: a mistyped
 * name, or one argument too many after a command that takes none.
 *
 * @returns undefined where they do name a command and what follows it may be meant
 */
export function unknownCommand(argv: readonly string[], config: Config): TokenctlError | undefined {
  const words = wordsBeforeFlags(argv);
  for (let length = words.length; length > 0; length -= 1) {
    const command = config.findCommand(words.slice(0, length).join(':'));
    if (command === undefined) continue;
    const extra = words.slice(length);
    if (extra.length === 0 || Object.keys(command.args).length > 0) return undefined;
    const message = `tokenctl ${words.slice(0, length).join(' ')} takes no argument, and there is: ${extra.join(' ')}`;
    return new TokenctlError('usage', message, { hint: 'Add --help to the command to see what it takes' });
  }
  return noSuchCommand(words, argv, config);
}

function wordsBeforeFlags(argv: readonly string[]): readonly string[] {
  const firstFlag = argv.findIndex((word) => word.startsWith('-'));
  return firstFlag === -1 ? argv : argv.slice(0, firstFlag);
}

function noSuchCommand(words: readonly string[], argv: readonly string[], config: Config): TokenctlError {
  const typed = words.join(' ') || argv.join(' ');
  const topics = config.topics.map(({ name }) => name);
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
