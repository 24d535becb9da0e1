import { actorOf, operatorOf } from './actor.ts';
import { type Configuration, loadConfiguration, type SettingFlags } from './config/configuration.ts';
import { contextOf, type NamedRestContext } from './config/contexts.ts';
import { credentialOf } from './config/credentials.ts';
import { databaseConnection, databaseName } from './config/database-connection.ts';
import { absolutePath, type Environment } from './config/paths.ts';
import { keepMemoryFlat } from './flat-memory.ts';
import { holdSignals, type Interruption } from './interruption.ts';
import { type ExportParts, type ExportTo, openExport, openLogKeys, requiringSink } from './log-parts.ts';
import type { AuditLog } from './operations/ports/audit-log.ts';
import type { Clock } from './operations/ports/clock.ts';
import type { LogKeys } from './operations/ports/log-keys.ts';
import type { LogSink } from './operations/ports/log-sink.ts';
import type { Notifier } from './operations/ports/notifier.ts';
import type { Target } from './operations/ports/target.ts';
import type { TargetDescription } from './operations/ports/target-description.ts';
import { rehearsalLog } from './rehearsal-log.ts';

/** What a run is made from. */
export interface RuntimeOptions {
  /** The global flags that are settings. */
  readonly flags: SettingFlags;
  /** The settings, where they were read already; read as the flags say otherwise. */
  readonly configuration?: Configuration;
  readonly environment: Environment;
  /** Tells the user something that is no result: a line on stderr. */
  readonly notify: (line: string) => void;
  /** The program's version, for what is sent to others; `unknown` where not given. */
  readonly version?: string;
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

/** Where webhooks are named. */
interface WebhookFiles {
  /** A file for each, with its address. */
  readonly addresses: readonly string[];
  readonly signingSecret?: string | undefined;
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
  /**
   * Opens webhooks whose addresses stand in files of mode 0600, and whose notices are signed with the secret in
   * another. Throws `configuration`.
   */
  webhooks(options: WebhookFiles): Promise<readonly Notifier[]>;
  /** The key that signs checkpoints of the audit log. */
  logKeys(): Promise<LogKeys>;
  /** Who works on the audit log itself: the user of this machine, and the machine. */
  readonly operator: Readonly<Record<string, string>>;
  /** What exports the audit log. Throws `configuration`, `unsupported`. */
  logExport(options: ExportTo): Promise<ExportParts>;
  /** From here on signals do not end the program but abort this, which asks it to stop. */
  stopSignal(): AbortSignal;
  /** Lets go of all that was opened. */
  close(): Promise<void>;
}

/** Builds the runtime of one command. Nothing is read or opened yet. */
export function createRuntime(options: RuntimeOptions): Runtime {
  const { environment, flags, notify } = options;
  let configuration = options.configuration;
  let target: Promise<Target> | undefined;
  let description: Promise<TargetDescription> | undefined;
  let log: Promise<AuditLog> | undefined;
  let interruption: Interruption | undefined;
  const notifiers: Notifier[] = [];
  const sinks: LogSink[] = [];
  const version = options.version ?? 'unknown';

  /** What real changes and rehearsals have in common. */
  async function circumstances() {
    const description = await runtime.description();
    return { description, clock: runtime.clock, actor: actorOf(environment, description) };
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
      log ??= openAuditLog(runtime).then((opened) =>
        requiringSink(opened, runtime.configuration.auditLog, { environment, version }),
      );
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
    async webhooks(files) {
      const { readSecret } = await import('./config/secrets.ts');
      const { openWebhook } = await import('./notify/webhook.ts');
      const secret = (file: string) =>
        readSecret({ file: absolutePath(file, process.cwd(), environment) }, environment);
      const signingSecret = files.signingSecret === undefined ? undefined : secret(files.signingSecret);
      const opened = files.addresses.map((file) => openWebhook({ url: secret(file), signingSecret }));
      notifiers.push(...opened);
      return opened;
    },
    logKeys: () => openLogKeys(runtime.configuration.auditLog, environment),
    get operator() {
      return operatorOf(environment);
    },
    async logExport(to) {
      const parts = await openExport(to, { environment, version });
      if (parts.sink !== null) sinks.push(parts.sink);
      return parts;
    },
    stopSignal() {
      interruption ??= holdSignals(notify);
      return interruption.signal;
    },
    async close() {
      interruption?.release();
      await Promise.allSettled([
        ...[...notifiers, ...sinks].map((opened) => opened.close()),
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
  if (context.database === undefined) return await openRest(context, environment);
  keepMemoryFlat();
  const { openDatabaseTarget } = await import('./targets/database/database-target.ts');
  return await openDatabaseTarget({
    context: context.name,
    connection: databaseConnection(context.database, environment),
  });
}

async function openRest(context: NamedRestContext, environment: Environment): Promise<Target> {
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
async function openAuditLog({ configuration, environment, clock }: Runtime): Promise<AuditLog> {
  const { file, database } = configuration.auditLog;
  if (database === undefined) {
    const { openFileLog } = await import('./audit/file-log.ts');
    return openFileLog({ path: file, clock });
  }
  const url = databaseConnection(database, environment);
  const { openPostgresLog } = await import('./audit/postgres-log.ts');
  const { openPostgres } = await import('./db/postgres.ts');
  return openPostgresLog({
    open: () =>
      openPostgres({
        url,
        applicationName: 'tokenctl audit log',
        connections: connectionsFor(configuration),
      }),
    name: `in the database ${databaseName(database)}`,
    clock,
  });
}

/**
 * How many connections the audit log may open: one to append, one to read, one for each run that is held, of
 * which a command has one at a time and a scheduler one for each job.
 */
function connectionsFor({ jobs }: Configuration): number {
  const scheduled = Object.values(jobs).reduce((total, job) => total + (job.contexts?.length ?? 1), 0);
  return scheduled === 0 ? 3 : 10 + scheduled;
}
