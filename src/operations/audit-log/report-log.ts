import { TokenctlError } from '../../domain/errors.ts';
import { countNames, noCounts, type RunAccount, type RunCounts, RunTally } from '../journal/run-account.ts';
import type { AuditLog, Entry, LogVerification } from '../ports/audit-log.ts';

/** Of which time a report is made. */
export interface ReportLogOptions {
  readonly log: Pick<AuditLog, 'entries' | 'verify'>;
  /** At or after this instant; from the first entry on where not given. */
  readonly since?: Date | undefined;
  /** Before this instant; up to the last entry where not given. */
  readonly until?: Date | undefined;
}

/** What happened in a time, in numbers. */
export interface LogTotals {
  readonly entries: number;
  readonly runs: number;
  /** Runs by their operation, in the order of their first ones. */
  readonly operations: Readonly<Record<string, number>>;
  /** Runs by who ordered them. */
  readonly actors: Readonly<Record<string, number>>;
  readonly counts: RunCounts;
  /** Runs that were interrupted, and runs that are open. */
  readonly interrupted: number;
  readonly unfinished: number;
}

/** A report on the audit log. */
export interface LogReport {
  /** Of the whole log, also outside of the time. */
  readonly verification: LogVerification;
  readonly totals: LogTotals;
  /** The runs of which an entry is of the time, in the order in which they ended; those that did not, last. */
  readonly runs: () => AsyncIterable<RunAccount>;
  /** Asked after the runs: what kept the log from being read to its end; null where nothing did. */
  readonly failure: () => TokenctlError | null;
}

/**
 * Reports what was done in a time, on whose order, and what came of it: each run whole, with the entries before
 * and after the time as well, so that one that was interrupted is told with what was found out later.
 *
 * The log is verified and read three times; held in memory are the runs that are under way, and of the others of
 * the time their names.
 *
 * @throws TokenctlError `audit_unavailable`. A log that does not hold is reported as far as it can be read.
 */
export async function reportLog(options: ReportLogOptions): Promise<LogReport> {
  const { log } = options;
  const verification = await log.verify();
  const reading = new Reading(options);
  const { runs, entries } = await reading.runsOfTheTime();
  const totals = await totalsOf(reading.accounts(runs), entries);
  return {
    verification,
    totals,
    runs: () => reading.accounts(runs),
    failure: () => reading.failure,
  };
}

class Reading {
  readonly #options: ReportLogOptions;
  failure: TokenctlError | null = null;

  constructor(options: ReportLogOptions) {
    this.#options = options;
  }

  /** The runs of which an entry is of the time, each with the number of its last entry. */
  async runsOfTheTime(): Promise<{ readonly runs: ReadonlyMap<string, number>; readonly entries: number }> {
    const runs = new Map<string, number>();
    let entries = 0;
    for await (const entry of this.#entries()) {
      const isOfTheTime = this.#isOfTheTime(entry);
      if (isOfTheTime) entries += 1;
      if (isOfTheTime || runs.has(entry.run)) runs.set(entry.run, entry.seq);
    }
    return { runs, entries };
  }

  async *accounts(runs: ReadonlyMap<string, number>): AsyncIterable<RunAccount> {
    const underWay = new Map<string, RunTally>();
    for await (const entry of this.#entries()) {
      const last = runs.get(entry.run);
      if (last === undefined) continue;
      const tally = underWay.get(entry.run) ?? new RunTally(entry);
      underWay.set(entry.run, tally);
      tally.add(entry);
      if (entry.seq < last || !tally.isClosed) continue;
      underWay.delete(entry.run);
      yield tally.account();
    }
    for (const tally of underWay.values()) yield tally.account();
  }

  /** All entries up to where the log is readable. */
  async *#entries(): AsyncIterable<Entry> {
    try {
      yield* this.#options.log.entries();
    } catch (error) {
      if (!(error instanceof TokenctlError) || error.code !== 'log_broken') throw error;
      this.failure = error;
    }
  }

  #isOfTheTime({ at }: Entry): boolean {
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
  let [number, interrupted, unfinished] = [0, 0, 0];
  for await (const account of runs) {
    number += 1;
    interrupted += account.state === 'interrupted' ? 1 : 0;
    unfinished += account.state === 'unfinished' ? 1 : 0;
    increase(operations, account.operation);
    increase(actors, actorName(account.actor));
    for (const name of countNames) counts[name] += account.counts[name];
  }
  return {
    entries,
    runs: number,
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

/** Who ordered something, as one name: the user of the machine, and the job where it was one. */
export function actorName({ user, host, as, sudo_user, job }: Entry['actor']): string {
  const person = sudo_user === undefined ? user : `${sudo_user} (as ${user ?? 'root'})`;
  const place = host === undefined ? '' : `@${host}`;
  const account = as === undefined ? '' : ` as ${as}`;
  const name = person === undefined ? '' : `${person}${place}${account}`;
  if (job === undefined) return name || 'unknown';
  return name === '' ? `job ${job}` : `job ${job}, ${name}`;
}
