import type { DescribedCommand, DescribedFlag } from '../src/cli/shell-completion.ts';

/** The reference of all commands in Markdown, made from the manifest: it says what `--help` says. */
export function commandReference(manifest: { readonly commands: Readonly<Record<string, unknown>> }): string {
  const commands = Object.values(manifest.commands) as DescribedCommand[];
  const sorted = commands.toSorted((one, other) => one.id.localeCompare(other.id));
  return [
    '# Commands\n\nMade by `npm run build` from the commands themselves; `tokenctl COMMAND --help` says the same.\n',
    '## Flags of all commands\n\n`demo`, `service …`, `version` and `completion` have only `--json` and `--no-color` of these.\n',
    flagTable(globalFlags(sorted)),
    ...sorted.map(section),
  ].join('\n');
}

/** The global flags, from the command that has the most of them. */
function globalFlags(commands: readonly DescribedCommand[]): readonly DescribedFlag[] {
  const sets = commands.map(({ flags }) => Object.values(flags).filter(isGlobal));
  return sets.reduce((most, set) => (set.length > most.length ? set : most), []);
}

function section(command: DescribedCommand): string {
  const name = command.id.replaceAll(':', ' ');
  const own = Object.values(command.flags).filter((flag) => !isGlobal(flag));
  const args = Object.values(command.args);
  const examples = (command.examples ?? []).filter((example) => typeof example === 'string');
  return [
    `## ${name}\n\n${command.summary ?? ''}\n\n    tokenctl ${usageLine(command)}\n`,
    ...(command.description === undefined ? [] : [`${filled(command.description, name)}\n`]),
    ...args.map((arg) => `- \`${arg.name.toUpperCase()}\`: ${arg.description ?? ''}${choice(arg.options)}`),
    ...(args.length > 0 ? [''] : []),
    ...(own.length > 0 ? [flagTable(own)] : []),
    ...(examples.length > 0
      ? [`${examples.map((example) => `    ${filled(example, name)}`).join('\n')}\n`]
      : []),
  ].join('\n');
}

/** How a command is typed: its name, its arguments, the flags that it requires. The others are listed with what they do. */
export function usageLine({ id, args, flags, takesCommand }: DescribedCommand): string {
  const words = Object.values(args).map(({ name, required }) =>
    required ? name.toUpperCase() : `[${name.toUpperCase()}]`,
  );
  const needed = Object.values(flags).filter(({ required }) => required === true);
  const command = takesCommand === true ? ['-- COMMAND [ARGUMENTS]'] : [];
  return [id.replaceAll(':', ' '), ...words, ...needed.map(flagUsage), '[flags]', ...command].join(' ');
}

function flagUsage({ name, type, helpValue, options }: DescribedFlag): string {
  return type === 'boolean'
    ? `--${name}`
    : `--${name} ${[helpValue ?? options?.join('|') ?? 'VALUE'].flat().join(' ')}`;
}

function flagTable(flags: readonly DescribedFlag[]): string {
  const rows = flags.map(
    (flag) => `| ${flagName(flag)} | ${flag.summary ?? flag.description ?? ''}${choice(flag.options)} |`,
  );
  return `| flag | |\n|---|---|\n${rows.join('\n')}\n`;
}

function flagName({ char, allowNo, ...flag }: DescribedFlag): string {
  const long = flagUsage({ ...flag, name: `${allowNo ? '[no-]' : ''}${flag.name}` }).replaceAll('|', '\\|');
  return char === undefined ? `\`${long}\`` : `\`-${char}\`, \`${long}\``;
}

function choice(options: readonly string[] | undefined): string {
  return options === undefined ? '' : ` One of ${options.map((option) => `\`${option}\``).join(', ')}.`;
}

function isGlobal({ helpGroup }: DescribedFlag): boolean {
  return helpGroup === 'GLOBAL';
}

function filled(text: string, name: string): string {
  return text.replaceAll('<%= config.bin %>', 'tokenctl').replaceAll('<%= command.id %>', name);
}
