import { once } from 'node:events';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { until } from '@tokenctl/testing/until.ts';
import { VirtualClock } from '@tokenctl/testing/virtual-clock.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobStore, RunRecord } from '../../../src/operations/ports/scheduler.ts';
import { runNow } from '../../../src/scheduler/execute.ts';
import { done, scheduledJob, schedulerOn } from '../../support/scheduled.ts';
import { filePlace, type LedgerPlace } from './ledgers.ts';

const START = '2026-01-01T00:00:00Z';
/** The lane of the job, and the housekeeping. */
const ONE_JOB = 2;
const JOB = 'sweep@test';

describe('the scheduler', () => {
  let place: LedgerPlace;
  let store: JobStore;
  let clock: VirtualClock;
  beforeEach(async () => {
    place = await filePlace();
    store = await place.open();
    clock = new VirtualClock(START);
  });
  afterEach(() => place[Symbol.asyncDispose]());

  /** `state` and `due` of all runs, the first first. */
  async function runs(): Promise<string[]> {
    const told = ({ state, due }: RunRecord) => `${state} ${due.toISOString().slice(0, 16)}`;
    return (await store.history({ limit: 1000 })).map(told).reverse();
  }

  it('runs every tick of half a year once, in order, the day on which clocks change included', {
    tags: ['long'],
  }, async () => {
    const seen: string[] = [];
    const { scheduler } = schedulerOn(store, clock, { poll: 86_400_000 });
    const work = async ({ due }: { due: Date }) => {
      expect(clock.now()).toEqual(due);
      seen.push(due.toISOString());
      return done;
    };
    await scheduler.replace([scheduledJob(work, { expression: '30 2 * * *', timeZone: 'Europe/Berlin' })]);
    await clock.passUntil('2026-07-01T00:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(seen).toHaveLength(181);
    expect(seen).toEqual([...new Set(seen)].sort());
    expect(seen.filter((due) => due.startsWith('2026-03-29'))).toEqual(['2026-03-29T01:00:00.000Z']);
    const history = await store.history({ limit: 1000 });
    expect(history.map(({ due }) => due.toISOString()).sort()).toEqual(seen);
    expect(history.every(({ state }) => state === 'completed')).toBe(true);
  });

  it('shares ticks with other replicas: each is run once, and by one at a time', {
    tags: ['long'],
  }, async () => {
    let running = 0;
    const seen: string[] = [];
    const work = async ({ due }: { due: Date }) => {
      running += 1;
      expect(running).toBe(1);
      await store.history({ limit: 1 });
      running -= 1;
      seen.push(due.toISOString());
      return done;
    };
    const replicas = await Promise.all(
      ['one', 'two', 'three'].map(async (holder) =>
        schedulerOn(await place.open(), clock, { holder, poll: 60_000 }),
      ),
    );
    for (const { scheduler } of replicas) {
      await scheduler.replace([
        scheduledJob(work, { expression: '*/10 * * * *', missed: { run: 'all', within: 86_400 } }),
      ]);
    }
    await clock.passUntil('2026-01-01T06:00:00Z', ONE_JOB * 3);
    await Promise.all(replicas.map(({ scheduler }) => scheduler.drain()));
    expect(seen).toHaveLength(36);
    expect(new Set(seen).size).toBe(36);
    expect(new Set(replicas.flatMap(({ events }) => events.map(({ kind }) => kind)))).toEqual(
      new Set(['run_started', 'run_ended']),
    );
  });

  it.each([
    ['all', ['completed 2026-01-02T04:00', 'completed 2026-01-03T04:00', 'completed 2026-01-04T04:00']],
    ['last', ['skipped 2026-01-03T04:00', 'completed 2026-01-04T04:00']],
    ['none', ['skipped 2026-01-04T04:00']],
  ] as const)('after three days off runs %s of the missed ticks', async (run, expected) => {
    const job = scheduledJob(async () => done, { missed: { run, within: 7 * 86_400 } });
    const before = schedulerOn(store, clock).scheduler;
    await before.replace([job]);
    await clock.passUntil('2026-01-01T12:00:00Z', ONE_JOB);
    await before.drain();
    clock.set('2026-01-04T12:00:00Z');
    const after = schedulerOn(store, clock).scheduler;
    await after.replace([job]);
    await clock.settled(ONE_JOB);
    await after.drain();
    expect(await runs()).toEqual(['completed 2026-01-01T04:00', ...expected]);
  });

  it('runs a tick late where the clock jumps forward, and none twice where it jumps back', async () => {
    const { scheduler } = schedulerOn(store, clock);
    await scheduler.replace([scheduledJob(async () => done)]);
    await clock.settled(ONE_JOB);
    clock.set('2026-01-01T05:30:00Z');
    await clock.passUntil('2026-01-01T05:30:00Z', ONE_JOB);
    clock.set('2026-01-01T03:30:00Z');
    await clock.passUntil('2026-01-02T12:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(await runs()).toEqual(['completed 2026-01-01T04:00', 'completed 2026-01-02T04:00']);
  });

  it('goes on with the schedule after a clock that was years ahead is put right', async () => {
    const { scheduler } = schedulerOn(store, clock);
    clock.set('2030-06-01T00:00:00Z');
    await scheduler.replace([scheduledJob(async () => done)]);
    await clock.passUntil('2030-06-01T12:00:00Z', ONE_JOB);
    await scheduler.drain();
    clock.set('2026-01-01T00:00:00Z');
    const { scheduler: next } = schedulerOn(store, clock);
    await next.replace([scheduledJob(async () => done)]);
    await clock.passUntil('2026-01-02T12:00:00Z', ONE_JOB);
    await next.drain();
    expect((await runs()).sort()).toEqual([
      'completed 2026-01-01T04:00',
      'completed 2026-01-02T04:00',
      'completed 2030-06-01T04:00',
    ]);
  });

  it('tries a failed tick again, waiting twice as long each time, and the next tick after it', async () => {
    const tried: string[] = [];
    const work = async () => {
      tried.push(clock.now().toISOString().slice(11, 16));
      throw new TokenctlError('target_unreachable', 'The controller does not answer', { hint: 'Wait.' });
    };
    const { scheduler, events } = schedulerOn(store, clock);
    await scheduler.replace([scheduledJob(work, { onFailure: { retries: 3, retryAfter: 600 } })]);
    await clock.passUntil('2026-01-01T23:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(tried).toEqual(['04:00', '04:10', '04:30', '05:10']);
    expect(events.flatMap((event) => (event.kind === 'run_ended' ? [event.retryAt !== null] : []))).toEqual([
      true,
      true,
      true,
      false,
    ]);
    const [last] = await store.history({ limit: 1 });
    expect(last).toMatchObject({
      state: 'failed',
      attempt: 4,
      summary: { code: 'target_unreachable', message: 'The controller does not answer', hint: 'Wait.' },
    });
  });

  it('does not try again what would fail again, and keeps what an unexpected error says to itself', async () => {
    const errors = [new TokenctlError('plan_too_large', 'Too many'), new Error('token abc123')];
    const { scheduler, events } = schedulerOn(store, clock);
    const work = async () => {
      throw errors.shift();
    };
    await scheduler.replace([scheduledJob(work, { onFailure: { retries: 3, retryAfter: 60 } })]);
    await clock.passUntil('2026-01-02T23:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(await runs()).toEqual(['failed 2026-01-01T04:00', 'failed 2026-01-02T04:00']);
    const [bug] = await store.history({ limit: 1 });
    expect(JSON.stringify(bug)).not.toContain('abc123');
    const told = events.findLast((event) => event.kind === 'run_ended');
    expect(told?.error).toEqual(new Error('token abc123'));
  });

  it('tells a run that takes too long to end, and counts it as failed', async () => {
    const { scheduler } = schedulerOn(store, clock);
    const work = async ({ signal }: { signal: AbortSignal }) => {
      await once(signal, 'abort');
      return { ...done, interrupted: true };
    };
    await scheduler.replace([scheduledJob(work, { timeout: 0.05 })]);
    await clock.passUntil('2026-01-01T12:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(await store.history({ limit: 5 })).toMatchObject([
      {
        state: 'failed',
        summary: { code: 'partly_done', message: expect.stringContaining('exceeded 0.05') },
      },
    ]);
  });

  it('drains: ends the run in progress, begins no other, and leaves the rest to the next start', async () => {
    const begun = Promise.withResolvers<void>();
    const { scheduler } = schedulerOn(store, clock);
    const interrupted = async ({ signal }: { signal: AbortSignal }) => {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { message: 'half of it', summary: { revoked: 5 }, interrupted: true };
    };
    await scheduler.replace([scheduledJob(interrupted)]);
    await clock.settled(ONE_JOB);
    clock.set('2026-01-01T04:00:00Z');
    const passing = clock.passUntil('2026-01-01T04:00:00Z', ONE_JOB);
    await begun.promise;
    await scheduler.drain();
    expect(await store.history({ limit: 5 })).toMatchObject([
      { state: 'interrupted', summary: { message: 'half of it', revoked: 5 } },
    ]);
    const { scheduler: next } = schedulerOn(store, clock);
    await next.replace([scheduledJob(async () => done)]);
    await passing;
    await next.drain();
    expect(await runs()).toEqual(['interrupted 2026-01-01T04:00', 'completed 2026-01-01T04:00']);
  });

  it('ends a run whose claim was taken over meanwhile, and records nothing of it', async () => {
    const { scheduler, events } = schedulerOn(store, clock, { lease: 120 });
    const rival = await place.open();
    const work = async ({ signal, due }: { signal: AbortSignal; due: Date }) => {
      // The lease ends without a renewal, as where the process of a suspended machine stands still.
      const mine = { job: JOB, due, kind: 'schedule', run: '', attempt: 1, failures: 0, losses: 0 } as const;
      const claim = await until(async () => {
        await store.renew(mine, 0);
        return await rival.takeOver(JOB, { holder: 'rival', lease: 60_000, now: clock.now() });
      });
      expect(claim).toMatchObject({ attempt: 2 });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return done;
    };
    await scheduler.replace([scheduledJob(work)]);
    await clock.passUntil('2026-01-01T04:30:00Z', ONE_JOB);
    await scheduler.drain();
    expect(events.map((event) => (event.kind === 'run_ended' ? event.state : event.kind))).toEqual([
      'run_started',
      'lost',
    ]);
    expect((await runs()).sort()).toEqual(['lost 2026-01-01T04:00', 'running 2026-01-01T04:00']);
  });

  it('gives a tick up that killed every process that tried it', async () => {
    const { scheduler, events } = schedulerOn(store, clock);
    const claimant = { holder: 'dead', lease: 0, now: clock.now() };
    await store.claim({ job: JOB, due: new Date('2025-12-31T04:00:00Z'), kind: 'schedule' }, claimant);
    for (let loss = 0; loss < 3; loss += 1) await store.takeOver(JOB, claimant);
    await scheduler.replace([scheduledJob(async () => done)]);
    await clock.passUntil('2026-01-01T12:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(events.map(({ kind }) => kind)).toEqual(['abandoned', 'run_started', 'run_ended']);
  });

  it('takes a changed job as it is now, and leaves the others alone', async () => {
    const seen: string[] = [];
    const named = (name: string, what: string, expression = '0 * * * *') =>
      scheduledJob(
        async () => {
          seen.push(what);
          return done;
        },
        { name, expression, fingerprint: what },
      );
    const { scheduler } = schedulerOn(store, clock, { poll: 600_000 });
    await scheduler.replace([named('a', 'a'), named('b', 'b'), named('c', 'c')]);
    await clock.passUntil('2026-01-01T01:30:00Z', 4);
    await scheduler.replace([named('a', 'a'), named('b', 'b2', '0 3 * * *'), named('d', 'd')]);
    await clock.passUntil('2026-01-01T03:30:00Z', 4);
    await scheduler.drain();
    expect(seen.toSorted()).toEqual(['a', 'a', 'a', 'b', 'b2', 'c', 'd', 'd']);
    expect(scheduler.jobs).toEqual([]);
  });

  it('puts a job off by its jitter, the same in every replica', async () => {
    const seen: number[] = [];
    const work = async ({ due }: { due: Date }) => {
      seen.push(clock.now().getTime() - due.getTime());
      return done;
    };
    const { scheduler } = schedulerOn(store, clock);
    await scheduler.replace([scheduledJob(work, { jitter: 900 })]);
    await clock.passUntil('2026-01-02T12:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(seen).toHaveLength(2);
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).toBeGreaterThan(0);
    expect(seen[0]).toBeLessThan(900_000);
  });

  it('survives a ledger that does not answer', async () => {
    let failing = false;
    const unreliable: JobStore = Object.create(store, {
      tickState: {
        value: (job: string, now: Date) =>
          failing
            ? Promise.reject(new TokenctlError('database_unreachable', 'gone'))
            : store.tickState(job, now),
      },
      register: { value: (...args: Parameters<JobStore['register']>) => store.register(...args) },
      claim: { value: (...args: Parameters<JobStore['claim']>) => store.claim(...args) },
      renew: { value: (...args: Parameters<JobStore['renew']>) => store.renew(...args) },
      end: { value: (...args: Parameters<JobStore['end']>) => store.end(...args) },
      forget: { value: (before: Date) => store.forget(before) },
    });
    const { scheduler, events } = schedulerOn(unreliable, clock, { poll: 60_000 });
    await scheduler.replace([scheduledJob(async () => done)]);
    await clock.settled(ONE_JOB);
    failing = true;
    await clock.passUntil('2026-01-01T04:30:00Z', ONE_JOB);
    failing = false;
    await clock.passUntil('2026-01-01T05:00:00Z', ONE_JOB);
    await scheduler.drain();
    expect(await runs()).toEqual(['completed 2026-01-01T04:00']);
    expect(events.some(({ kind }) => kind === 'error')).toBe(true);
  });

  describe('by hand', () => {
    const options = () => ({
      store,
      clock,
      holder: 'me',
      lease: 30_000,
      interrupt: new AbortController().signal,
      listener: () => undefined,
    });

    it('runs a job now, which the schedule takes no notice of', async () => {
      await store.register([{ name: JOB, schedule: '0 4 * * * UTC' }], clock.now());
      expect(
        await runNow(
          scheduledJob(async () => done),
          options(),
        ),
      ).toMatchObject({ state: 'completed' });
      expect(await store.history({ limit: 1 })).toMatchObject([{ kind: 'manual', holder: 'me' }]);
      const { scheduler } = schedulerOn(store, clock);
      await scheduler.replace([scheduledJob(async () => done)]);
      await clock.passUntil('2026-01-01T05:00:00Z', ONE_JOB);
      await scheduler.drain();
      expect(await runs()).toEqual(['completed 2026-01-01T00:00', 'completed 2026-01-01T04:00']);
    });

    it('refuses a job that is being run', async () => {
      const claim = { job: JOB, due: new Date(START), kind: 'schedule' } as const;
      await store.claim(claim, { holder: 'other', lease: 60_000, now: clock.now() });
      await expect(
        runNow(
          scheduledJob(async () => done),
          options(),
        ),
      ).rejects.toMatchObject(refused('already_running', 'other'));
    });

    it('does not wait for a tick that would be tried again later: it is tried now', async () => {
      const claim = await store.claim(
        { job: JOB, due: new Date(START), kind: 'schedule' },
        { holder: 'other', lease: 60_000, now: clock.now() },
      );
      const retryAt = new Date('2026-01-01T09:00:00Z');
      if (claim !== null) await store.end(claim, { state: 'failed', retryAt, summary: {}, now: clock.now() });
      // A dry run must not count as the retry.
      await expect(
        runNow(
          scheduledJob(async () => done),
          { ...options(), keepsOpenTick: true },
        ),
      ).rejects.toMatchObject(refused('already_running', 'will be retried'));
      expect(
        await runNow(
          scheduledJob(async () => done),
          options(),
        ),
      ).toMatchObject({ state: 'completed', claim: { attempt: 2, kind: 'schedule' } });
    });

    it('is not taken over by anybody: whoever asked for it saw it end', async () => {
      await store.claim(
        { job: JOB, due: new Date(START), kind: 'manual' },
        { holder: 'dead', lease: 0, now: clock.now() },
      );
      const { scheduler, events } = schedulerOn(store, clock);
      await scheduler.replace([scheduledJob(async () => done)]);
      await clock.settled(ONE_JOB);
      await scheduler.drain();
      expect(events.map(({ kind }) => kind)).toEqual(['abandoned']);
      expect(await runs()).toEqual(['lost 2026-01-01T00:00']);
    });
  });
});
