import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Component } from '../app/open-target.ts';
import { createRuntime, type Runtime, type RuntimeOptions, type ShowProgress } from '../app/runtime.ts';
import type { SettingFlags } from '../config/configuration.ts';
import { contextOf, resolveContexts } from '../config/contexts.ts';
import { absolutePath, type Environment } from '../config/paths.ts';
import { shellWord } from '../domain/remedies.ts';
import { Answers } from './answers.ts';

/** How a piece of work is opened. */
interface OpenOptions {
  readonly progress?: ShowProgress;
  /** Whether it changes anything. */
  readonly changes?: boolean;
  readonly notify?: (line: string) => void;
}

/** A runtime, and what closes it. */
export interface Opened {
  readonly runtime: Runtime;
  readonly close: () => Promise<void>;
}

/** The contexts of a console, and the work in them. Each piece of work has a runtime of its own, as a command has. */
export interface Places {
  /** The variables of the console's process. */
  readonly environment: RuntimeOptions['environment'];
  /** The files that the console was started with, as flags of any other command: none without such flags. */
  readonly startedWith: readonly string[];
  /**
   * The names of the contexts; for a platform, of its components (`NAME/gateway`, `NAME/controller`). One that does not say soon
   * whether it is a platform is waited for no longer: it has its own name until then.
   */
  names(): Promise<readonly string[]>;
  /** The contexts that have not said yet whether they are a platform. */
  unnamed(): readonly string[];
  /**
   * Works in one of them.
   *
   * @throws TokenctlError `not_found` for a name that is not one of `names`, and whatever the work throws.
   */
  work<T>(place: string, work: (runtime: Runtime) => Promise<T>, options?: OpenOptions): Promise<T>;
  /** Works with the configuration and the audit log, in no place. */
  anywhere<T>(work: (runtime: Runtime) => Promise<T>, options?: OpenOptions): Promise<T>;
  /**
   * Opens one of them, or none with null, until it is closed.
   *
   * @throws TokenctlError `not_found` for a name that is not one of `names`.
   */
  open(place: string | null, options?: OpenOptions): Opened;
  /** The contexts of the configuration that the console was started with. */
  readonly contexts: readonly string[];
}

/** Runs pieces of work, at most so many at a time and in the order in which they came. */
export function inTurns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** Which contexts, and what with. */
export interface PlacesOptions {
  readonly flags: SettingFlags;
  readonly allContexts: boolean;
  readonly environment: RuntimeOptions['environment'];
  readonly version: string;
}

/**
 * The contexts that the flags select.
 *
 * @throws TokenctlError `configuration`, `not_found`
 */
export async function openPlaces(options: PlacesOptions): Promise<Places> {
  const { flags, environment, version } = options;
  function openIn(place: string | null, more: OpenOptions = {}): Opened {
    const { changes = false, notify = () => undefined } = more;
    const whole = createRuntime({ flags, environment, version, changes, notify });
    const { progress = whole.progress } = more;
    const runtime = place === null ? whole : whole.in({ context: place, progress });
    return { runtime, close: () => whole.close() };
  }

  async function workIn<T>(
    place: string | null,
    work: (runtime: Runtime) => Promise<T>,
    more?: OpenOptions,
  ): Promise<T> {
    const { runtime, close } = openIn(place, more);
    try {
      return await work(runtime);
    } finally {
      await close();
    }
  }

  const anywhere: Places['anywhere'] = (work, more) => workIn(null, work, more);

  const contexts = await anywhere(async ({ configuration }) => {
    const several = resolveContexts(configuration, options.allContexts);
    return several ?? [contextOf(configuration).name];
  });
  /** The components of each platform. A context does not become another kind of target. */
  const components = new Answers<readonly Component[]>(
    (context) => workIn(context, (runtime) => runtime.components()),
    Number.POSITIVE_INFINITY,
  );

  async function names(): Promise<readonly string[]> {
    await components.soon(contexts);
    return contexts.flatMap((context) => {
      // What keeps a context from answering is told where it is shown.
      const { value: found = [] } = components.of(context);
      return found.length < 2 ? [context] : found.map((component) => `${context}/${component}`);
    });
  }

  /** @throws TokenctlError `not_found` */
  function requireKnown(place: string): void {
    const [, context = '', component] = /^([^/]*)(?:\/(gateway|controller))?$/.exec(place) ?? [];
    if (contexts.includes(component === undefined ? place : context)) return;
    throw new TokenctlError('not_found', `This console has no context "${place}"`, {
      hint: `Its contexts: ${contexts.join(', ')}.`,
    });
  }

  return {
    environment,
    startedWith: filesAsFlags(flags, environment),
    names,
    unnamed: () => contexts.filter((context) => components.of(context).waitsMs !== null),
    anywhere,
    contexts,
    open(place, more) {
      if (place !== null) requireKnown(place);
      return openIn(place, more);
    },
    async work(place, work, more) {
      requireKnown(place);
      return await workIn(place, work, more);
    },
  };
}

/** The flags with a file: its path in full, since another terminal may be in another folder. */
function filesAsFlags(
  { config, logFile, databaseFile }: SettingFlags,
  environment: Environment,
): readonly string[] {
  const files = [
    ['--config', config],
    ['--log-file', logFile],
    ['--database-file', databaseFile],
  ] as const;
  return files.flatMap(([flag, path]) =>
    path === undefined ? [] : [`${flag} ${shellWord(absolutePath(path, process.cwd(), environment))}`],
  );
}
