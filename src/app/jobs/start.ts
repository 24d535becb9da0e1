import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { LOG_LINES } from '@tokenctl/common/log-lines.ts';
import { tryListening } from '@tokenctl/common/network/try-listening.ts';
import { pino } from 'pino';
import { type Configuration, loadConfiguration, type SettingFlags } from '../../config/configuration.ts';
import type { Environment } from '../../config/paths.ts';
import { incidentOperations } from '../../domain/incident/incident.ts';
import type { AuditLog } from '../../operations/ports/audit-log.ts';
import { machineClock } from '../../operations/ports/clock.ts';
import type { JobStore } from '../../operations/ports/scheduler.ts';
import { healthFailure, SchedulerMetrics, serveHealth } from '../../scheduler/monitoring.ts';
import { Scheduler } from '../../scheduler/scheduler.ts';
import { cachedAuditLog } from '../cached-log.ts';
import { createRuntime } from '../runtime.ts';
import { EventReporter, Recipients } from './job-events.ts';
import { jobFiles } from './job-files.ts';
import { jobKinds } from './job-kinds.ts';
import { openLedger } from './open-ledger.ts';
import { scheduledJobs, unprotectedLog } from './scheduled-jobs.ts';

export interface StartOptions {
  readonly flags: SettingFlags;
  readonly environment: Environment;
  readonly version: string;
  /** Prints a line for the user on stderr. */
  readonly notify: (line: string) => void;
}

/** How many runs of a tick may be lost before it is abandoned. */
const MAX_LOSSES = 5;
/** The maximum interval for checking the ledger, in milliseconds. */
const MAX_POLL_MS = 5_000;
/** How often a scheduler's heartbeat is written to the ledger, in milliseconds. */
const BEAT_MS = 10_000;
/** How long a heartbeat counts, in milliseconds: several intervals, since a ledger may be slow. */
const ALIVE_MS = 60_000;

/**
 * Runs the configured jobs on their schedules until SIGTERM or SIGINT. Then returns once runs in progress have ended
 * and are recorded. SIGHUP reloads the configuration; an invalid one is rejected and the old one kept.
 * @throws TokenctlError `configuration`, `database_unreachable`, `usage` before anything runs; `interrupted` if runs
 * did not end in the grace time: others take them over when their leases expire.
 */
