// A process of its own: a scheduler or a receiver of `bench/scale.ts`, whose time goes faster and whose work is only waited for.
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgres } from '@tokenctl/common/db/postgres.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import type { SchedulerClock } from '../../src/operations/ports/clock.ts';
import type { NewSignal, SignalStore } from '../../src/operations/ports/signals.ts';
import { openLedgerTables } from '../../src/scheduler/ledger/ledger.ts';
import { Schedule } from '../../src/scheduler/schedule.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';
import { openSignals } from '../../src/signals/signal-store.ts';

/**
 * The jobs of a controller with 100,000 tokens that is reached over REST, where a page of 200 takes 100 ms: when they are due, also
 * in seconds after two o'clock, and what a run takes, in seconds.
 */
export const JOBS = [
  { name: 'audit', expression: '0 2 * * *', due: [0], seconds: 50 },
  { name: 'sweep', expression: '0 2 * * *', due: [0], seconds: 25 },
  { name: 'guard', expression: '10 * * * *', due: [600], seconds: 1 },
  { name: 'notices', expression: '15 2 * * *', due: [900], seconds: 5 },
  { name: 'offboarding', expression: '0,15 * * * *', due: [0, 900], seconds: 2 },
] as const;

/** What an event takes over a database, in seconds, and how many a receiver carries out at the same time. */
const EVENT = { seconds: 0.12, atOnce: 3 };
const BEGIN = Date.parse('2026-03-01T01:59:50Z');
/** Until when ticks count. */
const END = Date.parse('2026-03-01T02:25:00Z');

/** What a process tells at its end. */
export interface Told {
  /** How long each run or event had waited when it began or ended, in simulated seconds. */
  readonly waits: readonly number[];
  /** When the last one ended, in simulated seconds after two o'clock. */
  readonly seconds: number;
  /** How often the ledger did not answer. */
  readonly errors: number;
  /** The processor time that it took, in seconds. */
  readonly processor: number;
  /** The most memory that was resident, in MB. */
  readonly memory: number;
}

interface Options {
  readonly role: 'scheduler' | 'receiver';
  readonly number: number;
  readonly controllers: number;
  readonly speed: number;
  readonly atOnce: number;
  readonly events: { readonly anHour: number; readonly minutes: number };
}

const options = JSON.parse(process.env['SCALE'] ?? '{"speed":1}') as Options;
const { speed } = options;
const waits: number[] = [];
let [last, errors] = [0, 0];

/** Simulated time, which begins when the parent says. */
class Clock implements SchedulerClock {
  readonly #began: number;

  constructor(began: number) {
    this.#began = began;
  }

  now(): Date {
    return new Date(BEGIN + Math.max(0, Date.now() - this.#began) * speed);
  }

  wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return sleep(milliseconds / speed, undefined, { signal }).catch(() => undefined);
  }
}

if (process.send !== undefined && process.env['SCALE'] !== undefined) {
  const database = await openPostgres({
    url: new Secret(process.env['DATABASE_URL'] ?? ''),
    connections: 8,
    applicationName: 'bench',
  });
  const store = options.role === 'scheduler' ? null : await openSignals({ database });
  const began = new Promise<number>((resolve) => process.once('message', (at) => resolve(Number(at))));
  process.send('ready');
  const clock = new Clock(await began);
  const before = process.cpuUsage();
  await (store === null ? schedule(clock, await openLedgerTables({ database })) : receive(clock, store));
  const { user, system } = process.cpuUsage(before);
  const told: Told = {
    waits,
    seconds: last,
    errors,
    processor: (user + system) / 1e6,
    memory: process.resourceUsage().maxRSS / 1024,
  };
  process.send(told);
}

async function schedule(clock: Clock, store: Awaited<ReturnType<typeof openLedgerTables>>): Promise<void> {
  const scheduler = new Scheduler({
    ...{ store, clock, holder: `scheduler-${options.number}`, lease: 60_000, poll: 5_000 },
    ...{ maxLosses: 3, keepDays: 400, limits: { atOnce: options.atOnce, perContext: 4 } },
    listener({ kind }) {
      if (kind === 'error') errors += 1;
    },
  });
  const jobs = Array.from({ length: options.controllers }, (_, number) => `c-${number}`).flatMap((context) =>
    JOBS.map(({ name, expression, seconds }) => ({
      name: `${name}@${context}`,
      context,
      schedule: new Schedule({ expression, timeZone: 'UTC' }),
      scheduleText: expression,
      async work({ due }: { due: Date }) {
        waits.push((clock.now().getTime() - due.getTime()) / 1000);
        await clock.wait(seconds * 1000);
        last = (clock.now().getTime() - Date.parse('2026-03-01T02:00:00Z')) / 1000;
        return { message: 'waited', summary: {} };
      },
      timeout: 3_600,
      jitter: 0,
      missed: { run: 'all', within: 86_400 } as const,
      onFailure: { retries: 0, retryAfter: 60 },
      dryRun: false,
      fingerprint: expression,
    })),
  );
  await scheduler.replace(jobs);
  const isOver = async () => {
    const open = await store.history({ states: ['running'], limit: 1 });
    return clock.now().getTime() > END && open.length === 0 && clock.now().getTime() / 1000 > END / 1000 + 30;
  };
  while (!(await isOver())) await sleep(500);
  await scheduler.drain();
}

/** Records its share of the events as they arrive, and carries out what waits. */
async function receive(clock: Clock, store: SignalStore): Promise<void> {
  const { anHour, minutes } = options.events;
  const events = Math.round((anHour / 60) * minutes);
  const share = Array.from({ length: events }, (_, number) => number).filter(
    (number) => number % 2 === options.number,
  );
  const holder = `receiver-${options.number}`;
  const arrive = async () => {
    for (const number of share) {
      const at = BEGIN + (number * 3_600_000) / anHour;
      await clock.wait(Math.max(0, at - clock.now().getTime()));
      await store.record(signal(number, clock.now()));
    }
  };
  let isAll = false;
  const act = async () => {
    for (;;) {
      const claims = await store.claim({ holder, lease: 30_000, limit: 1_000, now: clock.now() });
      if (claims.length === 0) {
        if (isAll) return;
        await clock.wait(250);
        continue;
      }
      const waiting = claims.values();
      const worker = async () => {
        for (const claim of waiting) {
          await clock.wait(EVENT.seconds * 1000);
          const now = clock.now();
          await store.settle([claim], { state: 'done', reason: null, users: ['someone'], runs: [] }, now);
          waits.push((now.getTime() - claim.signal.received.getTime()) / 1000);
          last = (now.getTime() - BEGIN) / 1000;
        }
      };
      await Promise.all(Array.from({ length: EVENT.atOnce }, worker));
    }
  };
  const acting = act();
  await arrive();
  isAll = true;
  await acting;
}

function signal(number: number, received: Date): NewSignal {
  return {
    issuer: 'https://provider.example.org',
    jti: `event-${number}`,
    transmitter: 'provider',
    route: 'push',
    kinds: ['session-revoked'],
    subject: { format: 'email', email: `user-${number}@example.org` },
    kind: 'session-revoked',
    action: 'revoke',
    issued: received,
    received,
    state: 'waiting',
    reason: null,
  };
}
