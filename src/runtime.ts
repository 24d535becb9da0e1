import { hostname, userInfo } from 'node:os';
import { type Configuration, loadConfiguration, type SettingFlags } from './config/configuration.ts';
import { contextOf } from './config/contexts.ts';
import { credentialOf } from './config/credentials.ts';
import type { Environment } from './config/paths.ts';
import { holdSignals, type Interruption } from './interruption.ts';
import type { AuditLog } from './operations/audit-log-port.ts';
import type { Clock, Target, TargetDescription } from './operations/ports.ts';
import { rehearsalLog } from './rehearsal-log.ts';

/** What a run is made from. */
export interface RuntimeOptions {
  /** The global flags that are settings. */
  readonly flags: SettingFlags;
  readonly environment: Environment;
  /** Tells the user something that is no result: a line on stderr. */
  readonly notify: (line: string) => void;
}

/** What an operation that changes something takes besides its own arguments. */
interface ChangeContext {
  readonly target: Target;
  readonly description: TargetDescription;
  readonly log: AuditLog;
  readonly clock: Clock;
  readonly actor: Readonly<Record<string, string>>;
  /** Aborted when a signal asked the program to stop. */
  readonly signal?: AbortSignal;
  readonly reason?: string;
  readonly ticket?: string;
}

/** The flags that decide how something is changed. */
interface ChangeOptions {
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
}

/** Everything a command needs from outside, each built when first asked for. */
export interface Runtime {
  /** The settings of this run. Throws `configuration`. */
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly clock: Clock;
  /** The controller of the current context. Throws `configuration`, `not_found`. */
  target(): Promise<Target>;
  /** Who answers there, and who the caller is. */
  description(): Promise<TargetDescription>;
  /** The audit log, for reading and writing. */
  auditLog(): Promise<AuditLog>;
  /**
   * Everything for a change. From here on signals do not end the program but ask it to stop.
   */
  change(options: ChangeOptions): Promise<ChangeContext>;
  /**
   * The same for finding out what a change would do: a target that changes nothing, and a log that keeps
   * nothing.
   */
  rehearsal(): Promise<ChangeContext>;
  /** Lets go of all that was opened. */
  close(): Promise<void>;
}

/** Builds the runtime of one command. Nothing is read or opened yet. */
export function createRuntime(options: RuntimeOptions): Runtime {
  const { environment, flags, notify } = options;
  let configuration: Configuration | undefined;
  let target: Promise<Target> | undefined;
  let description: Promise<TargetDescription> | undefined;
  let log: Promise<AuditLog> | undefined;
  let interruption: Interruption | undefined;

  /** What real changes and rehearsals have in common. */
  async function circumstances() {
    const description = await runtime.description();
    return { description, clock: runtime.clock, actor: actor(environment, description) };
  }

  const runtime: Runtime = {
    get configuration() {
      configuration ??= loadConfiguration(flags, environment);
      return configuration;
    },
    environment,
    clock: { now: () => new Date() },
    target() {
      target ??= openTarget(runtime.configuration, environment);
      return target;
    },
    description() {
      description ??= runtime.target().then((opened) => opened.describe());
      return description;
    },
    auditLog() {
      log ??= openAuditLog(runtime.configuration, runtime.clock);
      return log;
    },
    async change({ reason, ticket }) {
      interruption ??= holdSignals(notify);
      return {
        ...(await circumstances()),
        target: await runtime.target(),
        log: await runtime.auditLog(),
        signal: interruption.signal,
        ...(reason !== undefined && { reason }),
        ...(ticket !== undefined && { ticket }),
      };
    },
    async rehearsal() {
      const { dryRun } = await import('./targets/dry-run.ts');
      return {
        ...(await circumstances()),
        target: dryRun(await runtime.target()),
        log: rehearsalLog(runtime.clock),
      };
    },
    async close() {
      interruption?.release();
      await Promise.allSettled([
        target?.then((opened) => opened.close()),
        log?.then((opened) => opened.close()),
      ]);
    },
  };
  return runtime;
}

/** The controller that the current context names. */
async function openTarget(configuration: Configuration, environment: Environment): Promise<Target> {
  const context = contextOf(configuration);
  const credential = credentialOf(context, environment);
  const { openControllerApi } = await import('./targets/controller-api/controller-api.ts');
  return openControllerApi({
    context: context.name,
    address: context.url,
    credential,
    verifyTls: context.verifyTls ?? true,
    ...(context.caFile !== undefined && { caFile: context.caFile }),
  });
}

/** The audit log of the configuration; nothing is made before its first use. */
async function openAuditLog({ auditLog }: Configuration, clock: Clock): Promise<AuditLog> {
  const { openFileLog } = await import('./audit/file-log.ts');
  return openFileLog({ path: auditLog.file, clock });
}

/** Who asks: the user of this machine, the machine, and who that user is to the target. */
function actor(environment: Environment, { identity }: TargetDescription): Record<string, string> {
  const behindSudo = environment['SUDO_USER'];
  return {
    user: userName(),
    host: hostname(),
    as: identity.username,
    ...(behindSudo && { sudo_user: behindSudo }),
  };
}

/** A container may run under a number that no name belongs to. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
