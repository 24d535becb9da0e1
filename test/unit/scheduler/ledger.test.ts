import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Claim, JobStore } from '../../../src/operations/ports/scheduler.ts';
import { openLedgerTables } from '../../../src/scheduler/ledger/ledger.ts';
import { filePlace, LEDGERS, type LedgerPlace } from './ledgers.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const DUE = new Date('2026-01-01T03:00:00Z');
const LATER = new Date('2026-01-01T04:00:00Z');
const claimant = (holder: string, lease = 60_000) => ({ holder, lease, now: NOW });
const completed = { state: 'completed', retryAt: null, summary: { revoked: 3 }, now: NOW } as const;

describe.each(LEDGERS)('the ledger in %s', (_, placeOf) => {
  let place: LedgerPlace;
  let one: JobStore;
  let two: JobStore;
  let names = 0;
  const newName = () => {
    names += 1;
    return `job-${names}`;
  };
  beforeAll(async () => {
    place = await placeOf();
    // Both make it at the same time.
    [one, two] = await Promise.all([place.open(), place.open()]);
  });
  afterAll(() => place[Symbol.asyncDispose]());

  function claimTick(store: JobStore, job: string, due = DUE, lease = 60_000): Promise<Claim | null> {
    return store.claim({ job, due, kind: 'schedule' }, claimant(store === one ? 'one' : 'two', lease));
  }

  async function claimed(job: string, lease = 60_000): Promise<Claim> {
    const claim = await claimTick(one, job, DUE, lease);
    if (claim === null) throw new Error('not claimed');
    return claim;
  }

  it('gives a tick to one replica, of many that want it at the same time', async () => {
    const job = newName();
    const store = await Promise.all(
      Array.from({ length: 20 }, (_, index) => claimTick(index % 2 === 0 ? one : two, job)),
    );
    expect(store.filter((claim) => claim !== null)).toHaveLength(1);
  });

  it('gives no second tick of a job while one is open, and the next one after that', async () => {
    const job = newName();
    const claim = await claimed(job);
    expect(await claimTick(two, job, LATER)).toBeNull();
    expect(await one.end(claim, completed)).toBe(true);
    expect(await claimTick(two, job)).toBeNull();
    expect(await claimTick(two, job, LATER)).toMatchObject({ job, due: LATER, attempt: 1 });
  });

  it('counts ticks from when a job was first seen, and from its newest tick on', async () => {
    const job = newName();
    await one.register([{ name: job, schedule: '0 3 * * *' }], DUE);
    await two.register([{ name: job, schedule: '0 3 * * *' }], NOW);
    expect(await one.tickState(job, NOW)).toEqual({ position: DUE, open: null });
    const claim = await claimTick(one, job, LATER);
    expect(await two.tickState(job, NOW)).toMatchObject({
      position: LATER,
      open: { due: LATER, state: 'running', holder: 'one', run: claim?.run, retryAt: null },
    });
  });

  it('starts a job anew whose schedule was changed', async () => {
    const job = newName();
    await one.register([{ name: job, schedule: '0 3 * * *' }], DUE);
    await one.register([{ name: job, schedule: '* * * * *' }], NOW);
    expect((await one.tickState(job, NOW)).position).toEqual(NOW);
  });

  it('does not count ticks of the future, that a wrong clock has claimed', async () => {
    const job = newName();
    await one.register([{ name: job, schedule: '0 3 * * *' }], DUE);
    const claim = await claimTick(one, job, new Date('2099-01-01T00:00:00Z'));
    if (claim !== null) await one.end(claim, completed);
    expect((await one.tickState(job, NOW)).position).toEqual(DUE);
  });

  it('keeps a claim as long as its lease is renewed, and gives it to another after that', async () => {
    const job = newName();
    const claim = await claimed(job, 0);
    expect(await one.renew(claim, 60_000)).toBe(true);
    expect(await two.takeOver(job, claimant('two'))).toBeNull();
    expect(await one.renew(claim, 0)).toBe(true);
    expect((await two.tickState(job, NOW)).open?.leaseLeft).toBeLessThanOrEqual(0);
    const taken = await two.takeOver(job, claimant('two'));
    expect(taken).toMatchObject({ job, due: DUE, attempt: 2, losses: 1, failures: 0 });
    expect(await one.run(claim.run)).toMatchObject({ state: 'lost', ended: NOW });
  });

  it('lets a holder that lost its claim neither renew nor end it', async () => {
    const job = newName();
    const claim = await claimed(job, 0);
    const taken = await two.takeOver(job, claimant('two'));
    expect(await one.renew(claim, 60_000)).toBe(false);
    expect(await one.end(claim, completed)).toBe(false);
    expect((await two.tickState(job, NOW)).open).toMatchObject({ run: taken?.run, state: 'running' });
    if (taken !== null) expect(await two.end(taken, completed)).toBe(true);
    const runs = await one.history({ job, limit: 10 });
    expect(runs.map(({ state }) => state).sort()).toEqual(['completed', 'lost']);
  });

  it('gives what was left to one replica, of many that want it at the same time', async () => {
    const job = newName();
    await claimed(job, 0);
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : two).takeOver(job, claimant('any'))),
    );
    expect(taken.filter((claim) => claim !== null)).toHaveLength(1);
  });

  it('takes a holder whose lease ran out by its word, where no one was faster', async () => {
    const claim = await claimed(newName(), 0);
    expect(await one.end(claim, completed)).toBe(true);
  });

  it('says so again where the same end is told twice, since the first answer may have been lost', async () => {
    const claim = await claimed(newName());
    expect(await one.end(claim, completed)).toBe(true);
    expect(await one.end(claim, completed)).toBe(true);
    expect(await one.end(claim, { ...completed, state: 'failed' })).toBe(false);
  });

  it('lets a failed tick wait for its time, and counts how often it failed', async () => {
    const job = newName();
    const claim = await claimed(job);
    const retryAt = new Date(NOW.getTime() + 60_000);
    await one.end(claim, { state: 'failed', retryAt, summary: { code: 'target_unreachable' }, now: NOW });
    expect((await two.tickState(job, NOW)).open).toMatchObject({ state: 'waiting', retryAt });
    expect(await claimTick(two, job, LATER)).toBeNull();
    expect(await two.takeOver(job, claimant('two'))).toBeNull();
    expect(await two.takeOver(job, { ...claimant('two'), now: retryAt })).toMatchObject({
      attempt: 2,
      failures: 1,
      losses: 0,
    });
  });

  it('gives a tick up whose lease ran out, and only then', async () => {
    const job = newName();
    const claim = await claimed(job);
    const { open } = await two.tickState(job, NOW);
    if (open === null) throw new Error('no open tick');
    const options = { summary: { message: 'enough' }, now: NOW };
    expect(await two.abandon(open, options)).toBe(false);
    await one.renew(claim, 0);
    expect(await two.abandon(open, options)).toBe(true);
    expect((await two.tickState(job, NOW)).open).toBeNull();
    expect(await two.run(open.run)).toMatchObject({ state: 'lost', summary: { message: 'enough' } });
  });

  it('records once which ticks are not run', async () => {
    const job = newName();
    await one.register([{ name: job, schedule: '0 * * * *' }], DUE);
    const options = { summary: { message: 'missed' }, now: NOW };
    await Promise.all([one, two].map((store) => store.skip({ job, due: LATER }, options)));
    expect((await one.tickState(job, NOW)).position).toEqual(LATER);
    expect(await one.history({ job, limit: 10 })).toMatchObject([{ state: 'skipped', due: LATER }]);
  });

  it('shows the newest runs, of a job and in a state, and one by the beginning of its id', async () => {
    const job = newName();
    const claim = await claimed(job);
    await one.end(claim, completed);
    const next = await claimTick(one, job, LATER);
    const [newest, first] = await two.history({ job, limit: 2 });
    expect(newest).toMatchObject({ run: next?.run, state: 'running', ended: null, holder: 'one' });
    expect(first).toMatchObject({ run: claim.run, due: DUE, state: 'completed', summary: { revoked: 3 } });
    expect(await two.history({ job, limit: 1 })).toHaveLength(1);
    expect(await two.history({ job, states: ['completed', 'failed'], limit: 5 })).toMatchObject([
      { run: claim.run },
    ]);
    expect(await two.run(claim.run.slice(0, 13))).toMatchObject({ run: claim.run, began: NOW, ended: NOW });
    expect(await two.run('zzz')).toBeNull();
    expect(await two.run('')).toBeNull();
  });

  it('forgets what is old, save where a job stands', async () => {
    const job = newName();
    for (const due of [DUE, LATER]) {
      const claim = await claimTick(one, job, due);
      if (claim !== null) await one.end(claim, { ...completed, now: due });
    }
    await one.register([{ name: job, schedule: '0 * * * *' }], new Date('2020-01-01T00:00:00Z'));
    await one.forget(new Date('2026-01-01T11:00:00Z'));
    expect(await one.history({ job, limit: 5 })).toEqual([]);
    expect((await one.tickState(job, NOW)).position).toEqual(LATER);
  });
});

