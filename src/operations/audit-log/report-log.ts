import { TokenctlError } from '@tokenctl/common/errors.ts';
import { countNames, noCounts, type RunAccount, type RunCounts, RunTally } from '../journal/run-account.ts';
import type { AuditLog, Entry, LogVerification } from '../ports/audit-log.ts';
import { numberSince } from './list-log.ts';

export interface ReportLogOptions {
  readonly log: Pick<AuditLog, 'entries' | 'head' | 'verify'>;
  /** The start of the period. Default: the first entry. */
  readonly since?: Date | undefined;
  /** The end of the period, exclusive. Default: after the last entry. */
  readonly until?: Date | undefined;
}

export interface LogTotals {
  readonly entries: number;
  readonly runs: number;
  /** Number of runs by operation, in the order of their first runs. */
  readonly operations: Readonly<Record<string, number>>;
  readonly actors: Readonly<Record<string, number>>;
  readonly counts: RunCounts;
  /** Number of interrupted runs, and of runs without an outcome. */
  readonly interrupted: number;
  readonly unfinished: number;
}

export interface LogReport {
  /** Of the whole log, not only of the period. */
  readonly verification: LogVerification;
  readonly totals: LogTotals;
  /** The runs with an entry in the period, in the order of their ends. Runs that did not end come last. */
  readonly runs: () => AsyncIterable<RunAccount>;
  /** After the runs: the error that stopped reading; null for none. */
  readonly failure: () => TokenctlError | null;
}

/**
 * Reports the runs of a period: who started them, what they did, and their results. Each run is complete,
 * including its entries before and after the period, such as the reconciliation of an interrupted run.
 *
 * The log is verified as a whole. Its entries are read twice, starting a day before the period. Only
 * unfinished runs and the ids of the other runs are kept in memory.
 * @throws TokenctlError `audit_unavailable`. A broken log is reported as far as it can be read.
 */
export async function reportLog(options: ReportLogOptions): Promise<LogReport> {
  const { log } = options;
  const verification = await log.verify();
  const reader = new ReportReader(options);
  const { runs, entries } = await reader.runsInPeriod();
  const totals = await totalsOf(reader.accounts(runs), entries);
  return { verification, totals, runs: () => reader.accounts(runs), failure: () => reader.failure };
}

class ReportReader {
  readonly #options: ReportLogOptions;
  failure: TokenctlError | null = null;
  #start: number | null = null;

  constructor(options: ReportLogOptions) {
    this.#options = options;
  }

  /** The runs with an entry in the period, each with the number of its last entry. */
  async runsInPeriod(): Promise<{ readonly runs: ReadonlyMap<string, number>; readonly entries: number }> {
    const runs = new Map<string, number>();
    let entries = 0;
    for await (const entry of this.#entries()) {
      const isInPeriod = this.#isInPeriod(entry);
      if (isInPeriod) entries += 1;
      if (isInPeriod || runs.has(entry.run)) runs.set(entry.run, entry.seq);
    }
    return { runs, entries };
  }

  async *accounts(runs: ReadonlyMap<string, number>): AsyncIterable<RunAccount> {
    const unfinishedTallies = new Map<string, RunTally>();
    for await (const entry of this.#entries()) {
      const last = runs.get(entry.run);
      if (last === undefined) continue;
      const tally = unfinishedTallies.get(entry.run) ?? new RunTally(entry);
      unfinishedTallies.set(entry.run, tally);
      tally.add(entry);
      if (entry.seq < last || !tally.isClosed) continue;
      unfinishedTallies.delete(entry.run);
      yield tally.account();
    }
    for (const tally of unfinishedTallies.values()) yield tally.account();
  }

  /** All entries before the first unreadable one. */
  async *#entries(): AsyncIterable<Entry> {
    const { log, since } = this.#options;
    try {
      this.#start ??= since === undefined ? 1 : await numberSince(log, since);
      yield* log.entries(this.#start);
    } catch (error) {
      if (!(error instanceof TokenctlError) || error.code !== 'log_broken') throw error;
      this.failure = error;
    }
  }

  #isInPeriod({ at }: Entry): boolean {
    const { since, until } = this.#options;
    const instant = Date.parse(at);
    return (
      (since === undefined || instant >= since.getTime()) &&
      (until === undefined || instant < until.getTime())
    );
  }
}

async function totalsOf(runs: AsyncIterable<RunAccount>, entries: number): Promise<LogTotals> {
  const counts = noCounts();
  const operations = new Map<string, number>();
  const actors = new Map<string, number>();
  let [count, interrupted, unfinished] = [0, 0, 0];
  for await (const account of runs) {
    count += 1;
    interrupted += account.state === 'interrupted' ? 1 : 0;
    unfinished += account.state === 'unfinished' ? 1 : 0;
    increase(operations, account.operation);
    increase(actors, actorName(account.actor));
    for (const name of countNames) counts[name] += account.counts[name];
  }
  return {
    entries,
    runs: count,
    operations: Object.fromEntries(operations),
    actors: Object.fromEntries(actors),
    counts,
    interrupted,
    unfinished,
  };
}

function increase(numbers: Map<string, number>, name: string): void {
  numbers.set(name, (numbers.get(name) ?? 0) + 1);
}

/** The name of an actor: the operating system user, and the job. */
export function actorName({ user, host, as, sudo_user, job }: Entry['actor']): string {
  const person = sudo_user === undefined ? user : `${sudo_user} (as ${user ?? 'root'})`;
  const place = host === undefined ? '' : `@${host}`;
  const account = as === undefined ? '' : ` as ${as}`;
  const name = person === undefined ? '' : `${person}${place}${account}`;
  if (job === undefined) return name || 'unknown';
  return name === '' ? `job ${job}` : `job ${job}, ${name}`;
}
