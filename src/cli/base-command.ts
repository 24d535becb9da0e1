import { Command } from '@oclif/core/command';
import { string } from '@oclif/core/flags';
import type { ArgInput, FlagInput, InferredArgs, InferredFlags } from '@oclif/core/interfaces';
import type { Runtime } from '../app/runtime.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { Result } from '../reports/tables/result.ts';
import type { Confirmation } from './confirmation.ts';
import type { AccountFlags } from './flags.ts';
import type { ContextRun } from './multi-context/multi-context-flow.ts';
import type { Format } from './output/present.ts';
import { surviveStreamErrors, wantsJson, writeNotice } from './output/streams.ts';

/** The flags of every command that reads the configuration. */
const globalFlags = {
  context: string({
    summary: 'The context to work in, instead of the current one.',
    helpGroup: 'GLOBAL',
    helpValue: 'NAME',
  }),
  'database-file': string({
    summary:
      "A file of mode 0600 with the URL of a controller's database: works there, instead of in a context.",
    helpGroup: 'GLOBAL',
    helpValue: 'FILE',
    exclusive: ['context'],
  }),
  config: string({
    summary: 'The configuration file to read.',
    helpGroup: 'GLOBAL',
    helpValue: 'FILE',
  }),
  'log-file': string({
    summary: 'The audit log to write and read.',
    helpGroup: 'GLOBAL',
    helpValue: 'FILE',
  }),
};

/** The flags that matter to work in several contexts. */
interface MultiContextFlags {
  readonly 'all-contexts'?: boolean | undefined;
  readonly 'at-most'?: number | undefined;
  readonly 'include-own'?: boolean | undefined;
}

/** What a command was given: its own flags and the global ones, each with its exact type. */
interface Input<C extends { flags: FlagInput; args: ArgInput }> {
  readonly flags: InferredFlags<C['flags']> & InferredFlags<typeof globalFlags>;
  readonly args: InferredArgs<C['args']>;
}

/**
 * What every command is built on: `run` parses ({@link TokenctlCommand.input}), takes what it needs from
 * the runtime, calls one operation and returns its {@link Result}; printing it, closing what was opened
 * and the exit code are done here. Errors go up to `main`, which alone translates them.
 *
 * Only what `--help` needs is imported at the top: starting is most of what a short command costs.
 */
export abstract class TokenctlCommand extends Command {
  static override enableJsonFlag = true;

  static override baseFlags: FlagInput = globalFlags;

  #runtime: Runtime | undefined;
  #csv = false;
  /** Whether the command changes something as it was given: then the audit log knows what it did. */
  #changes = false;

  /** Parses, calls one operation, and returns what is to be printed; nothing where it prints itself. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a long-running command returns nothing.
  abstract override run(): Promise<Result | void>;

  /** The flags and arguments of this command, exactly typed: a misspelt name does not compile. */
  protected async input<C extends { flags: FlagInput; args: ArgInput }>(command: C): Promise<Input<C>> {
    const { flags, args } = await this.parse(command);
    this.#csv = flags['csv'] === true;
    // A command without flags of its own has no `flags` at all, whatever the framework's types say.
    this.#changes = Object.hasOwn(command.flags ?? {}, 'reason') && flags['dry-run'] !== true;
    return { flags, args } as unknown as Input<C>;
  }

  /**
   * The composition root for this run: configuration, target, audit log, clock and signals, each built
   * when first asked for and closed when the command ends. A command that needs none does not call it.
   */
  protected async runtime(flags: Input<typeof TokenctlCommand>['flags']): Promise<Runtime> {
    const { createRuntime } = await import('../app/runtime.ts');
    const { progressLine } = await import('./output/progress.ts');
    this.#runtime ??= createRuntime({
      flags: {
        context: flags.context,
        config: flags.config,
        logFile: flags['log-file'],
        databaseFile: flags['database-file'],
      },
      environment: process.env,
      notify: writeNotice,
      progress: progressLine,
      version: this.config.version,
    });
    if (this.#changes) requireAccount(this.#runtime.configuration.auditLog, flags as AccountFlags);
    return this.#runtime;
  }

  /**
   * Does the work in the context that is meant, or where several are (a list, a group, `--all-contexts`) in each of
   * them at once: then there is one question, and one result for all. A platform whose gateway and controller both keep
   * tokens is several, too.
   *
   * @param confirmation As the command decided to ask; null for what changes nothing.
   */
  protected async inContexts<Asking extends Confirmation | null>(
    flags: Input<typeof TokenctlCommand>['flags'] & MultiContextFlags,
    confirmation: Asking,
    work: (member: ContextRun<Asking>) => Promise<Result>,
  ): Promise<Result> {
    const runtime = await this.runtime(flags);
    const { contextsMeant } = await import('../config/contexts.ts');
    const contexts = contextsMeant(runtime.configuration, flags['all-contexts'] === true);
    const { currentContext: current = '' } = runtime.configuration;
    if (contexts === null && (await runtime.components()).length < 2) {
      return await work({ runtime, confirmation, context: current, several: false });
    }
    const { multiContextFlow: multiContextFlow } = await import('./multi-context/multi-context-flow.ts');
    return await multiContextFlow({
      runtime,
      contexts: contexts ?? [current],
      confirmation,
      atMost: flags['at-most'],
      includeOwn: flags['include-own'] === true,
      work,
    });
  }

  override jsonEnabled(): boolean {
    return wantsJson(this.argv);
  }

  /** Replaces the framework's own frame, whose exit codes differ between text and JSON. */
  protected override async _run<T>(): Promise<T> {
    surviveStreamErrors();
    try {
      await this.init();
      const result = await this.run();
      if (result !== undefined) {
        const { present } = await import('./output/present.ts');
        process.exitCode = await present(result, { format: this.#format(), recorded: this.#changes });
      }
      return result as T;
    } finally {
      await this.#runtime?.close();
    }
  }

  #format(): Format {
    if (this.jsonEnabled()) return 'json';
    return this.#csv ? 'csv' : 'table';
  }
}

/**
 * Makes sure that a change says why and names a ticket, where the configuration asks for that: before anything
 * is read.
 *
 * @throws TokenctlError `usage`
 */
function requireAccount(
  required: {
    readonly requireReason?: boolean | undefined;
    readonly requireTicket?: boolean | undefined;
  },
  { reason, ticket }: AccountFlags,
): void {
  const missing = [
    ...(required.requireReason === true && isBlank(reason) ? ['--reason'] : []),
    ...(required.requireTicket === true && isBlank(ticket) ? ['--ticket'] : []),
  ];
  if (missing.length === 0) return;
  throw new TokenctlError('usage', `A change has to be given ${missing.join(' and ')} here`, {
    hint: 'The configuration asks for it: auditLog.requireReason, auditLog.requireTicket.',
  });
}

function isBlank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
