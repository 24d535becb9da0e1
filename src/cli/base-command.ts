import { Command } from '@oclif/core/command';
import { boolean, string } from '@oclif/core/flags';
import type { ArgInput, FlagInput, InferredArgs, InferredFlags } from '@oclif/core/interfaces';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Runtime } from '../app/runtime.ts';
import type { Report, Result } from '../reports/result.ts';
import type { ChangeRequest, Planned } from './change/change.ts';
import type { Confirmation } from './change/confirmation.ts';
import { type AccountFlags, type ChangeFlags, inGroup, type PlanFlags } from './flags/flags.ts';
import type { ContextRun } from './multi-context/multi-context-flow.ts';
import type { Format } from './output/present.ts';
import { jsonFields, progressLine, surviveStreamErrors, wantsJson, writeNotice } from './output/streams.ts';
import type { RevocationFlags } from './revocation/revocation-flags.ts';

export const outputFlags = inGroup('GLOBAL', {
  json: boolean({ summary: 'Print JSON. With --json=FIELD,FIELD, print only these fields.' }),
  'no-color': boolean({ summary: 'Print no colors.' }),
});

const globalFlags = {
  ...outputFlags,
  ...inGroup('GLOBAL', {
    context: string({ summary: 'The context to use. Default: the current context.', helpValue: 'NAME' }),
    'database-file': string({
      summary: 'Use the database whose URL is in this file with mode 0600.',
      helpValue: 'FILE',
      exclusive: ['context'],
    }),
    config: string({ summary: 'The configuration file.', helpValue: 'FILE' }),
    'log-file': string({ summary: 'The audit log file.', helpValue: 'FILE' }),
  }),
};

type GlobalFlags = InferredFlags<typeof globalFlags>;

/** Flags that select contexts, or apply to all of them together. */
type ContextFlags = GlobalFlags & Pick<RevocationFlags, 'all-contexts' | 'at-most' | 'include-own'>;

// biome-ignore lint/suspicious/noConfusingVoidType: a long-running command returns nothing.
type Printed = Result | void;

/** The definition of a command: its help, its input, and its work. */
interface CommandDefinition<Flags extends FlagInput, Args extends ArgInput, Of extends Printed> {
  readonly summary: string;
  /** The help below the summary. The build adds which schema describes the JSON. */
  readonly description?: string;
  /** Whether the description itself documents the output of --json. */
  readonly saysJson?: boolean;
  /** The end of the help. */
  readonly exitCodes?: string;
  /**
   * Whether it runs until stopped: it then loads all modules at startup, as an upgrade replaces the files.
   */
  readonly staysRunning?: boolean;
  /** What follows the command's name in the examples of its help, or whole lines with a template of it. */
  readonly examples: readonly string[];
  /** Replaces the flags of every command that reads the configuration. */
  readonly baseFlags?: FlagInput;
  readonly args?: Args;
  readonly flags?: Flags;
  /** The flags with which it changes something, if it is read-only without them. */
  readonly changesWith?: readonly string[];
  /** Whether the command of another program follows `--`: its words are in `rest`. */
  readonly takesCommand?: boolean;
  /** Calls one operation, and returns its {@link Result}; a long-running command returns nothing. */
  run(
    this: TokenctlCommand,
    input: {
      readonly flags: InferredFlags<Flags> & GlobalFlags;
      readonly args: InferredArgs<Args>;
      readonly rest: readonly string[];
    },
  ): Promise<Of>;
}

export function defineCommand<
  Of extends Printed,
  Flags extends FlagInput = Record<never, never>,
  Args extends ArgInput = Record<never, never>,
>({ examples, run, ...definition }: CommandDefinition<Flags, Args, Of>) {
  return class extends TokenctlCommand {
    static override summary = definition.summary;
    static override description = definition.description;
    static saysJson = definition.saysJson;
    static exitCodes = definition.exitCodes;
    static staysRunning = definition.staysRunning;
    static takesCommand = definition.takesCommand;
    protected override readonly changesWith = definition.changesWith;
    protected override readonly takesCommand = definition.takesCommand === true;
    static override examples = examples.map((words) =>
      words.includes('<%=') ? words : `<%= config.bin %> <%= command.id %> ${words}`.trim(),
    );
    static override baseFlags = definition.baseFlags ?? globalFlags;
    static override args = definition.args ?? {};
    static override flags = definition.flags ?? {};

    override async run(): Promise<Of> {
      const input = await this.input<Parameters<typeof run>[0]>();
      if (definition.staysRunning === true) await (await import('./load-all.ts')).loadAll(this.id ?? '');
      return await run.call(this, input);
    }
  };
}

