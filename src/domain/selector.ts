import { TokenctlError } from '@tokenctl/common/errors.ts';
import { matchesAny } from './policy/subject.ts';
import type { ScopeWord, Token } from './token.ts';

/**
 * Selects tokens. A token must match every criterion that is present, and one value of a criterion with
 * several values. A selector without criteria is invalid: selecting every token takes `all: true`, so that
 * missing flags never revoke everything.
 */
export interface Selector {
  /** Every token of the target. Excludes all other criteria. */
  readonly all?: true;
  readonly ids?: readonly number[];
  /** User names, exactly. */
  readonly users?: readonly string[];
  /** The ids of `users`: they decide, even after renames; names are for messages. Never without `users`. */
  readonly userIds?: readonly number[];
  /** Application names, exactly. */
  readonly applications?: readonly string[];
  /** The ids of `applications`, with the same rules. */
  readonly applicationIds?: readonly number[];
  /** Excludes the tokens of users with one of these names or patterns (`*` and `?`). */
  readonly notUsers?: readonly string[];
  /** The same for applications. Personal access tokens stay. */
  readonly notApplications?: readonly string[];
  /** Tokens whose scope includes this word. */
  readonly scope?: ScopeWord;
  /** Tokens with one of these descriptions or patterns (`*` and `?`). */
  readonly descriptions?: readonly string[];
  /** Created before this instant. */
  readonly createdBefore?: Date;
  /** Created at this instant or later. */
  readonly createdSince?: Date;
  /** Last used before this instant, or never used and created before it. */
  readonly unusedSince?: Date;
  readonly neverUsed?: true;
  /** Expired at or before this instant. */
  readonly expiredAt?: Date;
  /** Expires after this instant. */
  readonly expiresAfter?: Date;
  /** No token: the result of a selection of deactivated users only, if there are none. */
  readonly none?: true;
}

/** A comparison with a column of the access token; `used` is its last use, or its creation if never used. */
export type Comparison =
  | { readonly column: 'created' | 'expires'; readonly is: '<' | '<=' | '>' | '>='; readonly to: Date }
  | { readonly column: 'used'; readonly is: '<'; readonly to: Date }
  | { readonly column: 'lastUsed'; readonly is: 'null' }
  | { readonly column: 'scope'; readonly is: 'with'; readonly to: ScopeWord }
  /** To one of these patterns. */
  | { readonly column: 'description'; readonly is: 'like'; readonly to: readonly string[] };

/** The criteria about the token itself, with comparisons: targets build queries from them, pages filters. */
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

export type TokenCriteria = {
  readonly [Name in keyof typeof COMPARISONS]?: Selector[Name] | undefined;
};

/** The comparisons of criteria; a token must match all of them. */
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
 * Whether a token matches a comparison; false for its last use if the target does not show it. As in the
 * targets' queries, each comparison is looked up by name: a new one is a type error until all of them support
 * it, since otherwise too much would be selected.
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
 * A selection as entered: names may be patterns, and users can be selected by their state. It is resolved at
 * a target to the exact names of a {@link Selector}.
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

/** Whether a selection selects users by organization or team. */
export function isByGroup({ organizations, teams }: Selection): boolean {
  return organizations !== undefined || teams !== undefined;
}

/** A name, or a pattern: `*` stands for any characters, `?` for one; a backslash makes them literal. */
export interface NamePattern {
  readonly pattern: string;
}

/** The literal name of a pattern; null if it has a wildcard. */
export function exactName(pattern: string): string | null {
  return /(?<!\\)[*?]/.test(pattern) ? null : pattern.replaceAll(/\\([*?])/g, '$1');
}

/** The pattern that matches exactly this name. */
export function patternOf(name: string): string {
  return name.replaceAll(/[*?]/g, '\\$&');
}

/** Whether a selector's negations exclude a token; for targets, which have no filter for patterns. */
export function isLeftOut(
  { notUsers, notApplications }: Selector,
  { user, application }: Pick<Token, 'user' | 'application'>,
): boolean {
  return (
    (notUsers !== undefined && user !== null && matchesAny(user.username, notUsers)) ||
    (notApplications !== undefined && application !== null && matchesAny(application.name, notApplications))
  );
}

/** The tokens of a page that a selector's negations keep. */
export function keptOf<Kept extends Pick<Token, 'user' | 'application'>>(
  page: readonly Kept[],
  selector: Selector,
): readonly Kept[] {
  const { notUsers, notApplications } = selector;
  if (notUsers === undefined && notApplications === undefined) return page;
  return page.filter((token) => !isLeftOut(selector, token));
}

/**
 * The users and applications of a selector that has no other criteria: it also covers what these have in
 * addition to access tokens. Null if it has a criterion that only an access token can match.
 */
export function wholeSelection(selector: Selector): Whose | null {
  const { all: _all, users: _u, userIds: _i, applications: _a, applicationIds: _j, ...others } = selector;
  return Object.values(others).some((value) => value !== undefined) ? null : whoseOf(selector);
}

/** The owner criteria, which selectors of tokens of any kind can have. */
export type Whose = Pick<Selector, 'users' | 'userIds' | 'applications' | 'applicationIds'>;

/** The owner criteria of a selector. */
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

/** Words for users and applications if names alone do not say how they were selected. */
export interface SelectorWords {
  readonly users?: string | undefined;
  readonly applications?: string | undefined;
}

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

/** Values as alternatives, some of them by name: `alice, bob or 3 more`. */
export function formatAlternatives(values: readonly (string | number)[]): string {
  const named = values.slice(0, NAMED);
  const more = values.length - named.length;
  return more === 0 ? named.join(' or ') : `${named.join(', ')} or ${more} more`;
}

/** A displayed time, without milliseconds. */
function toTheSecond(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}
