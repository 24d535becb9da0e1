import { TokenctlError } from '@tokenctl/common/errors.ts';
import { type RunAccount, RunTally } from '../journal/run-account.ts';
import type { AuditLog, Entry } from '../ports/audit-log.ts';
import { requireIntact } from './verify-log.ts';

/** The entries to list. All criteria must match. */
export interface ListLogOptions {
  readonly log: Pick<AuditLog, 'entries' | 'head'>;
  /** An operation, or a prefix: `tokens` matches `tokens.revoke`. */
  readonly operation?: string | undefined;
  /** The UUID of a run, or its first characters. */
  readonly run?: string | undefined;
  readonly kind?: Entry['kind'] | undefined;
  /** Appended at or after this instant. */
  readonly since?: Date | undefined;
  /** The maximum number of entries: the newest ones. */
  readonly last?: number | undefined;
}

/**
 * Streams entries of the audit log, oldest first. With `since` or `last`, a long log is read from near its
 * end.
 * @throws TokenctlError `log_broken` at a line that is not an entry, `audit_unavailable` if the log cannot be
 * read.
 */
export async function* listLog(options: ListLogOptions): AsyncIterable<Entry> {
  const { log, since, last } = options;
  const start = since === undefined ? 1 : await numberSince(log, since);
  if (last === undefined) {
    for await (const entry of log.entries(start)) if (matches(entry, options)) yield entry;
    return;
  }
  const { size } = await log.head();
  for (let back = Math.max(1, last); ; back *= GROWTH) {
    const from = Math.max(start, size - back + 1);
    const newest: Entry[] = [];
    for await (const entry of log.entries(from)) {
      if (!matches(entry, options)) continue;
      newest.push(entry);
      if (newest.length > last) newest.shift();
    }
    if (newest.length < last && from > start) continue;
    yield* newest;
    return;
  }
}

function matches(entry: Entry, { operation, run, kind, since }: ListLogOptions): boolean {
  return (
    (operation === undefined || `${entry.operation}.`.startsWith(`${operation}.`)) &&
    (run === undefined || entry.run.startsWith(run.toLowerCase())) &&
    (kind === undefined || entry.kind === kind) &&
    (since === undefined || Date.parse(entry.at) >= since.getTime())
  );
}

/**
 * The rows of a log listing. If there are none, an emptied log is distinguished from one that was never
 * written.
 * @throws TokenctlError `log_broken` for a log that was emptied.
 */
export async function* unlessEmptied<Row>(
  rows: AsyncIterable<Row>,
  log: Pick<AuditLog, 'head' | 'verify'>,
): AsyncIterable<Row> {
  let isEmpty = true;
  for await (const row of rows) {
    isEmpty = false;
    yield row;
  }
  if (isEmpty && (await log.head()).size === 0) requireIntact(await log.verify());
}

/** The runs to list. All criteria must match. */
type ListRunsOptions = Omit<ListLogOptions, 'kind'>;

/** Entries to read at first for each requested run. */
const ENTRIES_PER_RUN = 50;
/** The factor by which more entries are read if they contained too few runs. */
const GROWTH = 8;

/**
 * Streams the runs in the audit log, in the order of their ends; unfinished runs come last. `since` and
 * `last` apply to the ends of runs. With either, a long log is read from near its end.
 * @throws TokenctlError as {@link listLog}.
 */
export async function* listRuns(options: ListRunsOptions): AsyncIterable<RunAccount> {
  const { log, since, last } = options;
  const start = since === undefined ? 1 : await numberSince(log, since);
  if (last === undefined) {
    yield* accountsFrom(start, options);
    return;
  }
  const { size } = await log.head();
  for (let back = last * ENTRIES_PER_RUN; ; back *= GROWTH) {
    const from = Math.max(start, await wholeRunsFrom(log, size - back));
    const newest: RunAccount[] = [];
    for await (const account of accountsFrom(from, options)) {
      newest.push(account);
      if (newest.length > last) newest.shift();
    }
    if (newest.length < last && from > start) continue;
    yield* newest;
    return;
  }
}

/** An entry number, at most `near`: runs that had not ended at `near` are complete if read from there. */
async function wholeRunsFrom(log: Pick<AuditLog, 'entries'>, near: number): Promise<number> {
  if (near <= 1) return 1;
  const entry = await firstFrom(log, near);
  return Math.min(near, ...(entry?.open ?? []));
}

/** Reads twice: the first pass finds where each run ends. */
async function* accountsFrom(from: number, { log, operation, run, since }: ListRunsOptions) {
  const isWanted = (entry: Entry) => matches(entry, { log, operation, run });
  const ends = new Map<string, number>();
  for await (const entry of log.entries(from)) {
    // An outcome without its intent belongs to a run that started before the first entry read.
    if (isWanted(entry) && (ends.has(entry.run) || entry.kind !== 'outcome')) ends.set(entry.run, entry.seq);
  }
  const running = new Map<string, RunTally>();
  const isLate = ({ ended, state }: RunAccount) =>
    since === undefined || state === 'unfinished' || Date.parse(ended) >= since.getTime();
  for await (const entry of log.entries(from)) {
    const end = ends.get(entry.run);
    if (end === undefined || entry.seq > end) continue;
    const tally = running.get(entry.run) ?? (entry.kind === 'outcome' ? undefined : new RunTally(entry));
    if (tally === undefined) continue;
    running.set(entry.run, tally);
    tally.add(entry);
    if (entry.seq < end || !tally.isClosed) continue;
    running.delete(entry.run);
    const account = tally.account();
    if (isLate(account)) yield account;
  }
  for (const tally of running.values()) yield tally.account();
}

/** Number of runs to name if a prefix is ambiguous. */
const MAX_AMBIGUOUS = 5;

/**
 * Reads one run of the audit log with its entries, by its UUID or a unique prefix. Throws `not_found`,
 * `usage` if several runs match, and as {@link listLog}.
 */
export async function readRun(
  log: Pick<AuditLog, 'entries'>,
  run: string,
): Promise<{ readonly account: RunAccount; readonly entries: readonly Entry[] }> {
  const found = new Map<string, { readonly tally: RunTally; readonly entries: Entry[] }>();
  for await (const entry of log.entries()) {
    if (!entry.run.startsWith(run.toLowerCase())) continue;
    const member = found.get(entry.run) ?? { tally: new RunTally(entry), entries: [] };
    found.set(entry.run, member);
    member.tally.add(entry);
    member.entries.push(entry);
    if (found.size > MAX_AMBIGUOUS) break;
  }
  const [first, second] = found.values();
  if (first === undefined) {
    throw new TokenctlError('not_found', `No run "${run}" in the audit log`, {
      hint: 'List the runs with `tokenctl log list`.',
    });
  }
  if (second !== undefined) {
    throw new TokenctlError('usage', `Several runs start with "${run}": ${[...found.keys()].join(', ')}`, {
      hint: 'Enter more characters of the ID.',
    });
  }
  return { account: first.tally.account(), entries: first.entries };
}

/** A margin for clocks that were set back. */
const CLOCK_MARGIN_MS = 86_400_000;

/**
 * The number of an entry that is no later than any entry since an instant, and no later than the intents that
 * those entries close. Uses a binary search to avoid reading a long log.
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
