import { isLeaseDue, type Lease } from '../../domain/leases.ts';
import type { Change } from '../journal/operation-run.ts';
import { LeaseReader } from '../journal/recorded-leases.ts';
import { type EndedLease, endLeases } from './end-leases.ts';

/** How many tokens are revoked before the log is read again. */
const AT_ONCE = 100;

/**
 * Ends leases that are past their end, some at a time. Before each part the log is read again: an end that was moved or taken back
 * meanwhile is left, and is not among the results.
 *
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
