import { randomUUID } from 'node:crypto';
import { requestedEvents } from '@tokenctl/common/signals/signal-event.ts';
import { AUDIENCE, EVENTS } from '@tokenctl/testing/transmitter.ts';
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
  world = await signalWorld({
    program,
    // No one answers in the second context.
    contexts: '  dead: { url: "http://127.0.0.1:9", token: { file: stream.token } }',
    more: '  usersPerHour: 1000\n  localUsers: act\n  contexts: [database]',
  });
  receiver = await world.receive();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Replaces the receiver by one with another configuration: receivers of one queue take each other's events. */
async function receiveAlone(text: string, replacement: string): Promise<void> {
  await receiver[Symbol.asyncDispose]();
  receiver = await world.receiveWith(text, replacement);
}

const email = (name: string) => ({ format: 'email', email: `${name}@example.org` });
const signal = async (jti: string) => (await world.signals()).find((each) => each.jti === jti);
const ended = (jti: string) => until(async () => (await signal(jti))?.ended instanceof Date);

/** What an event says, what it is mapped to, and what became of it where that does not follow. */
type Case = readonly [body: object, action: string, state?: string];

/** What becomes of a user by the default of each event type, and by what the event says. */
const KINDS: Readonly<Record<string, readonly Case[]>> = {
  'caep/event-type/session-revoked': [[{ initiating_entity: 'admin' }, 'revoke']],
  'caep/event-type/credential-change': [
    [{ change_type: 'revoke', credential_type: 'password' }, 'revoke'],
    [{ change_type: 'delete', credential_type: 'fido2-roaming' }, 'revoke'],
    [{ change_type: 'update', credential_type: 'password' }, 'nothing'],
    [{ change_type: 'create', credential_type: 'pin' }, 'nothing'],
    [{ credential_type: 'pin' }, 'revoke', 'held'],
  ],
  'caep/event-type/token-claims-change': [[{ claims: { role: 'ro-admin' } }, 'nothing']],
  'caep/event-type/assurance-level-change': [[{ current_level: 'nist-aal1' }, 'nothing']],
  'caep/event-type/risk-level-change': [[{ current_level: 'HIGH' }, 'nothing']],
  'caep/event-type/device-compliance-change': [[{ current_status: 'not-compliant' }, 'nothing']],
  'risc/event-type/account-disabled': [[{ reason: 'hijacking' }, 'offboard']],
  'risc/event-type/account-purged': [[{}, 'offboard']],
  'risc/event-type/account-enabled': [[{}, 'nothing']],
  'risc/event-type/credential-compromise': [[{ credential_type: 'password' }, 'revoke']],
  'risc/event-type/sessions-revoked': [[{}, 'revoke']],
  'risc/event-type/identifier-changed': [[{ 'new-value': 'new@example.org' }, 'nothing']],
  'risc/event-type/identifier-recycled': [[{}, 'nothing']],
  'risc/event-type/account-credential-change-required': [[{}, 'nothing']],
  'risc/event-type/recovery-activated': [[{}, 'nothing']],
  'risc/event-type/recovery-information-changed': [[{}, 'nothing']],
  'risc/event-type/opt-in': [[{}, 'nothing']],
  'risc/event-type/opt-out-initiated': [[{}, 'nothing']],
  'risc/event-type/opt-out-cancelled': [[{}, 'nothing']],
  'risc/event-type/opt-out-effective': [[{}, 'nothing', 'held']],
  'oauth/event-type/token-revoked': [[{}, 'revoke']],
  'oauth/event-type/tokens-revoked': [[{}, 'revoke']],
};

test('every event type is carried out by its default', async () => {
  const known = Object.keys(KINDS).map((each) => `https://schemas.openid.net/secevent/${each}`);
  expect(known.toSorted()).toEqual([...requestedEvents].sort());
  for (const [type, cases] of Object.entries(KINDS)) {
    for (const [body, action, state = action === 'nothing' ? 'ignored' : 'done'] of cases) {
      const jti = randomUUID();
      const name = `kind-${jti.slice(0, 8)}`;
      const member = await world.member(name);
      const uri = `https://schemas.openid.net/secevent/${type}`;
      const response = await world.push(
        receiver,
        await world.transmitter.event(uri, email(name), { jti, body }),
      );
      expect(response.status).toBe(202);
      await ended(jti);
      expect(await signal(jti)).toMatchObject({ action, state });
      expect([type, await world.accepts(member.token)]).toEqual([type, state !== 'done']);
      const [row] = await world.service.database.query(
        'SELECT is_active FROM auth_user WHERE username = $1',
        [name],
      );
      expect(row).toEqual({ is_active: action !== 'offboard' });
    }
  }
});

