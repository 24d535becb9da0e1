import { hostname, userInfo } from 'node:os';
import { type Configuration, loadConfiguration, type SettingFlags } from '../config/configuration.ts';
import { contextOf } from '../config/contexts.ts';
import { absolutePath, type Environment } from '../config/paths.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { AuditLog, LogKeys } from '../operations/ports/audit-log.ts';
import type { LogSink } from '../operations/ports/log-sink.ts';
import type { Notifier } from '../operations/ports/notifier.ts';
import type { Clock } from '../operations/ports/scheduler.ts';
import type { Target, TargetDescription } from '../operations/ports/target.ts';
import {
  type ExportParts,
  type ExportTo,
  openAuditLog,
  openExport,
  openLogKeys,
  rehearsalLog,
  requiringSink,
} from './open-audit-log.ts';
import { type Component, type OpenedTarget, openTarget } from './open-target.ts';
import { holdSignals, type Interruption } from './signals.ts';

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

/** How far a piece of work has come. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly failed: number;
}

/** Shows how far a piece of work is. */
export interface ProgressView {
  /** Shows how far it is now. */
  readonly step: (progress: Progress) => void;
  /** There are no further steps. */
  readonly end: () => void;
}

/** Begins to show how far a piece of work is; `verb` says what is done: `Revoking`. */
export type ShowProgress = (verb: string) => ProgressView;

/** What a run in a context is made from. */
export interface RuntimeOptions extends ResourceOptions {
  /** Shows how far a piece of work is; nowhere where not given. */
  readonly progress?: ShowProgress;
}

/** Where a run works: in a context, or in one component of the platform that it leads to. */
interface Place {
  /** The context's name; the current one where not given. */
  readonly context?: string;
  readonly component?: Component;
  /** What it is called in descriptions and in the audit log; the context's name where not given. */
  readonly label?: string;
  readonly progress: ShowProgress;
}

/** Everything a command needs from outside, each built when first asked for. */
export interface Runtime extends RunResources {
  /** The controller of the current context. Throws `configuration`, `not_found`. */
  target(): Promise<Target>;
  /** Who answers there, and who the caller is. */
  description(): Promise<TargetDescription>;
  /**
   * Everything for a change. From here on signals do not end the program but ask it to stop. Throws `interrupted`
   * where one asked for that already.
   */
  change(options: ChangeOptions): Promise<ChangeContext>;
  /**
   * The same for finding out what a change would do: a target that changes nothing, and a log that keeps
   * nothing.
   */
  rehearsal(): Promise<ChangeContext>;
  readonly progress: ShowProgress;
  /** Which components of a platform keep tokens; empty where the context is none, or names one of them. */
  components(): Promise<readonly Component[]>;
  /**
   * The same run in another place: with the same settings, audit log and signals, and a target of its own, which
   * this runtime closes as it is closed.
   */
  in(place: Place): Runtime;
}

/** Builds the runtime of one command. Nothing is read or opened yet. */
export function createRuntime(options: RuntimeOptions): Runtime {
  const { progress = () => ({ step: () => undefined, end: () => undefined }) } = options;
  return runtimeIn(runResources(options), { progress });
}

function runtimeIn(resources: RunResources, place: Place & { readonly isMember?: true }): Runtime {
  const { context, component, label, progress } = place;
  let opened: Promise<OpenedTarget> | undefined;
  let description: Promise<TargetDescription> | undefined;
  const members: Runtime[] = [];

  function open(): Promise<OpenedTarget> {
    const { configuration, environment } = resources;
    opened ??= openTarget(contextOf(configuration, context), { environment, component, label });
    return opened;
  }

  /** What real changes and rehearsals have in common. */
  async function circumstances() {
    const { environment, clock } = resources;
    const description = await runtime.description();
    return { description, clock, actor: actorOf(environment, description) };
  }

  const runtime: Runtime = Object.assign(Object.create(resources) as RunResources, {
    progress,
    async target() {
      return (await open()).target;
    },
    async components() {
      return await (await open()).components();
    },
    description() {
      description ??= runtime.target().then((opened) => opened.describe());
      return description;
    },
    async change({ reason, ticket }: ChangeOptions) {
      const signal = resources.stopSignal();
      if (signal.aborted) {
        throw new TokenctlError('interrupted', 'Interrupted before anything was changed here');
      }
      return {
        ...(await circumstances()),
        target: await runtime.target(),
        log: await runtime.auditLog(),
        signal,
        ...(reason !== undefined && { reason }),
        ...(ticket !== undefined && { ticket }),
      };
    },
    async rehearsal() {
      const { dryRun } = await import('../targets/dry-run.ts');
      return {
        ...(await circumstances()),
        target: dryRun(await runtime.target()),
        log: rehearsalLog(resources.clock),
      };
    },
    in(other: Place) {
      const member = runtimeIn(resources, { ...other, isMember: true });
      members.push(member);
      return member;
    },
    async close() {
      await Promise.allSettled([
        opened?.then(({ target }) => target.close()),
        ...members.map((member) => member.close()),
      ]);
      if (place.isMember !== true) await resources.close();
    },
  });
  return runtime;
}

