import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leaseEnd } from '../../../jobs/lease-end.ts';
import type { Runtime } from '../../../src/app/runtime.ts';
import { tokensInUse } from '../../../src/app/tokens-in-use.ts';
import type { SunsetFlags } from '../../../src/cli/sunset/sunset-flags.ts';
import { sunsetFlow } from '../../../src/cli/sunset/sunset-flow.ts';
import { dateOf, daysNeeded, type OwnersTokens, spreadEnds } from '../../../src/domain/sunset.ts';
import { extendLease, planExtension, readLeases } from '../../../src/operations/journal/recorded-leases.ts';
import { endDueLeases } from '../../../src/operations/leases/end-due-leases.ts';
import { writeRowEnds } from '../../../src/operations/leases/row-ends.ts';
import {
  planSunset,
  recordSunset,
  releaseLeases,
  sunsetWeeks,
} from '../../../src/operations/sunset/sunset.ts';
import { planNotices } from '../../../src/operations/token-audit/expiry-notices.ts';
import { stillClock } from '../../support/drafts.ts';
import { databaseFixture, failingFrom } from '../../support/fixture.ts';
import { token } from '../../support/tokens.ts';
import { unusedFiles, unusedServices } from '../../support/unused-files.ts';

const DAY = 86_400_000;
const NEVER = new Date('3026-01-01T00:00:00Z');
const now = stillClock.now();
const spread = { now, notice: 7, days: 60, perDay: 100, weekends: false };

/** So many owners, each with so many tokens, the first ones unused. */
function owners(counts: readonly number[]): OwnersTokens[] {
  return counts.map((count, owner) => ({
    owner: { id: owner + 1, username: `user${String(owner).padStart(3, '0')}` },
    tokens: Array.from({ length: count }, (_, index) => ({
      ...{
        id: owner * 1000 + index + 1,
        fingerprint: null,
        created: now.toISOString(),
        expires: NEVER.toISOString(),
      },
      ...{ scope: 'write', lastUsed: owner % 2 === 0 ? null : new Date(now.getTime() - owner * DAY) },
    })),
  }));
}

describe('ends that are spread', () => {
  it('are on one day for each owner, unused first, on no weekend, within the days and the limit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }),
        fc.boolean(),
        (counts, weekends) => {
          const ends = spreadEnds(owners(counts), { ...spread, weekends }) ?? [];
          expect(ends.length).toBe(counts.length);
          const perDay = Map.groupBy(ends, ({ until }) => dateOf(until));
          for (const [day, on] of perDay) {
            expect(
              on.length === 1 || on.reduce((sum, { tokens }) => sum + tokens.length, 0) <= spread.perDay,
            ).toBe(true);
            const at = new Date(`${day}T12:00:00Z`);
            if (!weekends) expect([0, 6]).not.toContain(at.getUTCDay());
            expect(at.getTime()).toBeGreaterThan(now.getTime() + 7 * DAY);
            expect(at.getTime()).toBeLessThan(now.getTime() + 61 * DAY);
          }
          const unused = ends
            .filter(({ tokens }) => tokens[0]?.lastUsed === null)
            .map(({ until }) => until.getTime());
          const used = ends
            .filter(({ tokens }) => tokens[0]?.lastUsed !== null)
            .map(({ until }) => until.getTime());
          if (unused.length > 0 && used.length > 0)
            expect(Math.max(...unused)).toBeLessThanOrEqual(Math.min(...used));
        },
      ),
    );
  });

  it('use the days also where owners with many tokens leave some of them half full', () => {
    const counts = Array.from({ length: 160 }, (_, owner) => (owner % 20 === 0 ? 50 : 1));
    const ends = spreadEnds(owners(counts), { ...spread, days: 30, perDay: 500 }) ?? [];
    const tokens = [...Map.groupBy(ends, ({ until }) => dateOf(until)).values()].map((on) =>
      on.reduce((sum, each) => sum + each.tokens.length, 0),
    );
    expect(tokens.length).toBeGreaterThan(8);
    expect(Math.max(...tokens)).toBeLessThan(80);
  });

  it('are spread over the whole time for a few owners as well', () => {
    const days = (spreadEnds(owners([2, 2, 2, 2]), spread) ?? []).map(({ until }) =>
      Math.round((until.getTime() - now.getTime()) / DAY),
    );
    const [first = 0, second = 0, third = 0, last = 0] = days;
    expect([first < 14, second > 14, third > 28, last > 40 && last < 60]).toEqual([true, true, true, true]);
  });

  it('are none where the days are too few, and leave room for those of before', () => {
    expect(spreadEnds(owners([60, 60, 60]), { ...spread, days: 9 })).toBeNull();
    const first = spreadEnds(owners([60]), spread)?.[0]?.until ?? now;
    const taken = new Map([[dateOf(first), 60]]);
    expect(spreadEnds(owners([60]), { ...spread, taken })?.[0]?.until).not.toEqual(first);
  });

  it('tells the fewest days that are enough', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 40 }),
        fc.boolean(),
        (counts, weekends) => {
          const few = { ...spread, days: 8, weekends, taken: new Map([['2026-12-01', 60]]) };
          const days = daysNeeded(owners(counts), few);
          expect(spreadEnds(owners(counts), { ...few, days })).not.toBeNull();
          expect(spreadEnds(owners(counts), { ...few, days: days - 1 })).toBeNull();
        },
      ),
    );
  });
});

