import { AUDIENCE, EVENTS } from '@tokenctl/testing/transmitter.ts';
import { until } from '@tokenctl/testing/until.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
    more: '  except: ["keep-*"]\n  usersPerHour: 100',
    transmitterLines:
      '      domains: [example.org]\n      tenants: [t]\n      criticalMembers: [org_unit, device]',
  });
  receiver = await world.receive();
});
afterAll(() => world[Symbol.asyncDispose]());

const email = (address: string) => ({ format: 'email', email: address });
const issSub = (sub: string) => ({ format: 'iss_sub', iss: world.transmitter.issuer, sub });
const push = async (...args: Parameters<SignalWorld['transmitter']['event']>) =>
  await world.push(receiver, await world.transmitter.event(...args));
const signal = async (jti: string) => (await world.signals()).find((each) => each.jti === jti);
const ended = (jti: string) => until(async () => (await signal(jti))?.ended instanceof Date);

describe('a pushed event', () => {
  test.each([
    ['email', (name: string) => email(`${name.toUpperCase()}@example.org`)],
    ['iss_sub', (name: string) => issSub(`uid-${name}`)],
    ['account', (name: string) => ({ format: 'account', uri: `acct:${name}@example.org` })],
    ['opaque', (name: string) => ({ format: 'opaque', id: `uid-${name}` })],
    [
      'aliases',
      (name: string) => ({
        format: 'aliases',
        identifiers: [email(`${name}@example.org`), issSub(`uid-${name}`)],
      }),
    ],
    [
      'complex',
      (name: string) => ({
        format: 'complex',
        user: email(`${name}@example.org`),
        tenant: { format: 'opaque', id: 't' },
      }),
    ],
  ])('ends the tokens of its subject, named by %s', async (format, subject) => {
    const name = `user-${format.replace('_', '-')}`;
    const member = await world.member(name);
    const jti = `subject-${format}`;
    const response = await push(EVENTS.sessionRevoked, subject(name), { jti });
    expect([response.status, await response.text()]).toEqual([202, '']);
    await ended(jti);
    expect(await signal(jti)).toMatchObject({ state: 'done', users: [name], action: 'revoke' });
    expect(await world.accepts(member.token)).toBe(false);
  });

  test('offboards whose account is disabled, and records the event in the audit log', async () => {
    const member = await world.member('leaver');
    await push(EVENTS.accountDisabled, issSub('uid-leaver'), {
      jti: 'disabled-1',
      body: { reason: 'hijacking' },
    });
    await ended('disabled-1');
    const done = await signal('disabled-1');
    expect(done).toMatchObject({ state: 'done', kind: 'account-disabled', action: 'offboard' });
    expect(await world.accepts(member.token)).toBe(false);
    const [user] = await world.service.database.query('SELECT is_active FROM auth_user WHERE username = $1', [
      'leaver',
    ]);
    expect(user).toEqual({ is_active: false });
    const entries = (await world.auditLog()).filter(({ run }) => run === done?.runs[0]);
    expect(entries[0]).toMatchObject({
      operation: 'users.offboard',
      actor: {
        signal: 'disabled-1',
        signal_issuer: world.transmitter.issuer,
        signal_kind: 'account-disabled from idp',
      },
    });
  });

  test('that is sent again acts once', async () => {
    const member = await world.member('twice');
    const first = await world.transmitter.event(EVENTS.sessionRevoked, issSub('uid-twice'), {
      jti: 'twice-1',
    });
    expect((await world.push(receiver, first)).status).toBe(202);
    await ended('twice-1');
    const later = await world.newToken(member);
    expect((await world.push(receiver, first)).status).toBe(202);
    // Acknowledged, the other event would be lost.
    expect((await push(EVENTS.accountDisabled, issSub('uid-twice'), { jti: 'twice-1' })).status).toBe(400);
    // One that came later has been carried out.
    expect((await push(EVENTS.sessionRevoked, issSub('uid-nobody'), { jti: 'twice-2' })).status).toBe(202);
    await ended('twice-2');
    expect(await world.accepts(later)).toBe(true);
  });

  test('is refused with the code that says why, and nothing is recorded', async () => {
    const { transmitter } = world;
    const before = (await world.signals()).length;
    const claims = {
      jti: 'refused',
      aud: AUDIENCE,
      sub_id: issSub('uid-a'),
      events: { [EVENTS.sessionRevoked]: {} },
    };
    const answer = async (token: string, headers?: Record<string, string>) => {
      const response = await world.push(receiver, token, headers);
      const { err, description } = (await response.json()) as { err: string; description: string };
      expect([response.headers.get('content-language'), description]).toEqual(['en', expect.any(String)]);
      return `${response.status} ${err}`;
    };
    const valid = await transmitter.sign(claims);
    expect(await answer(valid, { authorization: 'Bearer wrong' })).toBe('401 authentication_failed');
    expect(await answer(valid, { authorization: '' })).toBe('401 authentication_failed');
    expect(await answer(valid, { 'content-type': 'application/json' })).toBe('400 invalid_request');
    expect(await answer(await transmitter.sign({ ...claims, aud: 'x' }))).toBe('400 invalid_audience');
    expect(await answer(await transmitter.sign({ ...claims, iss: 'https://x.example' }))).toBe(
      '400 invalid_issuer',
    );
    expect(await answer(`${valid.slice(0, -6)}AAAAAA`)).toBe('400 invalid_key');
    expect(await answer('x'.repeat(200_000))).toBe('413 invalid_request');
    const malformed = { ...claims, sub_id: email('no address') };
    expect(await answer(await transmitter.sign(malformed))).toBe('400 invalid_request');
    const elsewhere = await fetch(`${receiver.url}/signals/nobody`, { method: 'POST', body: valid });
    expect(elsewhere.status).toBe(404);
    expect((await world.signals()).length).toBe(before);
  });

  test('is held, not acted on, where it is not certain whom it is about', async () => {
    await world.member('double-1', { email: 'double@example.org' });
    const two = await world.member('double-2', { email: 'double@example.org' });
    const local = await world.member('local-1', { local: true });
    const kept = await world.member('keep-robot');
    const narrow = await world.member('narrow');
    const cases = [
      ['held-two', email('double@example.org'), 'Several users match: double-1, double-2'],
      ['held-local', email('local-1@example.org'), 'local account'],
      ['held-kept', issSub('uid-keep-robot'), 'one of the exceptions'],
      [
        'held-issuer',
        { format: 'iss_sub', iss: 'https://other.example', sub: 'uid-keep-robot' },
        'a different issuer',
      ],
      ['held-domain', email('keep-robot@elsewhere.example'), 'a different mail domain'],
      [
        'held-group',
        { format: 'complex', group: { format: 'opaque', id: 'g' } },
        'identifies no user, only: group',
      ],
      [
        'held-phone',
        { format: 'phone_number', phone_number: '+1' },
        'identifies no user, only: phone_number',
      ],
      [
        'held-session',
        { format: 'complex', user: issSub('uid-narrow'), session: { format: 'opaque', id: 's' } },
        'The event is about one session of the user',
      ],
      [
        'held-device',
        { user: issSub('uid-narrow'), device: { format: 'opaque', id: 'd' } },
        'The event is about one device of the user',
      ],
      [
        'held-application',
        { format: 'complex', user: issSub('uid-narrow'), application: { format: 'opaque', id: 'a' } },
        'The event is about one application of the user',
      ],
      [
        'held-tenant',
        { format: 'complex', user: issSub('uid-narrow'), tenant: { format: 'opaque', id: 'other' } },
        'a tenant that is not in',
      ],
      [
        'held-tenant-format',
        { format: 'complex', user: issSub('uid-narrow'), tenant: { format: 'uri', uri: 'https://t' } },
        'a tenant that is not in',
      ],
      [
        'held-aliases',
        { format: 'aliases', identifiers: [issSub('uid-double-1'), issSub('uid-keep-robot')] },
        'Several users',
      ],
    ] as const;
    for (const [jti, subject, reason] of cases) {
      expect((await push(EVENTS.sessionRevoked, subject, { jti })).status).toBe(202);
      await ended(jti);
      const found = await signal(jti);
      expect(found).toMatchObject({ jti, state: 'held' });
      expect(found?.reason).toContain(reason);
    }
    // The transmitter declares the device critical: it counts for every event.
    const id = { format: 'opaque', id: 'd' };
    const narrowed = { format: 'complex', user: issSub('uid-narrow'), session: id, device: id };
    await push(EVENTS.accountDisabled, narrowed, { jti: 'held-critical' });
    expect(await signal('held-critical')).toMatchObject({ state: 'held' });
    for (const { token } of [two, local, kept, narrow]) expect(await world.accepts(token)).toBe(true);
  });

  test('whose subject has a critical member that is not processed is discarded, and with another one is not', async () => {
    const member = await world.member('critical');
    const subject = (name: string) => ({
      ...{ format: 'complex', user: issSub('uid-critical'), [name]: { format: 'opaque', id: 'a' } },
    });
    const response = await push(EVENTS.sessionRevoked, subject('org_unit'), { jti: 'critical-1' });
    expect(response.status).toBe(202);
    expect(await signal('critical-1')).toMatchObject({
      state: 'ignored',
      reason: "The subject's critical member org_unit is not supported",
    });
    expect(await world.accepts(member.token)).toBe(true);
    await push(EVENTS.sessionRevoked, subject('group'), { jti: 'critical-2' });
    await ended('critical-2');
    expect(await world.accepts(member.token)).toBe(false);
  });

  test('of a type that a specification defines and that is unknown here is held', async () => {
    const uri = 'https://schemas.openid.net/secevent/caep/event-type/of-a-later-version';
    expect((await push(uri, issSub('uid-nobody'), { jti: 'unknown-type' })).status).toBe(202);
    expect(await signal('unknown-type')).toMatchObject({ state: 'held', reason: 'Unknown event type' });
  });

  test('that is mapped to nothing, or about no one, is recorded as ignored', async () => {
    for (const [jti, uri, subject] of [
      ['nothing-1', EVENTS.tokenClaims, issSub('uid-keep-robot')],
      ['nothing-2', EVENTS.sessionRevoked, issSub('uid-nobody')],
      ['nothing-3', 'https://vendor.example/event', issSub('uid-nobody')],
      ['nothing-4', EVENTS.verification, { format: 'opaque', id: 'stream-1' }],
    ] as const) {
      expect((await push(uri, subject, { jti, body: { state: 'abc' } })).status).toBe(202);
      await ended(jti);
      expect(await signal(jti)).toMatchObject({ jti, state: 'ignored' });
    }
    await push(
      EVENTS.streamUpdated,
      { format: 'opaque', id: 's' },
      { jti: 'paused', body: { status: 'paused' } },
    );
    expect(await signal('paused')).toMatchObject({
      state: 'held',
      reason: 'The transmitter reports the stream as paused',
    });
  });
});

