import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { custom as customArgument, string as textArgument } from '@oclif/core/args';
import { boolean, custom, option, string } from '@oclif/core/flags';
import type { Flag, FlagInput } from '@oclif/core/interfaces';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { NEVER_DAYS } from '@tokenctl/common/token-terms.ts';
import type { Runtime } from '../../app/runtime.ts';
import { type Selection, validateSelector } from '../../domain/selector.ts';
import { scopeWords } from '../../domain/token.ts';
import { DAY, instantOf, type Moment, parseAge, parseMoment } from './times.ts';

/** Puts flags under a heading of the help. */
export function inGroup<Flags extends FlagInput>(helpGroup: string, flags: Flags): Flags {
  const grouped = Object.entries(flags).map(([name, flag]) => [name, { ...flag, helpGroup }]);
  return Object.fromEntries(grouped) as Flags;
}

/** The flags that record the reason for a change. */
export const accountFlags = inGroup('CHANGE', {
  reason: string({ summary: 'The reason for the change, for the audit log.', helpValue: 'TEXT' }),
  ticket: string({ summary: 'The ticket of the change, for the audit log.', helpValue: 'ID' }),
});

/** For commands that do not ask for confirmation. */
export const dryRunFlag = inGroup('CHANGE', {
  'dry-run': boolean({ summary: 'Show what would change, without changing it.' }),
});

/** The flags of every command that asks before it changes something. */
export const changeFlags = {
  ...dryRunFlag,
  ...inGroup('CHANGE', { yes: boolean({ summary: 'Do not ask for confirmation.', char: 'y' }) }),
  ...accountFlags,
};

/** For reports that are written to a file. */
export const replaceFlag = {
  replace: boolean({ summary: 'Overwrite the --output file if it exists.', dependsOn: ['output'] }),
};

/** For changes under the four-eyes rule. */
export const breakGlassFlag = {
  'break-glass': boolean({
    summary: 'Continue without the approval that the configuration requires. Needs --reason.',
    helpGroup: 'CHANGE',
  }),
};

/** For commands that apply plans from files. */
export const approvalFlags = {
  ...inGroup('CHANGE', {
    'approval-file': string({
      summary: 'The approval file. Default: the name of the --plan file plus .approval.',
      dependsOn: ['plan'],
      helpValue: 'FILE',
    }),
    'require-approval': boolean({
      summary: "Require a second person's approval, regardless of the configuration.",
    }),
  }),
  ...breakGlassFlag,
};

/** For commands that save or apply plans; each command states what excludes them. */
export const planFlags = (own: Record<'plan' | 'plan-out', { summary: string; exclusive: string[] }>) => ({
  plan: string({ ...own.plan, helpGroup: 'SELECTION', helpValue: 'FILE' }),
  'plan-out': string({ ...own['plan-out'], helpGroup: 'CHANGE', helpValue: 'FILE' }),
});

/** The flag of `users offboard` for a directory that knows who has left. */
export const goneFlag = {
  gone: string({
    summary: 'Offboard the departed users of this configured directory.',
    helpValue: 'DIRECTORY',
  }),
};

/** The flags that end the access of users who cannot be deactivated. */
export const localFlags = inGroup('MEASURES', {
  'reset-password': boolean({
    summary:
      'Set a random password for the users, which is not stored. Ends their sessions on controller 24.6.1.',
  }),
  'strip-roles': boolean({ summary: 'Remove all roles of the users.' }),
  'end-applications': boolean({
    summary:
      'Delete the application, or the applications that the users created and only they have tokens of.',
  }),
});

/**
 * The parsed flags, as the flow of a command takes them. Only required flags are certain to be present,
 * because a flow is called with fewer flags than its command has.
 */
export type FlagsOf<Flags extends FlagInput> = {
  readonly [Name in keyof Flags as IsRequired<Flags[Name]> extends true ? Name : never]: Parsed<Flags[Name]>;
} & {
  readonly [Name in keyof Flags as IsRequired<Flags[Name]> extends true ? never : Name]?:
    | Parsed<Flags[Name]>
    | undefined;
};

type Parsed<Of> =
  Of extends Flag<infer Value> ? (Value extends (infer Each)[] ? readonly Each[] : Value) : never;

type IsRequired<Of> = undefined extends Parsed<Of> ? false : Parsed<Of> extends boolean ? false : true;

export type AccountFlags = FlagsOf<typeof accountFlags>;

export type ChangeFlags = FlagsOf<typeof changeFlags>;

/** The parsed flags of changes that concern the four-eyes rule. */
export type PlanFlags = ChangeFlags & FlagsOf<ReturnType<typeof planFlags> & typeof approvalFlags>;

export type LocalFlags = FlagsOf<typeof localFlags>;

/** For commands that can run in several contexts. */
export const allContextsFlag = {
  'all-contexts': boolean({
    summary: 'Run in all contexts. --context also takes a comma-separated list, or a group.',
    helpGroup: 'GLOBAL',
    exclusive: ['context', 'database-file'],
  }),
};

