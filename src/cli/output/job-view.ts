import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { JobState, ShownRun } from '../../app/jobs/inspect.ts';
import type { ManualRun } from '../../app/jobs/run-manually.ts';
import type { CheckedJob } from '../../app/jobs/scheduled-jobs.ts';
import type { RunRecord } from '../../operations/ports/scheduler.ts';
import { type Fact, facts, lines, list } from '../../reports/document.ts';
import { type Report, report } from '../../reports/result.ts';
import { type Listing, listing } from '../../reports/tables/listing.ts';
import { countText, numberText, timeText } from '../../reports/tables/text.ts';

/** A job as `--json` shows it. */
export interface JobJson {
  readonly job: string;
  readonly kind: string;
  /** The context or group it works in; null for the current one. */
  readonly context: JobState['context'];
  readonly dryRun: boolean;
  readonly schedule: string;
  readonly timeZone: string;
  /** The next due time; null if it cannot run. */
  readonly next: Date | null;
  /** Null if it never ran. */
  readonly last: RunRecord | null;
  /** Whether a scheduler is running that would run it when due. */
  readonly scheduler: JobState['scheduler'];
  /** Why it cannot run; null if it can. */
  readonly problem: string | null;
}

/** A manual run, as `--json` shows it. */
export type RanJobJson = Omit<ManualRun, 'error'>;

/** A checked job as `--json` shows it. */
export interface CheckedJobJson {
  readonly job: string;
  readonly dryRun: boolean;
  /** Why it cannot run; null if it can. */
  readonly problem: string | null;
  readonly hint: string | null;
}

export function jobListing(rows: readonly JobState[]): Listing<JobState, JobJson> {
  return listing<JobState, JobJson>({
    rows,
    columns: [
      { name: 'job', cell: ({ name }) => name, whole: true },
      { name: 'kind', cell: ({ settings }) => settings.job },
      { name: 'mode', cell: (job) => modeText(job), whole: true },
      { name: 'schedule', cell: ({ expression }) => expression, whole: true },
      { name: 'zone', cell: ({ settings }) => settings.timeZone, narrow: 'drop' },
      { name: 'next', cell: ({ next }) => (next === null ? '' : timeText(next)), whole: true },
      {
        name: 'last',
        cell: ({ last }) => (last === null ? 'never ran' : `${last.state} ${timeText(last.began)}`),
      },
      {
        name: 'problem',
        cell: ({ problem }) => problem?.message ?? '',
        only: 'unlessEmpty',
        narrow: 'below',
      },
    ],
    json: ({ name, settings, context, expression, next, last, scheduler, problem }) => ({
      job: name,
      kind: settings.job,
      context,
      dryRun: settings.dryRun,
      schedule: expression,
      timeZone: settings.timeZone,
      next,
      last,
      scheduler,
      problem: problem?.message ?? null,
    }),
    none: 'No jobs. Add them to the jobs section of the configuration.',
  });
}

/** The checked configuration as a result: its file, null without one, with warnings. */
export function jobCheckResult(
  jobs: readonly CheckedJob[],
  { file, warnings }: { file: string | null; warnings: readonly string[] },
): Report<readonly CheckedJobJson[]> {
  const wrong = jobs.filter(({ problem }) => problem !== null);
  return report({
    json: jobs.map(({ name, settings, problem }) => ({
      job: name,
      dryRun: settings.dryRun,
      problem: problem?.message ?? null,
      hint: problem?.hint ?? null,
    })),
    document: [
      lines(
        jobs.length === 0 &&
          `No jobs in ${file ?? 'the configuration'}. To create the first one: tokenctl jobs init`,
        jobs.map((job) => `${job.name}: ${job.problem?.message ?? `valid (${modeText(job)})`}`),
        warnings,
        jobs.length > wrong.length &&
          'Connected to nothing: controllers, directories and recipients were not checked. To test a job: tokenctl jobs run JOB --dry-run',
      ),
    ],
    failure:
      wrong.length === 0
        ? undefined
        : new TokenctlError('configuration', `${countText(wrong.length, 'job')} cannot be run`, {
            ...(wrong[0]?.problem?.hint !== undefined && { hint: wrong[0].problem.hint }),
          }),
  });
}

