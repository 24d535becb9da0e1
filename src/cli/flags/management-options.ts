import { TokenctlError } from '@tokenctl/common/errors.ts';

/** Whether an option takes a value. */
type Options = ReadonlyMap<string, 'flag' | 'value'>;

/** The options of every Django management command. */
const DJANGO: readonly (readonly [string, 'flag' | 'value'])[] = [
  ['help', 'flag'],
  ['version', 'flag'],
  ['verbosity', 'value'],
  ['settings', 'value'],
  ['pythonpath', 'value'],
  ['traceback', 'flag'],
  ['no-color', 'flag'],
  ['force-color', 'flag'],
  ['skip-checks', 'flag'],
];

const USER = ['user', 'value'] as const;

const COMMANDS: ReadonlyMap<string, Options> = new Map([
  ['cleanup_tokens', new Map(DJANGO)],
  ['create_oauth2_token', new Map([USER, ...DJANGO])],
  ['expire_sessions', new Map([USER, ...DJANGO])],
  ['revoke_oauth2_tokens', new Map([USER, ['all', 'flag'], ...DJANGO])],
]);

/**
 * The arguments of a command that replaces a management command, parsed like Python's argparse: an option may
 * be abbreviated if it is unambiguous within the command, and the last of a repeated option counts.
 * tokenctl's own flags must be written in full.
 * @param argv The arguments after the program's name; for any other command they are returned unchanged.
 * @throws TokenctlError `usage` for an ambiguous option
 */
export function managementArguments(argv: readonly string[]): readonly string[] {
  const [command = '', ...rest] = argv;
  const options = COMMANDS.get(command);
  if (options === undefined) return argv;
  const read: { readonly option: string | null; readonly words: readonly string[] }[] = [];
  for (let index = 0; index < rest.length; index += 1) {
    const word = rest[index] ?? '';
    if (word === '--') {
      read.push({ option: null, words: rest.slice(index) });
      break;
    }
    const { option, value } = optionOf(word, options);
    if (option === null) read.push({ option, words: [word] });
    else if (value !== undefined) read.push({ option, words: [`--${option}=${value}`] });
    else if (options.get(option) === 'flag') read.push({ option, words: [`--${option}`] });
    else {
      index += 1;
      const next = rest[index];
      read.push({ option, words: [`--${option}`, ...(next === undefined ? [] : [next])] });
    }
  }
  const isLast = (option: string, at: number) => read.findLastIndex((each) => each.option === option) === at;
  return [
    command,
    ...read.flatMap(({ option, words }, at) => (option === null || isLast(option, at) ? words : [])),
  ];
}

/** The option that a word names, in full or abbreviated; null if it names none. */
function optionOf(word: string, options: Options) {
  if (/^-v/.test(word)) return { option: 'verbosity', ...(word.length > 2 && { value: word.slice(2) }) };
  if (word === '-h') return { option: 'help' };
  if (!word.startsWith('--')) return { option: null };
  const [name = '', value] = word.slice(2).split(/=(.*)/s, 2);
  const meant = options.has(name) ? [name] : [...options.keys()].filter((each) => each.startsWith(name));
  if (meant.length > 1) {
    const choice = meant.map((each) => `--${each}`).join(' or ');
    throw new TokenctlError('usage', `Ambiguous flag --${name}: ${choice}`, { hint: 'Use its full name.' });
  }
  return { option: meant[0] ?? null, value };
}

/** Whether the arguments of such a command request an error's stack trace. */
export function wantsTraceback(argv: readonly string[]): boolean {
  const words = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  return COMMANDS.has(words[0] ?? '') && words.includes('--traceback');
}
