import { join } from 'node:path';
import type { ManifestCommand, ManifestFlag } from '../command-reference.ts';
import { jsonIn, packageVersion, root } from './program-tree.ts';

/** The manual page and the shell completions, by path below `share`: made from the commands' manifest. */
export function shellFiles(): ReadonlyMap<string, string> {
  const manifest = jsonIn(join(root, 'oclif.manifest.json')) as { commands: Record<string, ManifestCommand> };
  const commands = Object.values(manifest.commands)
    .map((command) => ({ ...command, path: command.id.replaceAll(':', ' ') }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const nodes = completionNodes(commands);
  return new Map([
    ['man/man1/tokenctl.1', manualPage(commands)],
    ['bash-completion/completions/tokenctl', bashCompletion(nodes)],
    ['zsh/site-functions/_tokenctl', zshCompletion(nodes)],
    ['fish/vendor_completions.d/tokenctl.fish', fishCompletion(nodes)],
  ]);
}

type Command = ManifestCommand & { readonly path: string };

/** What can follow the words of a command or of a topic. */
interface CompletionNode {
  /** `tokens list`, `tokens`, or empty for the program itself. */
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly summary: string }[];
  readonly flags: readonly ManifestFlag[];
}

function completionNodes(commands: readonly Command[]): readonly CompletionNode[] {
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

function flagNames({ name, allowNo }: ManifestFlag): readonly string[] {
  return allowNo === true ? [`--${name}`, `--no-${name}`] : [`--${name}`];
}

function takesFile({ type, helpValue }: ManifestFlag): boolean {
  return type === 'option' && /FILE|DIR/.test([helpValue ?? ''].flat().join());
}

function takesValue({ type }: ManifestFlag): boolean {
  return type === 'option';
}

/** Finds the longest command among the words before the cursor. Works in bash and zsh. */
const FIND_PATH = `  local path='' word
  for word in "\${before[@]}"; do
    case "$word" in
      -*) ;;
      *) if [[ " $known " == *"|\${path:+$path }$word|"* ]]; then path="\${path:+$path }$word"; fi ;;
    esac
  done`;

function knownPaths(nodes: readonly CompletionNode[]): string {
  return `|${nodes.map(({ path }) => path).join('|')}|`;
}

/** The lines of a `case` on `$path $previous` that answer for flags with a value. */
function valueCases(
  nodes: readonly CompletionNode[],
  answer: { file: string; options: (list: string) => string },
) {
  return nodes.flatMap(({ path, flags }) =>
    flags.filter(takesValue).flatMap((flag) => {
      const pattern = `'${path} --${flag.name}'`;
      if (flag.options !== undefined)
        return [`    ${pattern}) ${answer.options(flag.options.join(' '))}; return ;;`];
      return [`    ${pattern}) ${takesFile(flag) ? answer.file : ':'}; return ;;`];
    }),
  );
}

function bashCompletion(nodes: readonly CompletionNode[]): string {
  const words = nodes.map(({ path, words, flags }) => {
    const candidates = [...words.map(({ word }) => word), ...flags.flatMap(flagNames), '--help'];
    return `    '${path}') candidates='${candidates.join(' ')}' ;;`;
  });
  return `# bash completion for tokenctl. Made from the commands of version ${packageVersion()}.
_tokenctl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" candidates=''
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}") known='${knownPaths(nodes)}'
${FIND_PATH}
  case "$path $previous" in
${valueCases(nodes, {
  file: 'mapfile -t COMPREPLY < <(compgen -f -- "$current")',
  options: (list) => `mapfile -t COMPREPLY < <(compgen -W '${list}' -- "$current")`,
}).join('\n')}
  esac
  case "$path" in
${words.join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$current")
}
complete -F _tokenctl tokenctl
`;
}

function zshCompletion(nodes: readonly CompletionNode[]): string {
  const entry = (name: string, summary: string) =>
    `'${name}${summary === '' ? '' : `:${summary.replaceAll("'", "'\\''").replaceAll(':', '\\:')}`}'`;
  const words = nodes.map(({ path, words, flags }) => {
    const candidates = [
      ...words.map(({ word, summary }) => entry(word, summary)),
      ...flags.flatMap((flag) => flagNames(flag).map((name) => entry(name, summaryOf(flag)))),
    ];
    return `    '${path}') candidates=(${candidates.join(' ')}) ;;`;
  });
  return `#compdef tokenctl
# zsh completion for tokenctl. Made from the commands of version ${packageVersion()}.
_tokenctl() {
  local previous="\${words[CURRENT-1]}"
  local -a before=("\${(@)words[2,CURRENT-1]}") candidates
  local known='${knownPaths(nodes)}'
${FIND_PATH.replace("local path='' word", "local command='' word").replaceAll('path', 'command')}
  case "$command $previous" in
${valueCases(nodes, { file: '_files', options: (list) => `compadd -- ${list}` }).join('\n')}
  esac
  case "$command" in
${words.join('\n')}
  esac
  _describe 'tokenctl' candidates
}
_tokenctl "$@"
`;
}

function fishCompletion(nodes: readonly CompletionNode[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = nodes.flatMap(({ path, words, flags }) => {
    const start = `complete -c tokenctl -n ${quoted(`__tokenctl_at ${quoted(path)}`)}`;
    return [
      ...words.map(({ word, summary }) => `${start} -a ${quoted(word)} -d ${quoted(summary)}`),
      ...flags.flatMap((flag) => {
        const value = takesFile(flag)
          ? ' -r -F'
          : flag.options !== undefined
            ? ` -x -a ${quoted(flag.options.join(' '))}`
            : takesValue(flag)
              ? ' -x'
              : '';
        const short = flag.char === undefined ? '' : ` -s ${flag.char}`;
        return flagNames(flag).map(
          (name) => `${start}${short} -l ${name.slice(2)}${value} -d ${quoted(summaryOf(flag))}`,
        );
      }),
    ];
  });
  return `# fish completion for tokenctl. Made from the commands of version ${packageVersion()}.
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
${lines.join('\n')}
`;
}

function summaryOf({ summary, description }: ManifestFlag): string {
  return (summary ?? description ?? '').replace(/\s+/g, ' ');
}

function manualPage(commands: readonly Command[]): string {
  const about = (jsonIn(join(root, 'package.json')) as { description: string }).description;
  return [
    `.TH TOKENCTL 1 "" "tokenctl ${packageVersion()}" "User Commands"`,
    `.SH NAME\ntokenctl \\- ${roff(about.charAt(0).toLowerCase() + about.slice(1))}`,
    '.SH SYNOPSIS\n.B tokenctl\n.I COMMAND\n[\\fIflags\\fR]',
    '.SH DESCRIPTION\ntokenctl lists, audits and revokes the OAuth2 tokens of AWX and Ansible Automation Platform.',
    '.SH COMMANDS',
    ...commands.flatMap(manualSection),
    '.SH FILES',
    '.TP\n.I ~/.config/tokenctl/tokenctl.yaml\nThe configuration.',
    '.TP\n.I ~/.local/state/tokenctl/\nThe audit log, and what else must outlive a run.',
    '',
  ].join('\n');
}

function manualSection({
  path,
  summary,
  description,
  args,
  flags,
  examples = [],
}: Command): readonly string[] {
  const words = Object.values(args).map(({ name, required }) => {
    const word = `\\fI${roff(name.toUpperCase())}\\fR`;
    return required === true ? word : `[${word}]`;
  });
  const filled = (text: string) =>
    text.replaceAll('<%= config.bin %>', 'tokenctl').replaceAll('<%= command.id %>', path);
  const commandLines = examples.filter((example) => typeof example === 'string');
  return [
    `.SS tokenctl ${roff(path)} ${words.join(' ')}\n${roff(summary ?? '')}.`,
    ...(description === undefined ? [] : [`.PP\n${roff(filled(description)).replaceAll('\n\n', '\n.PP\n')}`]),
    ...Object.values(flags).map((flag) => {
      const value = takesValue(flag)
        ? ` \\fI${roff([flag.helpValue ?? flag.options?.join('|') ?? 'VALUE'].flat().join(' '))}\\fR`
        : '';
      const short = flag.char === undefined ? '' : `\\fB\\-${flag.char}\\fR, `;
      const names = flagNames(flag).map((name) => `\\fB${roff(name)}\\fR${value}`);
      return `.TP\n${short}${names.join(', ')}\n${roff(summaryOf(flag))}`;
    }),
    ...(commandLines.length === 0
      ? []
      : [`.PP\n.nf\n${commandLines.map((line) => roff(filled(line))).join('\n')}\n.fi`]),
  ];
}

/** Text in which nothing is taken as a command of roff. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');
}
