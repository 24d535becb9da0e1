import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import type { Token } from '../token.ts';

/**
 * What a rule asks of a token by itself, as data: judged in place by {@link holds}, and by a database that turns the same data
 * into SQL. Instants and spans are in milliseconds, instants since 1970.
 */
export type Condition =
  /** Without any, it holds for every token. */
  | { readonly all: readonly Condition[] }
  | { readonly not: Condition }
  | { readonly expiresAfter: number }
  | { readonly livesLongerThan: number }
  | { readonly createdBefore: number }
  /** Counted from its creation if it was never used. */
  | { readonly unusedSince: number }
  | { readonly is: 'never_used' | 'writing' | 'personal' | 'undescribed' };

/** What counts as nothing in a description: what `String.trim` removes. */
export const WHITESPACE =
  '\t\n\v\f\r \u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF';

/** Some ids, as far as asking about one goes. */
export interface Ids {
  has(id: number): boolean;
}

/** What the target knows of tokens that do not carry their last use. */
export interface KnownUses {
  /** Tokens unused for the days of `unused-for`. */
  readonly unusedTokenIds: Ids;
  /** Tokens that were never used. */
  readonly neverUsedTokenIds: Ids;
}

/** Whether a condition holds for a token, ready to ask for many. */
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

/** Whether a token was never used, by itself or by the target's own selection. */
export function neverUsed(
  { id, lastUsed }: Pick<Token, 'id' | 'lastUsed'>,
  { neverUsedTokenIds }: Pick<KnownUses, 'neverUsedTokenIds'>,
): boolean {
  return lastUsed === undefined ? neverUsedTokenIds.has(id) : lastUsed === null;
}
