import { TokenctlError } from '../domain/errors.ts';
import type { Claim, OpenTick } from '../operations/ports/scheduler.ts';
import type { RunEnded } from './events.ts';
import { type ExecutionOptions, execute } from './execute.ts';
import type { ScheduledJob } from './scheduled-job.ts';

/** What a run by hand is made with. */
export interface RunNowOptions extends ExecutionOptions {
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
  const { claims, clock } = options;
  const { open } = await claims.standing(job.name, clock.now());
  const claim = open === null ? await claimNow(job, options) : await claimOpen(open, job, options);
  if (claim === null) throw busy(job, (await claims.standing(job.name, clock.now())).open);
  return await execute(job, claim, options);
}

function claimNow(job: ScheduledJob, { claims, clock, holder, lease }: RunNowOptions): Promise<Claim | null> {
  const now = clock.now();
  // Never on the second, where ticks of the schedule are.
  const due = now.getMilliseconds() === 0 ? new Date(now.getTime() + 1) : now;
  return claims.claim({ job: job.name, due, kind: 'by_hand' }, { holder, lease, now });
}

async function claimOpen(open: OpenTick, job: ScheduledJob, options: RunNowOptions): Promise<Claim | null> {
  const { claims, clock, holder, lease } = options;
  const now = clock.now();
  if (open.state === 'waiting') return await claims.takeOver(job.name, { holder, lease, now, early: true });
  if (open.kind === 'schedule') return await claims.takeOver(job.name, { holder, lease, now });
  const summary = { code: 'given_up', message: 'The process of whoever asked for this run is gone' };
  return (await claims.giveUp(open, { summary, now })) ? await claimNow(job, options) : null;
}

function busy(job: ScheduledJob, open: OpenTick | null): TokenctlError {
  const who = open === null ? 'another process' : open.holder;
  return new TokenctlError('busy', `The job ${job.name} is being run by ${who}`, {
    hint: 'Wait until it is through. A process that was killed is noticed when its lease has run out.',
    ...(open !== null && { details: { run: open.run, holder: open.holder } }),
  });
}
