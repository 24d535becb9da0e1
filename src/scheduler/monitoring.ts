import { fastify } from 'fastify';
import { TokenctlError } from '../domain/errors.ts';
import type { AuditLog, Head } from '../operations/ports/audit-log.ts';
import type { TickClaims } from '../operations/ports/scheduler.ts';
import type { SchedulerMetrics } from './scheduler-metrics.ts';

/** What the pages look at. */
export interface HealthSources {
  readonly claims: Pick<TickClaims, 'lastSuccesses'>;
  readonly log: Pick<AuditLog, 'head'>;
  readonly metrics: SchedulerMetrics;
  /** What keeps this process from being well: a run that does not end although its time is up. Null for nothing. */
  readonly stuck: () => string | null;
  /** Whether no further tick is begun. */
  readonly draining: () => boolean;
}

/** Where the pages are. */
export interface HealthAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** The pages as they are served. */
export interface HealthServer {
  /** Their base URL, without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` (is the process well, or should it be started again), `/readyz` (can it do its work) and
 * `/metrics`. Nothing is asked of the caller, and nothing is told that is secret.
 *
 * @throws TokenctlError `usage` where the port is taken or the address is none of this machine's.
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
    throw new TokenctlError(
      'usage',
      `The health pages cannot be served at ${host}:${port}: ${reasonOf(cause)}`,
      {
        hint: 'Choose another port with scheduler.healthPort.',
        cause,
      },
    );
  }
}

/** Whether work can be done now, and what keeps it from being done. */
interface Readiness {
  readonly ready: boolean;
  readonly draining: boolean;
  readonly ledger: 'ok' | 'unreachable';
  readonly auditLog: 'ok' | 'unreadable';
  /** Where the audit log stands. */
  readonly head: Head | null;
}

async function readiness({ claims, log, draining }: HealthSources): Promise<Readiness> {
  const [ledger, head] = await Promise.all([
    claims.lastSuccesses().then(
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

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'it cannot listen there';
}
