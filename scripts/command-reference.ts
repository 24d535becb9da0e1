/** The parts of a command's manifest that its reference is made from. */
export interface ManifestCommand {
  readonly id: string;
  readonly summary?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly args: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly description?: string;
        readonly required?: boolean;
        readonly options?: readonly string[];
      }
    >
  >;
  readonly flags: Readonly<Record<string, ManifestFlag>>;
}

/** The parts of a flag's manifest that its reference is made from. */
export interface ManifestFlag {
  readonly name: string;
  readonly char?: string;
  readonly type: 'boolean' | 'option';
  readonly summary?: string;
  readonly description?: string;
  readonly helpGroup?: string;
  readonly helpValue?: string | readonly string[];
  readonly options?: readonly string[];
  readonly allowNo?: boolean;
}

/** The reference of all commands in Markdown, made from the manifest: it says what `--help` says. */
export function commandReference(manifest: { readonly commands: Readonly<Record<string, unknown>> }): string {
  const commands = Object.values(manifest.commands) as ManifestCommand[];
  const sorted = commands.toSorted((one, other) => one.id.localeCompare(other.id));
  return [
    '# Commands\n\nMade by `npm run build` from the commands themselves; `tokenctl COMMAND --help` says the same.\n',
    '## Flags of all commands but `demo` and `service start`, which have `--json` alone\n',
    flagTable(globalFlags(sorted)),
    ...sorted.map(section),
  ].join('\n');
}

/** The global flags, from the command that has the most of them. */
function globalFlags(commands: readonly ManifestCommand[]): readonly ManifestFlag[] {
  const sets = commands.map(({ flags }) => Object.values(flags).filter(isGlobal));
  return sets.reduce((most, set) => (set.length > most.length ? set : most), []);
}

function section(command: ManifestCommand): string {
  const name = command.id.replaceAll(':', ' ');
  const own = Object.values(command.flags).filter((flag) => !isGlobal(flag));
  const args = Object.values(command.args);
  const usage = [
    'tokenctl',
    name,
    ...args.map(({ name: arg, required }) => (required ? arg.toUpperCase() : `[${arg.toUpperCase()}]`)),
  ];
  const examples = (command.examples ?? []).filter((example) => typeof example === 'string');
  return [
    `## ${name}\n\n${command.summary ?? ''}\n\n    ${usage.join(' ')}${own.length > 0 ? ' [flags]' : ''}\n`,
    ...(command.description === undefined ? [] : [`${filled(command.description, name)}\n`]),
    ...args.map((arg) => `- \`${arg.name.toUpperCase()}\`: ${arg.description ?? ''}${choice(arg.options)}`),
    ...(args.length > 0 ? [''] : []),
    ...(own.length > 0 ? [flagTable(own)] : []),
    ...(examples.length > 0
      ? [`${examples.map((example) => `    ${filled(example, name)}`).join('\n')}\n`]
      : []),
  ].join('\n');
}

function flagTable(flags: readonly ManifestFlag[]): string {
  const rows = flags.map(
    (flag) => `| ${flagName(flag)} | ${flag.summary ?? flag.description ?? ''}${choice(flag.options)} |`,
  );
  return `| flag | |\n|---|---|\n${rows.join('\n')}\n`;
}

function flagName({ name, char, type, helpValue, options, allowNo }: ManifestFlag): string {
  const value =
    type === 'boolean'
      ? ''
      : ` ${[helpValue ?? options?.join('|') ?? 'VALUE'].flat().join(' ').replaceAll('|', '\\|')}`;
  const long = `--${allowNo ? '[no-]' : ''}${name}${value}`;
  return char === undefined ? `\`${long}\`` : `\`-${char}\`, \`${long}\``;
}

function choice(options: readonly string[] | undefined): string {
  return options === undefined ? '' : ` One of ${options.map((option) => `\`${option}\``).join(', ')}.`;
}

function isGlobal({ helpGroup }: ManifestFlag): boolean {
  return helpGroup === 'GLOBAL';
}

function filled(text: string, name: string): string {
  return text.replaceAll('<%= config.bin %>', 'tokenctl').replaceAll('<%= command.id %>', name);
}