async function place() {
  const at = await databaseFixture();
  for (const [id, userId, other] of [
    [1, 2, {}],
    [2, 2, { lastUsed: new Date(now.getTime() - DAY) }],
    [3, 3, {}],
    [4, 3, { expires: new Date(now.getTime() + 30 * DAY) }],
    [5, 3, { application: { id: 1, name: 'app' } }],
    [6, 1, { description: 'kept' }],
  ] as const) {
    const user = { id: userId, username: `user${userId}` };
    at.target.alive.set(id, token({ id, expires: NEVER, created: now, lastUsed: null, user, ...other }));
  }
  const leases = () => readLeases(at.log, at.common.description);
  const plan = async () =>
    await planSunset({
      ...{
        target: at.target,
        tokens: at.target.tokens({ all: true }),
        leases: await leases(),
        spread,
        maxLifetime: undefined,
      },
      ...{ exceptions: [{ description: 'kept', reason: 'the emergency account' }], own: [] },
    });
  return Object.assign(at, { plan, leases });
}

describe('a sunset', () => {
  it('gives tokens leases, which end on their days, and leaves what needs none', async () => {
    await using at = await place();
    const plan = await at.plan();
    expect(plan.left).toEqual({ ending: 1, leased: 0, excepted: 1, ofApplications: 1, withoutOwner: 0 });
    expect(plan.owners.map(({ owner, tokens }) => [owner.username, tokens.length])).toEqual([
      ['user3', 1],
      ['user2', 2],
    ]);
    expect(await recordSunset(at.common, plan)).toBe(3);
    const leases = await at.leases();
    expect(leases.map(({ why, state, token: of }) => [why, state, of?.id])).toEqual([
      ['sunset', 'open', 3],
      ['sunset', 'open', 1],
      ['sunset', 'open', 2],
    ]);
    // A second run finds nothing to do.
    expect(await at.plan()).toMatchObject({ owners: [], left: { leased: 3 } });
    expect(
      sunsetWeeks(leases, { used: new Map([[2, new Date(now.getTime() - DAY)]]), now }).at(-1),
    ).toMatchObject({ ...{ ended: 0, inUse: 1, left: 0 } });
    const after = new Date(now.getTime() + 61 * DAY);
    const context = {
      ...{
        ...at.common,
        clock: { now: () => after },
        files: unusedFiles,
        services: unusedServices,
        due: after,
      },
      ...{ dryRun: false, signal: new AbortController().signal },
    };
    expect(await leaseEnd.run(context, {})).toMatchObject({ revoked: 3 });
    expect([...at.target.alive.keys()]).toEqual([4, 5, 6]);
  });

  it('leaves the tokens that other contexts of the configuration use, and says which it cannot read', async () => {
    await using at = await place();
    at.target.secrets.set('of-the-scheduler', { kind: 'access_token', ids: [3] });
    const rest = { url: 'https://controller.example.org', token: { env: 'SCHEDULER' } };
    const runtime = {
      description: async () => at.common.description,
      target: async () => at.target,
      targetClock: async () => stillClock,
      clock: stillClock,
      auditLog: async () => at.log,
      environment: { SCHEDULER: 'of-the-scheduler' },
      configuration: {
        contexts: { scheduler: rest, other: { ...rest, token: { env: 'UNSET' } } },
        ...{ policy: {}, jobs: {}, invalid: new Map() },
      },
    } as unknown as Runtime;
    const { contexts, unknown } = await tokensInUse(runtime);
    expect([...contexts]).toEqual([[3, 'scheduler']]);
    expect(unknown).toEqual([expect.stringMatching(/the context other uses is not known: .* UNSET.*\.$/)]);
    const planned = await sunsetFlow({ runtime, flags: {} as SunsetFlags });
    const { owners: ends } = planned.json({
      dryRun: true,
      done: null,
      file: { planFile: null, digest: null },
    });
    expect(ends.flatMap(({ tokens }) => tokens).toSorted()).toEqual([1, 2, 6]);
  });

  it('leaves out no token for the lease of another one with its number, as after a restored database', async () => {
    await using at = await place();
    await recordSunset(at.common, await at.plan());
    const [first = token()] = [at.target.alive.get(1)];
    at.target.alive.set(1, { ...first, expires: NEVER, created: new Date(now.getTime() - DAY) });
    expect(await at.plan()).toMatchObject({
      owners: [{ owner: { username: 'user2' }, tokens: [{ id: 1 }] }],
      left: { leased: 2 },
    });
  });

  it('tells owners the day on which tokens are revoked, under the same thresholds', async () => {
    await using at = await place();
    const plan = await at.plan();
    await recordSunset(at.common, plan);
    const until = plan.owners[0]?.until ?? now;
    const clock = { now: () => new Date(until.getTime() - 6.5 * DAY) };
    const found = await Array.fromAsync(planNotices({ ...at.common, clock, thresholds: [7, 1] }));
    expect(found).toMatchObject([
      { token: { id: 3, expires: until }, threshold: 7, daysLeft: 6, isRevoked: true },
    ]);
  });

  it('is undone for some users: their tokens live on, and get no mail', async () => {
    await using at = await place();
    await recordSunset(at.common, await at.plan());
    const of = (await at.leases()).filter(({ owner }) => owner.username === 'user2');
    await releaseLeases(at.common, of);
    expect((await at.leases()).map(({ state }) => state)).toEqual(['open', 'released', 'released']);
    expect((await at.plan()).owners.map(({ owner }) => owner.username)).toEqual(['user2']);
  });

  it('writes the ends into the rows, earlier only, and puts the old ones back', async () => {
    await using at = await place();
    const expiries = () => [1, 2, 3].map((id) => at.target.alive.get(id)?.expires);
    await recordSunset(at.common, await at.plan());
    const until = (await at.leases()).map((lease) => new Date(lease.until));
    expect(expiries()).toEqual([until[1], until[2], until[0]]);
    const moved = { lease: `${(await at.leases())[0]?.sunset}-3`, seconds: 90 * 86_400, now };
    await extendLease(at.common, await planExtension(at.log, at.common.description, moved));
    await writeRowEnds(at.common);
    expect(expiries()[2]).toEqual(new Date(now.getTime() + 90 * DAY));
    // Someone has ended it earlier meanwhile: that stays.
    const earlier = new Date(now.getTime() + 3 * DAY);
    at.target.alive.set(2, { ...(at.target.alive.get(2) ?? token()), expires: earlier });
    await releaseLeases(at.common, await at.leases());
    expect(expiries()).toEqual([NEVER, earlier, NEVER]);
    expect((await at.leases()).map(({ row }) => row?.isWritten ?? null)).toEqual([true, true, null]);
  });

  it('has the job write what a killed sunset, or its undoing, left', async () => {
    await using at = await place();
    const killed = () => {
      throw new Error('killed');
    };
    at.target.onEnds = killed;
    await expect(recordSunset(at.common, await at.plan())).rejects.toThrow('killed');
    const job = () =>
      leaseEnd.run(
        {
          ...{ ...at.common, files: unusedFiles, services: unusedServices, due: now, dryRun: false },
          signal: new AbortController().signal,
        },
        {},
      );
    const never = () => [...at.target.alive.values()].filter(({ expires }) => expires === NEVER).length;
    expect(never()).toBe(5);
    at.target.onEnds = () => undefined;
    await job();
    expect(never()).toBe(2);
    at.target.onEnds = killed;
    await expect(releaseLeases(at.common, await at.leases())).rejects.toThrow('killed');
    at.target.onEnds = () => undefined;
    await job();
    expect(at.target.alive.get(3)?.expires).toEqual(NEVER);
    const entries = (await at.entries()).length;
    await job();
    expect((await at.entries()).length).toBe(entries);
  });

  it('leaves a token that another sunset gave an end meanwhile', async () => {
    await using at = await place();
    const [one, other] = [await at.plan(), await at.plan()];
    expect(await recordSunset(at.common, one)).toBe(3);
    expect(await recordSunset(at.common, other)).toBe(0);
    expect((await at.leases()).map(({ sunset }) => sunset)).toEqual([one.id, one.id, one.id]);
  });

  it('leaves a token whose end is taken back while others end', async () => {
    await using at = await place();
    at.target.alive.clear();
    const user = { id: 2, username: 'alice' };
    for (let id = 1; id <= 101; id += 1)
      at.target.alive.set(id, token({ id, expires: NEVER, created: now, user }));
    await recordSunset(at.common, await at.plan());
    const leases = await at.leases();
    at.target.onRevoke = async (id) => {
      if (id === 1) await releaseLeases(at.common, leases.slice(100));
      return undefined;
    };
    const clock = { now: () => new Date(now.getTime() + 61 * DAY) };
    expect(await endDueLeases({ ...at.common, clock }, leases)).toHaveLength(100);
    expect([...at.target.alive.keys()]).toEqual([101]);
  });

  it('goes on where it was stopped, and changes nothing where the audit log cannot be written', async () => {
    await using at = await place();
    const plan = await at.plan();
    await expect(recordSunset({ ...at.common, log: failingFrom(at.log, 2) }, plan)).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    expect((await at.leases()).length).toBe(1);
    const rest = await at.plan();
    expect(rest.owners.map(({ owner }) => owner.username)).toEqual(['user2']);
    await recordSunset(at.common, rest);
    expect((await at.leases()).length).toBe(3);
    expect(at.target.alive.size).toBe(6);
  });
});
