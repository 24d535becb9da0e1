import { spawn } from 'node:child_process';
import type { Environment } from '../../config/paths.ts';
import { TokenctlError } from '../../domain/errors.ts';

/** Runs commands as a person would type them, and tells what it does. */
export interface Shell {
  /** Prints a paragraph of the story. */
  say(text: string): void;
  /**
   * Shows a command line, runs the program with it and lets it print.
   *
   * @param expected The exit code that the story is about.
   * @throws TokenctlError `target_misbehaved` where it ends with another one: then the story is not true.
   */
  run(
    line: string,
    options?: { readonly expected?: number; readonly environment?: Environment },
  ): Promise<void>;
}

/** Makes a {@link Shell} for the program at `program`, whose commands find their target in `environment`. */
export function shell(program: string, environment: Environment): Shell {
  return {
    say(text) {
      process.stdout.write(`\n${text}\n`);
    },
    async run(line, { expected = 0, environment: further = {} } = {}) {
      process.stdout.write(`\n$ tokenctl ${line}\n`);
      const child = spawn(process.execPath, [program, ...words(line)], {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...environment, ...further },
      });
      const exit = await new Promise<number | null>((resolve, reject) => {
        child.on('error', reject).on('exit', resolve);
      });
      if (exit === expected) return;
      throw new TokenctlError('target_misbehaved', `The demo expected exit code ${expected} and got ${exit}`);
    },
  };
}

/** Splits a command line at spaces, quoted parts kept whole. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}