test('the record of an event names as not ended only what is not closed', { tags: ['long'] }, async () => {
  const disabled = await world.transmitter.event(EVENTS.accountDisabled, email('told'), { jti: 'told' });
  await world.member('told');
  expect((await world.push(receiver, disabled)).status).toBe(202);
  await ended('told');
  expect((await signal('told'))?.reason).toBe('database: told offboarded');
  await receiveAlone(
    '  localUsers: act',
    '  localUsers: act\n  actions: { credential-compromise: lockdown }',
  );
  await world.member('locked');
  const compromise = 'https://schemas.openid.net/secevent/risc/event-type/credential-compromise';
  const stolen = await world.transmitter.event(compromise, email('locked'), { jti: 'locked' });
  expect((await world.push(receiver, stolen)).status).toBe(202);
  await ended('locked');
  expect((await signal('locked'))?.reason).toMatch(/^database: locked locked down as inc-[0-9a-f]{8}$/);
  await receiveAlone(
    '  localUsers: act\n  actions: { credential-compromise: lockdown }',
    '  localUsers: act',
  );
});

test('a user who is not here is no attack, however often the provider asks', { tags: ['long'] }, async () => {
  const exp = Math.floor(Date.now() / 1000) + 60;
  const revoke = async (name: string) => {
    const claims = { jti: randomUUID(), aud: AUDIENCE, exp };
    const token = await world.transmitter.sign(claims, { typ: 'global-token-revocation+jwt' });
    const { status } = await fetch(`${receiver.url}/global-token-revocation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ sub_id: email(name) }),
    });
    return status;
  };
  for (let time = 0; time < 120; time += 1) expect(await revoke('nobody')).toBe(404);
  const member = await world.member('asked-for');
  expect(await revoke('asked-for')).toBe(204);
  await until(async () => !(await world.accepts(member.token)));
  await world.member('two-1', { email: 'two@example.org' });
  await world.member('two-2', { email: 'two@example.org' });
  expect(await revoke('two')).toBe(422);
});

test('a logout names one token, and the same twice is one logout', async () => {
  const claims = {
    ...{ jti: 'logout-twice', aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 60, sub: 'uid-nobody' },
    events: { [EVENTS.logout]: {} },
  };
  const token = await world.transmitter.sign(claims, { typ: 'logout+jwt' });
  const post = (body: URLSearchParams) =>
    fetch(`${receiver.url}/backchannel-logout`, { method: 'POST', body });
  const two = new URLSearchParams([
    ['logout_token', token],
    ['logout_token', token],
  ]);
  expect((await post(two)).status).toBe(400);
  for (let time = 0; time < 2; time += 1)
    expect((await post(new URLSearchParams({ logout_token: token }))).status).toBe(200);
  expect((await world.signals()).filter(({ jti }) => jti === 'logout-twice')).toHaveLength(1);
});

test('one context that does not answer keeps no access in the others', async () => {
  await receiveAlone('contexts: [database]', 'contexts: [dead, database]');
  const member = await world.member('reachable');
  const token = await world.transmitter.event(EVENTS.sessionRevoked, email('reachable'), { jti: 'one-dead' });
  expect((await world.push(receiver, token)).status).toBe(202);
  await until(async () => !(await world.accepts(member.token)));
  await until(async () => (await signal('one-dead'))?.state === 'waiting');
  const waiting = await signal('one-dead');
  expect(waiting?.reason).toContain('database: reachable revoked 1 of 1 tokens');
  expect(waiting?.reason).toContain('dead: ');
  expect(waiting?.runs).toHaveLength(1);
  await receiveAlone('contexts: [dead, database]', 'contexts: [database]');
});

test('two superusers who are disabled at two receivers at the same time do not both go', {
  tags: ['long'],
}, async () => {
  const [one, other] = [await world.member('root-one'), await world.member('root-other')];
  const { database } = world.service;
  await using second = await world.receive();
  await database.execute('UPDATE auth_user SET is_superuser = id = ANY($1::int[])', [[one.id, other.id]]);
  try {
    const jtis = [randomUUID(), randomUUID()] as const;
    const tell = async (at: RunningReceiver, name: string, jti: string) =>
      world.push(
        at,
        await world.transmitter.event(EVENTS.accountDisabled, email(name), {
          jti,
          body: { reason: 'hijacking' },
        }),
      );
    const answers = await Promise.all([tell(receiver, one.name, jtis[0]), tell(second, other.name, jtis[1])]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    const states = async () =>
      (await Promise.all(jtis.map(signal))).map((each) => each?.state ?? 'unknown').sort();
    await until(async () => (await states()).join() === 'done,held');
    const held = (await Promise.all(jtis.map(signal))).find((each) => each?.state === 'held');
    expect(held?.reason).toMatch(/root-(one|other) is the only superuser/);
    const accepted = await Promise.all([one, other].map(({ token }) => world.accepts(token)));
    expect(accepted.sort()).toEqual([false, true]);
  } finally {
    await database.execute("UPDATE auth_user SET is_superuser = username = 'admin'");
  }
});
