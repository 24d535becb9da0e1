import { TokenctlError } from '@tokenctl/common/errors.ts';
import { matchesAny } from './policy/subject.ts';
import type { ScopeWord, Token } from './token.ts';

/**
 * Selects tokens. A token must match every criterion that is present; of a criterion with several values it
 * must match one. A selector without criteria is invalid: selecting every token takes `all: true`, so that
 * missing flags never revoke everything.
 */
export interface Selector {
  /** Every token of the target. Excludes all other criteria. */
  readonly all?: true;
  readonly ids?: readonly number[];
  /** User names, exactly. */
  readonly users?: readonly string[];
  /**
   * The ids of `users`: then these alone select, whatever the users are called by now, and the names are for messages. Never
   * without `users`.
   */
  readonly userIds?: readonly number[];
  /** Application names, exactly. */
  readonly applications?: readonly string[];
  /** The same for `applications`. */
  readonly applicationIds?: readonly number[];
  /** Leaves out the tokens of users whose name is one of these, or matches one as a pattern with `*` and `?`. */
  readonly notUsers?: readonly string[];
  /** The same for applications. Personal access tokens stay. */
  readonly notApplications?: readonly string[];
  /** Tokens whose scope includes this word. */
  readonly scope?: ScopeWord;
  /** Whose description is one of these, or matches one as a pattern with `*` and `?`. */
  readonly descriptions?: readonly string[];
  /** Made before this instant. */
  readonly createdBefore?: Date;
  /** Made at this instant or later. */
  readonly createdSince?: Date;
  /** Last used before this instant, or never used and made before it. */
  readonly unusedSince?: Date;
  readonly neverUsed?: true;
  /** Expired at or before this instant. */
  readonly expiredAt?: Date;
  /** Expires after this instant. */
  readonly expiresAfter?: Date;
  /** No token: what a selection comes to if no user is deactivated and only those are meant. */
  readonly none?: true;
}

/** What a criterion asks of a column of the access token; `used` is its last use, or its creation if it was never used. */
export type Comparison =
  | { readonly column: 'created' | 'expires'; readonly is: '<' | '<=' | '>' | '>='; readonly to: Date }
  | { readonly column: 'used'; readonly is: '<'; readonly to: Date }
  | { readonly column: 'lastUsed'; readonly is: 'null' }
  | { readonly column: 'scope'; readonly is: 'with'; readonly to: ScopeWord }
  /** To one of these patterns. */
  | { readonly column: 'description'; readonly is: 'like'; readonly to: readonly string[] };

/** The criteria about the token itself, each by what it compares: targets make their queries from it, pages their filters. */
const COMPARISONS = {
  scope: (word: ScopeWord) => ({ column: 'scope', is: 'with', to: word }),
  descriptions: (patterns: readonly string[]) => ({ column: 'description', is: 'like', to: patterns }),
  createdBefore: (at: Date) => ({ column: 'created', is: '<', to: at }),
  createdSince: (at: Date) => ({ column: 'created', is: '>=', to: at }),
  unusedSince: (at: Date) => ({ column: 'used', is: '<', to: at }),
  neverUsed: () => ({ column: 'lastUsed', is: 'null' }),
  expiredAt: (at: Date) => ({ column: 'expires', is: '<=', to: at }),
  expiresAfter: (at: Date) => ({ column: 'expires', is: '>', to: at }),
} satisfies {
  readonly [Name in Exclude<
    keyof Selector,
    'all' | 'ids' | 'none' | keyof Whose | 'notUsers' | 'notApplications'
  >]-?: (value: NonNullable<Selector[Name]>) => Comparison;
};

/** The criteria of a selector that are about the token itself. */
export type TokenCriteria = {
  readonly [Name in keyof typeof COMPARISONS]?: Selector[Name] | undefined;
};

/** What criteria compare; a token has to meet all of it. */
export function comparisonsOf(criteria: TokenCriteria): Comparison[] {
  const of = <Name extends keyof TokenCriteria>(name: Name): Comparison[] => {
    const value = criteria[name];
    const comparison = COMPARISONS[name] as (value: NonNullable<TokenCriteria[Name]>) => Comparison;
    return value === undefined ? [] : [comparison(value)];
  };
  return (Object.keys(COMPARISONS) as (keyof TokenCriteria)[]).flatMap(of);
}

