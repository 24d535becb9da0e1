import type { Secret } from '@tokenctl/common/secret.ts';
import { fingerprintOf, isLeaseDue, isOpen, type Lease } from '../../domain/leases.ts';
import type { Change } from '../journal/operation-run.ts';
import { isLeaseHere, type LeaseReader } from '../journal/recorded-leases.ts';
import { endLeases, leftLeases } from '../leases/end-leases.ts';
import type { IdentityStore } from '../ports/broker.ts';

interface Ending extends Change {
  readonly leases: LeaseReader;
  readonly store: IdentityStore;
}

/**
 * Ends the token with this value, if a broker created it here.
 * @returns Whether it was a broker's token.
 * @throws TokenctlError `partly_done` if the token remains, and as {@link endLeases}.
 */
export async function endByValue(ending: Ending, value: Secret): Promise<boolean> {
  const fingerprint = fingerprintOf(value);
  const found = (await brokered(ending)).filter(({ token }) => token?.fingerprint === fingerprint);
  if (found.length === 0) return false;
  const left = await end({ ...ending, reason: 'returned by the pipeline' }, found);
  if (left !== undefined) throw left;
  return true;
}

/** Ends broker tokens here that have expired. Returns the remaining ones; throws as {@link endLeases}. */
export async function endDueBrokered(ending: Ending) {
  const now = ending.clock.now();
  const due = (await brokered(ending)).filter((lease) => isLeaseDue(lease, now));
  return due.length === 0 ? undefined : await end({ ...ending, reason: 'its lease is due' }, due);
}

async function brokered({ leases, description }: Ending): Promise<readonly Lease[]> {
  const known = await leases.read(description);
  return known.filter((lease) => lease.why === 'broker' && isOpen(lease) && isLeaseHere(lease, description));
}

async function end({ leases: _, store, ...change }: Ending, due: readonly Lease[]) {
  const ended = await endLeases(change, due);
  const over = new Set(ended.flatMap(({ lease, how }) => (how === null ? [] : [lease])));
  for (const { id, token } of due)
    if (over.has(id) && token?.fingerprint) await store.ended(token.fingerprint);
  return leftLeases(ended, 'It is tried again. To see them: `tokenctl tokens leases`.');
}
