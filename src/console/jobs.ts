import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type JobState, jobHistory, jobStates, schedulerText, shownRun } from '../app/jobs/inspect.ts';
import { runManually } from '../app/jobs/run-manually.ts';
import type { Runtime } from '../app/runtime.ts';
import { ranResult, shownRunResult } from '../cli/output/job-view.ts';
import { shellWord } from '../domain/remedies.ts';
import type { RunRecord } from '../operations/ports/scheduler.ts';
import { line } from './command-line.ts';
import { endedOf, type Operations } from './operations.ts';
import type { Places } from './places.ts';

/** The maximum number of runs to list. */
const MAX_RUNS = 100;
/** The number of next due times per job. */
const NEXT_TICKS = 5;

interface JobParts {
  readonly places: Places;
  readonly operations: Operations;
  readonly version: string;
}

/** Serves the configured jobs with their history. A job can be dry-run, by the code of `jobs run`. */
export function serveJobs(app: FastifyInstance, { places, operations, version }: JobParts): void {
  app.get('/api/jobs', () => places.anywhere((runtime) => jobsOf(runtime, places.contexts)));
  app.get('/api/jobs/run', ({ query }) => {
    const { run } = z.object({ run: z.uuid() }).parse(query);
    return places.anywhere(async (runtime) => await endedOf(shownRunResult(await shownRun(runtime, run))));
  });
  // Refused with --read-only: it takes the lock of the job, adds a run to its history, and may send notices.
  app.post('/api/jobs/dry-run', async ({ body }, reply) => {
    const { job } = z.strictObject({ job: z.string().min(1).max(400) }).parse(body);
    const [name, context] = partsOf(job);
    await places.anywhere(async ({ configuration }) => {
      if (configuration.jobs[name] === undefined) {
        throw new TokenctlError('not_found', `The configuration has no job named "${name}"`);
      }
    });
    if (context !== undefined && !places.contexts.includes(context)) {
      throw new TokenctlError('not_found', `This console has no context "${context}"`);
    }
    const begun = operations.begin({
      kind: 'jobs run',
      place: null,
      command: line(['jobs run', shellWord(job), '--dry-run'], { places }),
      flags: {},
      plan: async ({ runtime, notify }) =>
        ranResult(await runManually({ runtime, name: job, dryRun: true, version, notify })),
    });
    return reply.code(201).send(begun);
  });
}

export type Jobs = Awaited<ReturnType<typeof jobsOf>>;

async function jobsOf(runtime: Runtime, contexts: readonly string[]) {
  // Without jobs there may be no ledger, and reading would create it.
  const isEmpty = Object.keys(runtime.configuration.jobs).length === 0;
  const now = runtime.clock.now();
  const jobs = isEmpty ? [] : await jobStates(runtime);
  const runs = isEmpty ? [] : await jobHistory(runtime, { limit: MAX_RUNS });
  return {
    /** The warning about the scheduler; null if one is running. */
    warning: jobs[0] === undefined ? null : schedulerText(jobs[0].scheduler),
    jobs: jobs.map((job) => jobRow(job, { now, contexts })),
    runs: runs.map(runRow),
  };
}

/** The name in the configuration, and the context. */
function partsOf(job: string): [string, string | undefined] {
  const at = job.indexOf('@');
  return at < 0 ? [job, undefined] : [job.slice(0, at), job.slice(at + 1)];
}

function jobRow(
  { name, settings, context, expression, schedule, last, problem }: JobState,
  { now, contexts }: { now: Date; contexts: readonly string[] },
) {
  const ticks: Date[] = [];
  for (let at = now; schedule !== null && ticks.length < NEXT_TICKS; ) {
    at = schedule.next(at);
    ticks.push(at);
  }
  return {
    name,
    context,
    kind: settings.job,
    dryRun: settings.dryRun,
    schedule: expression,
    timeZone: settings.timeZone,
    ticks,
    problem: problem?.message ?? null,
    last: last === null ? null : runRow(last),
    isHere: context === null || contexts.includes(context),
  };
}

function runRow({ attempt: _, holder: __, summary: { message, dryRun }, ...run }: RunRecord) {
  return { ...run, isDryRun: dryRun === true, message: typeof message === 'string' ? message : null };
}