/** What the resources of a run are made from. */
export interface ResourceOptions {
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

/** Where webhooks are named. */
interface WebhookFiles {
  /** A file for each, with its address. */
  readonly addresses: readonly string[];
  readonly signingSecret?: string | undefined;
}

/** What belongs to a run whichever contexts it works in, each built when first asked for. */
export interface RunResources {
  /** The settings of this run. Throws `configuration`. */
  readonly configuration: Configuration;
  readonly environment: Environment;
  readonly clock: Clock;
  /** The audit log, for reading and writing. */
  auditLog(): Promise<AuditLog>;
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

/** Builds the resources of one run. Nothing is read or opened yet. */
export function runResources(options: ResourceOptions): RunResources {
  const { environment, flags, notify, version = 'unknown' } = options;
  const clock: Clock = { now: () => new Date() };
  let configuration = options.configuration;
  let log: Promise<AuditLog> | undefined;
  let interruption: Interruption | undefined;
  const opened: (Notifier | LogSink)[] = [];

  const resources: RunResources = {
    get configuration() {
      configuration ??= loadConfiguration(flags, environment);
      return configuration;
    },
    environment,
    clock,
    auditLog() {
      const { configuration: settings } = resources;
      log ??= openAuditLog(settings, { environment, clock, runs: runsAtATime(settings) }).then((log) =>
        requiringSink(log, settings.auditLog, { environment, version }),
      );
      return log;
    },
    async webhooks(files) {
      const { readSecret } = await import('../config/secrets.ts');
      const { openWebhook } = await import('../notify/webhook.ts');
      const secret = (file: string) =>
        readSecret({ file: absolutePath(file, process.cwd(), environment) }, environment);
      const signingSecret = files.signingSecret === undefined ? undefined : secret(files.signingSecret);
      const webhooks = files.addresses.map((file) => openWebhook({ url: secret(file), signingSecret }));
      opened.push(...webhooks);
      return webhooks;
    },
    logKeys: () => openLogKeys(resources.configuration.auditLog, environment),
    get operator() {
      return operatorOf(environment);
    },
    async logExport(to) {
      const parts = await openExport(to, { environment, version });
      if (parts.sink !== null) opened.push(parts.sink);
      return parts;
    },
    stopSignal() {
      interruption ??= holdSignals(notify);
      return interruption.signal;
    },
    async close() {
      interruption?.release();
      await Promise.allSettled([...opened.map((each) => each.close()), log?.then((each) => each.close())]);
    },
  };
  return resources;
}

/** A command works in all contexts at the most, a scheduler on each job in each of them as well. */
function runsAtATime({ contexts, jobs }: Configuration): number {
  return Math.max(1, Object.keys(contexts).length) * (1 + Object.keys(jobs).length);
}

/** Who asks: the user of this machine, the machine, and who that user is to the target. */
export function actorOf(environment: Environment, { identity }: TargetDescription): Record<string, string> {
  return { ...operatorOf(environment), as: identity.username };
}

/** The user of this machine, and the machine: who works on what belongs to no target. */
export function operatorOf(environment: Environment): Record<string, string> {
  const behindSudo = environment['SUDO_USER'];
  return { user: userName(), host: hostname(), ...(behindSudo && { sudo_user: behindSudo }) };
}

/** A container may run under a number that no name belongs to. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
