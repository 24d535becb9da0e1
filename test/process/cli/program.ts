import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { WAIT_LIMIT_MS } from '@tokenctl/testing/limits.ts';
import { onTestFinished } from 'vitest';
import { requireDescribed } from '../../support/json-output.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRAM = join(root, 'bin/tokenctl.js');

/** What a run of the program left behind. */
export interface Run {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** How to run the program, besides its arguments. */
export interface RunOptions {
  /** The whole environment but PATH: nothing of the machine's own configuration gets in. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads on stdin; nothing by default. */
  readonly input?: string;
  /** The program's file, for a process of its own; that of the repository by default. */
  readonly program?: string;
}

/** A run that has not ended yet. */
export interface Running {
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Reads no further, as `head` does. */
  readonly stopReading: () => void;
  /** Resolves once stderr matches, with what matched; rejects if the run ends before. */
  readonly says: (pattern: RegExp) => Promise<string>;
  readonly ended: Promise<Run>;
}

/**
 * Runs a command of the built program to its end, inside this process: several times as fast as a process of its own.
 * Runs wait for each other, because environment and streams belong to the process. What the process itself does
 * (signals, locks, start-up, terminals) takes {@link startTokenctl}.
 */
export function tokenctl(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const run = queue.then(() => runHere(args, options));
  queue = run.catch(() => undefined);
  return run;
}

let queue: Promise<unknown> = Promise.resolve();

async function runHere(args: readonly string[], { env = {}, input = '' }: RunOptions): Promise<Run> {
  const { main } = (await import(pathToFileURL(join(root, 'dist/src/cli/main.js')).href)) as {
    main: (argv: string[], url: string) => Promise<void>;
  };
  const outer = { env: { ...process.env }, exitCode: process.exitCode, stdin: process.stdin };
  replaceEnvironment(environmentOf(env));
  const stdout = capture(process.stdout);
  const stderr = capture(process.stderr);
  process.exitCode = undefined;
  replaceInput(Readable.from([Buffer.from(input)], { objectMode: false }));
  let ended: Run;
  try {
    await main([...args], pathToFileURL(PROGRAM).href);
    ended = { stdout: stdout.end(), stderr: stderr.end(), code: Number(process.exitCode ?? 0) };
  } finally {
    stdout.end();
    stderr.end();
    process.exitCode = outer.exitCode;
    replaceInput(outer.stdin);
    replaceEnvironment(outer.env);
  }
  requireDescribed(args, ended.stdout);
  return ended;
}

function replaceInput(value: Readable): void {
  Object.defineProperty(process, 'stdin', { value, configurable: true, writable: true });
}

/** Keeps what is written to a stream until `end`, which gives it back. */
function capture(stream: NodeJS.WriteStream): { end(): string } {
  const write = stream.write;
  let text = '';
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    const done = rest.find((each) => typeof each === 'function') as (() => void) | undefined;
    if (done !== undefined) setImmediate(done);
    return true;
  };
  return {
    end() {
      stream.write = write;
      return text;
    },
  };
}

/** In place: the home folder is read from the process's own environment, not from the object. */
function replaceEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
}

function environmentOf(env: Readonly<Record<string, string>>): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return { PATH, NODE_COMPILE_CACHE, HOME: join(tmpdir(), 'tokenctl-nobody'), ...env };
}

/** Starts the built program as a process of its own. */
export function startTokenctl(args: readonly string[], options: RunOptions = {}): Running {
  const { env = {}, input = '', program = PROGRAM } = options;
  const child = spawn(process.execPath, [program, ...args], { env: environmentOf(env) });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => undefined).end(input);
  const ended = new Promise<Run>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => {
      try {
        requireDescribed(args, stdout);
        resolve({ stdout, stderr, code });
      } catch (error) {
        reject(error);
      }
    });
  });
  const says = async (pattern: RegExp) => {
    const limit = AbortSignal.timeout(WAIT_LIMIT_MS);
    while (!pattern.test(stderr)) {
      const next = once(child.stderr, 'data', { signal: limit }).then(
        () => null,
        () => {
          throw new Error(`Waited in vain for ${pattern}: ${stderr}`);
        },
      );
      const run = await Promise.race([next, ended]);
      if (run !== null && !pattern.test(run.stderr))
        throw new Error(`Ended without ${pattern}: ${run.stderr}`);
    }
    return pattern.exec(stderr)?.[0] ?? '';
  };
  return { kill: (signal) => child.kill(signal), stopReading: () => child.stdout.destroy(), says, ended };
}

/** A folder of this test's own, removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