const ORDERS = {
  '<': (one: Date, other: Date) => one < other,
  '<=': (one: Date, other: Date) => one <= other,
  '>': (one: Date, other: Date) => one > other,
  '>=': (one: Date, other: Date) => one >= other,
};

/**
 * Whether a token meets a comparison; false for its last use where the target does not tell it. As in the queries of targets, each
 * way to compare is looked up by its name: a new one is an error of types until all know it, where it would select too much.
 */
export function meets(token: Token, comparison: Comparison): boolean {
  switch (comparison.column) {
    case 'scope':
      return { with: token.scope.split(' ').includes(comparison.to) }[comparison.is];
    case 'description':
      return { like: matchesAny(token.description, comparison.to) }[comparison.is];
    case 'lastUsed':
      return { null: token.lastUsed === null }[comparison.is];
    case 'used':
      return (
        token.lastUsed !== undefined && ORDERS[comparison.is](token.lastUsed ?? token.created, comparison.to)
      );
    default:
      return ORDERS[comparison.is](token[comparison.column], comparison.to);
  }
}

/**
 * A selection as it is written: names may be patterns, and users can be selected by their state. It is
 * resolved with a target to the exact names of a {@link Selector}.
 */
export interface Selection
  extends Omit<Selector, 'users' | 'userIds' | 'applications' | 'applicationIds' | 'none'> {
  readonly users?: readonly NamePattern[];
  readonly applications?: readonly NamePattern[];
  /** Tokens of members and administrators of these organizations. */
  readonly organizations?: readonly NamePattern[];
  /** The same for teams: `Ops`, or with the organization `Eng/Ops`. */
  readonly teams?: readonly NamePattern[];
  /** Tokens of deactivated users. */
  readonly ownerInactive?: true;
}

/** Whether a selection means users by what they are members and administrators of. */
export function isByGroup({ organizations, teams }: Selection): boolean {
  return organizations !== undefined || teams !== undefined;
}

/** A name, or a pattern in which `*` is any characters and `?` one; a backslash before them makes them plain. */
export interface NamePattern {
  readonly pattern: string;
}

/** The one name that a pattern means; null if it has a wildcard. */
export function exactName(pattern: string): string | null {
  return /(?<!\\)[*?]/.test(pattern) ? null : pattern.replaceAll(/\\([*?])/g, '$1');
}

/** A name as the pattern that means exactly this name. */
export function patternOf(name: string): string {
  return name.replaceAll(/[*?]/g, '\\$&');
}

/** Whether a selector's negations leave out a token; for targets, which have no filter for patterns. */
export function isLeftOut(
  { notUsers, notApplications }: Selector,
  { user, application }: Pick<Token, 'user' | 'application'>,
): boolean {
  return (
    (notUsers !== undefined && user !== null && matchesAny(user.username, notUsers)) ||
    (notApplications !== undefined && application !== null && matchesAny(application.name, notApplications))
  );
}

/** Of a page of tokens, those that a selector's negations keep. */
export function keptOf<Kept extends Pick<Token, 'user' | 'application'>>(
  page: readonly Kept[],
  selector: Selector,
): readonly Kept[] {
  const { notUsers, notApplications } = selector;
  if (notUsers === undefined && notApplications === undefined) return page;
  return page.filter((token) => !isLeftOut(selector, token));
}

/**
 * The users and applications of a selector that has no other criteria: it also means what these users and
 * applications have in addition to access tokens. Null if it has a criterion that only an access token can
 * meet.
 */
export function wholeSelection(selector: Selector): Whose | null {
  const { all: _all, users: _u, userIds: _i, applications: _a, applicationIds: _j, ...others } = selector;
  return Object.values(others).some((value) => value !== undefined) ? null : whoseOf(selector);
}

/** Whose and from which applications: what a selector of tokens of any kind may have. */
export type Whose = Pick<Selector, 'users' | 'userIds' | 'applications' | 'applicationIds'>;

