import { createHash } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Logger } from 'pino';
import type { Configuration } from '../../config/configuration.ts';
import type { JobSettings, RecipientSettings, SchedulerSettings } from '../../config/jobs.ts';
import type { Environment } from '../../config/paths.ts';
import { readSecret } from '../../config/secrets.ts';
import { openEmail } from '../../notify/email.ts';
import { NoticeQueue, slackMessage } from '../../notify/notices.ts';
import { openWebhook } from '../../notify/webhook.ts';
import type { JobNotice } from '../../operations/jobs/job.ts';
import type { Notice, Notifier } from '../../operations/ports/notifier.ts';
import type { SchedulerMetrics } from '../../scheduler/monitoring.ts';
import type { SchedulerEvent } from '../../scheduler/scheduled-job.ts';

const SEVERITY_ORDER = { info: 0, warning: 1, error: 2 } as const;

interface NoticeResult {
  readonly to: string;
  readonly result: 'delivered' | 'abandoned';
  readonly error: unknown;
}

/** All configured recipients of notices. */
export class Recipients {
  /** By name, for jobs that send their own notices. */
  readonly notifiers: ReadonlyMap<string, Notifier>;
  readonly #queues: readonly { readonly at: RecipientSettings['at']; readonly queue: NoticeQueue }[];

