import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { kinds } from '@tokenctl/testing/runs.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { leaseEnd } from '../../../jobs/lease-end.ts';
import type { Runtime } from '../../../src/app/runtime.ts';
import { openFileLog } from '../../../src/audit-log/file-log.ts';
import type { LeaseFlags } from '../../../src/cli/leases/lease-flags.ts';
import { leaseChangeFlow } from '../../../src/cli/leases/lease-flow.ts';
import { endOf } from '../../../src/domain/leased-token.ts';
import { isLeaseDue, isOpen, type Lease, LeaseBook } from '../../../src/domain/leases.ts';
import type { TargetJobContext } from '../../../src/operations/jobs/job.ts';
import { reconcile } from '../../../src/operations/journal/reconcile.ts';
import {
  extendLease,
  planExtension,
  readLeases,
  requireLease,
} from '../../../src/operations/journal/recorded-leases.ts';
import { endLeases } from '../../../src/operations/leases/end-leases.ts';
import { makeLimitedToken } from '../../../src/operations/leases/make-limited-token.ts';
import type { EntryDraft } from '../../../src/operations/ports/audit-log.ts';
import { machineClock } from '../../../src/operations/ports/clock.ts';
import type { Target } from '../../../src/operations/ports/target.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { stillClock } from '../../support/drafts.ts';
import { databaseFixture, failingFrom, fixture } from '../../support/fixture.ts';
import { describeEach, loadRealTables, REAL_PEERS } from '../../support/real-tables.ts';
import { all } from '../../support/test-database.ts';
import { unusedFiles, unusedServices } from '../../support/unused-files.ts';

const HOUR = 3600;
const request = { scope: 'write', description: 'nightly' };