export async function startScheduler(options: StartOptions): Promise<void> {
  const { flags, environment, version, notify } = options;
  const configuration = loadConfiguration(flags, environment, jobKinds);
  const runtime = createRuntime({ flags, configuration, environment, version, notify });
  const logger = pino(LOG_LINES, pino.destination(2));
  const { healthAddress: host, healthPort: port, grace } = configuration.scheduler;
  await tryListening({ host, port }).catch((cause: unknown) => {
    throw healthFailure({ host, port }, cause);
  });
  const store = await openLedger(configuration, environment);
  const auditLog = await runtime.auditLog();
  const jobLog = cachedAuditLog(auditLog, { operations: incidentOperations });
  let draining = false;
  const metrics = new SchedulerMetrics({
    store,
    log: auditLog,
    clock: machineClock,
    jobs: () => scheduler.jobs,
    version,
  });
  const recipientsOf = ({ scheduler: settings }: Configuration) =>
    new Recipients(settings, {
      environment,
      onResult({ to, result, error }) {
        metrics.noticed(result);
        if (result === 'abandoned') logger.error({ to, reason: messageOf(error) }, 'notice abandoned');
      },
    });
  let current = { configuration, recipients: recipientsOf(configuration) };
  const watch = new EventReporter({
    log: logger,
    metrics,
    current: () => current,
    now: () => machineClock.now(),
  });
  const holder = `${hostname()}:${process.pid}`;
  const scheduler = new Scheduler({
    store,
    clock: machineClock,
    holder,
    lease: configuration.scheduler.lease * 1000,
    poll: Math.min(MAX_POLL_MS, configuration.scheduler.lease * 250),
    maxLosses: MAX_LOSSES,
    keepDays: configuration.scheduler.keepDays,
    limits: {
      atOnce: configuration.scheduler.runsAtOnce,
      perContext: configuration.scheduler.runsPerContext,
    },
    listener: watch.take,
  });
  const jobsOf = (settings: Configuration, { notifiers }: Recipients) =>
    scheduledJobs({ ...common(options, jobLog), configuration: settings, notifiers });
  const jobs = jobsOf(configuration, current.recipients);
  const health = await serveHealth(
    { store, log: auditLog, metrics, stuck: () => watch.stuck, draining: () => draining },
    { host, port },
  );
  const reload = async () => {
    try {
      const fresh = loadConfiguration(flags, environment, jobKinds);
      rejectFixedSettings(current.configuration, fresh);
      const recipients = recipientsOf(fresh);
      await scheduler.replace(jobsOf(fresh, recipients));
      const before = current.recipients;
      current = { configuration: fresh, recipients };
      metrics.reloaded('applied');
      logger.info({ jobs: scheduler.jobs.length }, 'configuration reloaded');
      await before.close();
    } catch (error) {
      metrics.reloaded('rejected');
      logger.error({ reason: messageOf(error) }, 'configuration rejected; the old one stays in use');
    }
  };
  const stopped = Promise.withResolvers<void>();
  const stop = () => stopped.resolve();
  const reloads = reloading(reload);
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', reloads);
  let endHeartbeat = async () => {};
  try {
    await scheduler.replace(jobs);
    endHeartbeat = startHeartbeat(store, holder);
    notify(
      `Running on schedule: ${jobs.map(({ name }) => name).join(', ') || 'no job'}. Health and metrics: ${health.url}. Press Ctrl-C to stop.`,
    );
    const warning = unprotectedLog(configuration);
    if (warning !== null) notify(warning);
    await stopped.promise;
    draining = true;
    notify('Stopping: runs in progress are stopped and recorded.');
    await drained(scheduler, grace);
  } finally {
    await endHeartbeat();
    await current.recipients.close();
    await health.close();
    await store.close();
    await runtime.close();
    process.off('SIGTERM', stop).off('SIGINT', stop).off('SIGHUP', reloads);
  }
}

/** Shared by runs of all jobs, whatever the configuration says. */
function common({ environment, version }: StartOptions, log: AuditLog) {
  return { environment, clock: machineClock, log, files: jobFiles({ environment, version }) };
}

/** Reloads one at a time, however fast signals arrive. */
function reloading(reload: () => Promise<void>): () => void {
  let turn = Promise.resolve();
  return () => {
    turn = turn.then(reload);
  };
}

async function drained(scheduler: Scheduler, grace: number): Promise<void> {
  const over = new AbortController();
  const late = sleep(grace * 1000, 'late' as const, { signal: over.signal, ref: false }).catch(
    () => 'aborted' as const,
  );
  const first = await Promise.race([scheduler.drain(), late]);
  over.abort();
  if (first !== 'late') return;
  throw new TokenctlError(
    'interrupted',
    `Runs did not end within ${grace} seconds; their changes are recorded`,
    { hint: 'Other replicas take over when the leases expire. Increase scheduler.grace to wait longer.' },
  );
}

/** Refuses changes of settings that are fixed while the scheduler runs. */
function rejectFixedSettings(before: Configuration, after: Configuration): void {
  const { notify: _before, ...fixed } = before.scheduler;
  const { notify: _after, ...wanted } = after.scheduler;
  if (isDeepStrictEqual([fixed, before.auditLog], [wanted, after.auditLog])) return;
  throw new TokenctlError('configuration', 'Changes to auditLog and scheduler require a restart', {
    hint: 'Restart the scheduler.',
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Writes heartbeats to the ledger until the returned function ends them. After a failure, the next one retries. */
function startHeartbeat(store: Pick<JobStore, 'beat'>, holder: string): () => Promise<void> {
  const ending = new AbortController();
  const beating = (async () => {
    while (!ending.signal.aborted) {
      await store.beat(holder, ALIVE_MS).catch(() => undefined);
      await sleep(BEAT_MS, undefined, { signal: ending.signal }).catch(() => undefined);
    }
    await store.beat(holder, 0).catch(() => undefined);
  })();
  return async () => {
    ending.abort();
    await beating;
  };
}