  /** @throws TokenctlError `configuration` if a secret is unreadable or is not an address. */
  constructor(
    { notify }: SchedulerSettings,
    options: { readonly environment: Environment; readonly onResult: (result: NoticeResult) => void },
  ) {
    this.notifiers = new Map(
      Object.entries(notify).map(([name, settings]) => [name, openNotifier(settings, options.environment)]),
    );
    this.#queues = [...this.notifiers].map(([to, notifier]) => ({
      at: notify[to]?.at ?? 'error',
      queue: new NoticeQueue({
        notifier,
        onResult: (result, error) => options.onResult({ to, result, error }),
      }),
    }));
  }

  /** Queues a notice for every recipient of its severity. Returns at once. */
  tell({ notice, severity }: NoticeWithSeverity): void {
    for (const { at, queue } of this.#queues)
      if (SEVERITY_ORDER[severity] >= SEVERITY_ORDER[at]) queue.tell(notice);
  }

  /** Retries waiting notices once, and closes connections. */
  async close(): Promise<void> {
    await Promise.all(this.#queues.map(({ queue }) => queue.close()));
  }
}

/** A notice with its severity, which determines the recipients. */
interface NoticeWithSeverity {
  readonly notice: Notice;
  readonly severity: JobNotice['severity'];
}

/** The notices of an event: the job's own, failed runs without a retry, and abandoned ticks. */
export function noticesOf(
  event: SchedulerEvent,
  { settings, at }: { settings: JobSettings | undefined; at: Date },
): readonly NoticeWithSeverity[] {
  const job = event.job.name;
  if (event.kind === 'abandoned') {
    const subject = `tokenctl: job ${job} was abandoned`;
    return [
      withSeverity(
        { subject, text: event.reason, severity: 'error' },
        { job, key: event.due.toISOString(), at },
      ),
    ];
  }
  if (event.kind !== 'run_ended') return [];
  const { claim, summary, report, state, retryAt } = event;
  const about = { job, run: claim.run, at, data: { due: claim.due.toISOString(), dryRun: event.job.dryRun } };
  if (state === 'failed' && retryAt === null && settings?.onFailure.notify !== false) {
    const text = [summary['message'], summary['hint']].filter((line) => typeof line === 'string').join('\n');
    return [
      withSeverity(
        { subject: `tokenctl: job ${job} failed`, text, severity: 'error' },
        { ...about, key: 'failed' },
      ),
    ];
  }
  if (state !== 'completed') return [];
  return (report?.notices ?? []).map((notice, index) =>
    withSeverity(
      { ...notice, subject: `tokenctl: ${job}: ${notice.subject}` },
      { ...about, key: String(index) },
    ),
  );
}

function withSeverity(
  { subject, text, severity }: JobNotice,
  about: { job: string; run?: string; key: string; at: Date; data?: Readonly<Record<string, unknown>> },
): NoticeWithSeverity {
  const { job, run, key, at, data } = about;
  const id = createHash('sha256')
    .update(`${job} ${run ?? ''} ${key}`)
    .digest('hex')
    .slice(0, 32);
  const shared = { job, ...(run !== undefined && { run }), severity, subject, text, ...data };
  return { severity, notice: { id, type: 'job.notice', at, data: shared } };
}

/** Opens the notifier of a recipient. Throws `configuration` if its secret is missing or is not an address. */
export function openNotifier(settings: RecipientSettings, environment: Environment): Notifier {
  if (settings.kind === 'email') {
    const { from, to, allowPlain } = settings;
    return openEmail({ server: readSecret(settings.server, environment), from, to, allowPlain });
  }
  const { url, signingSecret, kind } = settings;
  return openWebhook({
    url: readSecret(url, environment),
    signingSecret: signingSecret && readSecret(signingSecret, environment),
    ...(kind === 'slack' && { encode: slackMessage }),
  });
}

/** How long after its time limit an unfinished run counts as stuck, in milliseconds. */
const STUCK_AFTER_MS = 600_000;

interface EventReporterOptions {
  readonly log: Logger;
  readonly metrics: SchedulerMetrics;
  /** The values at the time of an event. A reload replaces them. */
  readonly current: () => { readonly configuration: Configuration; readonly recipients: Recipients };
  readonly now: () => Date;
}

/** Counts and logs the scheduler's events, sends notices, and tracks stuck runs. */
export class EventReporter {
  readonly #options: EventReporterOptions;
  /** The runs in progress, with the monotonic time from which they count as stuck. */
  readonly #running = new Map<string, { readonly job: string; readonly until: number }>();

  constructor(options: EventReporterOptions) {
    this.#options = options;
  }

  /** A run that is long overdue, or null. */
  get stuck(): string | null {
    const late = [...this.#running.values()].find(({ until }) => performance.now() > until);
    return late === undefined ? null : `A run of ${late.job} did not stop after its time limit`;
  }

  readonly take = (event: SchedulerEvent): void => {
    const { metrics, current, now } = this.#options;
    metrics.count(event);
    this.#log(event);
    if (event.kind === 'run_started') {
      const until = performance.now() + event.job.timeout * 1000 + STUCK_AFTER_MS;
      this.#running.set(event.claim.run, { job: event.job.name, until });
    }
    if (event.kind === 'run_ended') this.#running.delete(event.claim.run);
    const { configuration, recipients } = current();
    const settings = configuration.jobs[event.job.name.split('@', 1)[0] ?? ''];
    for (const notice of noticesOf(event, { settings, at: now() })) recipients.tell(notice);
  };

  #log(event: SchedulerEvent): void {
    const { log } = this.#options;
    const job = event.job.name;
    switch (event.kind) {
      case 'run_started': {
        const { run, due, attempt } = event.claim;
        log.info({ job, run, due, attempt }, 'run started');
        break;
      }
      case 'run_ended': {
        const { state, seconds, summary, retryAt, claim } = event;
        const facts = { job, run: claim.run, state, seconds, retryAt, summary, ...bugOf(event.error) };
        log[state === 'completed' ? 'info' : 'warn'](facts, 'run ended');
        break;
      }
      case 'skipped':
        log.warn({ job, due: event.due }, 'skipped missed runs');
        break;
      case 'abandoned':
        log.error({ job, due: event.due }, event.reason);
        break;
      case 'error':
        log.error({ job, ...bugOf(event.error), reason: messageOf(event.error) }, 'retrying after an error');
    }
  }
}

/** Unexpected errors are logged in full. For ours, the summary is sufficient. */
function bugOf(error: unknown): { readonly err?: unknown } {
  return error === null || error instanceof TokenctlError ? {} : { err: error };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
