import { type Configuration, loadConfiguration, type SettingFlags } from '../config/configuration.ts';
import { absolutePath, type Environment } from '../config/paths.ts';
import type { AuditLog } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import type { LogKeys } from '../operations/ports/log-keys.ts';
import type { LogSink } from '../operations/ports/log-sink.ts';
import type { Notifier } from '../operations/ports/notifier.ts';
import { operatorOf } from './actor.ts';
import { openAuditLog } from './open-audit-log.ts';
import {
  type ExportParts,
  type ExportTo,
  openExport,
  openLogKeys,
  requiringSink,
} from './open-log-export.ts';
import { holdSignals, type Interruption } from './signals.ts';

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
