import { existsSync } from 'node:fs';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { numberSince } from '../../operations/audit-log/list-log.ts';
import type { Entry } from '../../operations/ports/audit-log.ts';
import type {
  HistorySelector,
  JobStore,
  RunRecord,
  SchedulerSighting,
} from '../../operations/ports/scheduler.ts';
import { timeText } from '../../reports/tables/text.ts';
import type { Runtime } from '../runtime.ts';
import { ledgerName, openLedger } from './open-ledger.ts';
import { type CheckedJob, checkedJobs } from './scheduled-jobs.ts';

/** A job with its next tick and last run. */
export interface JobState extends CheckedJob {
  /** Its next tick; null for an invalid schedule. */
  readonly next: Date | null;
  /** Its newest run; null if there is none yet. */
  readonly last: RunRecord | null;
  /** Whether a scheduler is running for the jobs. The same for all jobs. */
  readonly scheduler: SchedulerSighting;
}

/** Every configured job with its next tick and last run. Throws `configuration`. */
export function jobStates(runtime: Runtime): Promise<readonly JobState[]> {
  return withLedger(runtime, async (store) => {
    const states: JobState[] = [];
    const scheduler = await store.sighting();
    for (const job of checkedJobs(runtime.configuration)) {
      const [last] = await store.history({ job: job.name, limit: 1 });
      states.push({
        ...job,
        next: job.schedule?.next(runtime.clock.now()) ?? null,
        last: last ?? null,
        scheduler,
      });
    }
    return states;
  });
}

/** A warning if no scheduler is running, else null. */
export function schedulerText({ running, lastSeen }: SchedulerSighting): string | null {
  if (running) return null;
  const seen =
    lastSeen === null
      ? 'No scheduler was seen'
      : `The scheduler has not been running since ${timeText(lastSeen)}`;
  return `${seen}, so no job runs on schedule. To start it: systemctl enable --now tokenctl-jobs (with the Debian or RPM package), or tokenctl jobs start`;
}

/** The scheduler warning of `context check`. Null if a scheduler is running or the configuration has no jobs. */
export async function schedulerWarning(runtime: Runtime): Promise<string | null> {
  try {
    const { configuration, environment } = runtime;
    if (Object.keys(configuration.jobs).length === 0) return null;
    // Opening a missing file would create it.
    if (
      configuration.scheduler.ledger?.database === undefined &&
      !existsSync(ledgerName(configuration, environment))
    )
      return schedulerText({ running: false, lastSeen: null });
    return schedulerText(await withLedger(runtime, (store) => store.sighting()));
  } catch (error) {
    return `Whether a scheduler is running is not known: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The newest runs. `job` may be a name from the configuration, for its runs in all contexts. */
export function jobHistory(runtime: Runtime, selector: HistorySelector): Promise<readonly RunRecord[]> {
  return withLedger(runtime, async (store) => {
    const { job, limit } = selector;
    if (job === undefined || job.includes('@')) return await store.history(selector);
    const names = [
      job,
      ...checkedJobs(runtime.configuration).flatMap(({ name }) => (matchesJob(name, job) ? [name] : [])),
    ];
    const all: RunRecord[] = [];
    for (const name of new Set(names)) all.push(...(await store.history({ ...selector, job: name })));
    return all.sort((one, other) => other.began.getTime() - one.began.getTime()).slice(0, limit);
  });
}

/** A run with its audit log entries. */
export interface ShownRun extends RunRecord {
  /** Its entries in the audit log. */
  readonly entries: readonly Entry[];
}

/** One run with its audit log entries, by its id or the id's prefix. Throws `not_found`. */
export async function shownRun(runtime: Runtime, id: string): Promise<ShownRun> {
  const record = await withLedger(runtime, (store) => store.run(id));
  if (record === null) {
    throw new TokenctlError('not_found', `No run "${id}", or several with this prefix`, {
      hint: 'List the runs with `tokenctl jobs history`.',
    });
  }
  const entries: Entry[] = [];
  const log = await runtime.auditLog();
  const end = record.ended === null ? Number.POSITIVE_INFINITY : record.ended.getTime() + CLOCK_MARGIN_MS;
  for await (const entry of log.entries(await numberSince(log, record.began))) {
    if (Date.parse(entry.at) > end) break;
    if (entry.actor['job_run'] === record.run) entries.push(entry);
  }
  return { ...record, entries };
}

/** A margin for clock differences: the run may be from another machine. */
const CLOCK_MARGIN_MS = 86_400_000;

/** Whether a ledger name belongs to a configured job, in any of its contexts. */
export function matchesJob(name: string, job: string): boolean {
  return name === job || name.startsWith(`${job}@`);
}

async function withLedger<T>({ configuration, environment }: Runtime, work: (store: JobStore) => Promise<T>) {
  const store = await openLedger(configuration, environment);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
