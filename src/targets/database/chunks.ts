import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../db/database.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type { RightsPurpose } from '../../operations/ports/target.ts';
import type { Connection } from './connection.ts';
import { HELD, mayPass, reasonOf } from './failures.ts';
import { chunked } from './pages.ts';

/** Work on many rows. */
interface Work<Item, Done> {
  readonly connection: Connection;
  readonly purpose: RightsPurpose;
  readonly items: readonly Item[];
  /** How many rows one transaction takes. */
  readonly size: number;
  /** For how long rows that others hold are tried again, in milliseconds. */
  readonly patience: number;
  /** Does what is to be done to these rows in one transaction; says what it did to which. */
  readonly act: (database: Queryable, items: readonly Item[]) => Promise<ReadonlyMap<Item, Done>>;
  /** Those of the others that are there: somebody holds them. */
  readonly held: (database: Queryable, items: readonly Item[]) => Promise<readonly Item[]>;
  /** What is said of one that is not there, if anything. */
  readonly absent?: (item: Item) => Done;
}

/** A row that was not done, and why in words. */
interface Left<Item> {
  readonly item: Item;
  readonly reason: string;
}

/** What was not done. */
interface Rest<Item> {
  /** Rows that others held to the end. */
  readonly left: readonly Left<Item>[];
  /** What ended the work before its end, and the rows that were under way. */
  readonly stopped: { readonly error: unknown; readonly underWay: readonly Item[] } | null;
}

/** Pauses before another try grow up to this, in milliseconds. */
const LONGEST_PAUSE = 1500;

/**
 * Works through rows in short transactions. Rows that others hold are passed over, tried again at the end
 * with growing pauses and ever fewer at a time, so that one that cannot be done keeps no other from it,
 * and are left when the patience is at its end.
 *
 * @returns What was not done. Nothing is thrown: what was yielded before a failure holds.
 */
export async function* inChunks<Item, Done>(work: Work<Item, Done>): AsyncGenerator<Done, Rest<Item>> {
  let left: readonly Left<Item>[] = [...new Set(work.items)].map((item) => ({ item, reason: HELD }));
  let { size } = work;
  let pause = 50;
  let until: number | null = null;
  for (;;) {
    const held: Left<Item>[] = [];
    for (const chunk of chunked(left, size)) {
      if (until !== null && performance.now() >= until) {
        held.push(...chunk);
        continue;
      }
      const rest = yield* oneChunk(
        work,
        chunk.map(({ item }) => item),
      );
      if (rest.stopped !== null) return rest;
      held.push(...rest.left);
    }
    left = held;
    until ??= performance.now() + work.patience;
    const remaining = until - performance.now();
    if (left.length === 0 || remaining <= 0) return { left, stopped: null };
    await sleep(Math.min(pause, remaining));
    size = Math.ceil(Math.min(size, left.length) / 4);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function* oneChunk<Item, Done>(
  work: Work<Item, Done>,
  items: readonly Item[],
): AsyncGenerator<Done, Rest<Item>> {
  const { connection, purpose, absent } = work;
  let underWay = items;
  try {
    const done = await work.act(connection.database, items);
    underWay = items.filter((item) => !done.has(item));
    yield* done.values();
    const held = new Set(underWay.length === 0 ? [] : await work.held(connection.database, underWay));
    if (absent !== undefined) yield* underWay.filter((item) => !held.has(item)).map(absent);
    return { left: [...held].map((item) => ({ item, reason: HELD })), stopped: null };
  } catch (error) {
    if (mayPass(error)) {
      return { left: underWay.map((item) => ({ item, reason: reasonOf(error) })), stopped: null };
    }
    return { left: [], stopped: { error: await connection.failure(purpose, error), underWay } };
  }
}

/** Whether it is unknown what became of the rows under way: the connection was lost before the answer. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof TokenctlError && error.code === 'target_unreachable';
}
