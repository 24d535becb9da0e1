import { setTimeout as sleep } from 'node:timers/promises';
import type { Claim, TickClaims } from '../operations/ports/scheduler.ts';

/** How a claim is kept. */
export interface LeaseOptions {
  readonly claims: TickClaims;
  readonly claim: Claim;
  /** In milliseconds. */
  readonly lease: number;
  /** Called once, where the claim is lost or may be: nothing more must be begun. */
  readonly onLost: () => void;
}

/**
 * Renews a claim's lease until disposed of. Measured by a clock that nobody can set; where the ledger does
 * not answer, the claim counts as lost a while before the lease runs out, since another replica may take it
 * over then.
 */
export function keepLease({ claims, claim, lease, onLost }: LeaseOptions): Disposable {
  const stopped = new AbortController();
  let renewed = performance.now();
  let lost = false;
  const lose = () => {
    if (lost || stopped.signal.aborted) return;
    lost = true;
    onLost();
  };
  const watch = setInterval(() => {
    if (performance.now() - renewed > (lease * 5) / 6) lose();
  }, lease / 12);
  const renew = async () => {
    while (!stopped.signal.aborted) {
      await sleep(lease / 3, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (stopped.signal.aborted) return;
      const asked = performance.now();
      const kept = await claims.renew(claim, lease).catch(() => null);
      if (kept === true) renewed = asked;
      if (kept === false) return lose();
    }
  };
  void renew();
  return {
    [Symbol.dispose]() {
      stopped.abort();
      clearInterval(watch);
    },
  };
}
