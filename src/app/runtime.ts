import { contextOf } from '../config/contexts.ts';
import { TokenctlError } from '../domain/errors.ts';
import type { AuditLog } from '../operations/ports/audit-log.ts';
import type { Clock } from '../operations/ports/clock.ts';
import type { Target } from '../operations/ports/target.ts';
import type { TargetDescription } from '../operations/ports/target-description.ts';
import { actorOf } from './actor.ts';
import { rehearsalLog } from './dry-run-audit-log.ts';
import { type Component, type OpenedTarget, openTarget } from './open-target.ts';
import { type ResourceOptions, type RunResources, runResources } from './run-resources.ts';

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
