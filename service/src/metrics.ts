import type { Database } from '@tokenctl/common/db/database.ts';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { JobRunner } from './playbooks/job-runner.ts';

interface MetricsSources {
  readonly database: Database;
  readonly jobs: JobRunner;
  readonly version: string;
}

/** The service's Prometheus metrics. Labels have few values, never an address, a name or an id. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new Counter({
    name: 'tokenctl_http_requests_total',
    help: 'Responses by method, route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'tokenctl_http_request_duration_seconds',
    help: 'Request duration in seconds by method and route pattern.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.#registry],
  });
  readonly #authentications = new Counter({
    name: 'tokenctl_authentications_total',
    help: 'Authentication attempts by method and result.',
    labelNames: ['method', 'result'],
    registers: [this.#registry],
  });

  constructor(sources: MetricsSources) {
    addGauges(this.#registry, sources);
  }

  answered(request: { method: string; route: string; status: number; milliseconds: number }): void {
    const { method, route, status, milliseconds } = request;
    this.#requests.inc({ method, route, status });
    this.#durations.observe({ method, route }, milliseconds / 1000);
  }

  authenticated(
    method: 'bearer' | 'session' | 'password' | 'sso',
    result: 'accepted' | 'refused' | 'slowed',
  ): void {
    this.#authentications.inc({ method, result });
  }

  async text(): Promise<{ readonly type: string; readonly body: string }> {
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}

function addGauges(registry: Registry, { database, jobs, version }: MetricsSources): void {
  const registers = [registry];
  new Gauge({
    name: 'tokenctl_info',
    help: 'Always 1. The labels contain the version and the database.',
    labelNames: ['version', 'database'],
    registers,
  }).set({ version, database: database.kind }, 1);
  new Gauge({
    name: 'tokenctl_jobs',
    help: 'Jobs in this process, by state.',
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
    help: 'Database connections by state, and requests waiting for one.',
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
    help: 'Resident memory in bytes.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total CPU time in seconds.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process in seconds since 1970.',
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
}

/** A route's pattern, such as `/api/v2/tokens/{id}/`, since each path would be a label; `none` if none matched. */
export function routePattern(url: string | undefined): string {
  return url?.replace(/:(\w+)(\(\^[^)]*\))?/g, '{$1}') ?? 'none';
}
