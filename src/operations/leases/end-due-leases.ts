import { isLeaseDue, type Lease } from '../../domain/leases.ts';
import type { Change } from '../journal/operation-run.ts';
import { LeaseReader } from '../journal/recorded-leases.ts';
import { type EndedLease, endLeases } from './end-leases.ts';

/** The number of tokens to revoke before the log is re-read. */
const AT_ONCE = 100;

/**
 * Ends due leases in batches. Re-reads the log before each batch: a lease whose end was moved or withdrawn in
 * the meantime is skipped, and is not among the results.
 * @throws TokenctlError as {@link endLeases}.
 */
export async function endDueLeases(change: Change, leases: readonly Lease[]): Promise<readonly EndedLease[]> {
  const reader = new LeaseReader(change.log);
  const ended: EndedLease[] = [];
  for (let start = 0; start < leases.length; start += AT_ONCE) {
    const now = change.clock.now();
    const known = await reader.read(change.description);
    const due = new Set(known.flatMap((lease) => (isLeaseDue(lease, now) ? [lease.id] : [])));
    const part = leases.slice(start, start + AT_ONCE).filter(({ id }) => due.has(id));
    if (part.length > 0) ended.push(...(await endLeases(change, part)));
    if (change.signal?.aborted === true) break;
  }
  return ended;
}
