import { fileURLToPath } from 'node:url';
import { Config } from '@oclif/core/config';
import { CLIError } from '@oclif/core/errors';
import { run } from '@oclif/core/run';
import { obeyNoColor, surviveStreamErrors } from './output/streams.ts';

/**
 * Runs a command and sets the exit code. All errors are reported here, so that text and JSON mode exit the same way.
 * @param argv the arguments after the program's name
 * @param url the URL of a module of this package; the command framework finds the package root from it
 */
export async function main(argv: string[], url: string): Promise<void> {
  surviveStreamErrors();
  let words: readonly string[] = argv;
  try {
    words = await asTyped(argv);
    obeyNoColor(words, process.env);
    await run([...words], frameworkOptions(url));
  } catch (error) {
    const { reportFailure } = await import('./output/report-failure.ts');
    process.exitCode = await reportFailure(await explained(error, words, url), words);
  }
}

/** Disables the framework's user plugins: a program that holds credentials must not load foreign code. */
function frameworkOptions(url: string) {
  return { root: fileURLToPath(url), userPlugins: false, devPlugins: false };
}

/** Supports `tokenctl help tokens list`, and the options of management commands, whose names have underscores. */
async function asTyped(argv: readonly string[]): Promise<readonly string[]> {
  if (argv[0] === 'help') return [...argv.slice(1), '--help'];
  if (argv[0]?.includes('_') !== true) return argv;
  const { managementArguments } = await import('./flags/management-options.ts');
  return managementArguments(argv);
}

/** Replaces the framework's error if the command does not exist. */
async function explained(error: unknown, argv: readonly string[], url: string): Promise<unknown> {
  if (!(error instanceof CLIError)) return error;
  const { unknownCommand } = await import('./errors/usage-errors.ts');
  return unknownCommand(argv, await Config.load(frameworkOptions(url))) ?? error;
}
