import { hostname, userInfo } from 'node:os';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type Configuration, loadConfiguration, type SettingFlags } from '../config/configuration.ts';
import { contextOf, withTokenFile } from '../config/contexts.ts';
import { insecureWarning } from '../config/insecure.ts';
import { giveToOwner } from '../config/machine-place.ts';
import { absolutePath, type Environment, stateFolderIfKnown } from '../config/paths.ts';
import { readSecret } from '../config/secrets.ts';
import { standbyText } from '../domain/claims.ts';
import { clockText } from '../domain/clock-difference.ts';
import type { RecordedApproval } from '../operations/journal/journal.ts';
import type { Change, Reading } from '../operations/journal/operation-run.ts';
import type { AuditLog, LogKeys } from '../operations/ports/audit-log.ts';
import { type Clock, controllerClock, machineClock } from '../operations/ports/clock.ts';
import type { OpenEvidence } from '../operations/ports/evidence.ts';
import type { Notifier } from '../operations/ports/notifier.ts';
import type { ReadTarget, Target, TargetDescription } from '../operations/ports/target.ts';
import { dryRun } from '../targets/dry-run.ts';
import { jobKinds } from './jobs/job-kinds.ts';
import {
  dryRunAuditLog,
  type LogExport,
  type LogExportOptions,
  openAuditLog,
  openLogExport,
  openLogKeys,
  withConfiguredSink,
} from './open-audit-log.ts';
import { type Component, type OpenedTarget, openTarget } from './open-target.ts';
import { catchSignals, type SignalTrap } from './stop-signals.ts';

/** The user's reason for a change. */
interface ChangeOptions {
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
  /** Set if an approval was needed. */
  readonly approval?: RecordedApproval | undefined;
  /** Leaves signals to the caller: started work is finished. */
  readonly uninterrupted?: boolean;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly failed: number;
}

export interface ProgressView {
  readonly step: (progress: Progress) => void;
  readonly end: () => void;
}

/** Opens a progress view. `verb` is the operation, such as `Revoking`. */
export type ShowProgress = (verb: string) => ProgressView;

export interface RuntimeOptions {
  /** The global flags that are settings. */
  readonly flags: SettingFlags;
  /** The configuration, if already loaded. Otherwise it is loaded according to the flags. */
  readonly configuration?: Configuration;
  readonly environment: Environment;
  /** Prints a line for the user on stderr. */
  readonly notify: (line: string) => void;
  /** The program's version, sent to other systems; `unknown` by default. */
  readonly version?: string;
  /** Whether this run changes anything. It then warns about a credential that expires soon. */
  readonly changes?: boolean;
  /** Called before a controller, a database or the audit log is opened. An error from it prevents that. */
  readonly onAsking?: () => void;
  /** Without it, no progress is shown. */
  readonly progress?: ShowProgress;
}

/** A context, or one component of the platform behind it. */
interface Place {
  /** The context's name; the current context by default. */
  readonly context?: string;
  readonly component?: Component;
  /** The target's name in descriptions and in the audit log; the context's name by default. */
  readonly label?: string;
  /** A file with the token to use instead of the context's credential. */
  readonly tokenFile?: string;
  readonly progress: ShowProgress;
}

/** Webhook configuration files, each with mode 0600. */
interface WebhookFiles {
  /** One file per webhook, containing its URL. */
  readonly addresses: readonly string[];
  readonly signingSecret?: string | undefined;
}

interface Closeable {
  close(): Promise<void>;
}

/** What a run needs whichever contexts it works in. Each resource is opened on first use. */
interface SharedResources {
  readonly environment: Environment;
  readonly clock: Clock;
  /** The user and the machine that run the program: the actor of changes to the audit log itself. */
  readonly operator: Readonly<Record<string, string>>;
  auditLog(): Promise<AuditLog>;
  /** Opens webhooks. Throws `configuration`. */
  webhooks(files: WebhookFiles): Promise<readonly Notifier[]>;
  /** The key that signs checkpoints of the audit log. */
  logKeys(): Promise<LogKeys>;
  /** Opens an export of the audit log. Throws `configuration`, `unsupported`. */
  logExport(options: LogExportOptions): Promise<LogExport>;
  /** Catches signals from now on: the first one aborts this instead of ending the program. */
  stopSignal(): AbortSignal;
  /** The same signal if signals are caught. */
  caughtSignal(): AbortSignal | undefined;
  /** Closes this resource together with the run. */
  keep<Opened extends Closeable>(opened: Opened): Opened;
  close(): Promise<void>;
}

interface RunResources extends SharedResources {
  /** Throws `configuration`. */
  configuration(): Configuration;
}

