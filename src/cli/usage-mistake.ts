import type { CLIError } from '@oclif/core/errors';
import { nearestName } from '../config/nearest-name.ts';
import { TokenctlError } from '../core/errors.ts';

/** What the flag parser attaches to its errors, as far as it is used here. */
interface ParserError {
  readonly flags?: readonly string[];
  readonly parse?: { readonly input?: { readonly flags?: Readonly<Record<string, unknown>> } };
}

const SEE_HELP = 'Add --help to the command to see what it takes.';

/**
 * Turns an error of the command framework (a flag that does not exist, an argument too many, a missing
 * value) into a usage error in tokenctl's own terms, with the nearest flag that does exist.
 */
export function usageMistake(error: CLIError): TokenctlError {
  const { flags: unknown, parse } = error as unknown as ParserError;
  if (Array.isArray(unknown)) return unknownFlag(unknown.map(String), Object.keys(parse?.input?.flags ?? {}));
  return new TokenctlError('usage', oneLine(error.message), { hint: SEE_HELP, cause: error });
}

function unknownFlag(unknown: readonly string[], known: readonly string[]): TokenctlError {
  const message =
    unknown.length === 1
      ? `There is no flag ${unknown[0]} here.`
      : `There are no flags ${unknown.join(', ')} here.`;
  const nearest = unknown
    .map((flag) => nearestName(flag.replace(/^-+/, ''), known))
    .filter((name) => name !== undefined);
  const hint = nearest.length === 0 ? SEE_HELP : `Did you mean ${nearest.map((n) => `--${n}`).join(', ')}?`;
  return new TokenctlError('usage', message, { hint });
}

/** The framework breaks its messages into lines and appends its own pointer to the help. */
function oneLine(message: string): string {
  return message
    .replace(/\n?See more help with --help$/, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
}
