import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { describe, expect, it } from 'vitest';
import { rotation } from '../../../jobs/rotation.ts';
import type { Runtime } from '../../../src/app/runtime.ts';
import { consumerFlow } from '../../../src/cli/tokens/consumer-flow.ts';
import type { RotationFlags } from '../../../src/cli/tokens/token-flags.ts';
import { fingerprintOf } from '../../../src/domain/leases.ts';
import type { TargetJobContext } from '../../../src/operations/jobs/job.ts';
import { LeaseReader, readLeases } from '../../../src/operations/journal/recorded-leases.ts';
import { type SecretStore, sameValue, storeChanged } from '../../../src/operations/ports/secret-store.ts';
import { adoptToken, planAdoption } from '../../../src/operations/rotation/adopt-token.ts';
import { planOf, rotateConsumer } from '../../../src/operations/rotation/rotate-consumer.ts';
import { recordSunset } from '../../../src/operations/sunset/sunset.ts';
import { dryRun } from '../../../src/targets/dry-run.ts';
import { stillClock } from '../../support/drafts.ts';
import { databaseFixture, failingFrom, fixture } from '../../support/fixture.ts';
import { incidentFixture, NO_MEASURE } from '../../support/incident-fixture.ts';
import { user } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';
import { unusedFiles, unusedServices } from '../../support/unused-files.ts';

const HOUR_MS = 3_600_000;
const consumers = {
  deploy: { scope: 'write', every: 14_400, lifetime: 21_600, overlap: 7200, store: 'ci' } as const,
};

/** A store in memory, with a place to make each step fail. */
class MemoryStore implements SecretStore {
  readonly name = 'The store ci';
  value: Secret | null = null;
  onRead: () => void = () => undefined;
  /** What it throws comes before the value is written; `after` comes after it. */
  onWrite: () => void = () => undefined;
  afterWrite: () => void = () => undefined;

  async read(): Promise<Secret | null> {
    this.onRead();
    return this.value;
  }

  async write(value: Secret, over: Secret | null): Promise<void> {
    if (!sameValue(this.value, over)) throw storeChanged(this.name);
    this.onWrite();
    this.value = value;
    this.afterWrite();
  }
}

const unreachable = () => {
  throw new TokenctlError('target_unreachable', 'The store ci could not be reached');
};

async function place(made = fixture()) {
  const at = await made;
  const store = new MemoryStore();
  let hours = 0;
  at.target.now = () => new Date(stillClock.now().getTime() + hours * HOUR_MS);
  const run = (other: Partial<TargetJobContext> = {}, given: object = consumers) => {
    const now = at.target.now();
    return rotation.run(
      {
        ...at.common,
        clock: { now: () => now },
        actor: { user: 'root', as: 'admin', job: 'rotate@test', job_run: 'run-1' },
        files: unusedFiles,
        services: { ...unusedServices, store: () => Promise.resolve(store) },
        ...{ due: now, dryRun: false, signal: new AbortController().signal },
        ...other,
      },
      { consumers: given as typeof consumers },
    );
  };
  /** The consumer's token: read in the store and living, whatever happened. */
  const inUse = () => {
    const fingerprint = store.value === null ? null : fingerprintOf(store.value);
    return [...at.target.alive.values()].find((each) => each.fingerprint === fingerprint)?.id ?? null;
  };
  return {
    ...at,
    get common() {
      return at.common;
    },
    store,
    run,
    inUse,
    living: () => [...at.target.alive.keys()],
    leases: () => readLeases(at.log, at.common.description),
    at(hour: number) {
      hours = hour;
    },
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  };
}