/**
 * The base of every command: prints the result, closes the runtime and sets the exit code. Only `main`
 * translates errors.
 *
 * Imports at the top are limited to what `--help` needs, because startup dominates the time of a short
 * command.
 */
abstract class TokenctlCommand extends Command {
  static override enableJsonFlag = true;

  #runtime: Runtime | undefined;
  #csv = false;
  /** Reduces the result to the fields of --json=FIELD,FIELD. */
  #shown = (result: Result): Result => result;
  /** The fields that no printed row had; undefined before the first row. */
  #absent: readonly string[] | undefined;
  /** Whether the command changes anything, so that the audit log records it. */
  #changes = false;
  #confirmation: Confirmation | undefined;

  protected readonly changesWith: readonly string[] | undefined;
  protected readonly takesCommand: boolean = false;

  abstract override run(): Promise<Printed>;

  protected async input<Input>(): Promise<Input> {
    const at = this.takesCommand ? this.argv.indexOf('--') : -1;
    const rest = at === -1 ? [] : this.argv.slice(at + 1);
    const { fields, argv } = jsonFields(at === -1 ? this.argv : this.argv.slice(0, at));
    const { flags, args } = await this.parse(this.ctor, argv);
    if (fields !== undefined) {
      const { requireFields, withFields } = await import('./output/json-fields.ts');
      const own = Object.hasOwn(this.ctor.flags, 'all-contexts')
        ? fields.filter((each) => each !== 'context')
        : fields;
      await requireFields(this.config.root, this.id ?? '', own);
      this.#shown = (result) =>
        withFields(result, fields, (members) => {
          this.#absent = (this.#absent ?? fields).filter((field) => !Object.hasOwn(members, field));
        });
    }
    this.#csv = flags['csv'] === true;
    this.#changes =
      Object.hasOwn(this.ctor.flags, 'reason') &&
      (this.changesWith?.some((name) => Object.hasOwn(flags, name)) ?? true) &&
      flags['dry-run'] !== true &&
      flags['plan-out'] === undefined;
    return { flags, args, rest } as Input;
  }

