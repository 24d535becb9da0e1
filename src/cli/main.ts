import { fileURLToPath } from 'node:url';
import { Config } from '@oclif/core/config';
import { CLIError } from '@oclif/core/errors';
import { run } from '@oclif/core/run';
import { surviveStreamErrors } from './output/streams.ts';

/**
 * Runs the command that the arguments name, and sets the exit code. Every error of every command ends
 * here, so that text and JSON mode cannot differ in how the program exits.
 *
 * @param argv the arguments after the program's name
 * @param url the URL of a module of the package, from which the command framework finds its root
 */
export async function main(argv: string[], url: string): Promise<void> {
  surviveStreamErrors();
  try {
    await run(asHelpFlag(argv), frameworkOptions(url));
  } catch (error) {
    const { reportFailure } = await import('./errors/report-failure.ts');
    process.exitCode = await reportFailure(await explained(error, argv, url), argv);
  }
}

/**
 * Where the package is. The framework would also load plugins that a folder of the user's names: code
 * that nobody asked for, in a program that holds credentials.
 */
function frameworkOptions(url: string) {
  return { root: fileURLToPath(url), userPlugins: false, devPlugins: false };
}

/** `tokenctl help tokens list` is what many try first. */
function asHelpFlag(argv: string[]): string[] {
  return argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
}

/** The framework's own errors do not say whether the command exists at all. */
async function explained(error: unknown, argv: readonly string[], url: string): Promise<unknown> {
  if (!(error instanceof CLIError)) return error;
  const { unknownCommand } = await import('./errors/usage-errors.ts');
  return unknownCommand(argv, await Config.load(frameworkOptions(url))) ?? error;
}
