import { requireMeaning, type Selector } from '../../domain/selector.ts';
import type { Token } from '../../domain/token.ts';
import { requireNamed } from '../named.ts';
import type { Target } from '../ports/target.ts';

/**
 * Streams the tokens that the selector names, a page of the target at a time.
 *
 * @throws TokenctlError `usage` for a selector without meaning, `not_found` for a user or application
 * that does not exist, and whatever the target throws.
 */
export async function* listTokens(options: { target: Target; selector: Selector }): AsyncIterable<Token> {
  const { target, selector } = options;
  requireMeaning(selector);
  await requireNamed(target, selector);
  yield* target.tokens(selector);
}
