import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError, type TokenctlErrorCode } from '../domain/errors.ts';
import type { JobReport } from '../operations/jobs/job.ts';
import type {
  Claim,
  JobStore,
  OpenTick,
  RunOutcome,
  RunSummary,
  SchedulerClock,
} from '../operations/ports/scheduler.ts';
import type { EventListener, RunEnded, ScheduledJob } from './scheduled-job.ts';

/** What runs are executed with. */
interface ExecutionOptions {
  readonly store: JobStore;
  readonly clock: SchedulerClock;
  /** In milliseconds. */
  readonly lease: number;
  /** Aborted where the scheduler stops: the run ends as soon as what is in flight is recorded. */
  readonly interrupt: AbortSignal;
  readonly listener: EventListener;
}

/** Why a run was told to end. */
type StopReason = 'stopping' | 'timeout' | 'lost';

/** What a run's work came to. */
interface Result {
  readonly report: JobReport | null;
  readonly error: unknown;
}

const RECORD_RETRY_MS = 500;

/**
 * Runs the job for a claim, keeps the claim meanwhile, and records how it ended: as often as it takes, or
 * until the claim turns out to be another's.
 */
export async function execute(job: ScheduledJob, claim: Claim, options: ExecutionOptions): Promise<RunEnded> {
  const { store, clock, lease, interrupt, listener } = options;
  const ending = new AbortController();
  let reason: StopReason | null = null;
  const stopRun = (why: StopReason) => {
    reason ??= why;
    ending.abort();
  };
  const stop = () => stopRun('stopping');
  using _lease = keepLease({ store, claim, lease, onLost: () => stopRun('lost') });
  const timer = setTimeout(() => stopRun('timeout'), job.timeout * 1000);
  if (interrupt.aborted) stop();
  interrupt.addEventListener('abort', stop, { once: true });
  listener({ kind: 'run_started', job, claim });
  const started = performance.now();
  const result = await work(job, { run: claim.run, due: claim.due, signal: ending.signal });
  clearTimeout(timer);
  interrupt.removeEventListener('abort', stop);
  const seconds = (performance.now() - started) / 1000;
  const ended = withDryRunMark(job, outcomeOf({ job, claim, result, reason, now: clock.now() }));
  const recorded = await record(claim, ended, store);
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

async function work(job: ScheduledJob, context: Parameters<ScheduledJob['work']>[0]): Promise<Result> {
  try {
    return { report: await job.work(context), error: null };
  } catch (error) {
    return { report: null, error };
  }
}

/** The history tells rehearsals from what was meant. */
function withDryRunMark({ dryRun }: ScheduledJob, ending: RunOutcome): RunOutcome {
  return dryRun ? { ...ending, summary: { ...ending.summary, dryRun } } : ending;
}

function outcomeOf(run: {
  readonly job: ScheduledJob;
  readonly claim: Claim;
  readonly result: Result;
  readonly reason: StopReason | null;
  readonly now: Date;
}): RunOutcome {
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
  const retry = again && isTransient(error) && claim.failures < retries;
  const pause = retryAfter * 1000 * 2 ** claim.failures;
  return {
    state: 'failed',
    retryAt: retry ? new Date(now.getTime() + pause) : null,
    now,
    summary: failureSummary(error),
  };
}

/** A run that was told to end by its time limit, and did not get through: that is a failure, not a pause. */
function timedOut(run: { job: ScheduledJob; result: Result; reason: StopReason | null }): Result | null {
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
async function record(claim: Claim, ending: RunOutcome, store: JobStore): Promise<boolean> {
  for (;;) {
    try {
      return await store.end(claim, ending);
    } catch (error) {
      if (!isTransient(error)) throw error;
      await sleep(RECORD_RETRY_MS);
    }
  }
}

/** How a claim is kept. */
interface LeaseOptions {
  readonly store: JobStore;
  readonly claim: Claim;
  /** In milliseconds. */
  readonly lease: number;
  /** Called once, where the claim is lost or may be: nothing more must be begun. */
  readonly onLost: () => void;
}

/**
 * Renews a claim's lease until disposed of. Measured by a clock that nobody can set; where the ledger does
 * not answer, the claim counts as lost a while before the lease runs out, since another replica may take it
 * over then.
 */
function keepLease({ store, claim, lease, onLost }: LeaseOptions): Disposable {
  const stopped = new AbortController();
  let renewed = performance.now();
  let lost = false;
  const lose = () => {
    if (lost || stopped.signal.aborted) return;
    lost = true;
    onLost();
  };
  const watch = setInterval(() => {
    if (performance.now() - renewed > (lease * 5) / 6) lose();
  }, lease / 12);
  const renew = async () => {
    while (!stopped.signal.aborted) {
      await sleep(lease / 3, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (stopped.signal.aborted) return;
      const asked = performance.now();
      const kept = await store.renew(claim, lease).catch(() => null);
      if (kept === true) renewed = asked;
      if (kept === false) return lose();
    }
  };
  void renew();
  return {
    [Symbol.dispose]() {
      stopped.abort();
      clearInterval(watch);
    },
  };
}

/** Failures that another try may not meet: they come from outside, and pass. */
const TRANSIENT_CODES: ReadonlySet<TokenctlErrorCode> = new Set([
  'target_unreachable',
  'target_misbehaved',
  'database_unreachable',
  'audit_unavailable',
  'outcome_unrecorded',
  'partly_done',
  'busy',
]);

/** Whether a run that failed so is worth trying again. */
function isTransient(error: unknown): boolean {
  return error instanceof TokenctlError && TRANSIENT_CODES.has(error.code);
}

/** A failure as the ledger keeps it. What is no error of ours is named and not repeated: it may hold a secret. */
function failureSummary(error: unknown): RunSummary {
  if (!(error instanceof TokenctlError)) {
    const name = error instanceof Error ? error.name : typeof error;
    return { code: 'bug', message: `An unexpected error (${name}): the scheduler's own output has it` };
  }
  const { code, message, hint, details } = error;
  return { code, message, ...(hint !== undefined && { hint }), ...(details !== undefined && { details }) };
}

/** What a run by hand is made with. */
interface RunNowOptions extends ExecutionOptions {
  /** This process, as people recognize it. */
  readonly holder: string;
}

/**
 * Runs a job now, under the same claim as its ticks. Where one of these waits to be tried again, or was left
 * by a killed process, that one is run.
 *
 * @throws TokenctlError `busy` where the job runs already.
 */
export async function runNow(job: ScheduledJob, options: RunNowOptions): Promise<RunEnded> {
  const { store, clock } = options;
  const { open } = await store.tickState(job.name, clock.now());
  const claim = open === null ? await claimNow(job, options) : await claimOpen(open, job, options);
  if (claim === null) throw busy(job, (await store.tickState(job.name, clock.now())).open);
  return await execute(job, claim, options);
}

function claimNow(job: ScheduledJob, { store, clock, holder, lease }: RunNowOptions): Promise<Claim | null> {
  const now = clock.now();
  // Never on the second, where ticks of the schedule are.
  const due = now.getMilliseconds() === 0 ? new Date(now.getTime() + 1) : now;
  return store.claim({ job: job.name, due, kind: 'manual' }, { holder, lease, now });
}

async function claimOpen(open: OpenTick, job: ScheduledJob, options: RunNowOptions): Promise<Claim | null> {
  const { store, clock, holder, lease } = options;
  const now = clock.now();
  if (open.state === 'waiting') return await store.takeOver(job.name, { holder, lease, now, early: true });
  if (open.kind === 'schedule') return await store.takeOver(job.name, { holder, lease, now });
  const summary = { code: 'abandoned', message: 'The process of whoever asked for this run is gone' };
  return (await store.abandon(open, { summary, now })) ? await claimNow(job, options) : null;
}

function busy(job: ScheduledJob, open: OpenTick | null): TokenctlError {
  const who = open === null ? 'another process' : open.holder;
  return new TokenctlError('busy', `The job ${job.name} is being run by ${who}`, {
    hint: 'Wait until it is through. A process that was killed is noticed when its lease has run out.',
    ...(open !== null && { details: { run: open.run, holder: open.holder } }),
  });
}
