import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { constants as systemConstants } from 'node:os';
import { delimiter, resolve } from 'node:path';

/** Signals that are passed on to a program, and then bound its time. */
const SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const;

type PassedSignal = (typeof SIGNALS)[number];

/** Those that a terminal sends to the program as well. */
const OF_A_TERMINAL: ReadonlySet<PassedSignal> = new Set(['SIGINT', 'SIGQUIT']);

/** For how long a program may go on after a signal, in milliseconds. */
const STOP_MS = 10_000;

/** The exit codes of shells. */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/** A program that was found, or why it cannot be run, with the exit code of shells for that. */
export type FoundProgram =
  | { readonly path: string }
  | { readonly path: null; readonly why: string; readonly code: number };

/** Finds a program as a shell does: a name with a slash is a path, any other is looked for in PATH. */
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

/** The exit code of shells for what a signal ended. */
export function signalCode(signal: NodeJS.Signals): number {
  return 128 + systemConstants.signals[signal];
}

/** Catches signals for as long as a token is there: they end the program, and never this one before the token is revoked. */
export class SignalRelay {
  /** The first signal. */
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

  /** Passes signals on from now on. Until then, and after `release`, they are only noted. */
  passTo(pass: (signal: PassedSignal) => void): { readonly release: () => void } {
    this.#pass = pass;
    return { release: () => this.passTo(() => undefined) };
  }

  [Symbol.dispose](): void {
    for (const release of this.#listeners) release();
  }
}

/**
 * Runs a program, by its name as it was given, with the streams of this one, and passes signals on to it.
 * After a signal it has ten seconds, then it is killed; what a terminal sends, it has from there, and may go
 * on.
 * @returns Its exit code; 128 and the number of the signal that ended it.
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