describe.each(LEDGERS)('schedulers in %s', (_, placeOf) => {
  it('are seen for as long as they say, by the clock of the ledger', async () => {
    await using place = await placeOf();
    const [one, two] = [await place.open(), await place.open()];
    expect(await one.sighting()).toEqual({ running: false, lastSeen: null });
    await one.beat('one', 60_000);
    const first = (await two.sighting()).lastSeen;
    expect(await two.sighting()).toEqual({ running: true, lastSeen: expect.any(Date) });
    await two.beat('two', 60_000);
    await one.beat('one', 0);
    expect(await one.sighting()).toMatchObject({ running: true });
    await two.beat('two', 0);
    const { running, lastSeen } = await one.sighting();
    expect(running).toBe(false);
    expect(lastSeen?.getTime()).toBeGreaterThanOrEqual(first?.getTime() ?? Number.POSITIVE_INFINITY);
  });
});

it('takes a sighting from before its clock was set back for none, and never for one in the future', async () => {
  await using place = await filePlace();
  const store = await place.open();
  await store.beat('one', 60_000);
  place.run('UPDATE scheduler SET seen = seen + 3600000, alive_until = alive_until + 3600000');
  const { running, lastSeen } = await store.sighting();
  expect([running, (lastSeen?.getTime() ?? 0) <= Date.now()]).toEqual([false, true]);
});

it('adds what version 2 lacks and keeps its runs, and is refused by an older program', async () => {
  await using place = await filePlace();
  const store = await place.open();
  await store.claim({ job: 'a', due: DUE, kind: 'schedule' }, claimant('one'));
  await store.close();
  place.run('DROP TABLE scheduler; UPDATE version SET number = 2');
  const migrated = await place.open();
  expect(await migrated.history({ limit: 9 })).toMatchObject([{ job: 'a', state: 'running' }]);
  await migrated.beat('one', 60_000);
  expect(await migrated.sighting()).toMatchObject({ running: true });
  place.run('UPDATE version SET number = 4');
  await expect(place.open()).rejects.toMatchObject({
    code: 'configuration',
    message: "The scheduler's ledger has version 4; this program supports version 3",
    hint: expect.stringContaining('or a later one'),
  });
});

it('keeps the file from other users, whatever the umask is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tokenctl-ledger-'));
  const umask = process.umask(0o022);
  try {
    const path = join(folder, 'ticks.sqlite');
    await (await openLedgerTables(path)).close();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  } finally {
    process.umask(umask);
    await rm(folder, { recursive: true });
  }
});