/** The users and applications of a selector, without its other criteria. */
export function whoseOf({ users, userIds, applications, applicationIds }: Whose): Whose {
  return {
    ...(users !== undefined && { users }),
    ...(userIds !== undefined && { userIds }),
    ...(applications !== undefined && { applications }),
    ...(applicationIds !== undefined && { applicationIds }),
  };
}

/**
 * Rejects an invalid selector: without criteria, with an empty criterion, or with `all` and other criteria.
 * @throws TokenctlError `usage`
 */
export function validateSelector(selector: Selector | Selection): void {
  const criteria = Object.entries(selector).filter(([, value]) => value !== undefined);
  if (criteria.length === 0) {
    throw new TokenctlError('usage', 'No tokens are selected', {
      hint: 'Use a selection flag, such as --user, --application or --created-before, or select all with --all.',
    });
  }
  if (selector.all === true && criteria.length > 1) {
    throw new TokenctlError('usage', 'Both all tokens and another criterion are selected', {
      hint: 'Omit one of them.',
    });
  }
  for (const [name, value] of criteria) requireValue(name, value);
}

function requireValue(name: string, value: unknown): void {
  if (Array.isArray(value) && value.length === 0) {
    throw new TokenctlError('usage', `The criterion ${name} has no value`);
  }
  if (value instanceof Date && Number.isNaN(value.getTime())) {
    throw new TokenctlError('usage', `The criterion ${name} is not a date`);
  }
  if (name === 'ids' && Array.isArray(value)) {
    const wrong: unknown = value.find((id) => !Number.isSafeInteger(id) || id < 1);
    if (wrong !== undefined) throw new TokenctlError('usage', `Invalid token ID: ${String(wrong)}`);
  }
}

/** How many values are named before "and N more". */
const NAMED = 5;

/** Words for users and applications, where names alone do not say how they were selected. */
export interface SelectorWords {
  readonly users?: string | undefined;
  readonly applications?: string | undefined;
}

/** What a selection of all tokens is called. */
export const EVERY_TOKEN = 'every token';

/** The selector in words, as one phrase: for plans, questions and the audit log. */
export function describeSelector(selector: Selector, words: SelectorWords = {}): string {
  if (selector.all === true) return EVERY_TOKEN;
  if (selector.none === true) return 'no token';
  const { ids, users, applications, notUsers, notApplications, scope, neverUsed } = selector;
  const { descriptions, createdBefore, createdSince, unusedSince } = selector;
  const ofUsers = words.users ?? (users && formatAlternatives(users));
  const ofApplications = words.applications ?? (applications && formatAlternatives(applications));
  const parts = [
    ids && `with ID ${formatAlternatives(ids)}`,
    ofUsers && `of ${ofUsers}`,
    notUsers && `not of ${formatAlternatives(notUsers)}`,
    ofApplications && `issued to ${ofApplications}`,
    notApplications && `not issued to ${formatAlternatives(notApplications)}`,
    scope && `with scope ${scope}`,
    descriptions && `with description ${formatAlternatives(descriptions.map((each) => each || '""'))}`,
    createdBefore && `created before ${toTheSecond(createdBefore)}`,
    createdSince && `created since ${toTheSecond(createdSince)}`,
    unusedSince && `not used since ${toTheSecond(unusedSince)}`,
    neverUsed && 'never used',
    expiryWords(selector),
  ];
  return `tokens ${parts.filter((part) => part !== undefined).join(', ')}`;
}

function expiryWords({ expiredAt, expiresAfter }: Selector): string | undefined {
  if (expiresAfter === undefined) return expiredAt && `expired at ${toTheSecond(expiredAt)}`;
  const after = `expiring after ${toTheSecond(expiresAfter)}`;
  return expiredAt === undefined ? after : `${after} and by ${toTheSecond(expiredAt)}`;
}

/** Values as alternatives, a few of them by name: `alice, bob or 3 more`. */
export function formatAlternatives(values: readonly (string | number)[]): string {
  const named = values.slice(0, NAMED);
  const more = values.length - named.length;
  return more === 0 ? named.join(' or ') : `${named.join(', ')} or ${more} more`;
}

/** A time for people, without milliseconds. */
function toTheSecond(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}