export const serviceDatabaseFlags = inGroup('DATABASE', {
  data: string({
    summary:
      'The directory of the embedded database. Default: tokenctl/service in $XDG_STATE_HOME or ~/.local/state.',
    exclusive: ['database', 'database-file'],
    helpValue: 'DIR',
  }),
  database: string({
    summary: 'A postgres:// URL without a password.',
    exclusive: ['database-file'],
    helpValue: 'URL',
  }),
  'database-file': string({ summary: 'A file with mode 0600 with a postgres:// URL.', helpValue: 'FILE' }),
});

/** For commands that print a list. */
export const csvFlag = { csv: boolean({ summary: 'Print CSV.', exclusive: ['json'] }) };

/** A flag for an integer above 0. */
export const count = custom<number>({ parse: async (input) => wholeNumber(input) });

/** An argument for an integer above 0. */
export const countArgument = customArgument<number>({ parse: async (input) => wholeNumber(input) });

/** A required argument: one of `options`, if given. */
export const requiredArgument = (description: string, options?: string[]) =>
  textArgument({ description, required: true, ...(options && { options }), ignoreStdin: true });

export const optionalArgument = (description: string) => textArgument({ description, ignoreStdin: true });

export const applicationArgument = requiredArgument('The name of the application.');

/** Selects one of several applications with the same name. */
export const applicationIdFlag = {
  id: count({ summary: 'The application ID, if several have the same name.', helpValue: 'NUMBER' }),
};

function wholeNumber(input: string): number {
  const value = /^\d{1,15}$/.test(input) ? Number(input) : 0;
  if (value > 0) return value;
  throw new TokenctlError('usage', `Invalid number "${input}": expected a whole number above 0.`);
}

/** A flag for a TCP port, from 1 to 65535. */
export const port = custom<number>({ parse: async (input) => portNumber(input) });

function portNumber(input: string): number {
  const value = /^\d{1,5}$/.test(input) ? Number(input) : 0;
  if (value > 0 && value <= 65_535) return value;
  throw new TokenctlError('usage', `Invalid port "${input}": expected 1 to 65535.`);
}

/** A flag for a duration, as an age (`90d`) or a number of days; gives days. */
export const days = custom<number>({
  helpValue: 'AGE',
  parse: async (input) => parseAge(/^\d+$/.test(input) ? `${input}d` : input) / DAY,
});

/** A flag for a duration, as an age (`12h`) or a number of seconds; gives seconds. */
export const seconds = custom<number>({
  helpValue: 'AGE',
  parse: async (input) => (/^[1-9]\d{0,11}$/.test(input) ? Number(input) : parseAge(input) / 1000),
});

/** A flag for an age (`30d`); gives milliseconds. */
export const age = custom<number>({ helpValue: 'AGE', parse: async (input) => parseAge(input) });

/** A flag for a point in time, or an age. */
export const moment = custom<Moment>({ helpValue: 'WHEN', parse: async (input) => parseMoment(input) });

/** Requires a readable file. Throws `configuration`, naming it as `what`: `The file of --ca-file`. */
export function requireReadable(path: string, what: string): void {
  const problem = problemWith(path);
  if (problem !== undefined) {
    throw new TokenctlError('configuration', `${what}, ${path}, ${problem}`, { hint: 'Check the path.' });
  }
}

function problemWith(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isFile() ? undefined : 'is not a file';
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
  }
}

const SEVERAL = { multiple: true, multipleNonGreedy: true } as const;

/** The flags that select tokens. Different flags narrow the selection; repeating a flag widens it. */
export const selectorFlags = inGroup('SELECTION', {
  user: string({
    ...SEVERAL,
    summary: "Select tokens of this user. * and ? are wildcards: 'ci-*'.",
    helpValue: 'NAME',
  }),
  'not-user': string({
    ...SEVERAL,
    summary: "Exclude tokens of this user. Wildcards are allowed: 'ci-*'.",
    helpValue: 'NAME',
  }),
  organization: string({
    ...SEVERAL,
    summary: "Select tokens of this organization's members and administrators. Wildcards are allowed.",
    helpValue: 'NAME',
  }),
  team: string({
    ...SEVERAL,
    summary:
      "Select tokens of this team's members and administrators. Use ORGANIZATION/TEAM if several share the name.",
    helpValue: 'NAME',
  }),
  application: string({
    ...SEVERAL,
    summary: 'Select tokens of this application. Wildcards are allowed.',
    helpValue: 'NAME',
  }),
  'not-application': string({
    ...SEVERAL,
    summary: 'Exclude tokens of this application. Wildcards are allowed.',
    helpValue: 'NAME',
  }),
  'owner-inactive': boolean({ summary: 'Select tokens of deactivated users.' }),
  scope: option({ options: scopeWords })({
    summary: 'Select tokens with this scope. Only recent gateways have openid and roles.',
  }),
  description: string({
    ...SEVERAL,
    summary: "Select tokens with this description. Wildcards are allowed: 'nightly *'.",
    helpValue: 'PATTERN',
  }),
  'created-before': moment({
    summary: 'Select tokens created before this date, or longer ago than this (30d).',
  }),
  'created-after': moment({
    summary: 'Select tokens created on or after this date, or within this time (7d).',
  }),
  'unused-for': age({
    summary:
      'Select tokens unused for this long (90d), including tokens that were never used and are at least this old.',
  }),
  'never-used': boolean({ summary: 'Select tokens that were never used.' }),
  expired: boolean({ summary: 'Select expired tokens.' }),
  'expires-within': age({
    summary: 'Select unexpired tokens that expire within this time (30d).',
    exclusive: ['expired'],
  }),
  'never-expires': boolean({
    summary: 'Select tokens that expire more than 100 years from now.',
    exclusive: ['expired', 'expires-within'],
  }),
  finding: string({
    ...SEVERAL,
    summary: 'Select tokens that violate this policy rule. Other selection flags narrow the result.',
    helpValue: 'RULE',
  }),
  id: count({ ...SEVERAL, summary: 'Select the token with this ID.', helpValue: 'NUMBER' }),
});

