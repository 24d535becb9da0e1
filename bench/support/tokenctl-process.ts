import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const PROGRAM = join(import.meta.dirname, '../../bin/tokenctl.js');

/** What a whole run of the built program was. */
interface Run<Report> {
  /** What it printed as JSON. */
  readonly report: Report;
  /** From its start to its end, in milliseconds. */
  readonly whole: number;
  /** The most memory that was resident, in MB; 0 where the system does not tell. */
  readonly memory: number;
}

/** A place to run the built program in, with an audit log of its own. */
export class Tokenctl implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tokenctl-bench-'));

  /** Runs a command with `--json` on the database of this URL. */
  run<Report>(url: string, args: readonly string[]): Promise<Run<Report>> {
    return runProgram(args, {
      HOME: this.#folder,
      TOKENCTL_DATABASE: url,
      TOKENCTL_AUDIT_LOG: join(this.#folder, 'audit.jsonl'),
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/**
 * Runs a command of the built program with `--json` to its end.
 *
 * @param env Its whole environment but PATH.
 */
export async function runProgram<Report>(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Run<Report>> {
  const started = performance.now();
  const child = spawn(process.execPath, [PROGRAM, ...args, '--json'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let memory = 0;
  const watch = setInterval(() => {
    memory = Math.max(memory, mostResident(child.pid ?? 0));
  }, 20);
  const [printed, told, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  clearInterval(watch);
  if (code !== 0) throw new Error(`tokenctl ${args.join(' ')} ended with ${code}: ${told}${printed}`);
  return { report: JSON.parse(printed), whole: performance.now() - started, memory };
}

/** The most memory of a process that was resident, in MB; 0 where the system does not tell. */
function mostResident(pid: number): number {
  try {
    const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) / 1024;
  } catch {
    return 0; // it has ended
  }
}
