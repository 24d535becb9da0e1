import { inject } from 'vitest';

/** `npm test` tries a small part of what the long tests try. */
const SHARE = 25;

/**
 * How often a property is tried: as often as said in the long tests, which run every file that calls this, and a small part of
 * it in `npm test`.
 */
export function runs(all: number): number {
  return inject('longTests') ? all : Math.ceil(all / SHARE);
}

/**
 * The kinds that a test is made for: all of them in the long tests, which run every file that calls this, and the first in
 * `npm test`.
 */
export function kinds<Kind>(all: readonly Kind[]): readonly Kind[] {
  return inject('longTests') ? all : all.slice(0, 1);
}
