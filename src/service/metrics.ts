import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Database } from '../db/database.ts';
import type { JobRunner } from './playbooks/job-runner.ts';

/** What the metrics look at when they are read. */
interface MetricsSources {
  readonly database: Database;
  readonly jobs: JobRunner;
  readonly version: string;
}

/**
 * What the service counts about itself, for Prometheus. Labels are few by construction: methods, route
 * patterns, statuses and fixed words, never an address, a name or an id.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'tokenctl_http_requests_total',
    help: 'Requests answered, by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'tokenctl_http_request_duration_seconds',
    help: 'Seconds from the first byte of a request to the last of its answer, by method and route pattern.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.#registry],
  });
  readonly #authentications = new Counter({
    name: 'tokenctl_authentications_total',
    help: 'Credentials that were presented, by their kind and by whether they were accepted.',
    labelNames: ['method', 'result'],
    registers: [this.#registry],
  });

  constructor(sources: MetricsSources) {
    addGauges(this.#registry, sources);
  }

  /** Counts an answered request. */
  answered(request: {
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly milliseconds: number;
  }): void {
    const { method, route, status, milliseconds } = request;
    this.#requests.inc({ method, route, status });
    this.#durations.observe({ method, route }, milliseconds / 1000);
  }

  /** Counts a credential that was presented. */
  authenticated(
    method: 'bearer' | 'session' | 'password' | 'sso',
    result: 'accepted' | 'refused' | 'slowed',
  ): void {
    this.#authentications.inc({ method, result });
  }

  /** All of it in the text format of Prometheus. */
  async text(): Promise<{ readonly type: string; readonly body: string }> {
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}

function addGauges(registry: Registry, { database, jobs, version }: MetricsSources): void {
  const registers = [registry];
  new Gauge({
    name: 'tokenctl_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'database'],
    registers,
  }).set({ version, database: database.kind }, 1);
  new Gauge({
    name: 'tokenctl_jobs',
    help: 'Jobs of this process, by whether they run or wait.',
    labelNames: ['state'],
    registers,
    collect() {
      const { running, waiting } = jobs.load;
      this.set({ state: 'running' }, running);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  new Gauge({
    name: 'tokenctl_database_connections',
    help: 'Connections to the database, and requests that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      const { total = 0, idle = 0, waiting = 0 } = database.connections?.() ?? {};
      this.set({ state: 'busy' }, total - idle);
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'awaited' }, waiting);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory that the process has.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time that the process has used.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the process started, in seconds since 1970.',
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
}

/**
 * A route as its pattern says it, `/api/v2/tokens/{id}/`: never the path of a request, which would make a
 * label or an address of each id. `none` where no route matched.
 */
export function routePattern(url: string | undefined): string {
  return url?.replace(/:(\w+)(\(\^[^)]*\))?/g, '{$1}') ?? 'none';
}
