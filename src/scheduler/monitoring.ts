import { codeOf, TokenctlError } from '@tokenctl/common/errors.ts';
import { fastify } from 'fastify';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AuditLog } from '../operations/ports/audit-log.ts';
import type { SchedulerClock } from '../operations/ports/clock.ts';
import type { JobStore } from '../operations/ports/scheduler.ts';
import type { RunEnded, ScheduledJob, SchedulerEvent } from './scheduled-job.ts';

interface HealthSources {
  readonly store: Pick<JobStore, 'lastSuccesses'>;
  readonly log: Pick<AuditLog, 'head'>;
  readonly metrics: SchedulerMetrics;
  /** The run that is stuck: it did not end after its time limit. Null if there is none. */
  readonly stuck: () => string | null;
  readonly draining: () => boolean;
}

interface HealthAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

interface HealthServer {
  /** The base URL, without a trailing slash. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` (should the process be restarted), `/readyz` (can it run jobs) and `/metrics`, without
 * authentication and without secrets.
 * @throws TokenctlError `usage` if the port is in use or the address is not available.
 */
export async function serveHealth(
  sources: HealthSources,
  { host, port }: HealthAddress,
): Promise<HealthServer> {
  const app = fastify();
  app.get('/healthz', async (_request, reply) => {
    const stuck = sources.stuck();
    return reply.code(stuck === null ? 200 : 503).send({ status: stuck === null ? 'ok' : 'stuck', stuck });
  });
  app.get('/readyz', async (_request, reply) => {
    const state = await readiness(sources);
    return reply.code(state.ready ? 200 : 503).send(state);
  });
  app.get('/metrics', async (_request, reply) => {
    const { type, body } = await sources.metrics.text();
    return reply.type(type).send(body);
  });
  try {
    const url = await app.listen({ host, port });
    return { url, close: () => app.close() };
  } catch (cause) {
    await app.close();
    throw healthFailure({ host, port }, cause);
  }
}

/** The error for an address at which {@link serveHealth} cannot listen. */
export function healthFailure({ host, port }: HealthAddress, cause: unknown): TokenctlError {
  return new TokenctlError('usage', `Cannot listen on ${host}:${port}: ${codeOf(cause) ?? 'unknown error'}`, {
    hint: 'Choose another port with scheduler.healthPort.',
    cause,
  });
}

/** Whether jobs can run, and what prevents it, with the head of the audit log. */
async function readiness({ store, log, draining }: HealthSources) {
  const [ledger, head] = await Promise.all([
    store.lastSuccesses().then(
      () => true,
      () => false,
    ),
    log.head().catch(() => null),
  ]);
  return {
    ready: ledger && head !== null && !draining(),
    draining: draining(),
    ledger: ledger ? 'ok' : 'unreachable',
    auditLog: head === null ? 'unreadable' : 'ok',
    head,
  };
}

interface MetricsSources {
  readonly store: Pick<JobStore, 'lastSuccesses' | 'sighting'>;
  readonly log: Pick<AuditLog, 'head'>;
  readonly clock: SchedulerClock;
  readonly jobs: () => readonly ScheduledJob[];
  readonly version: string;
}

const STATES: readonly RunEnded['state'][] = ['completed', 'failed', 'interrupted', 'lost'];

/**
 * The scheduler's Prometheus metrics. Counters belong to this process; values from the ledger and the audit
 * log are the same in every replica. Labels have few values: job names and fixed words.
 */
export class SchedulerMetrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #ticks = new Counter({
    name: 'tokenctl_scheduler_ticks_total',
    help: 'Scheduled runs by job and result: run, skipped, abandoned.',
    labelNames: ['job', 'result'],
    registers: this.#registers,
  });
  readonly #runs = new Counter({
    name: 'tokenctl_scheduler_runs_total',
    help: 'Ended runs by job and state: completed, failed, interrupted, lost.',
    labelNames: ['job', 'state'],
    registers: this.#registers,
  });
  readonly #durations = new Histogram({
    name: 'tokenctl_scheduler_run_duration_seconds',
    help: 'Duration of runs in seconds, by job.',
    labelNames: ['job'],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600],
    registers: this.#registers,
  });
  readonly #running = new Gauge({
    name: 'tokenctl_scheduler_running',
    help: 'Runs in progress, by job.',
    labelNames: ['job'],
    registers: this.#registers,
  });
  readonly #revoked = new Counter({
    name: 'tokenctl_scheduler_tokens_revoked_total',
    help: 'Access tokens revoked by runs, by job.',
    labelNames: ['job'],
    registers: this.#registers,
  });
  readonly #findings = new Gauge({
    name: 'tokenctl_scheduler_findings',
    help: 'Findings of the last audit, by job and severity.',
    labelNames: ['job', 'severity'],
    registers: this.#registers,
  });
  /** From each job's last audit. */
  readonly #byRule = new Map<string, Readonly<Record<string, number>>>();
  readonly #errors = new Counter({
    name: 'tokenctl_scheduler_errors_total',
    help: 'Retried errors outside of runs, such as an unavailable ledger, by job.',
    labelNames: ['job'],
    registers: this.#registers,
  });
  readonly #reloads = new Counter({
    name: 'tokenctl_scheduler_reloads_total',
    help: 'Configuration reloads by result: applied, rejected.',
    labelNames: ['result'],
    registers: this.#registers,
  });
  readonly #notices = new Counter({
    name: 'tokenctl_scheduler_notices_total',
    help: 'Notices by result: delivered, abandoned.',
    labelNames: ['result'],
    registers: this.#registers,
  });

  readonly #jobs: MetricsSources['jobs'];

  constructor(sources: MetricsSources) {
    this.#jobs = sources.jobs;
    addGauges(this.#registry, sources);
    const byRule = this.#byRule;
    new Gauge({
      name: 'tokenctl_scheduler_findings_by_rule',
      help: 'Findings of the last audit, by job and rule. Omitted for rules that were not checked.',
      labelNames: ['job', 'rule'],
      registers: this.#registers,
      collect() {
        this.reset();
        for (const [job, counts] of byRule)
          for (const [rule, count] of Object.entries(counts)) this.set({ job, rule }, count);
      },
    });
  }

  count(event: SchedulerEvent): void {
    const job = event.job.name;
    if (event.kind === 'run_started') this.#running.inc({ job });
    else if (event.kind === 'run_ended') this.#ended(event);
    else if (event.kind === 'error') this.#errors.inc({ job });
    else this.#ticks.inc({ job, result: event.kind });
  }

  reloaded(result: 'applied' | 'rejected'): void {
    this.#reloads.inc({ result });
  }

  noticed(result: 'delivered' | 'abandoned'): void {
    this.#notices.inc({ result });
  }

  /** In Prometheus text format. */
  async text(): Promise<{ readonly type: string; readonly body: string }> {
    // Prometheus sees no increase in a counter that first appears with 1: an alert would miss the first failure.
    for (const { name: job } of this.#jobs()) {
      for (const state of STATES) this.#runs.inc({ job, state }, 0);
      this.#errors.inc({ job }, 0);
    }
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  #ended({ job: { name: job }, state, seconds, report, retryAt }: RunEnded): void {
    this.#running.dec({ job });
    this.#runs.inc({ job, state });
    if (retryAt === null && state !== 'lost') this.#ticks.inc({ job, result: 'run' });
    this.#durations.observe({ job }, seconds);
    if (report?.revoked !== undefined) this.#revoked.inc({ job }, report.revoked);
    if (report?.findingsByRule !== undefined) this.#byRule.set(job, report.findingsByRule);
    for (const [severity, count] of Object.entries(report?.findings ?? {})) {
      this.#findings.set({ job, severity }, count);
    }
  }
}

