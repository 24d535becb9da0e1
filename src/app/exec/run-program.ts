import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { constants as systemConstants } from 'node:os';
import { delimiter, resolve } from 'node:path';

/** Signals that are passed on to a program. They then limit its time. */
const SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const;

type PassedSignal = (typeof SIGNALS)[number];

/** Signals that a terminal also sends to the program itself. */
const OF_A_TERMINAL: ReadonlySet<PassedSignal> = new Set(['SIGINT', 'SIGQUIT']);

/** How long a program may continue after a signal, in milliseconds. */
const STOP_MS = 10_000;

/** As in shells. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** The path of a program, or why it cannot be run, with a shell's exit code. */
export type FoundProgram =
  | { readonly path: string }
  | { readonly path: null; readonly why: string; readonly code: number };

/** Finds a program as a shell does: a name with a slash is a path, any other is searched in PATH. */
export function findProgram(name: string, environment: NodeJS.ProcessEnv): FoundProgram {
  const folders = name.includes('/') ? [''] : (environment['PATH'] ?? '').split(delimiter);
  let found = false;
  for (const folder of folders) {
    const path = folder === '' ? resolve(name) : resolve(folder, name);
    try {
      if (!statSync(path).isFile()) continue;
      found = true;
      accessSync(path, constants.X_OK);
      return { path };
    } catch {}
  }
  return found
    ? { path: null, why: `${name}: permission denied`, code: NOT_EXECUTABLE }
    : { path: null, why: `${name}: command not found`, code: NOT_FOUND };
}

/** A shell's exit code for a program ended by a signal. */
export function signalCode(signal: NodeJS.Signals): number {
  return 128 + systemConstants.signals[signal];
}

/** Catches signals while a token exists: they end the program, but not this one before it has revoked the token. */
export class SignalRelay {
  received: PassedSignal | null = null;
  #pass: (signal: PassedSignal) => void = () => undefined;
  readonly #listeners = SIGNALS.map((signal) => {
    const listener = () => {
      this.received ??= signal;
      this.#pass(signal);
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });

  /** Passes signals on from now on. Before, and after `release`, they are only recorded. */
  passTo(pass: (signal: PassedSignal) => void): { readonly release: () => void } {
    this.#pass = pass;
    return { release: () => this.passTo(() => undefined) };
  }

  [Symbol.dispose](): void {
    for (const release of this.#listeners) release();
  }
}

/**
 * Runs a program with the streams of this one, under the given name, and passes signals on to it. After a signal it
 * has ten seconds, and is then killed. Signals from a terminal reach it directly, and it may continue.
 * @returns Its exit code, or 128 plus the number of the signal that ended it.
 */
export async function runProgram(options: {
  readonly path: string;
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly relay: SignalRelay;
  readonly notify: (line: string) => void;
}): Promise<number> {
  const { path, command, environment, relay, notify } = options;
  const [argv0 = path, ...args] = command;
  const isAtTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  let child: ChildProcess;
  try {
    child = spawn(path, args, { argv0, env: environment, stdio: 'inherit' });
  } catch (error) {
    notify(`${argv0}: cannot be run (${(error as NodeJS.ErrnoException).code})`);
    return NOT_EXECUTABLE;
  }
  let killing: NodeJS.Timeout | undefined;
  const passing = relay.passTo((signal) => {
    if (isAtTerminal && OF_A_TERMINAL.has(signal)) return;
    child.kill(signal);
    killing ??= setTimeout(() => {
      notify(`${argv0} did not end within ${STOP_MS / 1000} s after ${signal}, so it is killed.`);
      child.kill('SIGKILL');
    }, STOP_MS);
  });
  child.once('exit', (code, signal) => end(signal === null ? (code ?? 1) : signalCode(signal)));
  child.once('error', ({ code }: NodeJS.ErrnoException) => {
    notify(`${argv0}: cannot be run (${code})`);
    end(code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE);
  });
  const result = await ended;
  clearTimeout(killing);
  passing.release();
  return result;
}
