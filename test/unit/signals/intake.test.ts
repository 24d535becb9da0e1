import { join } from 'node:path';
import { temporaryFolder } from '@tokenctl/testing/temporary-folder.ts';
import { AUDIENCE, EVENTS, startTransmitter, type Transmitter } from '@tokenctl/testing/transmitter.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateDigest } from '../../../src/app/signals/intake.ts';
import { pollingIntake } from '../../../src/app/signals/streams.ts';
import { signalsSchema } from '../../../src/config/signals.ts';
import type { SignalStore } from '../../../src/operations/ports/signals.ts';
import { openSignals } from '../../../src/signals/signal-store.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let store: SignalStore;
let transmitter: Transmitter;
let count = 0;
beforeAll(async () => {
  folder = await temporaryFolder();
  store = await openSignals(join(folder.path, 'signals.sqlite'));
  transmitter = await startTransmitter();
  for (const state of ['first', 'second'])
    await store.expect({ transmitter: 'managed', stream: 's-1', state: stateDigest(state) }, new Date());
});
afterAll(async () => {
  await transmitter.close();
  await store.close();
  await folder[Symbol.asyncDispose]();
});

/** Takes an event about a subject, or the stream of an id, and returns its record. */
async function take(
  uri: string,
  subject: string | object,
  { name = 'managed', body, actions = {} }: { name?: string; body: object; actions?: object },
) {
  const common = { issuer: transmitter.issuer, jwks: transmitter.jwks, audience: AUDIENCE };
  const settings = (more: object) =>
    signalsSchema.parse({ actions, transmitters: { [name]: { ...common, push: {}, ...more } } });
  const management = { token: { env: 'UNUSED' } };
  const intake = pollingIntake(settings(name === 'managed' ? { management } : {}), store);
  const about = typeof subject === 'string' ? { format: 'opaque', id: subject } : subject;
  const jti = `event-${++count}`;
  await intake.securityEvent(name, await transmitter.event(uri, about, { jti, body }));
  return (await store.list({ limit: 1_000 })).find((each) => each.jti === jti);
}

test('a verification that was asked for is recorded, whenever it arrives', async () => {
  for (const state of ['second', 'first']) {
    const found = await take(EVENTS.verification, 's-1', { body: { state } });
    expect(found?.reason).toBe(`Stream verification, state ${stateDigest(state)}`);
  }
});

test('a verification that was not asked for is refused, and one without a state is not', async () => {
  const refused = take(EVENTS.verification, 's-1', { body: { state: 'another' } });
  await expect(refused).rejects.toMatchObject({ code: 'invalid_state' });
  expect(await take(EVENTS.verification, 's-1', { body: {} })).toMatchObject({ state: 'ignored' });
});

test('where someone else manages the stream, every state is taken', async () => {
  const found = await take(EVENTS.verification, 's-9', { name: 'unmanaged', body: { state: 'any' } });
  expect(found?.reason).toContain(stateDigest('any'));
});

test('an event about another stream is not one about ours', async () => {
  const other = 'The event is about a different stream: s-2';
  const verified = await take(EVENTS.verification, 's-2', { body: { state: 'first' } });
  const paused = await take(EVENTS.streamUpdated, 's-2', { body: { status: 'paused' } });
  for (const each of [verified, paused]) expect(each).toMatchObject({ state: 'ignored', reason: other });
  const own = await take(EVENTS.streamUpdated, 's-1', { body: { status: 'paused' } });
  expect(own).toMatchObject({ state: 'held' });
});

test('a mapping with conditions acts, does nothing, or waits for a person', async () => {
  const when = { initiating_entity: ['admin', 'policy'] };
  const actions = { 'credential-revoked': { action: 'revoke', when } };
  const user = { format: 'email', email: 'alice@example.org' };
  const taken = async (more: object) =>
    await take(EVENTS.credentialChange, user, { body: { change_type: 'delete', ...more }, actions });
  expect(await taken({ initiating_entity: 'admin' })).toMatchObject({ state: 'waiting', action: 'revoke' });
  expect(await taken({ initiating_entity: 'user' })).toMatchObject({
    state: 'ignored',
    reason: 'Mapped to no action if initiating_entity is user',
  });
  expect(await taken({})).toMatchObject({
    state: 'held',
    reason: 'The event does not contain initiating_entity',
  });
});

test('a logout token has an exp, unless the configuration says that the provider sends none', async () => {
  const claims = { jti: 'logout-1', aud: AUDIENCE, sub: 'alice', events: { [EVENTS.logout]: {} } };
  const token = await transmitter.sign(claims, { typ: 'logout+jwt' });
  const logOut = async (logout: object) => {
    const idp = { issuer: transmitter.issuer, jwks: transmitter.jwks, logout };
    await pollingIntake(signalsSchema.parse({ transmitters: { idp } }), store).logout(token);
    return (await store.list({ limit: 1_000 })).find(({ jti }) => jti === 'logout-1');
  };
  await expect(logOut({ audience: AUDIENCE })).rejects.toMatchObject({ code: 'invalid_request' });
  expect(await logOut({ audience: AUDIENCE, withoutExpiry: true })).toMatchObject({ state: 'waiting' });
});
