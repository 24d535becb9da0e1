import { CLIError } from '@oclif/core/errors';
import type { FlagInput } from '@oclif/core/interfaces';
import { parse } from '@oclif/core/parser';
import { z } from 'zod';
import { usageMistake } from '../cli/errors/usage-errors.ts';
import type { FlagsOf } from '../cli/flags/flags.ts';
import type { Form } from '../cli/flags/form.ts';
import { absolutePath, type Environment } from '../config/paths.ts';
import { DATABASE_FILE_CONTEXT } from '../config/schema.ts';
import { shellWord } from '../domain/remedies.ts';
import type { Work } from './operations.ts';
import type { Places } from './places.ts';

/** A change with its command: the flow that plans it, and its command line. */
export interface Prepared extends Work {
  /** The name of the command, if it differs from the request's. */
  readonly kind?: string;
  readonly command: string;
}

export interface Preparing {
  readonly places: Pick<Places, 'startedWith'>;
  /** Whether it is only planned, and writes no file. */
  readonly dryRun: boolean;
}

export const pathSchema = z.string().min(1).max(1000);

/** Also used as a folder name. */
export const incidentId = z.string().regex(/^[\w-]{1,100}$/);

/** Common members of change requests: the context, the reason and the ticket. */
export const account = {
  place: z.string().max(300),
  reason: z.string().max(1000).optional(),
  ticket: z.string().max(1000).optional(),
};

/** A query about one context. */
export const placeQuery = z.object({ place: z.string().max(300) });

/** Typed flags by name. A flag that is absent, off or empty is omitted. */
export type Typed = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A flag of a form as the page shows it. */
export type FormChoice = ReturnType<typeof choicesOf>[number];

/** The flags of a form that the page shows as check boxes. */
export function choicesOf({ flags, fields }: Form) {
  return Object.entries(fields).flatMap(([name, { label, scopes, onFor = [] }]) =>
    label === undefined
      ? []
      : {
          /** The member of the request. */
          name: memberOf(name),
          label,
          /** Whether `false` differs from an absent flag. */
          isSwitch: isSwitch(flags, name),
          /** The selection members that it can be used with; null for all. */
          scopes: scopes?.map(memberOf) ?? null,
          /** The selection members for which it is on by default. */
          onFor: onFor.map(memberOf),
        },
  );
}

/** The members of a request that are flags of a form, by their names in camel case. */
export function membersOf({ flags, fields }: Form): object {
  return Object.fromEntries(
    Object.keys(fields).map((name) => [memberOf(name), schemaOf(flags, name).optional()]),
  );
}

function schemaOf(flags: FlagInput, name: string): z.ZodType {
  const flag = flags[name];
  if (flag?.type === 'boolean') return z.boolean();
  if (flag?.options !== undefined) return z.enum([...flag.options]);
  return flag?.multiple === true ? z.array(z.string().min(1).max(300)).max(200) : pathSchema;
}

/** A form's flags in a request, as typed, with absolute paths. */
export function typedOf({ flags, fields }: Form, request: object, environment: Environment): Typed {
  const given = request as Typed;
  return Object.fromEntries(
    Object.keys(fields).map((name) => {
      const value = given[memberOf(name)];
      const isPath = flags[name]?.type === 'option' && flags[name].helpValue === 'FILE';
      return [name, isPath && typeof value === 'string' ? pathOf(value, environment) : value];
    }),
  );
}

function memberOf(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function isSwitch(flags: FlagInput, name: string): boolean {
  const flag = flags[name];
  return flag?.type === 'boolean' && flag.allowNo;
}

/**
 * An absolute path: `~/` is the home folder, and relative paths start in the folder in which the console was
 * started.
 * @throws TokenctlError `configuration`
 */
export function pathOf(path: string, environment: Environment): string {
  return absolutePath(path, process.cwd(), environment);
}

interface Request extends Preparing {
  /** The command with its arguments, as words of a shell. */
  readonly command: string;
  readonly typed: Typed;
  /** Shown instead of a `typed` that is too long, with a note of what is omitted. */
  readonly shown?: Typed;
  readonly comment?: string | undefined;
  readonly request: Account & { readonly place: string };
}

/**
 * The command line of a request, and the flags that the command's own parser gets from it, with its own
 * checks.
 * @returns The flags of the change, or of its dry run, which saves no plan.
 * @throws TokenctlError `usage` as the command does.
 */
export async function commandOf<Flags extends FlagInput>(
  flags: Flags,
  { command, typed, shown = typed, comment, request, places, dryRun }: Request,
): Promise<{ readonly command: string; readonly flags: FlagsOf<Flags> }> {
  const words = wordsOf(flags, { ...typed, ...accountOf(request) });
  const parsed = (await parse(words.map(joined), { flags, strict: true }).catch((error: unknown) => {
    throw (error instanceof CLIError && usageMistake(error)) || error;
  })) as { readonly flags: FlagsOf<Flags> };
  return {
    command: line([command, ...wordsOf(flags, shown).map(spaced)], { ...request, places, comment }),
    flags: dryRun ? { ...parsed.flags, 'plan-out': undefined, 'dry-run': true } : parsed.flags,
  };
}

type Word = readonly [flag: string, value?: string];

function wordsOf(flags: FlagInput, typed: Typed): Word[] {
  return Object.entries(typed).flatMap(([name, value]): Word[] => {
    if (value === undefined || value === '') return [];
    if (value === false) return isSwitch(flags, name) ? [[`--no-${name}`]] : [];
    if (value === true) return [[`--${name}`]];
    return [value].flat().map((each) => [`--${name}`, each]);
  });
}

function joined([flag, value]: Word): string {
  return value === undefined ? flag : `${flag}=${value}`;
}

/** A flag with its value; a value that starts with a dash would be parsed as a flag. */
function spaced([flag, value]: Word): string {
  if (value === undefined) return flag;
  return value.startsWith('-') ? `${flag}=${shellWord(value)}` : `${flag} ${shellWord(value)}`;
}

interface Account {
  readonly reason?: string | undefined;
  readonly ticket?: string | undefined;
}

/** The reason and the ticket as flags; a blank one is omitted. */
function accountOf({ reason, ticket }: Account): Typed {
  return { reason: reason?.trim() === '' ? '' : reason, ticket: ticket?.trim() === '' ? '' : ticket };
}

/** A command line that has the same effect in a terminal, with the flags of the console. */
export function line(
  words: readonly string[],
  given: Account & {
    /** Undefined if the command has none. */
    readonly place?: string | undefined;
    readonly places: Pick<Places, 'startedWith'>;
    readonly comment?: string | undefined;
  },
): string {
  const { place, places, comment } = given;
  return [
    'tokenctl',
    ...words,
    // The file's flag names that context.
    ...(place === undefined || place === DATABASE_FILE_CONTEXT ? [] : [`--context ${shellWord(place)}`]),
    ...wordsOf({}, accountOf(given)).map(spaced),
    ...places.startedWith,
    ...(comment === undefined ? [] : [`# ${comment}`]),
  ].join(' ');
}

/** Hours as an age for the command line: in minutes if they are not whole. */
export function ageText(hours: number): string {
  return Number.isInteger(hours) ? `${hours}h` : `${Math.max(1, Math.round(hours * 60))}m`;
}
