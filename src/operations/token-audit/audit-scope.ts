import { type RuleName, ruleOf } from '../../domain/policy/policy.ts';
import type { Rule } from '../../domain/policy/rule.ts';
import type { Selector } from '../../domain/selector.ts';
import type { RefreshTokenSelector } from '../ports/target.ts';

/**
 * The rules that make sense for a selection. Where only some tokens are meant, nobody asked for findings
 * about the controller's settings or its other applications.
 */
export function rulesFor(selector: Selector, rules: readonly RuleName[]): RuleName[] {
  return rules.filter((name) => isFor(selector, ruleOf(name)));
}

function isFor(selector: Selector, { judges }: Rule): boolean {
  if (selector.all === true) return true;
  if (judges === 'refreshTokens') return orphansOf(selector) !== null;
  return judges === 'tokens' || judges === 'sums' || judges === 'exceptions';
}

/**
 * Which refresh tokens without an access token belong to a selection of tokens: those of the same users and
 * applications; null where it is made by what only access tokens have.
 */
export function orphansOf(selector: Selector): RefreshTokenSelector | null {
  const { all: _all, users, applications, ...others } = selector;
  if (Object.values(others).some((value) => value !== undefined)) return null;
  return {
    states: ['orphaned'],
    ...(users !== undefined && { users }),
    ...(applications !== undefined && { applications }),
  };
}
