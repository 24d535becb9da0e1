import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EVENTS } from '@tokenctl/testing/transmitter.ts';
import { until } from '@tokenctl/testing/until.ts';
import { expect, onTestFinished, test } from 'vitest';
import { openFileLog } from '../../src/audit-log/file-log.ts';
import {
  type RunningReceiver,
  receiverProgram,
  type SignalWorld,
  signalWorld,
} from '../support/signal-world.ts';

const program = receiverProgram();

async function world(options: Partial<Parameters<typeof signalWorld>[0]> = {}): Promise<SignalWorld> {
  const made = await signalWorld({ program, ...options });
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

const subject = (name: string) => ({ format: 'email', email: `${name}@example.org` });

/** Pushes until the receiver takes it, as a transmitter does; false if the receiver dies meanwhile. */
async function deliver(place: SignalWorld, receiver: RunningReceiver, token: string): Promise<boolean> {
  for (let tries = 0; tries < 200; tries += 1) {
    const response = await place.push(receiver, token).catch(() => null);
    if (response === null) return false;
    if (response.status === 202) return true;
    if (response.status !== 503 && response.status !== 429) throw new Error(`answered ${response.status}`);
    await sleep(100);
  }
  throw new Error('never taken');
}

/** The points at which the receiver dies: at each change of the queue and each entry of the audit log. */
const POINTS = ['queue before', 'queue after', 'before an entry', 'after an entry'] as const;

test.each(POINTS)('killed %s, a receiver acts once and loses nothing', async (point) => {
  const place = await world({ more: '  localUsers: act\n  usersPerHour: 1000' });
  let deaths = 0;
  for (let time = 1; time < 40; time += 1) {
    const name = `killed-${time}`;
    const member = await place.member(name);
    const jti = `kill-${point.replaceAll(' ', '-')}-${time}`;
    const token = await place.transmitter.event(EVENTS.accountDisabled, subject(name), { jti });
    const signal = async () => (await place.signals()).find((each) => each.jti === jti);
    const receiver = await place.receive(point, String(time));
    const taken = await deliver(place, receiver, token);
    const death = receiver.exited.then(() => true);
    const isDead = (after: number) => Promise.race([death, sleep(after, false)]);
    const end = performance.now() + 60_000;
    let died = false;
    while (!died && performance.now() < end && !((await signal())?.ended instanceof Date))
      died = await isDead(50);
    // It may die with the last change.
    died ||= await isDead(300);
    if (!died) {
      expect(await signal()).toMatchObject({ state: 'done' });
      await receiver[Symbol.asyncDispose]();
      break;
    }
    deaths += 1;
    // What was acknowledged is there, also after the kill.
    if (taken) expect(await signal()).toBeDefined();
    const next = await place.receive();
    expect(await deliver(place, next, token)).toBe(true);
    await until(async () => (await signal())?.ended instanceof Date);
    expect(await signal()).toMatchObject({ state: 'done', users: [name] });
    expect(await place.accepts(member.token)).toBe(false);
    const { id } = member;
    await place.service.database.execute('UPDATE auth_user SET is_active = true WHERE id = $1', [id]);
    const later = await place.newToken(member);
    expect(await deliver(place, next, token)).toBe(true);
    await sleep(300);
    expect(await place.accepts(later)).toBe(true);
    await next[Symbol.asyncDispose]();
  }
  expect(deaths).toBeGreaterThan(2);
  const clock = { now: () => new Date() };
  const log = openFileLog({ path: join(place.folder, 'audit.jsonl'), clock });
  const { break: broken } = await log.verify();
  expect(broken).toBeNull();
  await log.close();
});

/** The memory of a receiver in MiB. */
function memoryOf({ pid }: RunningReceiver): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

test('2,000 events in a burst are all recorded, in little memory, and the brake holds', async () => {
  const EVENTS_SENT = 2_000;
  const place = await world({ more: '  localUsers: act\n  usersPerHour: 5' });
  const members = await Promise.all(Array.from({ length: 10 }, (_, index) => place.member(`burst-${index}`)));
  const tokens = await Promise.all(
    Array.from({ length: EVENTS_SENT }, (_, index) =>
      place.transmitter.event(EVENTS.sessionRevoked, subject(`burst-${index % 20}`), {
        jti: `burst-${index}`,
      }),
    ),
  );
  const receiver = await place.receive();
  const before = memoryOf(receiver);
  const statuses = new Map<number, number>();
  let most = before;
  const waiting = tokens.values();
  const send = async () => {
    for (const token of waiting) {
      let status = 0;
      while (status !== 202) {
        const response = await place.push(receiver, token);
        ({ status } = response);
        // Else each answer keeps a connection.
        await response.arrayBuffer();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status !== 202) await sleep(1000 * Number(response.headers.get('retry-after')));
      }
    }
  };
  const watch = setInterval(() => {
    most = Math.max(most, memoryOf(receiver));
  }, 200);
  onTestFinished(() => clearInterval(watch));
  await Promise.all(Array.from({ length: 400 }, send));
  let open = EVENTS_SENT;
  for (let tries = 0; open > 0 && tries < 300; tries += 1) {
    await sleep(2_000);
    open = (await place.signals()).filter(({ ended }) => ended === null).length;
  }
  const ended = await place.signals();
  expect(ended).toHaveLength(EVENTS_SENT);
  expect([...statuses.keys()].every((status) => [202, 429, 503].includes(status))).toBe(true);
  const acted = new Set(ended.filter(({ state }) => state === 'done').flatMap(({ users }) => users));
  expect(acted.size).toBe(5);
  const alive = await Promise.all(members.map(({ token }) => place.accepts(token)));
  expect(alive.filter(Boolean)).toHaveLength(5);
  expect(most - before).toBeLessThan(300);
});

