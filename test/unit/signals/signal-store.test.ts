import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { inject, onTestFinished, test as plain } from 'vitest';
import type { NewSignal, SignalStore } from '../../../src/operations/ports/signals.ts';
import { openSignals } from '../../../src/signals/signal-store.ts';

const HOUR_MS = 3_600_000;
const subject = { format: 'email', email: 'alice@example.org' } as const;

function signal(jti: string, more: Partial<NewSignal> = {}): NewSignal {
  const now = new Date();
  return {
    ...{ issuer: 'https://idp.example.com', jti, transmitter: 'idp', route: 'push', subject, issued: now },
    ...{ kinds: ['session-revoked'], kind: 'session-revoked', action: 'revoke', received: now },
    ...{ state: 'waiting', reason: null },
    ...more,
  };
}

/** Opens the same queue as often as it is called, as replicas do. */
type Open = () => Promise<SignalStore>;

const QUEUES: readonly (readonly [string, () => Promise<Open>])[] = [
  [
    'a file',
    async () => {
      const folder = await temporaryFolder();
      onTestFinished(() => folder[Symbol.asyncDispose]());
      return () => openSignals(join(folder.path, 'signals.sqlite'));
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const url = await createDatabase(inject('postgresUrl'));
      return async () => openSignals({ database: await openOn(url) });
    },
  ],
];

async function opened(open: Open): Promise<SignalStore> {
  const store = await open();
  onTestFinished(() => store.close());
  return store;
}

const test = plain.for(QUEUES);

test('in %s, the limit of an hour is counted by all replicas, and after restarts', async ([, create], {
  expect,
}) => {
  const open = await create();
  const limits = { countedAs: 'revoke', limit: 3, withinMs: HOUR_MS };
  const replicas = await Promise.all([opened(open), opened(open)]);
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const admitted = await Promise.all(
    names.map((name, index) => replicas[index % 2]?.admit([name], limits) ?? null),
  );
  expect(admitted.filter((counted) => counted !== null)).toHaveLength(3);
  const restarted = await opened(open);
  expect(await restarted.admit(['z'], limits)).toBeNull();
  expect(await restarted.admit(['z'], { ...limits, countedAs: 'offboard' })).toEqual(['z']);
  // A user who was counted is acted on again: of another event, or at another try.
  const known = names.find((_, index) => admitted[index] != null) ?? '';
  expect(await restarted.admit([known], limits)).toEqual([]);
  await restarted.uncount([known], limits);
  expect(await restarted.admit(['y', 'z'], limits)).toBeNull();
  expect(await restarted.admit(['z'], limits)).toEqual(['z']);
  expect(await restarted.admit(['y'], { ...limits, withinMs: 0 })).toEqual(['y']);
});

test('in %s, replicas record and claim a signal once', async ([, create], { expect }) => {
  const open = await create();
  const replicas = await Promise.all([opened(open), opened(open)]);
  const recorded = await Promise.all(replicas.map((each) => each.record(signal('same'))));
  expect(recorded.map(({ result }) => result).sort()).toEqual(['known', 'new']);
  const other = await replicas[0]?.record(signal('same', { issuer: 'https://other.example.com' }));
  expect(other?.result).toBe('new');
  const claim = { holder: 'h', lease: 60_000, limit: 10, now: new Date(Date.now() + 1_000) };
  const claims = await Promise.all(replicas.map((each) => each.claim(claim)));
  expect(claims.flat()).toHaveLength(2);
  expect(await replicas[1]?.backlog(10)).toBe(2);
  expect(await replicas[1]?.backlog(1)).toBe(1);
});

test('in %s, what was written while the clock was a year ahead waits for no year', async ([, create], {
  expect,
}) => {
  const store = await opened(await create());
  const now = new Date();
  const [later, soon] = [31_536_000_000, 600_000];
  const claim = (lease: number) => store.claim({ holder: 'h', lease, limit: 10, now });
  const wait = (ms: number) =>
    ({ state: 'waiting', reason: null, retryAt: new Date(now.getTime() + ms) }) as const;
  await store.record(signal('one', { received: now }));
  const first = await claim(60_000);
  expect(await claim(60_000)).toEqual([]);
  await store.settle(first, wait(soon), now);
  expect(await claim(60_000)).toEqual([]);
  const other = await store.record(signal('two', { received: now }));
  expect(other.result).toBe('new');
  const second = await claim(60_000);
  await store.settle(second, wait(later), now);
  const third = await claim(later);
  expect(third.map(({ signal: { jti } }) => jti)).toEqual(['two']);
  expect((await claim(60_000)).map(({ signal: { jti } }) => jti)).toEqual(['two']);
});

plain(
  'users who were acted on while the clock was a year ahead are not counted for a year',
  async ({ expect }) => {
    const folder = await temporaryFolder();
    onTestFinished(() => folder[Symbol.asyncDispose]());
    const path = join(folder.path, 'signals.sqlite');
    const store = await opened(() => openSignals(path));
    const limits = { countedAs: 'revoke', limit: 1, withinMs: HOUR_MS };
    expect(await store.admit(['a'], limits)).toEqual(['a']);
    expect(await store.admit(['b'], limits)).toBeNull();
    const file = new DatabaseSync(path);
    file.exec('UPDATE acted SET at = at + 31536000000');
    file.close();
    expect(await store.admit(['b'], limits)).toEqual(['b']);
  },
);

test('in %s, a signal is found by the beginning of its id', async ([, create], { expect }) => {
  const store = await opened(await create());
  const { id } = (await store.record(signal('one'))) as { readonly id: string };
  await store.record(signal('two'));
  for (const prefix of [id, id.slice(0, 12), id.slice(0, 12).toUpperCase()])
    expect((await store.find(prefix)).map(({ jti }) => jti)).toEqual(['one']);
  for (const prefix of ['', '%', `${id}0`, "' OR 1=1 --"]) expect(await store.find(prefix)).toEqual([]);
});

plain('a file of an earlier version gets the indexes of this one', async ({ expect }) => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const path = join(folder.path, 'signals.sqlite');
  await (await openSignals(path)).close();
  const indexes = () => {
    const file = new DatabaseSync(path);
    const rows = file
      .prepare("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
      .all();
    file.close();
    return rows.map(({ name }) => name).sort();
  };
  const all = indexes();
  const old = new DatabaseSync(path);
  old.exec(`DROP INDEX signal_untold; DROP INDEX signal_state; UPDATE version SET number = 1;
    DROP TABLE verification; DROP TABLE acted; CREATE TABLE acted (username text PRIMARY KEY, at bigint NOT NULL)`);
  old.close();
  await (await openSignals(path)).close();
  expect(indexes()).toEqual(all);
  const newer = new DatabaseSync(path);
  newer.exec('UPDATE version SET number = 5');
  newer.close();
  await expect(openSignals(path)).rejects.toThrow('version 5');
});