describe('a rotation', () => {
  it('writes a new token every time, keeps the old one for the overlap, and has nothing to do between', async () => {
    await using at = await place();
    expect(await at.run()).toMatchObject({ summary: { rotated: 1, revoked: 0 } });
    const first = at.inUse();
    expect(at.living()).toEqual([first]);
    const entries = (await at.entries()).length;
    at.at(3.9);
    expect(await at.run()).toMatchObject({ summary: { rotated: 0, revoked: 0 } });
    expect((await at.entries()).length).toBe(entries);

    at.at(4);
    expect(await at.run()).toMatchObject({ summary: { rotated: 1, revoked: 0 } });
    const second = at.inUse();
    expect(at.living()).toEqual([first, second]);
    at.at(5.9);
    expect(await at.run()).toMatchObject({ summary: { revoked: 0 } });
    at.at(6);
    expect(await at.run()).toMatchObject({ summary: { rotated: 0, revoked: 1 } });
    expect(at.living()).toEqual([second]);
    expect(await at.leases()).toMatchObject([
      { consumer: 'deploy', state: 'ended', token: { id: first } },
      { consumer: 'deploy', state: 'open', isStored: true, token: { id: second } },
    ]);
  });

  it('replaces the token in the store at once when it was revoked before its time', async () => {
    await using at = await place();
    await at.run();
    at.at(4);
    await at.run();
    const [old, revoked] = [...at.living()];
    at.target.alive.delete(revoked ?? 0);
    at.at(4.1);
    expect(await at.run()).toMatchObject({ summary: { rotated: 1, revoked: 0 } });
    expect(at.living()).toEqual([old, at.inUse()]);
    expect((await at.leases()).map(({ ended }) => ended?.how)).toEqual([undefined, 'gone', undefined]);
  });

  it('stores the end in a database as well, and makes the token of the user that is named', async () => {
    await using at = await place(databaseFixture());
    const given = { deploy: { ...consumers.deploy, user: 'alice' } };
    await at.run({}, given);
    const [token] = [...at.target.alive.values()];
    expect([token?.user?.username, token?.expires]).toEqual(['alice', new Date('2026-11-20T16:00:00Z')]);
    await expect(at.run()).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining('deploy'),
    });
  });

  it('is refused for another user over REST, and for a lifetime that the controller does not give', async () => {
    await using at = await place();
    await expect(at.run({}, { deploy: { ...consumers.deploy, user: 'bob' } })).rejects.toMatchObject({
      code: 'unsupported',
    });
    const long = { deploy: { ...consumers.deploy, lifetime: 99_999_999_999 } };
    await expect(at.run({}, long)).rejects.toMatchObject({ code: 'usage' });
    expect([at.living(), await at.entries()]).toEqual([[], []]);
  });

  it('says in a dry run what it would do, and does nothing', async () => {
    await using at = await place();
    const dry = { dryRun: true, target: dryRun(at.target) };
    expect(await at.run(dry)).toMatchObject({
      message: expect.stringMatching(/^Would give deploy a first token/),
    });
    expect([at.living(), at.store.value, await at.entries()]).toEqual([[], null, []]);
  });

  it('ends no token of the controller whose copy it works at, and does not lose its record', async () => {
    await using at = await place();
    at.target.self = { ...at.target.self, installUuid: '00000000-0000-4000-8000-000000000001' };
    await at.run();
    const description = { ...at.common.description, address: 'https://copy.example.org' };
    const services = { ...unusedServices, store: () => Promise.resolve(new MemoryStore()) };
    at.at(7);
    await at.run({ description, services });
    expect([at.living().length, (await at.leases()).map(({ state }) => state)]).toEqual([
      2,
      ['open', 'open'],
    ]);
  });

  it('goes on with the others where one fails, and says which', async () => {
    await using at = await place();
    const failing = new MemoryStore();
    failing.onRead = unreachable;
    const stores = (_name: string, consumer: string) =>
      Promise.resolve(consumer === 'broken' ? failing : at.store);
    const services = { ...unusedServices, store: stores };
    const given = { broken: consumers.deploy, ...consumers };
    await expect(at.run({ services }, given)).rejects.toMatchObject({
      code: 'partly_done',
      message: 'Rotated 1 of 2 consumers. Failed for broken: The store ci could not be reached',
    });
    expect(at.living()).toEqual([at.inUse()]);
  });

  it('does not replace a value that someone else wrote, and keeps the old token', async () => {
    await using at = await place();
    await at.run();
    const first = at.inUse();
    at.at(4);
    const own = at.store.value;
    at.store.value = new Secret('of someone else');
    await expect(at.run()).rejects.toMatchObject({ code: 'store_changed' });
    expect(at.living()).toEqual([first]);
    // Written by someone else between the look and the writing.
    at.store.value = own;
    let reads = 0;
    at.store.onRead = () => {
      reads += 1;
      if (reads === 3) at.store.value = new Secret('of someone else');
    };
    at.store.onWrite = () => {
      throw storeChanged(at.store.name);
    };
    await expect(at.run()).rejects.toMatchObject({
      code: 'store_changed',
      message: expect.stringContaining('The new token was revoked; the old token was not changed'),
    });
    expect(at.living()).toEqual([first]);
  });

  it.each(['before it was written', 'after it was written', 'and cannot be read after it'] as const)(
    'keeps a working token in a store that fails %s',
    async (when) => {
      await using at = await place();
      await at.run();
      const first = at.inUse();
      at.at(4);
      if (when === 'before it was written') at.store.onWrite = unreachable;
      else
        at.store.afterWrite = () => {
          if (when === 'and cannot be read after it') at.store.onRead = unreachable;
          unreachable();
        };
      if (when === 'after it was written') await at.run();
      else await expect(at.run()).rejects.toMatchObject({ code: 'target_unreachable' });
      at.store.onWrite = at.store.afterWrite = at.store.onRead = () => undefined;
      if (when === 'before it was written') expect(at.living()).toEqual([first]);
      expect(at.inUse()).not.toBeNull();
      await at.run();
      expect([at.living().length, at.inUse() === first]).toEqual([2, false]);
      at.at(6);
      await at.run();
      expect(at.living()).toEqual([at.inUse()]);
    },
  );

  it('finishes what was cut off at any record, with a working token in the store and never more than two', async () => {
    for (let cut = 1; cut < 40; cut += 1) {
      await using at = await place();
      await at.run();
      at.at(4);
      const log = { ...failingFrom(at.log, cut), entries: at.log.entries.bind(at.log) };
      const isWhole = await at.run({ log }).then(
        () => true,
        () => false,
      );
      expect(at.inUse(), `cut at ${cut}`).not.toBeNull();
      expect(at.living().length, `cut at ${cut}`).toBeLessThanOrEqual(2);
      await at.run();
      await at.run();
      expect([at.inUse() !== null, at.living().length], `cut at ${cut}`).toEqual([true, 2]);
      at.at(6);
      await at.run();
      expect(at.living(), `cut at ${cut}`).toEqual([at.inUse()]);
      // The next one is as if nothing had been cut off: its old token is accepted for the whole overlap.
      for (const [hour, count] of [
        [8, 2],
        [9.9, 2],
        [10, 1],
      ] as const) {
        at.at(hour);
        await at.run();
        expect(at.living().length, `cut at ${cut}, after ${hour} h`).toBe(count);
      }
      if (isWhole) {
        expect(cut).toBeGreaterThan(6);
        return;
      }
    }
    throw new Error('never whole');
  });

  it('gives a first token although it is not known what became of one before', async () => {
    await using at = await place();
    const create = at.target.createToken.bind(at.target);
    at.target.createToken = () => Promise.reject(new TokenctlError('target_unreachable', 'No answer'));
    await expect(at.run()).rejects.toMatchObject({ code: 'target_unreachable' });
    at.target.createToken = create;
    const waiting = { code: 'partly_done', message: expect.stringContaining('may be in progress until') };
    await expect(at.run()).rejects.toMatchObject({
      message: expect.stringMatching(/has the new token \d+, but Not ended: .* may be in progress until/),
    });
    expect([at.living(), at.inUse()]).toEqual([[at.inUse()], expect.any(Number)]);
    // Two at most: from now on it waits.
    at.at(0.01);
    await expect(at.run()).rejects.toMatchObject(waiting);
    at.at(1);
    expect(await at.run()).toMatchObject({ summary: { rotated: 0 } });
    expect((await at.leases()).map(({ state }) => state)).toEqual(['unmade', 'open']);
  });

  it('of two at once, leaves the token of the one that ended meanwhile as it is', async () => {
    await using at = await place();
    await at.run();
    const old = at.store.value;
    at.at(4);
    const [isWriting, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = Object.create(at.store) as MemoryStore;
    slow.write = async (value, over) => {
      isWriting.resolve();
      await goesOn.promise;
      await at.store.write(value, over);
    };
    const using = (store: SecretStore) => ({
      services: { ...unusedServices, store: () => Promise.resolve(store) },
    });
    Object.defineProperty(slow, 'value', { get: () => at.store.value });
    const first = at.run(using(slow));
    await isWriting.promise;
    // The answer to its second question is on its way while the first one writes, and ends.
    let reads = 0;
    const late: SecretStore = {
      name: at.store.name,
      write: (value, over) => at.store.write(value, over),
      read: async () => {
        reads += 1;
        if (reads !== 2) return at.store.value;
        goesOn.resolve();
        await first;
        return old;
      },
    };
    expect(await at.run(using(late))).toMatchObject({ summary: { rotated: 0, busy: 1 } });
    goesOn.resolve();
    expect(await first).toMatchObject({ summary: { rotated: 1 } });
    const inUse = at.inUse();
    const lease = (await at.leases()).find(({ token }) => token?.id === inUse);
    expect([lease?.state, lease?.until]).toEqual(['open', '2026-11-20T20:00:00.000Z']);
  });

  it('revokes a token at once that the controller does not accept, whatever else is used meanwhile', async () => {
    await using at = await place();
    await at.run();
    const first = at.inUse();
    at.at(4);
    at.target.identify = async function* () {};
    await expect(at.run()).rejects.toMatchObject({
      code: 'partly_done',
      message: expect.stringContaining('is not accepted'),
    });
    expect([at.living(), at.inUse()]).toEqual([[first], first]);
    // As where another token of its owner is used at the same moment.
    at.target.identify = async function* (_values, { liveOnly = false } = {}) {
      const found = { index: 0, user: null, usedAt: null, fingerprint: '' };
      yield { ...found, kind: 'access_token', live: true, ids: liveOnly ? [] : [first ?? 0] };
    };
    expect(await at.run()).toMatchObject({ summary: { rotated: 1 } });
  });

  it('makes no token of this account in the place of another user, and takes none over', async () => {
    await using at = await place();
    const options = {
      ...{ ...at.common, signal: new AbortController().signal, store: at.store, early: true },
      ...{ consumer: { name: 'deploy', ...consumers.deploy }, leases: new LeaseReader(at.log) },
    };
    const other = { ...options, consumer: { ...options.consumer, user: 'bob' } };
    await expect(planOf(other)).rejects.toMatchObject({ code: 'unsupported' });
    await expect(rotateConsumer(other)).rejects.toMatchObject({ code: 'unsupported' });
    const used = token({ id: 900, user: { id: 2, username: 'bob' } });
    await expect(planAdoption(options, used)).rejects.toMatchObject({ code: 'usage' });
    expect([at.living(), await at.entries()]).toEqual([[], []]);
  });

  it('takes over the token that a program uses, also one under a sunset, and revokes it after the overlap', async () => {
    await using at = await place();
    at.store.value = new Secret('by-hand');
    const fingerprint = fingerprintOf(at.store.value);
    const created = stillClock.now();
    const expires = new Date('3026-01-01T00:00:00Z');
    const used = token({ id: 900, created, expires, fingerprint, user: { id: 1, username: 'admin' } });
    at.target.alive.set(900, used);
    at.target.secrets.set('by-hand', { kind: 'access_token', ids: [900] });
    const { id: owner, username } = used.user ?? { id: 0, username: '' };
    await recordSunset(at.common, {
      id: 'sunset-1',
      owners: [
        {
          ...{ owner: { id: owner, username }, until: new Date(created.getTime() + 720 * HOUR_MS) },
          tokens: [
            {
              ...{ id: 900, fingerprint: null, scope: 'write', lastUsed: null },
              ...{ created: created.toISOString(), expires: expires.toISOString() },
            },
          ],
        },
      ],
      left: { ending: 0, leased: 0, excepted: 0, ofApplications: 0, withoutOwner: 0 },
    });
    await expect(at.run()).rejects.toMatchObject({ code: 'store_changed' });
    const options = {
      ...{ ...at.common, signal: new AbortController().signal, store: at.store },
      ...{ consumer: { name: 'deploy', ...consumers.deploy }, leases: new LeaseReader(at.log) },
    };
    await adoptToken(options, await planAdoption(options, used));
    await expect(planAdoption(options, used)).rejects.toMatchObject({ code: 'usage' });
    // While the program uses it, only the rotation ends it.
    expect((await at.leases()).map(({ why, state }) => [why, state])).toEqual([
      ['sunset', 'released'],
      ['rotation', 'open'],
    ]);
    at.at(4);
    expect(await at.run()).toMatchObject({ summary: { rotated: 1 } });
    expect(at.living()).toEqual([900, at.inUse()]);
    at.at(6);
    expect(await at.run()).toMatchObject({ revoked: 1 });
    expect(at.living()).toEqual([at.inUse()]);
  });
});