/** A target, and a run of the job some hours later. */
async function place(made = fixture()) {
  const at = await made;
  const make = (other: Partial<Parameters<typeof makeLimitedToken>[0]> = {}) =>
    makeLimitedToken({
      ...{ ...at.common, actor: { user: 'root', as: 'admin' } },
      ...{ request, seconds: 2 * HOUR, why: 'exec', ...other },
    });
  const runAfter = (hours: number, other: Partial<TargetJobContext> = {}) => {
    const now = new Date(stillClock.now().getTime() + hours * HOUR * 1000);
    const context: TargetJobContext = {
      ...at.common,
      clock: { now: () => now },
      actor: { user: 'root', job: 'ends@test', job_run: 'run-1' },
      ...{ files: unusedFiles, services: unusedServices, due: now, dryRun: false },
      signal: new AbortController().signal,
      ...other,
    };
    return leaseEnd.run(context, {});
  };
  const leases = () => readLeases(at.log, at.common.description);
  return {
    ...at,
    get common() {
      return at.common;
    },
    make,
    runAfter,
    leases,
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

describe('a token with a lease', () => {
  it('is recorded before it is made, ends on time and not before, and a second run finds nothing to do', async () => {
    await using at = await place();
    const { token, lease, until } = await at.make();
    expect([until, token.description]).toEqual([new Date('2026-11-20T12:00:00Z'), `nightly (${lease})`]);
    const [intent] = await at.entries();
    expect(intent).toMatchObject({ kind: 'intent', data: { lease: { id: lease, seconds: 2 * HOUR } } });
    expect(await at.leases()).toMatchObject([
      { id: lease, state: 'open', token: { id: token.id, fingerprint: token.fingerprint }, owner: { id: 1 } },
    ]);
    expect(await at.runAfter(1.9)).toMatchObject({ message: 'No lease is due', summary: { due: [] } });
    expect(at.target.alive.has(token.id)).toBe(true);
    expect(await at.runAfter(2)).toMatchObject({ summary: { ended: [lease] }, revoked: 1 });
    expect(at.target.alive.size).toBe(0);
    expect(await at.leases()).toMatchObject([{ state: 'ended', ended: { how: 'revoked' } }]);
    const entries = (await at.entries()).length;
    expect(await at.runAfter(3)).toMatchObject({ summary: { due: [] } });
    expect((await at.entries()).length).toBe(entries);
  });

  it('changes nothing in a dry run', async () => {
    await using at = await place();
    const { lease } = await at.make();
    const entries = (await at.entries()).length;
    const dry = { dryRun: true, target: dryRun(at.target) };
    expect(await at.runAfter(3, dry)).toMatchObject({ message: `Would end ${lease}` });
    expect([at.target.alive.size, (await at.entries()).length]).toEqual([1, entries]);
  });

  it('is not made, and not ended, where the audit log cannot be written', async () => {
    await using at = await place();
    await expect(at.make({ log: failingFrom(at.log, 1) })).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    expect(at.target.alive.size).toBe(0);
    await at.make();
    const down = { log: { ...failingFrom(at.log, 1), entries: at.log.entries.bind(at.log) } };
    await expect(at.runAfter(3, down)).rejects.toMatchObject({ code: 'audit_unavailable' });
    expect(at.target.alive.size).toBe(1);
  });

  it('stays where the target refuses one of several, says why once, and is ended by the next run', async () => {
    await using at = await place();
    const one = await at.make();
    const other = await at.make();
    at.target.onRevoke = (id) => (id === one.token.id ? 'failed' : undefined);
    const failing = { code: 'partly_done', details: { left: [{ lease: one.lease, why: 'as told' }] } };
    await expect(at.runAfter(3)).rejects.toMatchObject(failing);
    await expect(at.runAfter(3)).rejects.toMatchObject(failing);
    const notes = (await at.entries()).filter(({ operation }) => operation === 'leases.end');
    expect(notes.map(({ data }) => [data['lease'], data['how'], data['why']])).toEqual([
      [one.lease, undefined, 'as told'],
      [other.lease, 'revoked', undefined],
    ]);
    at.target.onRevoke = () => undefined;
    expect(await at.runAfter(3)).toMatchObject({ summary: { ended: [one.lease] } });
  });

  it('stays with every lease of its token where that is not revoked', async () => {
    await using at = await place();
    const { token, lease } = await at.make();
    const [made] = await at.leases();
    const other = { ...made, id: 'sunset-1-1' } as Lease;
    at.target.onRevoke = () => 'failed';
    const ended = await endLeases(at.common, [other, made as Lease]);
    expect(ended.map((each) => [each.lease, each.how])).toEqual([
      ['sunset-1-1', null],
      [lease, null],
    ]);
    at.target.onRevoke = () => undefined;
    const again = await endLeases(at.common, [other, made as Lease]);
    expect(again.map(({ how }) => how)).toEqual(['revoked', 'revoked']);
    expect(at.target.alive.has(token.id)).toBe(false);
  });

  it('is gone only for an account that would see it', async () => {
    await using at = await place();
    const { token } = await at.make();
    at.target.alive.delete(token.id);
    const description = {
      ...at.common.description,
      identity: { id: 2, username: 'alice', isSuperuser: false, isSystemAuditor: false },
      visibility: {
        kind: 'part' as const,
        tokens: 'their own tokens',
        users: '',
        applications: '',
        organizations: [],
      },
    };
    await expect(at.runAfter(3, { description })).rejects.toMatchObject({
      code: 'partly_done',
      message: expect.stringContaining('alice can see only'),
    });
    expect(await at.runAfter(3)).toMatchObject({ summary: { ended: [expect.any(String)] } });
    expect(await at.leases()).toMatchObject([{ ended: { how: 'gone' } }]);
  });

  it('ends no other token that has its number, as after a restored database', async () => {
    await using at = await place();
    const { token } = await at.make();
    const [lease] = await at.leases();
    for (const other of [{ created: new Date('2026-11-01T00:00:00Z') }, { fingerprint: '0123456789ab' }]) {
      at.target.alive.set(token.id, { ...token, ...other });
      await expect(at.runAfter(3)).rejects.toMatchObject({
        message: expect.stringContaining('is a different token here'),
      });
      expect([at.target.alive.size, (await at.leases())[0]?.state]).toEqual([1, 'open']);
    }
    // Where a person says so, it is over.
    const ended = await endLeases({ ...at.common, isMoved: true }, [lease as Lease]);
    expect([at.target.alive.size, ended[0]?.how]).toEqual([1, 'gone']);
  });

  it('is not ended at a copy of its controller, which has the same installation and the same token', async () => {
    await using at = await place();
    at.target.self = { ...at.target.self, installUuid: '00000000-0000-4000-8000-000000000001' };
    const { token } = await at.make();
    const [lease] = (await at.leases()) as [Lease];
    const description = { ...at.common.description, address: 'https://copy.example.org', context: 'copy' };
    expect(await endLeases({ ...at.common, description }, [lease])).toMatchObject([
      { how: null, why: expect.stringContaining('It was created at https://controller.example.org') },
    ]);
    const runtime = {
      auditLog: async () => at.log,
      description: async () => description,
      targetClock: async () => stillClock,
    } as unknown as Runtime;
    const flags = { end: lease.id } as unknown as LeaseFlags;
    await expect(leaseChangeFlow({ runtime, flags })).rejects.toMatchObject({ code: 'usage' });
    // The same address with another installation behind it, as through a tunnel.
    const other = { ...at.common.description, installUuid: '00000000-0000-4000-8000-00000000000f' };
    at.target.alive.delete(token.id);
    expect(await endLeases({ ...at.common, description: other }, [lease])).toMatchObject([{ how: null }]);
    expect((await at.leases())[0]?.state).toBe('open');
  });

  it('is left to its own address: a copy of the controller does not show that it is gone', async () => {
    await using at = await place();
    const { lease } = await at.make();
    const copy = { ...at.common.description, address: 'https://copy.example.org' };
    expect(await at.runAfter(3, { description: copy })).toMatchObject({
      message: expect.stringContaining(`Past the end in other contexts: ${lease}`),
      summary: { due: [] },
    });
    expect(at.target.alive.size).toBe(1);
  });

  it('ends later once it is extended, and never after the token itself', async () => {
    await using at = await place();
    const { lease } = await at.make();
    const extend = async (seconds: number) => {
      const how = { lease: lease ?? '', seconds, now: stillClock.now() };
      await extendLease(at.common, await planExtension(at.log, at.common.description, how));
    };
    await extend(5 * HOUR);
    expect(await at.runAfter(4)).toMatchObject({ summary: { due: [] } });
    await expect(extend(2000 * 365 * 24 * HOUR)).rejects.toMatchObject({ code: 'usage' });
    expect(await at.runAfter(5)).toMatchObject({ summary: { ended: [lease] } });
    await expect(extend(HOUR)).rejects.toMatchObject({ code: 'usage' });
  });
});

it('is not ended by --due once its end was moved while the question was open', async () => {
  await using at = await place();
  const { token, lease } = await at.make();
  const { log, common } = at;
  const later = new Date(stillClock.now().getTime() + 3 * HOUR * 1000);
  const runtime = {
    auditLog: async () => log,
    description: async () => common.description,
    targetClock: async () => ({ now: () => later }),
  } as unknown as Runtime;
  const planned = await leaseChangeFlow({ runtime, flags: { due: true } as unknown as LeaseFlags });
  const how = { lease: lease ?? '', seconds: HOUR, now: later };
  await extendLease(common, await planExtension(log, common.description, how));
  expect(await planned.act(async () => ({ ...common, onProgress: () => undefined }), true)).toEqual([]);
  expect(at.target.alive.has(token.id)).toBe(true);
});

it('of a token with several is the open one; two open ones are named', () => {
  const lease = { id: 'lease-1', state: 'ended', token: { id: 7 } } as Lease;
  const open = { ...lease, id: 'sunset-1-7', state: 'open' } as Lease;
  expect(requireLease([lease, open], '7')).toBe(open);
  expect(() => requireLease([lease, open, { ...open, id: 'lease-2' }], '7')).toThrow(
    '7 matches several leases: sunset-1-7, lease-2',
  );
});

it('says at once that a token ended while its end was moved', async () => {
  await using at = await place();
  const { token, lease } = await at.make();
  const { log, common } = at;
  const runtime = {
    ...{ auditLog: async () => log, description: async () => common.description },
    ...{ targetClock: async () => stillClock, clock: stillClock },
    configuration: { jobs: {}, invalid: new Map() },
  } as unknown as Runtime;
  const flags = { extend: lease, for: HOUR * 1000 } as unknown as LeaseFlags;
  const planned = await leaseChangeFlow({ runtime, flags });
  at.target.alive.delete(token.id);
  const act = () => planned.act(async () => ({ ...common, onProgress: () => undefined }), true);
  await expect(act()).rejects.toMatchObject({ message: expect.stringContaining('ended in the meantime') });
  await at.runAfter(3);
  const entries = (await at.entries()).length;
  await expect(act()).rejects.toMatchObject({ code: 'partly_done' });
  expect((await at.entries()).length).toBe(entries);
});

describe('a creation that was cut off', () => {
  /** Kills a creation after the target made the token: its intent is left to who closes it. */
  async function killed(at: Awaited<ReturnType<typeof place>>, { makes }: { makes: boolean }) {
    const create = at.target.createToken.bind(at.target);
    at.target.createToken = async (asked) => {
      if (makes) await create(asked);
      throw new TokenctlError('target_unreachable', 'No answer');
    };
    await expect(at.make()).rejects.toMatchObject({ code: 'target_unreachable' });
    at.target.createToken = create;
  }

  it('leaves a lease that is due at once, by which the token is found', async () => {
    await using at = await place();
    await killed(at, { makes: true });
    const [{ id } = { id: '' }] = await at.leases();
    await at.target.createToken({ scope: 'write', description: 'another' });
    expect(await at.runAfter(0)).toMatchObject({ summary: { ended: [id] }, revoked: 1 });
    expect([...at.target.alive.values()].map(({ description }) => description)).toEqual(['another']);
  });

  it('is over without a token only once no request can be under way', async () => {
    await using at = await place();
    await killed(at, { makes: false });
    await expect(at.runAfter(0.01)).rejects.toMatchObject({ code: 'partly_done' });
    await at.runAfter(0.1);
    expect(await at.leases()).toMatchObject([{ state: 'unmade' }]);
  });

  it('is the same where the process was killed before it could record anything', async () => {
    await using at = await place();
    const dead = { ...failingFrom(at.log, 2), lockRun: async () => ({ [Symbol.dispose]: () => undefined }) };
    await expect(at.make({ log: dead })).rejects.toMatchObject({ code: 'outcome_unrecorded' });
    expect(await at.leases()).toMatchObject([{ state: 'making' }]);
    const [made] = (await at.leases()) as [Lease];
    expect(
      [0.05, 0.1].map((hours) =>
        isLeaseDue(made, new Date(stillClock.now().getTime() + hours * HOUR * 1000)),
      ),
    ).toEqual([false, true]);
    await reconcile(at.common);
    expect(await at.leases()).toMatchObject([{ state: 'unknown' }]);
    expect(await at.runAfter(0)).toMatchObject({ revoked: 1 });
  });

  it('at whichever step, leaves no token without an end', async () => {
    let step = 0;
    for (let ended = false; !ended; step += 1) {
      await using at = await place();
      let left = step;
      const pass = async <Of>(act: () => Promise<Of>): Promise<Of> => {
        if (left <= 0) throw new Error('killed');
        left -= 1;
        return await act();
      };
      // A step is cut off before it, or after it.
      const twice = <Of>(act: () => Promise<Of>) => pass(() => act().then((made) => pass(async () => made)));
      const { log, target } = at;
      const dying = {
        ...failingFrom(log, Number.POSITIVE_INFINITY),
        append: (entry: EntryDraft) => twice(() => log.append(entry)),
      };
      const create = target.createToken.bind(target);
      target.createToken = (asked) => twice(() => create(asked));
      target.onRevoke = async () => await pass(async () => undefined);
      const change = { ...at.common, log: dying };
      const run = async () => {
        await at.make({ log: dying });
        return await endLeases(change, (await at.leases()).filter(isOpen));
      };
      ended = await run().then(
        () => true,
        () => false,
      );
      Object.assign(target, { createToken: create, onRevoke: () => undefined });
      await at.runAfter(ended ? 9 : 0.5);
      await at.runAfter(9);
      expect([step, at.target.alive.size, (await at.leases()).filter(isOpen)]).toEqual([step, 0, []]);
    }
    expect(step).toBeGreaterThan(10);
  });

  it('leaves nothing where the target refused it', async () => {
    await using at = await place();
    at.target.createToken = async () => {
      throw new TokenctlError('permission_refused', 'Not for you');
    };
    await expect(at.make()).rejects.toMatchObject({ code: 'permission_refused' });
    expect(await at.runAfter(9)).toMatchObject({ summary: { due: [] } });
  });
});

describe('a lifetime', () => {
  it('longer than that of the controller is refused with the number, before anything is made', async () => {
    await using at = await place();
    at.target.values = {
      ...at.target.values,
      OAUTH2_PROVIDER: {
        ACCESS_TOKEN_EXPIRE_SECONDS: HOUR,
        REFRESH_TOKEN_EXPIRE_SECONDS: 1,
        AUTHORIZATION_CODE_EXPIRE_SECONDS: 1,
      },
    };
    await expect(at.make()).rejects.toMatchObject({
      code: 'usage',
      message: 'A new token lives 3,600 s here, less than the requested 7,200 s',
    });
    expect(await at.entries()).toEqual([]);
  });

  it('is stored by a database, and needs no lease there but for a program', async () => {
    await using at = await place(databaseFixture());
    const asked = { request: { ...request, user: 'alice' }, why: 'create' as const };
    const { token, lease, until } = await at.make(asked);
    expect([lease, token.expires, until]).toEqual([null, until, new Date('2026-11-20T12:00:00Z')]);
    expect(await at.leases()).toEqual([]);
    expect((await at.make({ ...asked, why: 'exec' })).lease).toMatch(/^lease-[0-9a-f]{12}$/);
  });

  it('is stored by the own service over REST, and has a lease where a server only says that it is one', async () => {
    await using at = await place();
    at.target.self = { ...at.target.self, dialect: 'service' };
    const { token, lease, until } = await at.make({ why: 'create' });
    expect([lease, token.expires, until]).toEqual([null, until, new Date('2026-11-20T12:00:00Z')]);
    expect((await at.make()).lease).toMatch(/^lease-/);
    const create = at.target.createToken.bind(at.target);
    at.target.createToken = ({ lifetime: _ignored, ...asked }) => create(asked);
    expect((await at.make({ why: 'create' })).lease).toMatch(/^lease-/);
    expect((await at.leases()).map(({ state }) => state)).toEqual(['released', 'open', 'open']);
  });

  it('ends with the earlier of both', () => {
    const expires = new Date('2027-01-01T00:00:00Z');
    expect(endOf({ expires }, { until: '2026-12-01T00:00:00Z' }).by).toBe('lease');
    expect(endOf({ expires }, { until: '2027-12-01T00:00:00Z' })).toEqual({ at: expires, by: 'stored' });
    expect(endOf({ expires }, undefined).by).toBe('stored');
  });
});

it('a log with entries of another shape makes no lease', () => {
  const book = new LeaseBook();
  const entry = { run: 'r', seq: 1, at: '2026-11-20T10:00:00.000Z', actor: {}, target: {} };
  for (const data of [{}, { lease: 'lease-1' }, { lease: { id: 'x', why: 'exec', seconds: -1 } }])
    book.add({ ...entry, kind: 'intent', operation: 'tokens.create', data });
  book.add({ ...entry, kind: 'note', operation: 'leases.end', data: { lease: 'lease-1', how: 'gone' } });
  expect(book.all).toEqual([]);
});

describeEach(kinds(REAL_PEERS))('%s: in its database', (peer) => {
  it('has earlier ends and the old ones again, to the microsecond, each with its entry and its link', async () => {
    const real = await loadRealTables(peer);
    onTestFinished(() => real.close());
    const target = await real.open();
    const listed = (await all(target.tokens({ all: true }))).slice(0, 5);
    const isGateway = (await target.describe()).dialect === 'gateway';
    const table = isGateway ? 'dab_oauth2_provider_oauth2accesstoken' : 'main_oauth2accesstoken';
    const stream = isGateway ? 'dab_activitystream_entry' : 'main_activitystream';
    const rows = () => real.database.query(`SELECT id, expires::text FROM ${table} ORDER BY id`);
    const last = `SELECT changes::text AS changes FROM ${stream} ORDER BY id DESC LIMIT 5`;
    const before = await rows();
    // Before the end of each: those of the dumps move with the day.
    const until = new Date(Math.trunc(Date.now() / 1000) * 1000 + 3_600_000);
    const ends = listed.map(({ id, created, expires }) => ({ id, created, from: [expires], to: until }));
    const ids = listed.map(({ id }) => id);
    expect((await target.ends?.set(ends))?.toSorted((one, other) => one - other)).toEqual(ids);
    const shortened = await all(target.tokens({ ids }));
    expect(shortened.map(({ expires }) => expires)).toEqual(ids.map(() => until));
    const [entry] = await real.database.query<{ changes: string }>(last);
    const second = until.toISOString().slice(0, 19);
    expect(entry?.changes).toMatch(new RegExp(`"expires": \\["\\d{4}-[^"]+Z", "${second}\\.\\d{6}Z"\\]`));
    if (!isGateway) {
      const linked = await real.database.query<{ id: number }>(
        `SELECT oauth2accesstoken_id AS id FROM main_activitystream_o_auth2_access_token l
           JOIN main_activitystream a ON a.id = l.activitystream_id
         WHERE a.operation = 'update' AND a.changes LIKE '{"expires"%' ORDER BY a.id`,
      );
      expect(linked.map(({ id }) => Number(id))).toEqual(ids);
    }
    // A second time, and from another expiry, nothing is changed.
    expect((await target.ends?.set(ends))?.length).toBe(5);
    const other = ends.map((each) => ({ ...each, to: new Date(0), from: [new Date(1)] }));
    expect(await target.ends?.set(other)).toEqual([]);
    const back = listed.map(({ id, created, expires }) => ({ id, created, from: [until], to: expires }));
    expect((await target.ends?.set(back))?.length).toBe(5);
    expect(await rows()).toEqual(before);
  });

  it('ends a token, and one whose creation was cut off, and no other', async () => {
    const real = await loadRealTables(peer);
    onTestFinished(() => real.close());
    await using folder = await temporaryFolder();
    const log = openFileLog({ path: join(folder.path, 'audit.jsonl'), clock: machineClock });
    const target = await real.open();
    const description = await target.describe();
    const change = { target, description, log, clock: machineClock, actor: { user: 'root' } };
    const [{ user } = { user: '' }] = real.filling.tokens;
    const asked = { request: { ...request, user }, seconds: 600, why: 'exec' as const };
    const before = await all(target.tokens({ all: true }));
    const { token, until } = await makeLimitedToken({ ...change, ...asked });
    expect([token.expires, token.user?.username]).toEqual([until, user]);
    const cut = { ...change, target: { ...target, ...cutOff(target) } };
    await expect(makeLimitedToken({ ...cut, ...asked })).rejects.toMatchObject({
      code: 'database_unreachable',
    });
    const [open, unknown] = await readLeases(log, description);
    expect([open?.state, unknown?.state]).toEqual(['open', 'unknown']);
    const ended = await endLeases(change, [open, unknown] as Lease[]);
    expect(ended.map(({ how, why }) => [how, why])).toEqual([
      ['revoked', null],
      ['revoked', null],
    ]);
    expect(await all(target.tokens({ all: true }))).toEqual(before);
  });
});

/** A target whose answer about a new token is lost. */
function cutOff(target: Target): Pick<Target, 'createToken' | 'settings' | 'tokens' | 'describe'> {
  return {
    createToken: async (asked) => {
      await target.createToken(asked);
      throw new TokenctlError('database_unreachable', 'The connection was lost');
    },
    settings: target.settings,
    tokens: (selector) => target.tokens(selector),
    describe: () => target.describe(),
  };
}
