import { isOpen, isRowDue, type Lease, WRITE_ENDS } from '../../domain/leases.ts';
import { Journal } from '../journal/journal.ts';
import type { Change } from '../journal/operation-run.ts';
import { isLeaseHere, readLeases } from '../journal/recorded-leases.ts';

/** The number of rows to write before recording them. */
const AT_ONCE = 1000;

/**
 * Writes token ends from the audit log into the token rows: the end of an open lease, and the old expiry of a
 * withdrawn one. A row with an unrecorded value is skipped; its lease then counts as a lease without a row.
 * Running it again finishes interrupted work. Does nothing at a target that stores no ends.
 * @returns The leases whose rows were skipped.
 * @throws TokenctlError `audit_unavailable`, and as the target.
 */
export async function writeRowEnds(change: Change, known?: readonly Lease[]): Promise<readonly Lease[]> {
  const { target, description } = change;
  if (target.ends === undefined) return [];
  const leases = known ?? (await readLeases(change.log, description));
  const due = leases.filter((lease) => isRowDue(lease) && isLeaseHere(lease, description));
  const journal = new Journal({ ...change, operation: WRITE_ENDS });
  const all: Lease[] = [];
  for (let start = 0; start < due.length; start += AT_ONCE) {
    const part = due.slice(start, start + AT_ONCE);
    const set = new Set(await target.ends.set(part.flatMap(endOfRow)));
    const left = part.filter(({ token }) => !set.has(token?.id ?? 0));
    const written = part.filter((lease) => !left.includes(lease)).map(({ id }) => id);
    const selection = `${written.length} rows of tokens`;
    await journal.note({ leases: written, left: left.map(({ id }) => id), selection });
    all.push(...left);
  }
  return all;
}

function endOfRow(lease: Lease) {
  const { token, row, until } = lease;
  if (token === null || row === null) return [];
  const from = [token.expires, ...row.ends].map((each) => new Date(each));
  const to = new Date(isOpen(lease) ? until : token.expires);
  return [{ id: token.id, created: new Date(token.created), from, to }];
}
