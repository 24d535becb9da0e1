import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Component } from '../app/open-target.ts';
import { createRuntime, type Runtime, type RuntimeOptions, type ShowProgress } from '../app/runtime.ts';
import type { SettingFlags } from '../config/configuration.ts';
import { contextOf, resolveContexts } from '../config/contexts.ts';
import { absolutePath, type Environment } from '../config/paths.ts';
import { shellWord } from '../domain/remedies.ts';
import { Answers } from './answers.ts';

interface OpenOptions {
  readonly progress?: ShowProgress;
  readonly changes?: boolean;
  readonly notify?: (line: string) => void;
}

/** A runtime, and the function that closes it. */
export interface Opened {
  readonly runtime: Runtime;
  readonly close: () => Promise<void>;
}

/** The contexts of a console, and work in them. Each piece of work has its own runtime, like a command. */
export interface Places {
  /** The environment variables of the console's process. */
  readonly environment: RuntimeOptions['environment'];
  /** The files that the console was started with, as flags of any other command; empty without such flags. */
  readonly startedWith: readonly string[];
  /**
   * The names of the contexts; for a platform, of its components (`NAME/gateway`, `NAME/controller`).
   * Contexts that do not soon say whether they are a platform have their own name until then.
   */
  names(): Promise<readonly string[]>;
  /** The contexts that have not yet said whether they are a platform. */
  unnamed(): readonly string[];
  /**
   * Works in one of them.
   * @throws TokenctlError `not_found` for a name that is not in `names`, and whatever the work throws.
   */
  work<T>(place: string, work: (runtime: Runtime) => Promise<T>, options?: OpenOptions): Promise<T>;
  /** Works with the configuration and the audit log, without a context. */
  anywhere<T>(work: (runtime: Runtime) => Promise<T>, options?: OpenOptions): Promise<T>;
  /**
   * Opens a context, or none for null, until it is closed.
   * @throws TokenctlError `not_found` for a name that is not in `names`.
   */
  open(place: string | null, options?: OpenOptions): Opened;
  /** The configured contexts that the console was started with. */
  readonly contexts: readonly string[];
}

/** Runs pieces of work with limited concurrency, in the order they arrive. */
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

export interface PlacesOptions {
  readonly flags: SettingFlags;
  readonly allContexts: boolean;
  readonly environment: RuntimeOptions['environment'];
  readonly version: string;
}

/** The contexts that the flags select. Throws `configuration`, `not_found`. */
export async function openPlaces(options: PlacesOptions): Promise<Places> {
  const { flags, environment, version } = options;
  function openIn(place: string | null, more: OpenOptions = {}): Opened {
    const { changes = false, notify = () => undefined } = more;
    const whole = createRuntime({ flags, environment, version, changes, notify });
    const { progress = whole.progress } = more;
    const runtime = place === null ? whole : whole.in({ context: place, progress });
    return { runtime, close: () => whole.close() };
  }

  async function workIn<T>(place: string | null, work: (runtime: Runtime) => Promise<T>, more?: OpenOptions) {
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
  /** The components of each platform. A context's kind of target does not change. */
  const components = new Answers<readonly Component[]>(
    (context) => workIn(context, (runtime) => runtime.components()),
    Number.POSITIVE_INFINITY,
  );

  async function names(): Promise<readonly string[]> {
    await components.soon(contexts);
    return contexts.flatMap((context) => {
      // A context's error is shown where the context is.
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

/** The flags with a file, with absolute paths: another terminal may be in another folder. */
function filesAsFlags({ config, logFile, databaseFile }: SettingFlags, environment: Environment) {
  const files = [
    ['--config', config],
    ['--log-file', logFile],
    ['--database-file', databaseFile],
  ] as const;
  return files.flatMap(([flag, path]) =>
    path === undefined ? [] : [`${flag} ${shellWord(absolutePath(path, process.cwd(), environment))}`],
  );
}