  /**
   * The runtime of this command: configuration, target, audit log, clock and signals, created on first use.
   */
  async runtime(flags: GlobalFlags): Promise<Runtime> {
    const { createRuntime } = await import('../app/runtime.ts');
    this.#runtime ??= createRuntime({
      ...(await this.surroundings(flags)),
      progress: progressLine,
      changes: this.#changes,
      onAsking: () => this.#confirmation?.requirePossible(),
    });
    if (this.#changes) requireAccount(this.#runtime.configuration.auditLog, flags as AccountFlags);
    return this.#runtime;
  }

  /** Where a command works: the locations from its flags, and the environment variables. */
  async surroundings(flags: GlobalFlags) {
    const { machineEnvironment } = await import('../config/machine-place.ts');
    const { context, config, 'log-file': logFile, 'database-file': databaseFile } = flags;
    return {
      flags: { context, config, logFile, databaseFile },
      environment: machineEnvironment(process.env, flags),
      notify: writeNotice,
      version: this.config.version,
    };
  }

  /**
   * How the change of this command is confirmed. Without a terminal and --yes, the runtime refuses to open a
   * controller, a database or the audit log: flags and files are checked before that.
   * @param options.inputIsData Standard input is data: the answer is read from the process's terminal.
   */
  async confirmation(flags: ChangeFlags, options: { readonly inputIsData?: boolean } = {}) {
    const { confirmationFrom } = await import('./change/confirmation.ts');
    this.#confirmation = confirmationFrom(flags, options);
    return this.#confirmation;
  }

  /** Makes the change planned by `plan`, once it is confirmed. Throws as the flow and {@link carryOut}. */
  async change<Flags extends PlanFlags & GlobalFlags, Json>(
    flags: Flags,
    plan: (request: ChangeRequest<Flags>) => Promise<Planned<Json>>,
  ): Promise<Report<Json>> {
    const confirmation = await this.confirmation(flags);
    const { carryOut } = await import('./change/change.ts');
    const request = { runtime: await this.runtime(flags), flags };
    return await carryOut(request, await plan(request), (asked) => confirmation.confirm(asked));
  }

  /**
   * As {@link TokenctlCommand.change}, in the selected context. With several contexts, the plans are joined
   * into one question. The gateway and the controller of a platform count as several.
   * @param options As for {@link TokenctlCommand.confirmation}.
   */
  async changeInContexts<Json>(
    flags: PlanFlags & ContextFlags,
    plan: (member: ContextRun) => Promise<Planned<Json>>,
    options: { readonly inputIsData?: boolean } = {},
  ): Promise<Report<Json>> {
    const confirmation = await this.confirmation(flags, options);
    const { one, several } = await this.#contexts(flags);
    const { carryOut, firstStep } = await import('./change/change.ts');
    if (one !== undefined)
      return await carryOut({ ...one, flags }, await plan(one), (asked) => confirmation.confirm(asked));
    const { multiContextFlow } = await import('./multi-context/multi-context-flow.ts');
    const joined = await multiContextFlow({
      ...several,
      asking: { confirmation, atMost: flags['at-most'], includeOwn: flags['include-own'] === true },
      step: async (member) => await firstStep({ runtime: member.runtime, flags }, await plan(member)),
    });
    // The joint output of several contexts has its own schema.
    return joined as Report<Json>;
  }

  /**
   * As {@link TokenctlCommand.runtime}, for a change of one context: connects to its database while the rest
   * of the program is loaded. A failure occurs again when the target is used.
   */
  async openingRuntime(flags: GlobalFlags): Promise<Runtime> {
    const runtime = await this.runtime(flags);
    for (const opening of [runtime.target(), runtime.auditLog()]) opening.catch(() => undefined);
    return runtime;
  }

  /**
   * Runs `work`, which is read-only, in the selected context. With several contexts (a list, a group,
   * `--all-contexts`) it runs in all of them concurrently, with one joint result. The gateway and the
   * controller of a platform count as several.
   */
  async inContexts<Of extends Result>(flags: ContextFlags, work: (member: ContextRun) => Promise<Of>) {
    const { one, several } = await this.#contexts(flags);
    if (one !== undefined) return await work(one);
    const { multiContextFlow } = await import('./multi-context/multi-context-flow.ts');
    // The joint output of several contexts has its own schema.
    const step = async (member: ContextRun) => ({ report: await work(member) });
    return (await multiContextFlow({ ...several, asking: null, step })) as Of;
  }

  async #contexts(flags: ContextFlags) {
    const runtime = await this.runtime(flags);
    const { resolveContexts } = await import('../config/contexts.ts');
    const contexts = resolveContexts(runtime.configuration, flags['all-contexts'] === true);
    const { currentContext: current = '' } = runtime.configuration;
    const here = { runtime, contexts: contexts ?? [current] };
    const several = { ...here, shown: this.#shown };
    const isOne = contexts === null && (await runtime.components()).length < 2;
    if (isOne) return { one: { ...here, context: current, several: false }, several };
    // The joint output of several contexts has its own members.
    this.#shown = (result) => result;
    return { one: undefined, several };
  }

  override jsonEnabled(): boolean {
    return wantsJson(this.argv);
  }

  /** Overrides the framework's `_run`, whose exit codes differ between text and JSON. */
  protected override async _run<T>(): Promise<T> {
    surviveStreamErrors();
    try {
      await this.init();
      const result = await this.run();
      if (result !== undefined) {
        const { present } = await import('./output/present.ts');
        const { resultNamingContext } = await import('../app/named-context.ts');
        const named = resultNamingContext(this.#shown(result), this.#contextName());
        process.exitCode = await present(named, { format: this.#format(), recorded: this.#changes });
        for (const field of this.#absent ?? []) writeNotice(`No printed row has the field ${field}.`);
      }
      return result as T;
    } catch (error) {
      const { errorNamingContext } = await import('../app/named-context.ts');
      throw errorNamingContext(error, this.#contextName());
    } finally {
      await this.#runtime?.close();
    }
  }

  /** The context of this command; undefined if it has none, or its configuration cannot be read. */
  #contextName(): string | undefined {
    try {
      return this.#runtime?.configuration.currentContext;
    } catch {
      return undefined;
    }
  }

  #format(): Format {
    if (this.jsonEnabled()) return 'json';
    return this.#csv ? 'csv' : 'table';
  }
}

/** Checks --reason and --ticket, if the configuration requires them for changes. Throws `usage`. */
export function requireAccount(
  required: { requireReason?: boolean | undefined; requireTicket?: boolean | undefined },
  { reason, ticket }: AccountFlags,
): void {
  const missing = [
    ...(required.requireReason === true && isBlank(reason) ? ['--reason'] : []),
    ...(required.requireTicket === true && isBlank(ticket) ? ['--ticket'] : []),
  ];
  if (missing.length === 0) return;
  throw new TokenctlError('usage', `${missing.join(' and ')} required for changes`, {
    hint: `Add ${missing.join(' and ')}, or change auditLog.requireReason or auditLog.requireTicket in the configuration.`,
  });
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
