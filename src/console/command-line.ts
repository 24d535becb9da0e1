import { z } from 'zod';
import { absolutePath, type Environment } from '../config/paths.ts';
import { DATABASE_FILE_CONTEXT } from '../config/schema.ts';
import { TokenctlError } from '../domain/errors.ts';
import { shellWord } from '../domain/remedies.ts';
import type { Flow } from './operations.ts';
import type { Places } from './places.ts';

/** A change as its command: the flow that it runs, and how it is written in a terminal. */
export interface Prepared {
  /** The name of the command, where the request names another. */
  readonly kind?: string;
  readonly command: string;
  /** With `dryRun` it only plans, and writes no file. */
  readonly flow: (dryRun: boolean) => Flow;
}

/** A path on the machine of the console. */
export const pathSchema = z.string().min(1).max(1000);

/** What every request of a change has: the reason and the ticket. */
export const account = { reason: z.string().max(1000).optional(), ticket: z.string().max(1000).optional() };

/** How a change passes the rule of two persons. Members have the names of the command's flags. */
export const guards = {
  planOut: pathSchema.optional(),
  requireApproval: z.boolean().optional(),
  breakGlass: z.boolean().optional(),
};

interface Account {
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
}

interface Guards {
  readonly planOut?: string | undefined;
  readonly requireApproval?: boolean | undefined;
  readonly breakGlass?: boolean | undefined;
}

/** The reason and the ticket as flags; a blank one is left out. */
export function accountOf({ reason, ticket }: Account) {
  return {
    ...(reason !== undefined && reason.trim() !== '' && { reason }),
    ...(ticket !== undefined && ticket.trim() !== '' && { ticket }),
  };
}

/**
 * A path as the command takes it: `~/` is the home folder, and what is relative starts in the folder that the console was
 * started in.
 *
 * @throws TokenctlError `configuration`
 */
export function pathOf(path: string, environment: Environment): string {
  return absolutePath(path, process.cwd(), environment);
}

/**
 * The flags of the rule of two persons, and as words.
 *
 * @param alone What cannot be used while a plan is saved, by its flag, as far as it is given.
 * @throws TokenctlError `usage`
 */
export function guardsOf(
  { planOut, requireApproval, breakGlass }: Guards,
  { environment, alone }: { readonly environment: Environment; readonly alone: readonly string[] },
) {
  const refused = [...alone, ...(breakGlass === true ? ['--break-glass'] : [])];
  if (planOut !== undefined && refused.length > 0) {
    throw new TokenctlError('usage', `${refused[0]} cannot be used with --plan-out`);
  }
  const path = planOut === undefined ? undefined : pathOf(planOut, environment);
  return {
    /** Without a file: a plan that is only shown is not saved. */
    shown: {
      ...(requireApproval === true && { 'require-approval': true }),
      ...(breakGlass === true && { 'break-glass': true }),
    },
    saved: path === undefined ? {} : { 'plan-out': path },
    words: [
      ...(path === undefined ? [] : [option('--plan-out', path)]),
      ...(requireApproval === true ? ['--require-approval'] : []),
      ...(breakGlass === true ? ['--break-glass'] : []),
    ],
  };
}

/** A flag with its value; one that begins with a dash would be taken for a flag. */
export function option(flag: string, value: string): string {
  return value.startsWith('-') ? `${flag}=${shellWord(value)}` : `${flag} ${shellWord(value)}`;
}

/** A command line that means the same in a terminal: with what the console was started with. */
export function line(
  words: readonly string[],
  given: Account & {
    /** Undefined where the command has none. */
    readonly place?: string | undefined;
    readonly places: Pick<Places, 'startedWith'>;
    /** What follows the command as a comment. */
    readonly comment?: string | undefined;
  },
): string {
  const { place, places, comment, reason, ticket } = { ...given, ...accountOf(given) };
  return [
    'tokenctl',
    ...words,
    // The flag of the file names that context.
    ...(place === undefined || place === DATABASE_FILE_CONTEXT ? [] : [`--context ${shellWord(place)}`]),
    ...(reason ? [option('--reason', reason)] : []),
    ...(ticket ? [option('--ticket', ticket)] : []),
    ...places.startedWith,
    ...(comment === undefined ? [] : [`# ${comment}`]),
  ].join(' ');
}
