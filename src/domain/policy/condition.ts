import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import type { Token } from '../token.ts';

/**
 * A rule's requirement for a single token, as data: evaluated in memory by {@link holds}, and by databases
 * that translate it into SQL. Instants and durations are in milliseconds, instants since 1970.
 */
export type Condition =
  /** An empty list matches every token. */
  | { readonly all: readonly Condition[] }
  | { readonly not: Condition }
  | { readonly expiresAfter: number }
  | { readonly livesLongerThan: number }
  | { readonly createdBefore: number }
  /** Counted from its creation if it was never used. */
  | { readonly unusedSince: number }
  | { readonly is: 'never_used' | 'writing' | 'personal' | 'undescribed' };

/** What counts as empty in a description: what `String.trim` removes. */
export const WHITESPACE =
  '\t\n\v\f\r \u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF';

/** A set of ids, reduced to membership tests. */
export interface Ids {
  has(id: number): boolean;
}

/** The target's knowledge of tokens that do not include their last use. */
export interface KnownUses {
  /** Tokens unused for the days of `unused-for`. */
  readonly unusedTokenIds: Ids;
  readonly neverUsedTokenIds: Ids;
}

/** Compiles a condition into a predicate for tokens. */
export function holds(condition: Condition, uses: KnownUses): (token: Token) => boolean {
  if ('all' in condition) {
    const parts = condition.all.map((part) => holds(part, uses));
    return (token) => parts.every((part) => part(token));
  }
  if ('not' in condition) {
    const part = holds(condition.not, uses);
    return (token) => !part(token);
  }
  if ('expiresAfter' in condition) return ({ expires }) => expires.getTime() > condition.expiresAfter;
  if ('livesLongerThan' in condition)
    return ({ created, expires }) => expires.getTime() - created.getTime() > condition.livesLongerThan;
  if ('createdBefore' in condition) return ({ created }) => created.getTime() < condition.createdBefore;
  if ('unusedSince' in condition)
    return ({ id, lastUsed, created }) =>
      lastUsed === undefined
        ? uses.unusedTokenIds.has(id)
        : (lastUsed ?? created).getTime() < condition.unusedSince;
  switch (condition.is) {
    case 'never_used':
      return (token) => neverUsed(token, uses);
    case 'writing':
      return allowsWriting;
    case 'personal':
      return ({ application }) => application === null;
    case 'undescribed':
      return ({ description }) => description.trim() === '';
  }
}

/** Whether a token was never used, from the token itself or the target's own selection. */
export function neverUsed(
  { id, lastUsed }: Pick<Token, 'id' | 'lastUsed'>,
  { neverUsedTokenIds }: Pick<KnownUses, 'neverUsedTokenIds'>,
): boolean {
  return lastUsed === undefined ? neverUsedTokenIds.has(id) : lastUsed === null;
}
