import { setTimeout as sleep } from 'node:timers/promises';
import type { JobStore } from '../operations/ports/scheduler.ts';

/** How often a scheduler says in the ledger that it runs, in milliseconds. */
const BEAT_MS = 10_000;
/** How long that counts: several beats, since a ledger may be slow. */
const ALIVE_MS = 60_000;

/**
 * Says in the ledger that this process runs jobs on their schedules, from now until it is ended. A ledger that does not respond
 * hears of it with the next beat.
 *
 * @returns ends it, once the ledger knows or does not respond
 */
export function startHeartbeat(store: Pick<JobStore, 'beat'>, holder: string): () => Promise<void> {
  const ending = new AbortController();
  const beating = (async () => {
    while (!ending.signal.aborted) {
      await store.beat(holder, ALIVE_MS).catch(() => undefined);
      await sleep(BEAT_MS, undefined, { signal: ending.signal }).catch(() => undefined);
    }
    await store.beat(holder, 0).catch(() => undefined);
  })();
  return async () => {
    ending.abort();
    await beating;
  };
}