function addGauges(registry: Registry, { store, log, clock, jobs, version }: MetricsSources): void {
  const registers = [registry];
  new Gauge({
    name: 'tokenctl_scheduler_info',
    help: 'Always 1. The label is the version.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1);
  new Gauge({
    name: 'tokenctl_scheduler_dry_run',
    help: '1 if the job is a dry run.',
    labelNames: ['job'],
    registers,
    collect() {
      this.reset();
      for (const { name, dryRun } of jobs()) this.set({ job: name }, dryRun ? 1 : 0);
    },
  });
  new Gauge({
    name: 'tokenctl_scheduler_next_tick_timestamp_seconds',
    help: 'Next scheduled run of a job, in seconds since 1970.',
    labelNames: ['job'],
    registers,
    collect() {
      this.reset();
      const now = clock.now();
      for (const { name, schedule } of jobs()) this.set({ job: name }, schedule.next(now).getTime() / 1000);
    },
  });
  new Gauge({
    name: 'tokenctl_scheduler_last_success_timestamp_seconds',
    help: 'Last completed run of a job in any replica, in seconds since 1970.',
    labelNames: ['job'],
    registers,
    async collect() {
      const known = new Set(jobs().map(({ name }) => name));
      // Omitted if the ledger is unavailable: an outdated value would look current.
      const successes = await store.lastSuccesses().catch(() => new Map<string, Date>());
      this.reset();
      for (const [job, at] of successes) if (known.has(job)) this.set({ job }, at.getTime() / 1000);
    },
  });
  new Gauge({
    name: 'tokenctl_scheduler_last_seen_timestamp_seconds',
    help: "When any replica last recorded in the ledger that it is running, by the ledger's clock, in seconds since 1970.",
    registers,
    async collect() {
      const seen = await store.sighting().catch(() => null);
      if (seen === null || seen.lastSeen === null) this.remove();
      else this.set(seen.lastSeen.getTime() / 1000);
    },
  });
  new Gauge({
    name: 'tokenctl_audit_log_entries',
    help: 'Entries in the audit log. Omitted if it cannot be read.',
    registers,
    async collect() {
      const head = await log.head().catch(() => null);
      if (head === null) this.remove();
      else this.set(head.size);
    },
  });
}
