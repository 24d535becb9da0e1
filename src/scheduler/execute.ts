import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import type { JobReport } from '../operations/jobs/job.ts';
import type { SchedulerClock } from '../operations/ports/clock.ts';
import type { Claim, JobStore, OpenTick, RunOutcome, RunSummary } from '../operations/ports/scheduler.ts';
import type { EventListener, RunEnded, ScheduledJob } from './scheduled-job.ts';

interface ExecutionOptions {
  readonly store: JobStore;
  readonly clock: SchedulerClock;
  /** In milliseconds. */
  readonly lease: number;
  /** Aborted when the scheduler stops: the run ends once the work in flight is recorded. */
  readonly interrupt: AbortSignal;
  readonly listener: EventListener;
}

type StopReason = 'stopping' | 'timeout' | 'lost';

interface Result {
  readonly report: JobReport | null;
  readonly error: unknown;
}

const RECORD_RETRY_MS = 500;

/** Runs the job for a claim, renews the lease, and records the outcome, until that succeeds or the claim is lost. */
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

/** A run that its time limit ended has failed; it was not merely interrupted. */
function timedOut(run: { job: ScheduledJob; result: Result; reason: StopReason | null }): Result | null {
  const { report, error } = run.result;
  const cutShort =
    report?.interrupted === true || (error instanceof TokenctlError && error.code === 'interrupted');
  if (run.reason !== 'timeout' || !cutShort) return null;
  const details = report === null ? {} : { details: report.summary };
  const message = `The run exceeded ${run.job.timeout} seconds and was stopped; its changes are recorded`;
  const hint = "Increase the job's `timeout`, or reduce its work.";
  return { report: null, error: new TokenctlError('partly_done', message, { hint, ...details }) };
}

/** Records the outcome, and retries while the ledger is unavailable. False if another replica has the tick. */
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

interface LeaseOptions {
  readonly store: JobStore;
  readonly claim: Claim;
  /** In milliseconds. */
  readonly lease: number;
  /** Called once if the claim is lost or may be lost: the run must start nothing more. */
  readonly onLost: () => void;
}

/**
 * Renews a claim's lease until disposed of, measured by a monotonic clock. If the ledger does not respond,
 * the claim counts as lost shortly before the lease expires, since another replica may take it over then.
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

/** Errors that a retry may resolve. */
const TRANSIENT_CODES: ReadonlySet<TokenctlErrorCode> = new Set([
  'target_unreachable',
  'target_misbehaved',
  'database_unreachable',
  'audit_unavailable',
  'outcome_unrecorded',
  'partly_done',
  'busy',
]);

function isTransient(error: unknown): boolean {
  return error instanceof TokenctlError && TRANSIENT_CODES.has(error.code);
}

/** An error in the ledger's form. Only the name of an unexpected one is stored: its message may contain a secret. */
function failureSummary(error: unknown): RunSummary {
  if (!(error instanceof TokenctlError)) {
    const name = error instanceof Error ? error.name : typeof error;
    return { code: 'bug', message: `Unexpected error (${name}); see the scheduler's log` };
  }
  const { code, message, hint, details } = error;
  return { code, message, ...(hint !== undefined && { hint }), ...(details !== undefined && { details }) };
}

interface RunNowOptions extends ExecutionOptions {
  /** This process: host and process id. */
  readonly holder: string;
  /** Leaves a scheduled tick that awaits its retry to its own run: a dry run must not replace that. */
  readonly keepsOpenTick?: boolean;
}

/**
 * Runs a job now, under the same claim as its ticks. A tick that awaits its retry, or was left by a killed
 * process, is run instead of a new one. Throws `already_running` if the job is running, or a tick is kept.
 */
export async function runNow(job: ScheduledJob, options: RunNowOptions): Promise<RunEnded> {
  const { store, clock } = options;
  const { open } = await store.tickState(job.name, clock.now());
  if (open?.kind === 'schedule' && options.keepsOpenTick === true) throw busy(job, open);
  const claim = open === null ? await claimNow(job, options) : await claimOpen(open, job, options);
  if (claim === null) throw busy(job, (await store.tickState(job.name, clock.now())).open);
  return await execute(job, claim, options);
}

function claimNow(job: ScheduledJob, { store, clock, holder, lease }: RunNowOptions): Promise<Claim | null> {
  const now = clock.now();
  // Scheduled ticks are due on whole seconds.
  const due = now.getMilliseconds() === 0 ? new Date(now.getTime() + 1) : now;
  return store.claim({ job: job.name, due, kind: 'manual' }, { holder, lease, now });
}

async function claimOpen(open: OpenTick, job: ScheduledJob, options: RunNowOptions): Promise<Claim | null> {
  const { store, clock, holder, lease } = options;
  const now = clock.now();
  if (open.state === 'waiting') return await store.takeOver(job.name, { holder, lease, now, early: true });
  if (open.kind === 'schedule') return await store.takeOver(job.name, { holder, lease, now });
  const summary = { code: 'abandoned', message: 'The process that started this manual run was killed' };
  return (await store.abandon(open, { summary, now })) ? await claimNow(job, options) : null;
}

function busy(job: ScheduledJob, open: OpenTick | null): TokenctlError {
  if (open !== null && (open.state === 'waiting' || open.leaseLeft <= 0)) {
    return new TokenctlError(
      'already_running',
      `A run of the job ${job.name} failed or was killed, and will be retried`,
      {
        hint: 'A dry run would replace it. Wait until the retry is done, or run the job without --dry-run.',
        details: { run: open.run, due: open.due },
      },
    );
  }
  const who = open === null ? 'another process' : open.holder;
  return new TokenctlError('already_running', `Job ${job.name} is already running (${who})`, {
    hint: 'Wait until that run ends. The claim of a killed process expires with its lease.',
    ...(open !== null && { details: { run: open.run, holder: open.holder } }),
  });
}
