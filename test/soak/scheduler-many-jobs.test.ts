import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { expect, inject, test } from 'vitest';
import type { SchedulerClock } from '../../src/operations/ports/clock.ts';
import type { JobStore } from '../../src/operations/ports/scheduler.ts';
import { openLedgerTables } from '../../src/scheduler/ledger/ledger.ts';
import type { ScheduledJob } from '../../src/scheduler/scheduled-job.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { done, scheduledJob } from '../support/scheduled.ts';

const CONTEXTS = 50;
const JOBS_PER_CONTEXT = 10;
const REPLICAS = 3;
const LIMITS = { atOnce: 32, perContext: 4 };
/** A day passes in this many milliseconds, with 6 ticks of all 500 jobs: a slow machine is behind, and has to catch up. */
const DAY_MS = 60_000;
const TICKS = 6;
const SPEED = 86_400_000 / DAY_MS;
const BEGIN = Date.parse('2026-03-01T01:00:00Z');
const END = BEGIN + 86_400_000;

/** A run that began. */
interface Seen {
  readonly job: string;
  readonly due: string;
}

test(`${CONTEXTS * JOBS_PER_CONTEXT} jobs that are due in the same minute run once each in ${REPLICAS} replicas, and few at once in a context`, async () => {
  const url = await createDatabase(inject('postgresUrl'));
  const began = performance.now();
  const clock: SchedulerClock = {
    // It stands still at the end of the day, when what is late is caught up with.
    now: () => new Date(Math.min(BEGIN + (performance.now() - began) * SPEED, END)),
    wait: (milliseconds, signal) => sleep(milliseconds / SPEED, undefined, { signal }).catch(() => undefined),
  };
  const seen: Seen[] = [];
  /** The most runs at once: of a replica in one context, and of all replicas in one context. */
  const most = { inReplica: 0, inContext: 0 };
  const running = new Map<string, number>();
  const count = (key: string, change: number) => {
    const now = (running.get(key) ?? 0) + change;
    running.set(key, now);
    return now;
  };
  const stores: JobStore[] = [];
  const schedulers: Scheduler[] = [];
  for (let replica = 1; replica <= REPLICAS; replica += 1) {
    const database = await openPostgres({ url: new Secret(url), connections: 8, applicationName: 'test' });
    const store = await openLedgerTables({ database });
    stores.push(store);
    const work =
      (name: string, context: string): ScheduledJob['work'] =>
      async ({ due }) => {
        seen.push({ job: name, due: due.toISOString() });
        most.inReplica = Math.max(most.inReplica, count(`${replica} ${context}`, 1));
        most.inContext = Math.max(most.inContext, count(context, 1));
        await sleep(20 + Math.random() * 60);
        count(`${replica} ${context}`, -1);
        count(context, -1);
        return done;
      };
    const scheduler = new Scheduler({
      ...{ store, clock, holder: `replica-${replica}`, limits: LIMITS },
      ...{ lease: 10_000, poll: 500 * SPEED, maxLosses: 3, keepDays: 400 },
      listener: () => undefined,
    });
    schedulers.push(scheduler);
    await scheduler.replace(
      Array.from({ length: CONTEXTS }, (_, place) => `context-${place}`).flatMap((context) =>
        Array.from({ length: JOBS_PER_CONTEXT }, (_, index) => {
          const name = `job-${index}@${context}`;
          const missed = { run: 'all', within: 7 * 86_400 } as const;
          return scheduledJob(work(name, context), { name, context, expression: '0 */4 * * *', missed });
        }),
      ),
    );
  }
  const all = CONTEXTS * JOBS_PER_CONTEXT;
  while (seen.length < all * TICKS) await sleep(100);
  await Promise.all(schedulers.map((scheduler) => scheduler.drain()));
  const history = await stores[0]?.history({ states: ['completed'], limit: 2 * all * TICKS });
  await Promise.all(stores.map((store) => store.close()));

  process.stdout.write(
    `  ${seen.length} runs; at most ${most.inReplica} at once of a replica in a context, ${most.inContext} of all replicas.\n`,
  );
  const ticks = new Map<string, number>();
  for (const { due } of seen) ticks.set(due, (ticks.get(due) ?? 0) + 1);
  expect([...ticks.values()]).toEqual(Array.from({ length: TICKS }, () => all));
  expect(new Set(seen.map(({ job, due }) => `${job} ${due}`)).size).toBe(all * TICKS);
  expect(history).toHaveLength(all * TICKS);
  expect(most.inReplica).toBeLessThanOrEqual(LIMITS.perContext);
  expect(most.inContext).toBeLessThanOrEqual(LIMITS.perContext * REPLICAS);
  // In order of lateness: of the runs that begin after one that is due later, all could wait for a place in another replica,
  // or in their context.
  const dues = seen.map(({ due }) => due);
  for (const [index, due] of dues.entries()) {
    const overtaken = dues.slice(index + 1).filter((other) => other < due).length;
    expect(overtaken).toBeLessThanOrEqual(REPLICAS * LIMITS.atOnce);
  }
});
