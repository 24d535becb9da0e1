import type { RefreshTokenState } from '../../domain/token.ts';
import type { Target } from '../ports/target.ts';

/** How many parts are asked for at the same time. */
const AT_ONCE = 4;

/** How many ids are asked for at a time, at most. */
const MOST = 5000;

/** The states in which a refresh token can mint access tokens, or could again. */
const ALIVE: readonly RefreshTokenState[] = ['live', 'orphaned'];

/**
 * Which of these access tokens exist, ascending.
 *
 * @throws Whatever the target throws.
 */
export function stillAlive(target: Target, ids: readonly number[]): Promise<number[]> {
  return found(ids, (part) => target.tokens({ ids: part }));
}

/**
 * Which of these refresh tokens are in one of these states, by default alive, ascending.
 *
 * @throws Whatever the target throws.
 */
export function stillAliveRefreshTokens(
  target: Target,
  ids: readonly number[],
  states: readonly RefreshTokenState[] = ALIVE,
): Promise<number[]> {
  return found(ids, (part) => target.refreshTokens({ ids: part, states }));
}

async function found(
  ids: readonly number[],
  ask: (part: readonly number[]) => AsyncIterable<{ readonly id: number }>,
): Promise<number[]> {
  const size = Math.min(MOST, Math.ceil(ids.length / AT_ONCE));
  const alive: number[] = [];
  let start = 0;
  const work = async () => {
    while (start < ids.length) {
      const part = ids.slice(start, start + size);
      start += size;
      for await (const { id } of ask(part)) alive.push(id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return alive.sort((a, b) => a - b);
}
