import { join } from 'node:path';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openIdentities } from '../../../src/broker/identity-store.ts';
import type { BrokerRule } from '../../../src/domain/broker/rules.ts';
import { isOpen } from '../../../src/domain/leases.ts';
import { endByValue, endDueBrokered } from '../../../src/operations/broker/end-brokered.ts';
import { exchangeIdentity } from '../../../src/operations/broker/exchange-identity.ts';
import { recordStop } from '../../../src/operations/broker/stopped-rules.ts';
import { LeaseReader, readLeases } from '../../../src/operations/journal/recorded-leases.ts';
import type { IdentityStore } from '../../../src/operations/ports/broker.ts';
import { stillClock } from '../../support/drafts.ts';
import { failingFrom, fixture } from '../../support/fixture.ts';

const rule: BrokerRule = {
  ...{ name: 'deploy', issuer: 'ci', claims: { repository: 'acme/infra' }, context: 'production' },
  ...{ scope: 'write', lifetime: 900, live: 2, hourly: 100 },
};
const origin = { rule: 'deploy', issuer: 'ci', claims: { run_id: '4711' } };

type Open = () => Promise<IdentityStore>;

async function inFile(): Promise<Open> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return () => openIdentities(join(folder.path, 'broker.sqlite'));
}

async function inPostgres(): Promise<Open> {
  const url = await createDatabase(inject('postgresUrl'));
  return async () => openIdentities({ database: await openOn(url) });
}

async function opened(open: Open): Promise<IdentityStore> {
  const store = await open();
  onTestFinished(() => store.close());
  return store;
}

describe.each([
  ['a file', inFile],
  ['PostgreSQL', inPostgres],
])('the store in %s', (_, made) => {
  const use = { rule: 'deploy', lifetimeMs: 60_000, rememberMs: 60_000, live: 5, hourly: 7 };

  test('uses an identity once, and never goes beyond the limits, however many ask at once', async () => {
    const open = await made();
    const stores = [await opened(open), await opened(open)] as const;
    const all = Array.from({ length: 24 }, async (_each, index) =>
      stores[index % 2 === 0 ? 0 : 1].admit({ ...use, id: `id-${index % 12}` }),
    );
    const counts = Map.groupBy(await Promise.all(all), (each) => each);
    expect(counts.get('admitted')).toHaveLength(5);
    const [store] = stores;
    const admitted: string[] = [];
    for (let index = 0; index < 12; index += 1)
      if ((await store.admit({ ...use, id: `id-${index}` })) === 'used') admitted.push(`id-${index}`);
    expect(admitted).toHaveLength(5);
    const [first = '', second = ''] = admitted;
    await store.made(first, 'aaaaaaaaaaaa');
    await store.ended('aaaaaaaaaaaa');
    expect(await store.admit({ ...use, id: 'more-1' })).toBe('admitted');
    expect(await store.admit({ ...use, id: 'more-2' })).toBe('live');
    await store.withdraw(second);
    expect(await store.admit({ ...use, id: second })).toBe('admitted');
    expect(await store.admit({ ...use, live: 100, id: 'more-3' })).toBe('admitted');
    expect(await store.admit({ ...use, live: 100, id: 'more-4' })).toBe('hourly');
    expect(await store.admit({ ...use, rule: 'other', id: 'more-4' })).toBe('admitted');
  });

  test('forgets what can neither be presented again nor counts, and nothing else', async () => {
    const store = await opened(await made());
    await store.admit({ ...use, id: 'past', rememberMs: -60_000, lifetimeMs: -60_000 });
    await store.forget();
    expect(await store.admit({ ...use, id: 'past' })).toBe('used');
  });
});

describe('an exchange', () => {
  async function world() {
    const at = await fixture();
    onTestFinished(() => at[Symbol.asyncDispose]());
    const store = await opened(await inFile());
    const ask = (id: string, other: object = {}) =>
      exchangeIdentity({
        ...{ ...at.common, actor: { user: 'root', as: 'admin' }, rule, origin, store, scope: 'write' },
        identity: { id, rememberMs: 60_000 },
        ...other,
      });
    const open = async () => (await readLeases(at.log, at.common.description)).filter(isOpen);
    return { ...at, common: at.common, store, ask, open };
  }

  test('makes a token with a lease that names its origin; by its value it ends, and at its time', async () => {
    const at = await world();
    const { value } = await at.ask('one');
    await at.ask('two');
    expect(await at.open()).toMatchObject([
      { why: 'broker', origin },
      { why: 'broker', origin },
    ]);
    await expect(at.ask('one')).rejects.toMatchObject({ problem: 'used' });
    await expect(at.ask('three')).rejects.toMatchObject({ problem: 'live' });
    const ending = { ...at.common, leases: new LeaseReader(at.log, { onlyOpen: true }), store: at.store };
    expect(await endByValue(ending, value)).toBe(true);
    expect(await endByValue(ending, value)).toBe(false);
    expect(at.target.alive.size).toBe(1);
    expect(await endDueBrokered(ending)).toBeUndefined();
    expect(at.target.alive.size).toBe(1);
    const later = { now: () => new Date(stillClock.now().getTime() + 901_000) };
    expect(await endDueBrokered({ ...ending, clock: later })).toBeUndefined();
    expect([at.target.alive.size, await at.open()]).toEqual([0, []]);
    await at.ask('three');
  });

  test('that is refused for certain gives the identity back; one that may have made a token does not', async () => {
    const at = await world();
    const failing = (code: 'permission_refused' | 'target_unreachable') => {
      const target = Object.create(at.target) as typeof at.target;
      target.createToken = () => Promise.reject(new TokenctlError(code, 'No'));
      return { target };
    };
    await expect(at.ask('one', failing('permission_refused'))).rejects.toMatchObject({
      code: 'permission_refused',
    });
    await expect(at.ask('one', { log: failingFrom(at.log, 1) })).rejects.toMatchObject({
      code: 'audit_unavailable',
    });
    expect(at.target.alive.size).toBe(0);
    await expect(at.ask('one', failing('target_unreachable'))).rejects.toMatchObject({
      code: 'target_unreachable',
    });
    await expect(at.ask('one')).rejects.toMatchObject({ problem: 'used' });
  });

  test('whose rule is stopped while its token is made ends it again', async () => {
    const at = await world();
    const create = at.target.createToken.bind(at.target);
    const stop = {
      ...{ rule: 'deploy', isStopped: true, context: 'production' },
      ...{ actor: { user: 'root' }, reason: undefined, ticket: undefined },
    };
    at.target.createToken = async (request) => {
      const made = await create(request);
      await recordStop(at.log, stop);
      return made;
    };
    await expect(at.ask('one')).rejects.toMatchObject({ problem: 'stopped' });
    expect([at.target.alive.size, await at.open()]).toEqual([0, []]);
    at.target.createToken = create;
    await expect(at.ask('two')).rejects.toMatchObject({ problem: 'stopped' });
    await recordStop(at.log, { ...stop, isStopped: false });
    await at.ask('two');
  });
});
