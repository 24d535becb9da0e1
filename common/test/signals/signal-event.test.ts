import { EVENTS } from '@tokenctl/testing/transmitter.ts';
import { describe, expect, test } from 'vitest';
import { decidingEvent } from '../../src/signals/deciding-event.ts';
import { defaultActions, readSecurityEvent, requestedEvents } from '../../src/signals/signal-event.ts';
import { SignalRefusal } from '../../src/signals/signal-refusal.ts';
import {
  accountAddress,
  identifiersOf,
  parseSubject,
  revocationSubject,
  subjectText,
} from '../../src/signals/subject-identifier.ts';

const EMAIL = { format: 'email', email: 'alice@example.org' } as const;
const ISS_SUB = { format: 'iss_sub', iss: 'https://idp.example.com', sub: '17' } as const;

describe('a subject', () => {
  test.each([
    [EMAIL, 'email alice@example.org'],
    [ISS_SUB, '17 of https://idp.example.com'],
    [{ format: 'account', uri: 'acct:alice%2Bops@example.org' }, 'account acct:alice%2Bops@example.org'],
    [{ format: 'opaque', id: '00u1' }, 'opaque 00u1'],
    [
      { format: 'aliases', identifiers: [EMAIL, ISS_SUB] },
      'email alice@example.org, also 17 of https://idp.example.com',
    ],
  ])('is read as it is: %j', (subject, text) => {
    expect(parseSubject(subject)).toEqual(subject);
    expect(subjectText(parseSubject(subject))).toBe(text);
  });

  test('is complex if it names more than a user', () => {
    const subject = parseSubject({ format: 'complex', user: EMAIL, tenant: { format: 'opaque', id: 't' } });
    expect(subject).toEqual({
      ...{ format: 'complex', user: EMAIL, members: ['tenant'] },
      tenant: { format: 'opaque', id: 't' },
    });
    expect(identifiersOf(subject)).toEqual([EMAIL]);
    expect(identifiersOf(parseSubject({ format: 'complex', group: { format: 'opaque', id: 'g' } }))).toEqual(
      [],
    );
  });

  test('may be in the form of older drafts', () => {
    expect(parseSubject({ subject_type: 'iss-sub', iss: ISS_SUB.iss, sub: '17' })).toEqual(ISS_SUB);
    expect(parseSubject({ subject_type: 'email', email: EMAIL.email })).toEqual(EMAIL);
    expect(parseSubject({ user: { format: 'email', email: EMAIL.email }, device: {} })).toEqual({
      format: 'complex',
      user: EMAIL,
      members: ['device'],
    });
  });

  const PHONE = { format: 'phone_number', phone_number: '+12065550100' };
  test.each([
    [PHONE, { format: 'complex', user: null, members: ['phone_number'] }],
    [
      { format: 'did', url: 'did:example:1' },
      { format: 'complex', user: null, members: ['did'] },
    ],
    [{ format: 'of a vendor' }, { format: 'complex', user: null, members: [] }],
    [
      { user: PHONE, tenant: {} },
      { format: 'complex', user: null, members: ['tenant', 'user'] },
    ],
    [
      { format: 'aliases', identifiers: [PHONE] },
      { format: 'complex', user: null, members: ['aliases'] },
    ],
    [
      { format: 'aliases', identifiers: [PHONE, EMAIL] },
      { format: 'aliases', identifiers: [EMAIL] },
    ],
    [
      { format: 'complex', user: EMAIL, 'https://vendor.example.com/x': {}, device: {} },
      { format: 'complex', user: EMAIL, members: ['https://vendor.example.com/x', 'device'] },
    ],
    [{ subject_type: 'id_token_claims', iss: ISS_SUB.iss, sub: '17', email: EMAIL.email }, ISS_SUB],
  ])('is read as far as it is understood: %j', (subject, read) => {
    expect(parseSubject(subject)).toEqual(read);
  });

  test('of a revocation is sub_id, or the subject of the first drafts', () => {
    for (const body of [{ sub_id: EMAIL }, { subject: EMAIL }, { sub_id: EMAIL, subject: EMAIL }])
      expect(revocationSubject(body)).toEqual(EMAIL);
    expect(() => revocationSubject({ sub_id: EMAIL, subject: ISS_SUB })).toThrow('differ');
    for (const body of [null, {}, { subject: PHONE }, { sub_id: { group: EMAIL } }])
      expect(() => revocationSubject(body)).toThrow(SignalRefusal);
  });

  test.each([
    [{ format: 'email', email: 'alice' }, 'the email is not an address'],
    [{ format: 'email' }, 'email is missing'],
    [{ format: 'opaque', id: 'a\u0000b' }, 'id is invalid'],
    [{ format: 'opaque', id: 'a'.repeat(600) }, 'id is invalid'],
    [{ format: 'account', uri: 'https://example.org/alice' }, 'acct:user@host'],
    [{ format: 'aliases', identifiers: [] }, '1 to 20 identifiers'],
    ['alice', 'it is not an object'],
    [{}, 'it has no format'],
  ])('is refused where it is malformed: %j', (subject, message) => {
    expect(() => parseSubject(subject)).toThrow(SignalRefusal);
    expect(() => parseSubject(subject)).toThrow(message);
  });

  test('that is an account is an address, decoded', () => {
    expect(accountAddress('acct:alice%2Bops@example.org')).toBe('alice+ops@example.org');
    expect(() => accountAddress('acct:%E0%A4%A@example.org')).toThrow('percent-encoded');
  });
});

