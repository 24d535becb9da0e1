import { TokenctlError } from '@tokenctl/common/errors.ts';
import { describe, expect, test } from 'vitest';
import type { Notice, Notifier } from '../../../src/operations/ports/notifier.ts';
import { planNotices, sendNotices } from '../../../src/operations/token-audit/expiry-notices.ts';
import { stillClock } from '../../support/drafts.ts';
import { entriesOf, failingFrom, fixture } from '../../support/fixture.ts';
import { description, type MemoryTarget } from '../../support/memory-target.ts';
import { token } from '../../support/tokens.ts';

const DAY = 86_400_000;

/** Takes what it is told, save for tokens that it refuses. */
class Letterbox implements Notifier {
  readonly name: string;
  readonly taken: Notice[] = [];
  refuses: readonly number[] = [];

  constructor(name = 'letterbox') {
    this.name = name;
  }

  send(notice: Notice): Promise<void> {
    const { id } = notice.data['token'] as { id: number };
    if (this.refuses.includes(id))
      return Promise.reject(new TokenctlError('target_unreachable', 'No one there'));
    this.taken.push(notice);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  told(): string[] {
    return this.taken
      .map(({ data }) => `${(data['token'] as { id: number }).id} ${String(data['threshold'])}`)
      .sort();
  }
}

function expiring(target: MemoryTarget, ends: Readonly<Record<number, number>>): void {
  for (const [id, days] of Object.entries(ends)) {
    const expires = new Date(stillClock.now().getTime() + days * DAY);
    target.alive.set(Number(id), token({ id: Number(id), expires }));
  }
}

async function planned(target: MemoryTarget, thresholds?: readonly number[]): Promise<string[]> {
  const found: string[] = [];
  for await (const { token: each, threshold, daysLeft } of planNotices({
    target,
    clock: stillClock,
    thresholds,
    log: { entries: async function* () {} },
    description: target.self,
  })) {
    found.push(`${each.id}: ${threshold}, ${daysLeft} left`);
  }
  return found;
}

describe('planNotices', () => {
  test('puts each token under the smallest threshold, and leaves out what has expired or has time', async () => {
    await using world = await fixture();
    expiring(world.target, { 1: -1, 2: 0, 3: 0.5, 4: 1, 5: 1.1, 6: 7, 7: 29.9, 8: 30, 9: 30.1 });
    expect(await planned(world.target)).toEqual([
      '3: 1, 0 left',
      '4: 1, 1 left',
      '5: 7, 1 left',
      '6: 7, 7 left',
      '7: 30, 29 left',
      '8: 30, 30 left',
    ]);
    expect(await planned(world.target, [2, 14])).toEqual([
      '3: 2, 0 left',
      '4: 2, 1 left',
      '5: 2, 1 left',
      '6: 14, 7 left',
    ]);
  });
});

describe('sendNotices', () => {
  async function world() {
    const made = await fixture();
    expiring(made.target, { 1: 0.5, 2: 5, 3: 20, 4: 60 });
    const box = new Letterbox();
    const send = (notifiers: readonly Notifier[] = [box], other: object = {}) =>
      sendNotices({ ...made.common, notifiers, ...other });
    return { ...made, box, send };
  }

  test('tells each token and threshold once, and the log says so', async () => {
    await using all = await world();
    expect(await all.send()).toEqual({ due: 3, sent: 3, sentBefore: 0, failed: [], interrupted: false });
    expect(all.box.told()).toEqual(['1 1', '2 7', '3 30']);
    expect(await all.send()).toEqual({ due: 3, sent: 0, sentBefore: 3, failed: [], interrupted: false });
    expect(all.box.taken).toHaveLength(3);
    const entries = await entriesOf(all.log);
    expect(entries.map(({ kind, operation }) => `${kind} ${operation}`)).toEqual(
      Array.from({ length: 3 }, () => 'note tokens.notice'),
    );
    expect(entries.map(({ data }) => data)).toContainEqual({
      token: 2,
      user: 'alice',
      threshold: 7,
      expires: all.target.alive.get(2)?.expires.toISOString(),
      to: 'letterbox',
    });
  });

  test('tells again under the next threshold', async () => {
    await using all = await world();
    await all.send();
    const later = { now: () => new Date(stillClock.now().getTime() + 4.5 * DAY) };
    expect(await all.send([all.box], { clock: later })).toMatchObject({ sent: 1 });
    expect(all.box.told()).toEqual(['1 1', '2 1', '2 7', '3 30']);
  });

  test('tells by each way once, and another target’s tokens by themselves', async () => {
    await using all = await world();
    await all.send();
    const other = new Letterbox('pager');
    expect(await all.send([all.box, other])).toMatchObject({ sent: 3, sentBefore: 3 });
    const elsewhere = description({ address: 'https://other.example.org' });
    expect(await all.send([all.box], { description: elsewhere })).toMatchObject({ sent: 3 });
  });

  test('reports what was not taken, and tells it the next time', async () => {
    await using all = await world();
    all.box.refuses = [2];
    expect(await all.send()).toMatchObject({
      sent: 2,
      failed: [{ tokenId: 2, threshold: 7, to: 'letterbox', reason: 'No one there' }],
    });
    all.box.refuses = [];
    expect(await all.send()).toMatchObject({ sent: 1, sentBefore: 2, failed: [] });
  });

  test('sends nothing more once the log cannot be written', async () => {
    await using all = await world();
    expiring(all.target, Object.fromEntries(Array.from({ length: 200 }, (_, index) => [index + 10, 3])));
    const sending = all.send([all.box], { log: failingFrom(all.log, 2) });
    await expect(sending).rejects.toMatchObject({ code: 'outcome_unrecorded' });
    expect(all.box.taken.length).toBeLessThan(10);
  });

  test('stops where it is asked to', async () => {
    await using all = await world();
    const signal = AbortSignal.abort();
    expect(await all.send([all.box], { signal })).toMatchObject({ sent: 0, interrupted: true });
  });

  test('the same notice has the same id, another has another', async () => {
    await using all = await world();
    await all.send();
    await all.send([new Letterbox('again')]);
    const again = new Letterbox('third');
    await all.send([again]);
    expect(again.taken.map(({ id }) => id).sort()).toEqual(all.box.taken.map(({ id }) => id).sort());
    expect(new Set(again.taken.map(({ id }) => id)).size).toBe(3);
  });
});