/** The policy for `--finding`. */
export const findingPolicyFlag = {
  policy: string({
    summary: "The policy file to use instead of the configuration's policy section.",
    dependsOn: ['finding'],
    helpGroup: 'SELECTION',
    helpValue: 'FILE',
  }),
};

/** The parsed {@link selectorFlags}, and `--all`. */
type SelectorFlags = Omit<FlagsOf<typeof selectorFlags>, 'finding'> & { readonly all?: boolean | undefined };

/** A token with a later expiry never expires, as in the rule `never-expires`. */
const NEVER_AFTER = NEVER_DAYS * DAY;

/** The selection from the flags. Throws `usage` if no flag is given, or --all with another selection flag. */
export function selectionFrom(flags: SelectorFlags, now: Date): Selection {
  const selection = criteriaOf(flags, () => now);
  validateSelector(selection);
  return selection;
}

/** The selection from the flags, for read-only commands; all tokens if no flag is given. */
export function selectionOrAllFrom(flags: SelectorFlags, now: Date): Selection {
  const selection = criteriaOf(flags, () => now);
  return Object.keys(selection).length === 0 ? { all: true } : selection;
}

/** The reference time for ages: the controller's, which is read only if flags have ages. */
export async function instantFor(flags: SelectorFlags, runtime: Runtime): Promise<Date> {
  let isAsked = false;
  criteriaOf(flags, () => {
    isAsked = true;
    return runtime.clock.now();
  });
  return (isAsked ? await runtime.targetClock() : runtime.clock).now();
}

type CriteriaOf<Name extends keyof SelectorFlags> = (
  value: NonNullable<SelectorFlags[Name]>,
  /** Called only by flags that depend on the current time. */
  now: () => Date,
) => Selection | false;

const later = (now: Date, milliseconds: number) => new Date(now.getTime() + milliseconds);

const timeOf = (moment: Moment, now: () => Date) => ('at' in moment ? moment.at : instantOf(moment, now()));

const CRITERIA: { readonly [Name in keyof SelectorFlags]-?: CriteriaOf<Name> } = {
  all: (all) => all && { all },
  id: (ids) => ({ ids }),
  user: (patterns) => ({ users: patterns.map((pattern) => ({ pattern })) }),
  'not-user': (notUsers) => ({ notUsers }),
  organization: (patterns) => ({ organizations: patterns.map((pattern) => ({ pattern })) }),
  team: (patterns) => ({ teams: patterns.map((pattern) => ({ pattern })) }),
  application: (patterns) => ({ applications: patterns.map((pattern) => ({ pattern })) }),
  'not-application': (notApplications) => ({ notApplications }),
  'owner-inactive': (ownerInactive) => ownerInactive && { ownerInactive },
  scope: (scope) => ({ scope }),
  description: (descriptions) => ({ descriptions }),
  'created-before': (moment, now) => ({ createdBefore: timeOf(moment, now) }),
  'created-after': (moment, now) => ({ createdSince: timeOf(moment, now) }),
  'unused-for': (ago, now) => ({ unusedSince: instantOf({ ago }, now()) }),
  'never-used': (neverUsed) => neverUsed && { neverUsed },
  expired: (expired, now) => expired && { expiredAt: now() },
  'expires-within': (age, now) => ({ expiresAfter: now(), expiredAt: later(now(), age) }),
  'never-expires': (never, now) => never && { expiresAfter: later(now(), NEVER_AFTER) },
};

/** Throws `usage` for two flags with one criterion: the second alone would select more than both. */
function criteriaOf(flags: SelectorFlags, now: () => Date): Selection {
  const of = <Name extends keyof SelectorFlags>(name: Name) => {
    const value = flags[name];
    return value === undefined ? {} : CRITERIA[name](value as NonNullable<SelectorFlags[Name]>, now) || {};
  };
  const criteria = new Map<string, unknown>();
  for (const name of Object.keys(CRITERIA) as (keyof SelectorFlags)[]) {
    for (const [criterion, value] of Object.entries(of(name))) {
      if (criteria.has(criterion))
        throw new TokenctlError('usage', `--${name} sets the same criterion as another selection flag`);
      criteria.set(criterion, value);
    }
  }
  return Object.fromEntries(criteria);
}

export function jsonIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
