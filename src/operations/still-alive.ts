import type { Target } from './ports.ts';

/** How many parts are asked for at the same time. */
const AT_ONCE = 4;

/**
 * Which of these tokens exist, ascending.
 *
 * @throws Whatever the target throws.
 */
export async function stillAlive(target: Target, ids: readonly number[]): Promise<number[]> {
  const length = Math.ceil(ids.length / AT_ONCE);
  const parts = Array.from({ length: AT_ONCE }, (_, part) => ids.slice(part * length, (part + 1) * length));
  const alive = await Promise.all(parts.map((part) => found(target, part)));
  return alive.flat().sort((a, b) => a - b);
}

async function found(target: Target, ids: readonly number[]): Promise<number[]> {
  const alive: number[] = [];
  if (ids.length === 0) return alive;
  for await (const { id } of target.tokens({ ids })) alive.push(id);
  return alive;
}