/** Everything a command or a job needs from outside. Each part is opened on first use. */
export interface Runtime extends SharedResources {
  /** Throws `configuration`. */
  readonly configuration: Configuration;
  readonly progress: ShowProgress;
  /** The context's controller. Throws `configuration`, `not_found`. */
  target(): Promise<Target>;
  /** Describes the target and the caller. The target is queried once. */
  description(): Promise<TargetDescription>;
  /** The controller's clock, which determines token expiry. The description contains its difference. */
  targetClock(): Promise<Clock>;
  /** The components of a platform that store tokens; empty if it is not a platform, or the context names one. */
  components(): Promise<readonly Component[]>;
  /** The context of a change. Catches signals from now on. Throws `interrupted` after a signal. */
  change(options: ChangeOptions): Promise<Change>;
  readTarget(): Promise<ReadTarget>;
  /** Opens the target's evidence. Throws as opening a target does. */
  evidence(): Promise<OpenEvidence>;
  /** The input of an operation that only reads. */
  reading(): Promise<Reading>;
  /** The context of a dry run: the target changes nothing, and the log stores nothing. */
  dryRun(): Promise<Change>;
  /** The same run over REST, with the token in a file as the credential. Closing this runtime closes it too. */
  withToken(file: string): Runtime;
  /** The same run in another place. It shares everything but the target. Closing this runtime closes it too. */
  in(place: Place): Runtime;
}

/** Creates the runtime of one command or job. Reads and opens nothing yet. */
export function createRuntime(options: RuntimeOptions): Runtime {
  const { progress = () => ({ step: () => undefined, end: () => undefined }), onAsking = () => undefined } =
    options;
  const opened: OpenedTarget[] = [];
  /** The contexts whose own token was looked up, which takes seconds. */
  const lookedUp = new Set<string>();
  async function warnOfExpiry(target: Target, description: TargetDescription): Promise<void> {
    if (description.credential !== 'token' || lookedUp.has(description.context)) return;
    lookedUp.add(description.context);
    const { expiryWarningBeforeChange } = await import('../operations/contexts/own-token.ts');
    const now = controllerClock(resources.clock, description).now();
    const warning = await expiryWarningBeforeChange({ target, description, now });
    if (warning !== null) options.notify(`Warning: ${warning}`);
  }
  const resources = runResources(options, () => opened.map(({ awaited }) => awaited()).join(' and '));
  const warned = new Set<string>();
  const warn = (warning: string) => {
    if (!warned.has(warning)) options.notify(`Warning: ${warning}${warning.endsWith('.') ? '' : '.'}`);
    warned.add(warning);
  };
  return runtimeIn(resources, {
    progress,
    onAsking,
    onInsecure: warn,
    async onDescribed(target, found) {
      for (const warning of [standbyText(found), clockText(found)]) if (warning !== null) warn(warning);
      if (options.changes === true) await warnOfExpiry(target, found);
    },
    onOpen: (target) => opened.push(target),
    onClose: () => resources.close(),
  });
}