it('of a job without contexts is for the usual one: --context does not turn its store to another', async () => {
  await using at = await place();
  const runtime = {
    description: async () => ({ ...at.common.description, context: 'staging' }),
    configuration: {
      jobs: { rotate: { job: 'rotation', parameters: { consumers } } },
      ...{ currentContext: 'staging', usualContext: 'production', stores: {} },
    },
    environment: {},
  } as unknown as Runtime;
  const request = { runtime, flags: {} as RotationFlags, tokenId: undefined };
  await expect(consumerFlow(request, 'deploy')).rejects.toMatchObject({
    code: 'usage',
    hint: 'Use --context production.',
  });
});

it('makes no token for an account that is locked down, until that is lifted', async () => {
  const made = await incidentFixture('database', 0);
  made.target.alive.clear();
  await using at = await place(Promise.resolve(made));
  const given = { deploy: { ...consumers.deploy, user: 'alice' } };
  const { incident } = await made.lockDown({
    scope: { kind: 'users', names: ['alice'] },
    measures: NO_MEASURE,
  });
  await expect(at.run({}, given)).rejects.toMatchObject({
    code: 'not_approved',
    message: expect.stringContaining(`alice is locked down (${incident})`),
  });
  expect([at.living(), at.store.value]).toEqual([[], null]);
  // A new name does not end it.
  const { people } = made.target;
  const alice = people.findIndex(({ username }) => username === 'alice');
  people[alice] = user(2, 'alicia');
  const renamed = { deploy: { ...consumers.deploy, user: 'alicia' } };
  await expect(at.run({}, renamed)).rejects.toMatchObject({ code: 'not_approved' });
  people[alice] = user(2, 'alice');
  await made.lift(incident);
  people[alice] = user(2, 'alice', { externalAccount: 'ldap' });
  const scope = { kind: 'identity_provider', provider: 'ldap' } as const;
  const { incident: ofProvider } = await made.lockDown({ scope, measures: NO_MEASURE });
  await expect(at.run({}, given)).rejects.toMatchObject({ code: 'not_approved' });
  await made.lift(ofProvider);
  expect(await at.run({}, given)).toMatchObject({ summary: { rotated: 1 } });
});