/** Runs as a command's result; `ledger` says where they are recorded. */
export function runListing(rows: readonly RunRecord[], ledger: string): Listing<RunRecord, RunRecord> {
  return listing({
    rows,
    columns: [
      { name: 'run', cell: ({ run }) => run, short: ({ run }) => run.slice(0, 8), whole: true },
      { name: 'job', cell: ({ job }) => job, whole: true },
      { name: 'due', cell: ({ due }) => timeText(due), whole: true },
      { name: 'state', cell: ({ state }) => state, whole: true },
      {
        name: 'mode',
        cell: ({ summary }) => (summary['dryRun'] === true ? 'dry run' : ''),
        only: 'unlessEmpty',
      },
      { name: 'attempt', cell: ({ attempt }) => String(attempt), narrow: 'drop' },
      { name: 'seconds', cell: secondsOf, narrow: 'drop' },
      { name: 'holder', cell: ({ holder }) => holder, only: 'csv' },
      { name: 'message', cell: messageOf, narrow: 'below' },
    ],
    json: (run) => run,
    none: `No runs in the ledger ${ledger}.`,
  });
}

/** One run with its audit log entries, as a command's result. */
export function shownRunResult(record: ShownRun): Report<ShownRun> {
  const { entries } = record;
  return report({
    json: record,
    document: [
      facts(
        [
          ['Job', record.job],
          ['Due', `${timeText(record.due)}${record.kind === 'manual' ? ' (by hand)' : ''}`],
          ['State', `${record.state}, attempt ${record.attempt}`],
          ['Began', timeText(record.began)],
          ['Ended', record.ended === null ? 'not yet' : timeText(record.ended)],
          ['By', record.holder],
          ['Result', messageOf(record) || 'none'],
          ...countsOf(record.summary),
        ],
        `Run ${record.run}`,
      ),
      lines(
        `${countText(entries.length, 'entry', 'entries')} of the audit log`,
        list(
          ...entries.map(
            ({ seq, at, kind, operation, data }) =>
              `${seq} ${at} ${kind} ${operation} ${JSON.stringify(data).slice(0, 300)}`,
          ),
        ),
      ),
    ],
  });
}

/** Manual runs, as a command's result. */
export function ranResult(ran: readonly ManualRun[]): Report<readonly RanJobJson[]> {
  const failed = ran.find(({ state }) => state !== 'completed');
  return report({
    json: ran.map(({ error: _error, ...told }) => told),
    document: [lines(ran.map(ranText))],
    failure: failed === undefined ? undefined : failureOf(failed),
  });
}

function ranText({ job, run, dryRun, state, summary }: ManualRun): string {
  const message = String(summary['message'] ?? '');
  return `${job}${dryRun ? ' (dry run)' : ''}: ${state}: ${message} (run ${run})`;
}

function failureOf({ job, state, error, summary }: ManualRun): TokenctlError {
  if (error instanceof TokenctlError) return error;
  const message = `The run of ${job} ${state === 'failed' ? 'failed' : `is ${state}`}: ${String(summary['message'] ?? '')}`;
  return new TokenctlError(state === 'failed' ? 'partly_done' : 'interrupted', message);
}

function modeText({ settings }: Pick<CheckedJob, 'settings'>): string {
  return settings.dryRun ? 'dry run' : 'live';
}

function secondsOf({ began, ended }: RunRecord): string {
  return ended === null ? '' : String(Math.round((ended.getTime() - began.getTime()) / 1000));
}

/** The numbers of a summary: `byRule` is "by rule". Its other members are in the message, or in `--json`. */
function countsOf(summary: RunRecord['summary']): Fact[] {
  return Object.entries(summary).flatMap(([name, value]): Fact[] => {
    const title = name.replace(/^.|[A-Z]/g, (letter, at) =>
      at === 0 ? letter.toUpperCase() : ` ${letter.toLowerCase()}`,
    );
    if (typeof value === 'number') return [[title, numberText(value)]];
    if (typeof value !== 'object' || value === null) return [];
    const counts = Object.entries(value).filter(
      (each): each is [string, number] => typeof each[1] === 'number',
    );
    return counts.length === 0 ? [] : [[title, counts.map(([of, count]) => `${of}: ${numberText(count)}`)]];
  });
}

function messageOf({ summary }: RunRecord): string {
  const message = summary['message'];
  return typeof message === 'string' ? message : '';
}
