import { randomUUID } from 'node:crypto';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type RunningReceiver,
  receiverProgram,
  type SignalWorld,
  signalWorld,
} from '../../support/signal-world.ts';

const program = receiverProgram();
let world: SignalWorld;
let receiver: RunningReceiver;
beforeAll(async () => {
  world = await signalWorld({ program, more: '  usersPerHour: 2\n  localUsers: act' });
  receiver = await world.receive();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Sends an event about a user. Returns what became of it. */
async function sent(kind: string, name: string) {
  const jti = randomUUID();
  const subject = { format: 'email', email: `${name}@example.org` };
  const uri = `https://schemas.openid.net/secevent/${kind}`;
  const { status } = await world.push(receiver, await world.transmitter.event(uri, subject, { jti }));
  expect(status).toBe(202);
  const find = async () => (await world.signals()).find((each) => each.jti === jti);
  return await until(find, (signal) => signal?.ended instanceof Date);
}

test('the limit counts users for whom something was done, and a compromise apart', async () => {
  const logout = 'caep/event-type/session-revoked';
  for (const name of ['a', 'b', 'c']) {
    await world.member(name);
    const sql = `DELETE FROM main_oauth2accesstoken WHERE user_id = (SELECT id FROM auth_user WHERE username = $1)`;
    await world.service.database.execute(sql, [name]);
    expect(await sent(logout, name)).toMatchObject({
      state: 'done',
      reason: expect.stringContaining('nothing left to end'),
    });
  }
  for (const name of ['d', 'e', 'f']) await world.member(name);
  expect(await sent(logout, 'd')).toMatchObject({ state: 'done' });
  expect(await sent(logout, 'e')).toMatchObject({ state: 'done' });
  expect(await sent(logout, 'f')).toMatchObject({
    state: 'held',
    reason: 'More than 2 users within an hour',
  });
  expect(await sent('risc/event-type/account-disabled', 'a')).toMatchObject({ state: 'done' });
  expect(await sent('risc/event-type/credential-compromise', 'f')).toMatchObject({ state: 'done' });
});
