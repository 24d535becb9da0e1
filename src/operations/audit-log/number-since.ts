import type { AuditLog, Entry } from '../ports/audit-log.ts';

/** Clocks are set back now and then: so much earlier is begun, in milliseconds. */
const MARGIN = 86_400_000;

/**
 * The number of an entry from which on a log has all entries of an instant and later, and the intents whose outcomes
 * are among them. Found by halving: a long log is not read for what happened yesterday.
 *
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function numberSince(log: Pick<AuditLog, 'entries' | 'head'>, since: Date): Promise<number> {
  const limit = since.getTime() - MARGIN;
  let low = 1;
  let high = (await log.head()).size + 1;
  let before: Entry | null = null;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const entry = await firstFrom(log, middle);
    if (entry === null || Date.parse(entry.at) >= limit) {
      high = middle;
    } else {
      before = entry;
      // What retention has removed is passed over.
      low = entry.seq + 1;
    }
  }
  return Math.min(low, ...(before?.open ?? []));
}

async function firstFrom(log: Pick<AuditLog, 'entries'>, number: number): Promise<Entry | null> {
  for await (const entry of log.entries(number)) return entry;
  return null;
}