describe('the events of a token', () => {
  const claims = { iss: 'https://idp.example.com', jti: 'e-1', iat: 1_795_000_000 };
  const read = (events: object, more: object = { sub_id: EMAIL }) =>
    readSecurityEvent({ ...claims, ...more, events }).events;

  test('are known by their type', () => {
    expect(requestedEvents).toHaveLength(22);
    for (const uri of requestedEvents) expect(read({ [uri]: {} })[0]?.kind).not.toBeNull();
    expect(read({ 'https://vendor.example.com/event': {} })).toEqual([
      { kind: null, uri: 'https://vendor.example.com/event', subject: null },
    ]);
    expect(read({ [EVENTS.verification]: { state: 's' } }, {})).toMatchObject([
      { kind: 'verification', state: 's' },
    ]);
    const ofGoogle = 'https://schemas.openid.net/secevent/risc/event-type/verification';
    expect(read({ [ofGoogle]: { state: 's' } }, {})).toMatchObject([{ kind: 'verification', state: 's' }]);
    expect(read({ [EVENTS.streamUpdated]: { status: 'paused' } }, {})).toMatchObject([
      { kind: 'stream-updated', state: 'paused' },
    ]);
  });

  test('tell a withdrawn credential from a changed one, and leave the rest to a person', () => {
    const decided = (change_type?: string) =>
      decidingEvent(read({ [EVENTS.credentialChange]: { change_type } }), defaultActions);
    for (const type of ['revoke', 'delete'])
      expect(decided(type)).toMatchObject({ kind: 'credential-revoked', doubt: null });
    for (const type of ['create', 'update'])
      expect(decided(type)).toMatchObject({ kind: 'credential-changed', doubt: null });
    for (const type of [undefined, 'suspend'])
      expect(decided(type)).toMatchObject({
        ...{ kind: 'credential-revoked', doubt: 'The event does not contain change_type' },
      });
  });

  test('name whom they are about at the top, in the event, or in both alike', () => {
    const inEvent = { [EVENTS.sessionRevoked]: { subject: { subject_type: 'email', email: EMAIL.email } } };
    expect(read(inEvent, {})[0]?.subject).toEqual(EMAIL);
    expect(read(inEvent)[0]?.subject).toEqual(EMAIL);
    expect(read(inEvent)[0]).not.toHaveProperty('doubt');
    const differ = 'sub_id and the subject of the event differ';
    expect(decidingEvent(read(inEvent, { sub_id: ISS_SUB }), defaultActions)).toMatchObject({
      doubt: differ,
    });
    expect(() => read({ [EVENTS.sessionRevoked]: {} }, {})).toThrow('it names no subject');
  });

  test('of Shared Signals are in no token with sub or exp; others may be', () => {
    const more = { sub: '17', exp: 1_795_000_060 };
    for (const [name, value] of Object.entries(more))
      expect(() => read({ [EVENTS.sessionRevoked]: {} }, { sub_id: EMAIL, [name]: value })).toThrow(
        `the claim ${name} is not allowed`,
      );
    expect(read({ 'urn:ietf:params:scim:event:create': {} }, more)).toMatchObject([{ kind: null }]);
  });

  test('are of one user, or of the stream: of two subjects, one would be left out', () => {
    const about = (email: string) => ({ subject: { subject_type: 'email', email } });
    const two = { [EVENTS.sessionRevoked]: about('a@x.org'), [EVENTS.accountDisabled]: about('b@x.org') };
    expect(() => read(two, {})).toThrow('its events have different subjects');
    const stream = { [EVENTS.accountDisabled]: {}, [EVENTS.streamUpdated]: { status: 'paused' } };
    expect(() => read(stream)).toThrow('its events have different subjects');
  });

  test('are decided by the strongest action', () => {
    const events = read({
      [EVENTS.sessionRevoked]: {},
      [EVENTS.accountDisabled]: {},
      [EVENTS.verification]: {},
    });
    expect(decidingEvent(events, defaultActions)).toMatchObject({
      kind: 'account-disabled',
      action: 'offboard',
    });
    expect(decidingEvent(read({ [EVENTS.verification]: {} }), defaultActions)).toBeNull();
    const none = { ...defaultActions, 'session-revoked': 'nothing' } as const;
    expect(decidingEvent(read({ [EVENTS.sessionRevoked]: {} }), none)).toMatchObject({ action: 'nothing' });
  });

  test.each([
    [{ initiating_entity: 'admin', credential_type: 'password' }, 'revoke', null, null],
    [{ initiating_entity: 'policy', credential_type: 'pin' }, 'revoke', null, null],
    [
      { initiating_entity: 'user', credential_type: 'password' },
      'nothing',
      'Mapped to no action if initiating_entity is user',
      null,
    ],
    [
      { initiating_entity: 'admin', credential_type: 'phone-sms' },
      'nothing',
      'Mapped to no action if credential_type is phone-sms',
      null,
    ],
    [
      { credential_type: 'phone-sms' },
      'nothing',
      'Mapped to no action if credential_type is phone-sms',
      null,
    ],
    [{ credential_type: 'password' }, 'revoke', null, 'The event does not contain initiating_entity'],
    [{ initiating_entity: 7 }, 'revoke', null, 'The event does not contain initiating_entity'],
  ])('are narrowed by conditions: %j', (body, action, unmet, doubt) => {
    const when = { initiating_entity: ['admin', 'policy'], credential_type: ['password', 'pin'] };
    const actions = { ...defaultActions, 'credential-revoked': { action: 'revoke', when } } as const;
    const events = read({ [EVENTS.credentialChange]: { change_type: 'delete', ...body } });
    expect(decidingEvent(events, actions)).toMatchObject({ action, unmet, doubt });
  });
});
