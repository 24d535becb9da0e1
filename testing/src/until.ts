import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { WAIT_LIMIT_MS } from './limits.ts';

/**
 * Waits for an event that nothing announces: reads again and again until what was read is as wanted, and resolves with it.
 *
 * @param isWanted By default, whatever counts as true.
 * @throws Error with what was read last, once the limit for all waits is over.
 */
export async function until<Value>(
  read: () => Value | Promise<Value>,
  isWanted: (value: Value) => boolean = Boolean,
): Promise<Value> {
  const limit = AbortSignal.timeout(WAIT_LIMIT_MS);
  for (;;) {
    const value = await read();
    if (isWanted(value)) return value;
    if (limit.aborted) throw new Error(`Waited in vain. Read last: ${inspect(value)}`);
    await pause(10);
  }
}
