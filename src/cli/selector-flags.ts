import { boolean, custom, option, string } from '@oclif/core/flags';
import { requireMeaning, type Selector } from '../domain/selector.ts';
import { count } from './flags.ts';
import { instantOf, type Moment, parseAge, parseMoment } from './instants.ts';

const SEVERAL = { multiple: true, multipleNonGreedy: true, helpGroup: 'SELECTION' } as const;
const ONE = { helpGroup: 'SELECTION' } as const;

/** The flags that select tokens. Several kinds narrow the selection; one kind several times widens it. */
export const selectorFlags = {
  user: string({ ...SEVERAL, summary: 'Tokens of this user.', helpValue: 'NAME' }),
  application: string({ ...SEVERAL, summary: 'Tokens issued to this application.', helpValue: 'NAME' }),
  scope: option({ options: ['read', 'write'] as const })({
    ...ONE,
    summary: 'Tokens whose scope includes this one.',
  }),
  'created-before': custom<Moment>({ parse: async (input) => parseMoment(input) })({
    ...ONE,
    summary: 'Tokens made before a date, or longer ago than an age (30d).',
    helpValue: 'WHEN',
  }),
  'unused-for': custom<number>({ parse: async (input) => parseAge(input) })({
    ...ONE,
    summary: 'Tokens not used for that long (90d), those never used and as old included.',
    helpValue: 'AGE',
  }),
  expired: boolean({ ...ONE, summary: 'Tokens that have expired.' }),
  id: count({ ...SEVERAL, summary: 'The token with this id.', helpValue: 'NUMBER' }),
};

/** What {@link selectorFlags} parse to, and `--all` where a command has it. */
export interface SelectorFlags {
  readonly user?: readonly string[] | undefined;
  readonly application?: readonly string[] | undefined;
  readonly scope?: 'read' | 'write' | undefined;
  readonly 'created-before'?: Moment | undefined;
  readonly 'unused-for'?: number | undefined;
  readonly expired?: boolean | undefined;
  readonly id?: readonly number[] | undefined;
  readonly all?: boolean | undefined;
}

/**
 * The selector that the flags mean.
 *
 * @throws TokenctlError `usage` where they select nothing, or everything and something beside
 */
export function selectorFrom(flags: SelectorFlags, now: Date): Selector {
  const selector = criteriaOf(flags, now);
  requireMeaning(selector);
  return selector;
}

/** The same for commands that only read: without any flag they mean every token. */
export function selectorOrAllFrom(flags: SelectorFlags, now: Date): Selector {
  const selector = criteriaOf(flags, now);
  return Object.keys(selector).length === 0 ? { all: true } : selector;
}

function criteriaOf(flags: SelectorFlags, now: Date): Selector {
  const { user, application, scope, expired, id, all } = flags;
  const createdBefore = flags['created-before'];
  const unusedFor = flags['unused-for'];
  return {
    ...(all === true && { all: true }),
    ...(id !== undefined && { ids: id }),
    ...(user !== undefined && { users: user }),
    ...(application !== undefined && { applications: application }),
    ...(scope !== undefined && { scope }),
    ...(createdBefore !== undefined && { createdBefore: instantOf(createdBefore, now) }),
    ...(unusedFor !== undefined && { unusedSince: instantOf({ ago: unusedFor }, now) }),
    ...(expired === true && { expiredAt: now }),
  };
}
