import { createHash } from 'node:crypto';

/**
 * By how many milliseconds a job's ticks are put off: below `jitter` seconds, and the same in every replica,
 * since its name decides. So jobs that are due at the same time do not start together.
 */
export function jitterOf(name: string, jitter: number): number {
  if (jitter <= 0) return 0;
  const number = createHash('sha256').update(name).digest().readUInt32BE(0);
  return Math.floor((number / 2 ** 32) * jitter * 1000);
}
