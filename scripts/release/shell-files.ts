import { join } from 'node:path';
import {
  completionScript,
  type DescribedCommand,
  flagNames,
  summaryOf,
  takesValue,
} from '../../src/cli/shell-completion.ts';
import { jsonIn, packageVersion } from './program-tree.ts';
import { root } from './published-package.ts';

/** The manual pages (all commands, and one each) and the shell completions, by path below `share`: made from the commands' manifest. */
export function shellFiles(): ReadonlyMap<string, string> {
  const manifest = jsonIn(join(root, 'oclif.manifest.json')) as {
    commands: Record<string, DescribedCommand>;
  };
  const options = { commands: Object.values(manifest.commands), version: packageVersion() };
  return new Map([
    ['man/man1/tokenctl.1', manualPage(options.commands)],
    ...options.commands.map((command) => [pageName(command), commandPage(command)] as const),
    ['bash-completion/completions/tokenctl', completionScript('bash', options)],
    ['zsh/site-functions/_tokenctl', completionScript('zsh', options)],
    ['fish/vendor_completions.d/tokenctl.fish', completionScript('fish', options)],
  ]);
}

/** The manual page, in the language of man(7). */
export function manualPage(described: readonly DescribedCommand[]): string {
  const commands = described
    .map((command) => ({ ...command, path: command.id.replaceAll(':', ' ') }))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const about = (jsonIn(join(root, 'package.json')) as { description: string }).description;
  return [
    `.TH TOKENCTL 1 "" "tokenctl ${packageVersion()}" "User Commands"`,
    `.SH NAME\ntokenctl \\- ${roff(about.charAt(0).toLowerCase() + about.slice(1))}`,
    '.SH SYNOPSIS\n.B tokenctl\n.I COMMAND\n[\\fIflags\\fR]',
    '.SH DESCRIPTION\ntokenctl lists, audits and revokes the OAuth2 tokens of AWX and Ansible Automation Platform.',
    '.SH COMMANDS',
    ...commands.flatMap(manualSection),
    ...FILES,
    '',
  ].join('\n');
}

const FILES = [
  '.SH FILES',
  '.TP\n.I ~/.config/tokenctl/tokenctl.yaml\nThe configuration.',
  '.TP\n.I ~/.local/state/tokenctl/\nThe audit log, and what else must outlive a run.',
  '.TP\n.I /etc/tokenctl/tokenctl.yaml\nThe configuration of the service of the machine, and of root.',
  '.TP\n.I /var/lib/tokenctl/\nThe audit log and the ledger of the service of the machine, and of root.',
];

/** Where the page of one command is: `man tokenctl tokens revoke` finds `tokenctl-tokens-revoke`. */
function pageName({ id }: DescribedCommand): string {
  return `man/man1/tokenctl-${id.replaceAll(':', '-')}.1`;
}

function commandPage(command: DescribedCommand): string {
  const path = command.id.replaceAll(':', ' ');
  const name = `tokenctl-${path.replaceAll(' ', '-')}`;
  return [
    `.TH ${roff(name.toUpperCase())} 1 "" "tokenctl ${packageVersion()}" "User Commands"`,
    `.SH NAME\n${roff(name)} \\- ${roff(command.summary ?? '')}`,
    '.SH COMMAND',
    ...manualSection({ ...command, path }),
    ...FILES,
    '.SH SEE ALSO\n.BR tokenctl (1)',
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
}: DescribedCommand & { path: string }): readonly string[] {
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
    .replace(/^([.'])/gm, '\\&$1')
    .replace(
      /[^ -~\n]/gu,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}
