import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '../domain/errors.ts';
import type { JobReport } from '../operations/jobs/job.ts';
import type { Claim, Ending, SchedulerClock, TickClaims } from '../operations/ports/scheduler.ts';
import type { EventListener, RunEnded } from './events.ts';
import { keepLease } from './lease.ts';
import { failureSummary, mayPass } from './run-failure.ts';
import type { ScheduledJob } from './scheduled-job.ts';

/** What runs are executed with. */
export interface ExecutionOptions {
  readonly claims: TickClaims;
  readonly clock: SchedulerClock;
  /** In milliseconds. */
  readonly lease: number;
  /** Aborted where the scheduler stops: the run ends as soon as what is in flight is recorded. */
  readonly interrupt: AbortSignal;
  readonly listener: EventListener;
}

/** Why a run was told to end. */
type EndingReason = 'stopping' | 'timeout' | 'lost';

/** What a run's work came to. */
interface Result {
  readonly report: JobReport | null;
  readonly error: unknown;
}

const RECORDING_PAUSE = 500;

/**
 * Runs the job for a claim, keeps the claim meanwhile, and records how it ended: as often as it takes, or
 * until the claim turns out to be another's.
 */
export async function execute(job: ScheduledJob, claim: Claim, options: ExecutionOptions): Promise<RunEnded> {
  const { claims, clock, lease, interrupt, listener } = options;
  const ending = new AbortController();
  let reason: EndingReason | null = null;
  const tellToEnd = (why: EndingReason) => {
    reason ??= why;
    ending.abort();
  };
  const stop = () => tellToEnd('stopping');
  using _lease = keepLease({ claims, claim, lease, onLost: () => tellToEnd('lost') });
  const timer = setTimeout(() => tellToEnd('timeout'), job.timeout * 1000);
  if (interrupt.aborted) stop();
  interrupt.addEventListener('abort', stop, { once: true });
  listener({ kind: 'run_began', job, claim });
  const started = performance.now();
  const result = await work(job, { run: claim.run, due: claim.due, signal: ending.signal });
  clearTimeout(timer);
  interrupt.removeEventListener('abort', stop);
  const seconds = (performance.now() - started) / 1000;
  const ended = marked(job, endingOf({ job, claim, result, reason, now: clock.now() }));
  const recorded = await record(claim, ended, claims);
  const event: RunEnded = {
    kind: 'run_ended',
    job,
    claim,
    state: recorded ? ended.state : 'lost',
    retryAt: recorded ? ended.retryAt : null,
    summary: ended.summary,
    ...result,
    seconds,
  };
  listener(event);
  return event;
}

async function work(job: ScheduledJob, circumstances: Parameters<ScheduledJob['work']>[0]): Promise<Result> {
  try {
    return { report: await job.work(circumstances), error: null };
  } catch (error) {
    return { report: null, error };
  }
}

/** The history tells rehearsals from what was meant. */
function marked({ dryRun }: ScheduledJob, ending: Ending): Ending {
  return dryRun ? { ...ending, summary: { ...ending.summary, dryRun } } : ending;
}

function endingOf(run: {
  readonly job: ScheduledJob;
  readonly claim: Claim;
  readonly result: Result;
  readonly reason: EndingReason | null;
  readonly now: Date;
}): Ending {
  const { job, claim, now } = run;
  const { report, error } = timedOut(run) ?? run.result;
  if (report !== null && report.interrupted !== true) {
    return {
      state: 'completed',
      retryAt: null,
      now,
      summary: { message: report.message, ...report.summary },
    };
  }
  const again = claim.kind === 'schedule';
  if (report !== null || (error instanceof TokenctlError && error.code === 'interrupted')) {
    const summary = report === null ? failureSummary(error) : { message: report.message, ...report.summary };
    return { state: 'interrupted', retryAt: again ? now : null, now, summary };
  }
  const { retries, retryAfter } = job.onFailure;
  const retry = again && mayPass(error) && claim.failures < retries;
  const pause = retryAfter * 1000 * 2 ** claim.failures;
  return {
    state: 'failed',
    retryAt: retry ? new Date(now.getTime() + pause) : null,
    now,
    summary: failureSummary(error),
  };
}

/** A run that was told to end by its time limit, and did not get through: that is a failure, not a pause. */
function timedOut(run: { job: ScheduledJob; result: Result; reason: EndingReason | null }): Result | null {
  const { report, error } = run.result;
  const cutShort =
    report?.interrupted === true || (error instanceof TokenctlError && error.code === 'interrupted');
  if (run.reason !== 'timeout' || !cutShort) return null;
  const details = report === null ? {} : { details: report.summary };
  const message = `The run took longer than ${run.job.timeout} seconds and was ended; what it did is recorded`;
  const hint = 'Allow it more time with `timeout`, or give it less to do.';
  return { report: null, error: new TokenctlError('partly_done', message, { hint, ...details }) };
}

/** Records the ending, whatever the ledger's troubles. False where the tick is another's by now. */
async function record(claim: Claim, ending: Ending, claims: TickClaims): Promise<boolean> {
  for (;;) {
    try {
      return await claims.end(claim, ending);
    } catch (error) {
      if (!mayPass(error)) throw error;
      await sleep(RECORDING_PAUSE);
    }
  }
}