describe('a global token revocation', () => {
  const call = async (jti: string, body: unknown, claims: object = {}) => {
    const exp = Math.floor(Date.now() / 1000) + 60;
    const token = await world.transmitter.sign(
      { jti, aud: AUDIENCE, exp, ...claims },
      { typ: 'global-token-revocation+jwt' },
    );
    return await fetch(`${receiver.url}/global-token-revocation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
  };

  test('ends the tokens of a known user, and says so for an unknown one', async () => {
    const member = await world.member('revoked');
    // As Okta and Auth0 document it; the name is that of the first drafts.
    expect((await call('gtr-1', { subject: issSub('uid-revoked') })).status).toBe(204);
    await ended('gtr-1');
    expect(await world.accepts(member.token)).toBe(false);
    expect((await call('gtr-2', { sub_id: issSub('uid-nobody') })).status).toBe(404);
    expect(await signal('gtr-2')).toMatchObject({ state: 'ignored' });
  });

  test('is refused to anybody but the provider, and a token names one user only', async () => {
    const member = await world.member('other');
    expect((await call('gtr-3', { sub_id: issSub('uid-other') }, { aud: 'x' })).status).toBe(401);
    expect((await call('gtr-4', { sub: 'x' })).status).toBe(400);
    expect((await call('gtr-1', { sub_id: issSub('uid-other') })).status).toBe(401);
    const plain = await fetch(`${receiver.url}/global-token-revocation`, { method: 'POST' });
    expect(plain.status).toBe(401);
    expect(await world.accepts(member.token)).toBe(true);
  });
});

test('a logout token ends sessions, and leaves tokens alone', async () => {
  const member = await world.member('logged-out');
  const exp = Math.floor(Date.now() / 1000) + 60;
  const claims = {
    jti: 'logout-1',
    aud: AUDIENCE,
    exp,
    sub: 'uid-logged-out',
    events: { [EVENTS.logout]: {} },
  };
  const post = (token: string) =>
    fetch(`${receiver.url}/backchannel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    });
  const response = await post(await world.transmitter.sign(claims, { typ: 'logout+jwt' }));
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
  await ended('logout-1');
  expect(await signal('logout-1')).toMatchObject({ state: 'done', action: 'end-sessions' });
  expect(await world.accepts(member.token)).toBe(true);
  const { sub: _, ...nobody } = claims;
  const onlySession = await post(
    await world.transmitter.sign({ ...nobody, jti: 'logout-sid', sid: 's' }, { typ: 'logout+jwt' }),
  );
  expect(onlySession.status).toBe(200);
  expect(await signal('logout-sid')).toMatchObject({
    state: 'held',
    reason: 'The subject identifies no user, only: session',
  });
});
