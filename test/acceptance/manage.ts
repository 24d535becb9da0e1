import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Description } from './description.ts';

const COMMAND_TIMEOUT_MS = 600_000;

/** What a program printed, and how it ended. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** Runs a program of the description in the folder of the description. */
async function runDescribed(
  { file }: Description,
  [program = '', ...first]: readonly string[],
  args: readonly string[],
): Promise<Ended> {
  const options = { cwd: dirname(file), timeout: COMMAND_TIMEOUT_MS, maxBuffer: 1e9 };
  try {
    const done = await promisify(execFile)(program, [...first, ...args], options);
    return { ...done, code: 0 };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (typeof code === 'number') return { stdout, stderr, code };
    throw new TokenctlError('configuration', `${program} cannot be run (${String(code ?? 'killed')}).`, {
      cause: error,
    });
  }
}

/** Runs a management command of the installation. */
export function manage(description: Description, ...args: readonly string[]): Promise<Ended> {
  const { manage: command } = description.commands;
  if (command === undefined) throw new Error('the description has no commands.manage');
  return runDescribed(description, command, args);
}

/** Brings the installation back to how it was, where the description has a command for it. Gives what is wrong, or null. */
export async function reset(description: Description): Promise<string | null> {
  const { reset: command } = description.commands;
  if (command === undefined) return null;
  const { code, stderr } = await runDescribed(description, command, []);
  return code === 0 ? null : `${command.join(' ')} ended with ${code}: ${stderr.trim()}`;
}