function runtimeIn(
  resources: RunResources,
  place: Place & {
    readonly onAsking: () => void;
    /** Called with a warning before a credential is sent over an insecure connection. */
    readonly onInsecure: (warning: string) => void;
    readonly onOpen: (target: OpenedTarget) => void;
    readonly onDescribed: (target: Target, found: TargetDescription) => Promise<void>;
    readonly onClose?: () => Promise<void>;
  },
): Runtime {
  const { context, component, label, tokenFile, progress, onClose } = place;
  const { onAsking, onInsecure, onOpen, onDescribed } = place;
  const { environment, clock, operator, auditLog, stopSignal, caughtSignal } = resources;
  let opened: Promise<OpenedTarget> | undefined;
  let described: Promise<TargetDescription> | undefined;
  const members: Runtime[] = [];

  const settings = () => {
    const found = contextOf(resources.configuration(), context);
    return tokenFile === undefined ? found : withTokenFile(found, tokenFile);
  };
  function open(): Promise<OpenedTarget> {
    onAsking();
    const warning =
      opened === undefined ? insecureWarning(contextOf(resources.configuration(), context)) : null;
    if (warning !== null) onInsecure(warning);
    opened ??= openTarget(settings(), { environment, component, label, interruption: caughtSignal }).then(
      (target) => {
        onOpen(target);
        return target;
      },
    );
    return opened;
  }
  const target = async () => (await open()).target;
  const description = () => {
    described ??= target().then(async (opened) => {
      const found = await opened.describe();
      await onDescribed(opened, found);
      return found;
    });
    return described;
  };
  async function readTarget() {
    const found = await description();
    return {
      target: await target(),
      description: found,
      clock: controllerClock(clock, found),
      openNames: () => evidence({ namesOnly: true }),
    };
  }
  async function evidence({ namesOnly = false } = {}): Promise<OpenEvidence> {
    const { openEvidence } = await import('./open-evidence.ts');
    const { dialect } = await description();
    const interruption = caughtSignal;
    return await openEvidence(settings(), { environment, component, dialect, interruption, namesOnly });
  }
  async function changeBasics() {
    const read = await readTarget();
    return { ...read, actor: { ...operator, as: read.description.identity.username } };
  }

  return {
    ...resources,
    get configuration() {
      return resources.configuration();
    },
    progress,
    target,
    description,
    targetClock: async () => controllerClock(clock, await description()),
    components: async () => await (await open()).components(),
    async change({ reason, ticket, approval, uninterrupted = false }) {
      const signal = uninterrupted ? undefined : stopSignal();
      if (signal?.aborted) {
        throw new TokenctlError('interrupted', 'Interrupted before anything was changed here');
      }
      return { ...(await changeBasics()), log: await auditLog(), signal, reason, ticket, approval };
    },
    readTarget,
    evidence,
    reading: async () => ({ ...(await readTarget()), log: await auditLog() }),
    async dryRun() {
      const basics = await changeBasics();
      return { ...basics, target: dryRun(basics.target), log: dryRunAuditLog(clock) };
    },
    withToken(file) {
      const { onClose: _, ...here } = place;
      const member = runtimeIn(resources, { ...here, tokenFile: file });
      members.push(member);
      return member;
    },
    in(other) {
      const member = runtimeIn(resources, { ...other, onAsking, onInsecure, onOpen, onDescribed });
      members.push(member);
      return member;
    },
    async close() {
      await Promise.allSettled([
        opened?.then((target) => target.target.close()),
        ...members.map((member) => member.close()),
      ]);
      await onClose?.();
    },
  };
}

function runResources(options: RuntimeOptions, awaited: () => string): RunResources {
  const { flags, environment, notify, version = 'unknown', configuration: given, onAsking } = options;
  const clock: Clock = machineClock;
  let loaded = given;
  let log: Promise<AuditLog> | undefined;
  let signals: SignalTrap | undefined;
  const opened: Closeable[] = [];
  const configuration = () => {
    if (loaded === undefined) {
      loaded = loadConfiguration(flags, environment, jobKinds);
      for (const [section, { message }] of loaded.invalid)
        notify(
          `Warning: commands that use the section ${section} of the configuration are not available: ${message}`,
        );
    }
    return loaded;
  };
  const openLog = async () => {
    const settings = configuration();
    const plain = await openAuditLog(settings, { environment, clock, runs: maxRuns(settings) });
    return await withConfiguredSink(plain, settings.auditLog, { environment, version });
  };

  return {
    configuration,
    environment,
    clock,
    operator: operatorOf(environment),
    async auditLog() {
      onAsking?.();
      log ??= openLog();
      return await log;
    },
    async webhooks(files) {
      const { openWebhook } = await import('../notify/webhook.ts');
      const secret = (file: string) =>
        readSecret({ file: absolutePath(file, process.cwd(), environment) }, environment);
      const signingSecret = files.signingSecret === undefined ? undefined : secret(files.signingSecret);
      const webhooks = files.addresses.map((file) => openWebhook({ url: secret(file), signingSecret }));
      opened.push(...webhooks);
      return webhooks;
    },
    logKeys: async () => await openLogKeys(configuration().auditLog, environment),
    async logExport(options) {
      const parts = await openLogExport(options, { environment, version });
      if (parts.sink !== null) opened.push(parts.sink);
      return parts;
    },
    stopSignal() {
      signals ??= catchSignals(notify, awaited);
      return signals.signal;
    },
    caughtSignal: () => signals?.signal,
    keep(one) {
      opened.push(one);
      return one;
    },
    async close() {
      signals?.release();
      await Promise.allSettled([...opened.map((each) => each.close()), log?.then((each) => each.close())]);
      const state = stateFolderIfKnown(environment);
      if (state !== null) giveToOwner(state);
    },
  };
}

/** How many runs may hold the audit log at a time: a command uses every context, a scheduler every job in each. */
function maxRuns(configuration: Configuration): number {
  const jobs = configuration.invalid.has('jobs') ? 0 : Object.keys(configuration.jobs).length;
  return Math.max(1, Object.keys(configuration.contexts).length) * (1 + jobs);
}

function operatorOf(environment: Environment): Record<string, string> {
  const sudoUser = environment['SUDO_USER'];
  return { user: userName(), host: hostname(), ...(sudoUser && { sudo_user: sudoUser }) };
}

/** In a container, the user id may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
