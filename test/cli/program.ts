import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

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
  readonly input?: string;
}

/** A run that has not ended yet. */
export interface Running {
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Reads no further, as `head` does. */
  readonly stopReading: () => void;
  readonly ended: Promise<Run>;
}

/** Runs the built program as a process of its own, to its end. */
export function tokenctl(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return startTokenctl(args, options).ended;
}

/** Starts the built program as a process of its own. */
export function startTokenctl(args: readonly string[], { env = {}, input = '' }: RunOptions = {}): Running {
  const child = spawn(process.execPath, [join(root, 'bin/tokenctl.js'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: join(tmpdir(), 'tokenctl-nobody'), ...env },
  });
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
    child.on('error', reject).on('close', (code) => resolve({ stdout, stderr, code }));
  });
  return { kill: (signal) => child.kill(signal), stopReading: () => child.stdout.destroy(), ended };
}

/** A folder of this test's own, removed when it is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
