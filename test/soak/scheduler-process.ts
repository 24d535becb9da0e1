import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import pg from 'pg';
import { revocationSweep } from '../../jobs/revocation-sweep.ts';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import { defaultPolicy } from '../../src/domain/policy/policy.ts';
import type { SchedulerClock } from '../../src/operations/ports/clock.ts';
import { openLedgerTables } from '../../src/scheduler/ledger/ledger.ts';
import { Schedule } from '../../src/scheduler/schedule.ts';
import type { ScheduledJob } from '../../src/scheduler/scheduled-job.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { openDatabaseTarget } from '../../src/targets/database/database-target.ts';
import { unusedFiles, unusedServices } from '../support/unused-files.ts';

/** What a replica is told, as JSON in its first argument. */
export interface ReplicaOptions {
  readonly holder: string;
  /** The ledger's database. */
  readonly ledger: string;
  readonly auditLog: string;
  /** The controllers' databases: each has a sweep of its own. */
  readonly estates: readonly string[];
  /** When the scheduler's time began, in its own time and in that of this machine. */
  readonly began: { readonly virtual: number; readonly real: number };
  /** By how much the scheduler's time goes faster. */
  readonly speed: number;
  /** When each estate is swept: a cron expression, in UTC. */
  readonly schedule: string;
  /** The last tick, in the scheduler's time. */
  readonly end: number;
  /** Of a claim, in milliseconds of this machine. */
  readonly lease: number;
}

// One replica of the scheduler in fast-forward, which sweeps every estate on the schedule until it is killed. Says
// "ready" at first, then "done NAME" for each run that completed, and "OVERLAP NAME" where a run of the same job
// goes on already: an advisory lock of the job's own tells, which the ledger has no part in.
const options = JSON.parse(process.argv[2] ?? '') as ReplicaOptions;
const { holder, began, speed, schedule, end, lease } = options;

const clock: SchedulerClock = {
  now: () => new Date(began.virtual + (Date.now() - began.real) * speed),
  wait: (milliseconds, signal) => sleep(milliseconds / speed, undefined, { signal }).catch(() => undefined),
};

/** A schedule without ticks after the end. An expression for a single day would be searched for years ahead. */
class EndingSchedule extends Schedule {
  override next(after: Date): Date {
    const tick = super.next(after);
    return tick.getTime() > end ? new Date(after.getTime() + 86_400_000) : tick;
  }

  override newest({ after, upTo }: { after: Date; upTo: Date }): Date | null {
    return after.getTime() >= end
      ? null
      : super.newest({ after, upTo: new Date(Math.min(upTo.getTime(), end)) });
  }
}

async function sweep(index: number, name: string, run: Parameters<ScheduledJob['work']>[0]) {
  const estate = options.estates[index] ?? '';
  await using _witness = await witness(estate, name);
  const target = await openDatabaseTarget({ context: `estate-${index}`, connection: new Secret(estate) });
  const log = openFileLog({ path: options.auditLog, clock });
  try {
    const parameters = {
      policy: defaultPolicy,
      rules: ['expired-present'] as const,
      keepIfYounger: 0,
      atMost: 1000,
      stopAbovePercent: 100,
      accessOnly: false,
    };
    const description = await target.describe();
    const actor = { user: holder, job: name, job_run: run.run };
    const context = {
      target,
      description,
      log,
      clock,
      actor,
      files: unusedFiles,
      services: unusedServices,
      dryRun: false,
      ...run,
    };
    return await revocationSweep.run(context, parameters);
  } finally {
    await Promise.all([target.close(), log.close()]);
  }
}

async function witness(estate: string, name: string): Promise<AsyncDisposable> {
  const client = new pg.Client({ connectionString: estate });
  client.on('error', () => undefined);
  const { rows } = await client
    .connect()
    .then(() => client.query<{ free: boolean }>('SELECT pg_try_advisory_lock(7) AS free'))
    .catch((cause: unknown) => {
      throw new TokenctlError('target_unreachable', 'The witness cannot be asked', { cause });
    });
  if (rows[0]?.free !== true) process.stdout.write(`OVERLAP ${name}\n`);
  return { [Symbol.asyncDispose]: () => client.end().catch(() => undefined) };
}

const jobs = options.estates.map((_, index): ScheduledJob => {
  const name = `sweep@estate-${index}`;
  return {
    name,
    context: `estate-${index}`,
    schedule: new EndingSchedule({ expression: schedule, timeZone: 'UTC' }),
    scheduleText: `${schedule} UTC`,
    work: (run) => sweep(index, name, run),
    timeout: 60,
    jitter: 0,
    missed: { run: 'all', within: 30 * 86_400 },
    onFailure: { retries: 1000, retryAfter: 0.05 * speed },
    dryRun: false,
    fingerprint: name,
  };
});

const database = await openPostgres({
  url: new Secret(options.ledger),
  connections: 8,
  applicationName: 'tokenctl scheduler',
}).catch(startAgain);
const store = await openLedgerTables({ database }).catch(startAgain);
const scheduler = new Scheduler({
  store,
  clock,
  holder,
  lease,
  poll: 50 * speed,
  maxLosses: 100,
  keepDays: 4000,
  limits: { atOnce: 32, perContext: 4 },
  listener: (event) => {
    if (event.kind === 'run_ended') process.stdout.write(`${event.state} ${event.job.name}\n`);
    if (event.kind === 'run_ended' && event.error !== null)
      process.stdout.write(`# ${String(event.error)}\n`);
    if (event.kind === 'error') process.stdout.write(`# ${String(event.error)}\n`);
  },
});
await scheduler.replace(jobs).catch(startAgain);
process.once('SIGTERM', async () => {
  await scheduler.drain();
  await store.close();
  process.stdout.write('drained\n');
  process.exit(0);
});
process.stdout.write('ready\n');

/** While the database is down, the test starts another process. */
function startAgain(error: unknown): never {
  process.stdout.write(`# ${String(error)}\n`);
  process.exit(7);
}