test('beyond maxWaiting, senders are told to come again, and nothing that was taken is lost', async () => {
  const place = await world({ more: '  localUsers: act\n  maxWaiting: 50' });
  const member = await place.member('later');
  const database = join(place.folder, 'database.url');
  const right = await readFile(database, 'utf8');
  // No one answers here: what arrives waits.
  await writeFile(database, 'postgresql://nobody@127.0.0.1:1/nothing');
  const receiver = await place.receive();
  const statuses: number[] = [];
  for (let index = 0; index < 120; index += 1) {
    const token = await place.transmitter.event(EVENTS.sessionRevoked, subject('later'), {
      jti: `wait-${index}`,
    });
    const response = await place.push(receiver, token);
    statuses.push(response.status);
    if (response.status !== 202) expect(response.headers.get('retry-after')).not.toBeNull();
  }
  const taken = statuses.filter((status) => status === 202).length;
  expect(new Set(statuses)).toEqual(new Set([202, 503]));
  // The count is a second old at most.
  expect(taken).toBeGreaterThanOrEqual(50);
  expect(taken).toBeLessThanOrEqual(100);
  receiver.kill('SIGKILL');
  await receiver.exited;
  await writeFile(database, right);
  await place.receive();
  await until(async () => (await place.signals()).every(({ state }) => state === 'done'));
  expect(await place.signals()).toHaveLength(taken);
  expect(await place.accepts(member.token)).toBe(false);
});

test('receivers that share a queue act once, share the limit of an hour, and survive kills', async () => {
  const USERS = 12;
  const place = await world({ more: '  localUsers: act\n  usersPerHour: 6' });
  const members = [];
  for (let index = 0; index < USERS; index += 1) members.push(await place.member(`shared-${index}`));
  const receivers = [await place.receive(), await place.receive()];
  for (const [index, { name }] of members.entries()) {
    const token = await place.transmitter.event(EVENTS.sessionRevoked, subject(name), {
      jti: `shared-${index}`,
    });
    const which = index % 2;
    // Redelivered to the other one as well.
    await Promise.all(receivers.map((each) => deliver(place, each, token)));
    if (index % 4 === 3) {
      receivers[which]?.kill('SIGKILL');
      await receivers[which]?.exited;
      receivers[which] = await place.receive();
    }
  }
  await until(async () => (await place.signals()).every(({ ended }) => ended !== null));
  const signals = await place.signals();
  expect(signals).toHaveLength(USERS);
  const done = signals.filter(({ state }) => state === 'done');
  expect(done).toHaveLength(6);
  expect(signals.filter(({ state }) => state === 'held')).toHaveLength(USERS - 6);
  const alive = await Promise.all(members.map(({ token }) => place.accepts(token)));
  expect(alive.filter(Boolean)).toHaveLength(USERS - 6);
});
