import { type Selector, validateSelector } from '../../domain/selector.ts';
import type { RefreshToken, Token } from '../../domain/token.ts';
import type { RefreshTokenSelector, Target } from '../ports/target.ts';
import { resolveNames } from '../resolve-names.ts';

/**
 * Streams the tokens that the selector names, a page of the target at a time.
 *
 * @throws TokenctlError `usage` for a selector without meaning, `not_found` for a user or application
 * that does not exist, and whatever the target throws.
 */
export async function* listTokens(options: { target: Target; selector: Selector }): AsyncIterable<Token> {
  const { target, selector } = options;
  validateSelector(selector);
  await resolveNames(target, selector);
  yield* target.tokens(selector);
}

/**
 * Streams the refresh tokens that the selector names, ascending by id. Reads only.
 *
 * @throws TokenctlError `not_found` for a user or application that does not exist, `unsupported` where the
 * target lists none, and whatever else it throws.
 */
export async function* listRefreshTokens(options: {
  readonly target: Target;
  readonly selector: RefreshTokenSelector;
}): AsyncIterable<RefreshToken> {
  const { target, selector } = options;
  await resolveNames(target, selector);
  yield* target.refreshTokens(selector);
}
