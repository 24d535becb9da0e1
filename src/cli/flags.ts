import { boolean, custom, string } from '@oclif/core/flags';
import { TokenctlError } from '../domain/errors.ts';
import { parseAge } from './instants.ts';

/** The flags that say why something is changed. */
export const accountFlags = {
  reason: string({ summary: 'Why, for the audit log.', helpGroup: 'CHANGE', helpValue: 'TEXT' }),
  ticket: string({
    summary: 'The ticket it belongs to, for the audit log.',
    helpGroup: 'CHANGE',
    helpValue: 'ID',
  }),
};

/** The flags of every command that changes something. */
export const changeFlags = {
  'dry-run': boolean({ summary: 'Show what would be done, and do nothing.', helpGroup: 'CHANGE' }),
  yes: boolean({ summary: 'Do it without asking.', char: 'y', helpGroup: 'CHANGE' }),
  ...accountFlags,
};

/** What {@link accountFlags} parse to. */
export interface AccountFlags {
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
}

/** What {@link changeFlags} parse to. */
export interface ChangeFlags extends AccountFlags {
  readonly 'dry-run'?: boolean | undefined;
  readonly yes?: boolean | undefined;
}

/** For commands that work in several contexts as well. */
export const fleetFlags = {
  'all-contexts': boolean({
    summary: 'Work in every context. --context takes several as well, with commas, and groups.',
    helpGroup: 'GLOBAL',
    exclusive: ['context', 'database-file'],
  }),
};

/** For commands whose result is a list of rows. */
export const csvFlag = {
  csv: boolean({ summary: 'Print comma-separated values.', exclusive: ['json'] }),
};

/** A flag that takes a whole number above 0. */
export const count = custom<number>({
  parse: async (input) => wholeNumber(input),
});

function wholeNumber(input: string): number {
  const value = /^\d{1,15}$/.test(input) ? Number(input) : 0;
  if (value > 0) return value;
  throw new TokenctlError('usage', `"${input}" is not a whole number above 0.`);
}

/** A flag that takes a TCP port. 0, any free one, is none that could be told to others. */
export const port = custom<number>({
  parse: async (input) => portNumber(input),
});

function portNumber(input: string): number {
  const value = /^\d{1,5}$/.test(input) ? Number(input) : 0;
  if (value > 0 && value <= 65_535) return value;
  throw new TokenctlError('usage', `"${input}" is not a port: ports go from 1 to 65535.`);
}

const DAY = 86_400_000;

/** A flag that takes a length of time, as an age (`90d`) or as a bare number of days, and gives days. */
export const days = custom<number>({
  helpValue: 'AGE',
  parse: async (input) => parseAge(/^\d+$/.test(input) ? `${input}d` : input) / DAY,
});

/** A flag that takes a length of time, as an age (`12h`) or as a bare number of seconds, and gives seconds. */
export const seconds = custom<number>({
  helpValue: 'AGE',
  parse: async (input) => (/^[1-9]\d{0,11}$/.test(input) ? Number(input) : parseAge(input) / 1000),
});

/** A flag that takes an age (`30d`) and gives milliseconds. */
export const age = custom<number>({
  helpValue: 'AGE',
  parse: async (input) => parseAge(input),
});
