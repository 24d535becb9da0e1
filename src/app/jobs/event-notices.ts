import { createHash } from 'node:crypto';
import type { JobSettings } from '../../config/jobs.ts';
import type { JobNotice } from '../../operations/jobs/job.ts';
import type { Notice } from '../../operations/ports/notifier.ts';
import type { SchedulerEvent } from '../../scheduler/events.ts';

/** A notice, and how grave it is: who is told is decided by that. */
export interface GradedNotice {
  readonly notice: Notice;
  readonly severity: JobNotice['severity'];
}

/** What somebody has to be told of an event: what jobs say themselves, and runs that failed for good. */
export function noticesOf(
  event: SchedulerEvent,
  { settings, at }: { readonly settings: JobSettings | undefined; readonly at: Date },
): readonly GradedNotice[] {
  const job = event.job.name;
  if (event.kind === 'given_up') {
    const subject = `tokenctl: the job ${job} was given up`;
    return [
      graded({ subject, text: event.reason, severity: 'error' }, { job, key: event.due.toISOString(), at }),
    ];
  }
  if (event.kind !== 'run_ended') return [];
  const { claim, summary, report, state, retryAt } = event;
  const about = { job, run: claim.run, at, data: { due: claim.due.toISOString(), dryRun: event.job.dryRun } };
  if (state === 'failed' && retryAt === null && settings?.onFailure.notify !== false) {
    const text = [summary['message'], summary['hint']].filter((line) => typeof line === 'string').join('\n');
    return [
      graded(
        { subject: `tokenctl: the job ${job} failed`, text, severity: 'error' },
        { ...about, key: 'failed' },
      ),
    ];
  }
  if (state !== 'completed') return [];
  return (report?.notices ?? []).map((notice, index) =>
    graded({ ...notice, subject: `tokenctl: ${job}: ${notice.subject}` }, { ...about, key: String(index) }),
  );
}

function graded(
  { subject, text, severity }: JobNotice,
  about: {
    readonly job: string;
    readonly run?: string;
    readonly key: string;
    readonly at: Date;
    readonly data?: Readonly<Record<string, unknown>>;
  },
): GradedNotice {
  const { job, run, key, at, data } = about;
  const id = createHash('sha256')
    .update(`${job} ${run ?? ''} ${key}`)
    .digest('hex')
    .slice(0, 32);
  const shared = { job, ...(run !== undefined && { run }), severity, subject, text, ...data };
  return { severity, notice: { id, type: 'job.notice', at, data: shared } };
}
