import { ruleNames } from '../domain/policy/policy.ts';

/** The parts of a command that help texts and completions are generated from, as in the manifest. */
export interface DescribedCommand {
  readonly id: string;
  readonly takesCommand?: boolean | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly examples?: readonly unknown[] | undefined;
  readonly args: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly description?: string | undefined;
        readonly required?: boolean | undefined;
        readonly options?: readonly string[] | undefined;
      }
    >
  >;
  readonly flags: Readonly<Record<string, DescribedFlag>>;
}

/** The parts of a flag that help texts and completions are generated from. */
export interface DescribedFlag {
  readonly name: string;
  readonly char?: string | undefined;
  readonly type: 'boolean' | 'option';
  readonly required?: boolean | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly helpGroup?: string | undefined;
  readonly helpValue?: string | readonly string[] | undefined;
  readonly options?: readonly string[] | undefined;
  readonly allowNo?: boolean | undefined;
}

export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/** The script that completes commands, flags, their values and contexts in a shell; it names the version. */
export function completionScript(
  shell: Shell,
  { commands, version }: { commands: readonly DescribedCommand[]; version: string },
): string {
  const nodes = completionNodes(commands);
  return { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }[shell](nodes, version);
}

/** What can follow the words of a command or of a topic. */
interface CompletionNode {
  /** `tokens list`, `tokens`, or empty for the program itself. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly summary: string }[];
  readonly flags: readonly DescribedFlag[];
}

function completionNodes(described: readonly DescribedCommand[]): readonly CompletionNode[] {
  const commands = described
    .map((command) => ({ ...command, path: command.id.replaceAll(':', ' ') }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const topics = new Set(commands.flatMap(({ path }) => prefixesOf(path)));
  const paths = new Set([...topics, ...commands.map(({ path }) => path)]);
  return [...paths].toSorted().map((path) => {
    const command = commands.find((each) => each.path === path);
    const start = path === '' ? '' : `${path} `;
    const next = [...paths].filter((each) => each !== path && each.startsWith(start));
    const names = new Set(next.map((each) => each.slice(start.length).split(' ')[0] ?? ''));
    const choices = Object.values(command?.args ?? {}).flatMap(({ options = [] }) => options);
    return {
      path,
      words: [
        ...[...names].map((word) => ({
          word,
          summary: commands.find((each) => each.path === start + word)?.summary ?? `Commands of ${word}`,
        })),
        ...choices.map((word) => ({ word, summary: '' })),
      ],
      flags: Object.values(command?.flags ?? {}),
    };
  });
}

/** `tokens list` has the prefixes `` and `tokens`. */
function prefixesOf(path: string): readonly string[] {
  const words = path.split(' ');
  return words.map((_, index) => words.slice(0, index).join(' '));
}

/** A flag as typed, and its negated form if it has one. */
export function flagNames({ name, allowNo }: DescribedFlag): readonly string[] {
  return allowNo === true ? [`--${name}`, `--no-${name}`] : [`--${name}`];
}

/** What completes a flag's value: files, context names, or one of a list. Other values have no completion. */
function valuesOf({ name, helpValue, options }: DescribedFlag): 'files' | 'contexts' | readonly string[] {
  const value = [helpValue ?? ''].flat().join();
  if (/FILE|DIR/.test(value)) return 'files';
  if (name === 'context') return 'contexts';
  return value.startsWith('RULE') ? ruleNames : (options ?? []);
}

/** Prints the names of the configured contexts and groups, one per line. */
const CONTEXTS = 'tokenctl context list --csv 2>/dev/null | tail -n +2 | cut -d , -f 2';

export function takesValue({ type }: DescribedFlag): boolean {
  return type === 'option';
}

/** Finds the longest command among the words before the cursor. Works in bash and zsh. */
const findPath = (path: string) => `  local ${path}='' word
  for word in "\${before[@]}"; do
    case "$word" in
      -*) ;;
      *) if [[ " $known " == *"|\${${path}:+$${path} }$word|"* ]]; then ${path}="\${${path}:+$${path} }$word"; fi ;;
    esac
  done`;

function knownPaths(nodes: readonly CompletionNode[]): string {
  return `|${nodes.map(({ path }) => path).join('|')}|`;
}

/** The lines of a `case` on `$path $previous` for flags with a value. */
function valueCases(
  nodes: readonly CompletionNode[],
  answer: { readonly files: string; readonly contexts: string; readonly oneOf: (list: string) => string },
): string {
  const lines = nodes.flatMap(({ path, flags }) =>
    flags.filter(takesValue).map((flag) => {
      const values = valuesOf(flag);
      const act =
        typeof values === 'string'
          ? answer[values]
          : values.length > 0
            ? answer.oneOf(values.join(' '))
            : ':';
      return `    '${path} --${flag.name}') ${act}; return ;;`;
    }),
  );
  return lines.join('\n');
}

function bashCompletion(nodes: readonly CompletionNode[], version: string): string {
  const words = nodes.map(({ path, words, flags }) => {
    const candidates = [...words.map(({ word }) => word), ...flags.flatMap(flagNames), '--help'];
    return `    '${path}') candidates='${candidates.join(' ')}' ;;`;
  });
  return `# bash completion for tokenctl. Made from the commands of version ${version}.
_tokenctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" candidates=''
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}") known='${knownPaths(nodes)}'
${findPath('path')}
  case "$path $previous" in
${valueCases(nodes, {
  files: 'mapfile -t COMPREPLY < <(compgen -f -- "$current")',
  contexts: `mapfile -t COMPREPLY < <(compgen -W "$(${CONTEXTS})" -- "$current")`,
  oneOf: (list) => `mapfile -t COMPREPLY < <(compgen -W '${list}' -- "$current")`,
})}
  esac
  case "$path" in
${words.join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
}
complete -F _tokenctl tokenctl
`;
}

function zshCompletion(nodes: readonly CompletionNode[], version: string): string {
  const entry = (name: string, summary: string) =>
    `'${name}${summary === '' ? '' : `:${summary.replaceAll("'", "'\\''").replaceAll(':', '\\:')}`}'`;
  const words = nodes.map(({ path, words, flags }) => {
    const candidates = [
      ...words.map(({ word, summary }) => entry(word, summary)),
      ...flags.flatMap((flag) => flagNames(flag).map((name) => entry(name, summaryOf(flag)))),
      entry('--help', 'Show the help.'),
    ];
    return `    '${path}') candidates=(${candidates.join(' ')}) ;;`;
  });
  return `#compdef tokenctl
# zsh completion for tokenctl. Made from the commands of version ${version}.
_tokenctl() {
  local previous="\${words[CURRENT-1]}"
  local -a before=("\${(@)words[2,CURRENT-1]}") candidates
  local known='${knownPaths(nodes)}'
${findPath('command')}
  case "$command $previous" in
${valueCases(nodes, { files: '_files', contexts: `compadd -- \${(f)"$(${CONTEXTS})"}`, oneOf: (list) => `compadd -- ${list}` })}
  esac
  case "$command" in
${words.join('\n')}
  esac
  _describe 'tokenctl' candidates
}
# As a function in fpath, it is called; when sourced, it registers itself.
if [[ "\${funcstack[1]}" == _tokenctl ]]; then _tokenctl "$@"; else compdef _tokenctl tokenctl; fi
`;
}

function fishCompletion(nodes: readonly CompletionNode[], version: string): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const fishValue = (values: ReturnType<typeof valuesOf>) => {
    if (values === 'files') return ' -r -F';
    if (values === 'contexts') return ` -x -a ${quoted(`(${CONTEXTS})`)}`;
    return values.length === 0 ? ' -x' : ` -x -a ${quoted(values.join(' '))}`;
  };
  const lines = nodes.flatMap(({ path, words, flags }) => {
    const start = `complete -c tokenctl -n ${quoted(`__tokenctl_at ${quoted(path)}`)}`;
    return [
      ...words.map(({ word, summary }) => `${start} -a ${quoted(word)} -d ${quoted(summary)}`),
      ...flags.flatMap((flag) => {
        const value = takesValue(flag) ? fishValue(valuesOf(flag)) : '';
        const short = flag.char === undefined ? '' : ` -s ${flag.char}`;
        return flagNames(flag).map(
          (name) => `${start}${short} -l ${name.slice(2)}${value} -d ${quoted(summaryOf(flag))}`,
        );
      }),
    ];
  });
  return `# fish completion for tokenctl. Made from the commands of version ${version}.
set -g __tokenctl_known ${nodes.map(({ path }) => quoted(path)).join(' ')}
function __tokenctl_at
    set -l path
    for word in (commandline -opc)[2..]
        string match --quiet -- '-*' $word; and continue
        set -l longer (string join -- ' ' $path $word)
        contains -- "$longer" $__tokenctl_known; and set path $path $word
    end
    test "$argv[1]" = (string join -- ' ' $path | string collect --allow-empty)
end
complete -c tokenctl -f
complete -c tokenctl -l help -s h -d 'Show the help.'
${lines.join('\n')}
`;
}

export function summaryOf({ summary, description }: DescribedFlag): string {
  return (summary ?? description ?? '').replace(/\s+/g, ' ');
}
