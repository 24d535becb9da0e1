import type { AuditLog, Entry } from '../ports/audit-log.ts';

/** The entries to list. All criteria must match. */
export interface ListLogOptions {
  readonly log: Pick<AuditLog, 'entries'>;
  /** An operation, or a prefix: `tokens` matches `tokens.revoke`. */
  readonly operation?: string;
  readonly run?: string;
  readonly kind?: Entry['kind'];
  /** Appended at or after this instant. */
  readonly since?: Date;
  /** The maximum number of entries: the newest ones. */
  readonly last?: number;
}

/**
 * Streams entries of the audit log, oldest first.
 *
 * @throws TokenctlError `log_broken` at a line that is not an entry, `audit_unavailable` if the log cannot be read.
 */
export async function* listLog(options: ListLogOptions): AsyncIterable<Entry> {
  const { last } = options;
  const newest: Entry[] = [];
  for await (const entry of options.log.entries()) {
    if (!matches(entry, options)) continue;
    if (last === undefined) {
      yield entry;
    } else {
      newest.push(entry);
      if (newest.length > last) newest.shift();
    }
  }
  yield* newest;
}

function matches(entry: Entry, { operation, run, kind, since }: ListLogOptions): boolean {
  return (
    (operation === undefined || `${entry.operation}.`.startsWith(`${operation}.`)) &&
    (run === undefined || entry.run === run) &&
    (kind === undefined || entry.kind === kind) &&
    (since === undefined || Date.parse(entry.at) >= since.getTime())
  );
}

/** A margin for clocks that were set back. */
const CLOCK_MARGIN_MS = 86_400_000;

/**
 * The number of an entry that is not later than any entry since an instant, nor than the intents that these close. Uses a
 * binary search, so that a long log need not be read.
 *
 * @throws TokenctlError `log_broken`, `audit_unavailable`.
 */
export async function numberSince(log: Pick<AuditLog, 'entries' | 'head'>, since: Date): Promise<number> {
  const limit = since.getTime() - CLOCK_MARGIN_MS;
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
      // Skips entries that retention removed.
      low = entry.seq + 1;
    }
  }
  return Math.min(low, ...(before?.open ?? []));
}

async function firstFrom(log: Pick<AuditLog, 'entries'>, number: number): Promise<Entry | null> {
  for await (const entry of log.entries(number)) return entry;
  return null;
}
