import type { RefreshToken } from '../../domain/token.ts';
import { requireNamed } from '../named.ts';
import type { RefreshTokenSelector, Target } from '../ports/target.ts';

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
  await requireNamed(target, selector);
  yield* target.refreshTokens(selector);
}
