import { createHmac, randomUUID } from 'node:crypto';
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
    more: '  usersPerHour: 1000',
    transmitterLines: '      tenants: [tenant-7]',
  });
  receiver = await world.receive();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Whom an example is about, and who says so. */
interface Names {
  readonly iss: string;
  readonly uid: string;
  readonly address: string;
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * An example: where a specification has it, its claims with values of our own, and what follows: the action that was done, `nothing`
 * where its kind is mapped to none, `held` or `ignored` with the reason, or the answer where that is not 202.
 */
type Example = readonly [where: string, claims: (names: Names) => Claims, outcome: string, alg?: string];

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';

/** A subject, sent in an event that ends the tokens of a user. */
const about = (sub_id: object, more: object = {}) => ({
  ...more,
  sub_id,
  events: { [EVENTS.sessionRevoked]: {} },
});
const email = ({ address }: Names) => ({ format: 'email', email: address });
const issSub = ({ iss, uid }: Names) => ({ format: 'iss_sub', iss, sub: uid });
const opaque = (id: string) => ({ format: 'opaque', id });
const phone = { format: 'phone_number', phone_number: '+4930555017' };
const complex = (members: object) => ({ format: 'complex', ...members });
const scimCreate = () => ({
  events: {
    'urn:ietf:params:scim:event:create': { ref: 'https://people.example.org/Users/17', attributes: ['id'] },
  },
});
const scimReset = ({ uid }: Names) => ({
  sub: uid,
  events: {
    'urn:ietf:params:scim:event:passwordReset': { id: '17' },
    'https://people.example.org/events/reset-details': { resetAttempts: 3 },
  },
});
const oldDisabled = ({ iss, uid }: Names) => ({
  events: {
    [EVENTS.accountDisabled]: { subject: { subject_type: 'iss-sub', iss, sub: uid }, reason: 'hijacking' },
  },
});
const when = { event_timestamp: 1_795_000_000 };
const reasons = {
  initiating_entity: 'policy',
  reason_admin: { en: 'Rule 17', de: 'Regel 17' },
  reason_user: { en: 'Ask the service desk.', 'es-410': 'Pregunta al soporte.' },
  ...when,
};
const caep = (type: string, sub_id: object, body: object) => ({
  ...{ txn: 't-17', sub_id, events: { [CAEP + type]: body } },
});
const risc = (type: string, sub_id: object, body: object = {}) => ({
  ...{ sub_id, events: { [RISC + type]: body } },
});
const device = ({ iss }: Names) => ({ format: 'iss_sub', iss, sub: 'device-17' });
const jwtId = ({ iss }: Names) => ({ format: 'jwt_id', iss, jti: 'token-17' });
const assertion = ({ iss }: Names) => ({ format: 'saml_assertion_id', issuer: iss, assertion_id: '_17' });
const addresses = { format: 'ip-addresses', 'ip-addresses': ['192.0.2.17', '2001:db8::17'] };
const elsewhere = 'https://another.example.org/';
const claimsChange = { ...when, claims: { role: 'operator' } };
const did = (url: string) => ({ format: 'did', url });

const NO_USER = 'held: The subject identifies no user, only:';
const UNKNOWN = 'Unknown event type';

const SETS: readonly Example[] = [
  ['RFC 8417 figure 1', scimReset, `held: ${UNKNOWN}`],
  [
    'RFC 8417 figure 2',
    ({ uid }) => ({ sub: uid, sid: 'session-17', events: { [EVENTS.logout]: {} } }),
    `held: ${UNKNOWN}`,
  ],
  [
    'RFC 8417 figure 3',
    ({ uid }) => ({
      events: {
        'https://openid.net/heart/specs/consent.html': { iss: elsewhere, sub: uid, consentUri: [elsewhere] },
      },
    }),
    `ignored: ${UNKNOWN}`,
  ],
  ['RFC 8417 figure 4', oldDisabled, 'offboard'],
  ['RFC 8417 figure 5', scimCreate, `held: ${UNKNOWN}`],
  ['RFC 8417 figure 6', scimCreate, '400 invalid_key', 'none'],
  ['RFC 8935 figure 1', oldDisabled, '400 invalid_key', 'HS256'],
  ['RFC 8936 figure 6, first', scimCreate, '400 invalid_key', 'none'],
  ['RFC 8936 figure 6, second', scimReset, '400 invalid_key', 'none'],
  [
    'RFC 9493 figure 3',
    (names) => ({
      jti: undefined,
      events: { 'https://vendor.example.org/interception': { from: email(names), to: email(names) } },
    }),
    '400 invalid_request',
  ],
  [
    'SSF 4.1.8',
    () => ({
      ...{ aud: [AUDIENCE, `${AUDIENCE}/mobile`], sub_id: opaque('stream-17') },
      events: { [EVENTS.verification]: { state: 'state-17' } },
    }),
    'ignored: Stream verification',
  ],
  ['SSF 5, first', (names) => risc('account-enabled', email(names)), 'nothing'],
  [
    'SSF 5, second',
    () => risc('account-disabled', phone, { reason: 'hijacking' }),
    `${NO_USER} phone_number`,
  ],
  [
    'SSF 5, third',
    (names) => caep('token-claims-change', email(names), { claims: { token: 'x' } }),
    'nothing',
  ],
  [
    'SSF 5, fourth',
    (names) => caep('session-revoked', complex({ user: issSub(names), device: device(names) }), reasons),
    'held: The event is about one device of the user',
  ],
  ['SSF 5, fifth', (names) => caep('token-claims-change', email(names), claimsChange), 'nothing'],
  [
    'SSF 5, sixth',
    () => caep('token-claims-change', { format: 'shelf', shelf_id: 'a/17' }, claimsChange),
    'nothing',
  ],
  [
    'SSF 8.1.4.2',
    () => ({ sub_id: opaque('stream-17'), events: { [EVENTS.verification]: { state: 'state-18' } } }),
    'ignored: Stream verification',
  ],
  [
    'SSF 8.1.5',
    () => ({
      sub_id: opaque('stream-17'),
      events: { [EVENTS.streamUpdated]: { status: 'paused', reason: 'Maintenance' } },
    }),
    'held: The transmitter reports the stream as paused',
  ],
  [
    'CAEP 3.1, first',
    () => caep('session-revoked', opaque('session-17|a'), when),
    'held: No user matches the subject, which may be a session ID',
  ],
  [
    'CAEP 3.1, second',
    (names) =>
      caep(
        'session-revoked',
        complex({ session: opaque('session-17'), user: issSub(names), tenant: opaque('tenant-7') }),
        reasons,
      ),
    'held: The event is about one session of the user',
  ],
  [
    'CAEP 3.1, third',
    (names) =>
      caep(
        'session-revoked',
        complex({ user: issSub(names), device: device(names), tenant: opaque('tenant-7') }),
        reasons,
      ),
    'held: The event is about one device of the user',
  ],
  ['CAEP 3.2, first', (names) => caep('token-claims-change', jwtId(names), claimsChange), 'nothing'],
  [
    'CAEP 3.2, second',
    (names) => caep('token-claims-change', jwtId(names), { ...reasons, claims: { trusted: false } }),
    'nothing',
  ],
  [
    'CAEP 3.2, third',
    (names) => caep('token-claims-change', assertion(names), { ...when, claims: { 'urn:role': 'x' } }),
    'nothing',
  ],
  [
    'CAEP 3.3',
    (names) =>
      caep('credential-change', issSub(names), {
        ...{ credential_type: 'fido2-roaming', change_type: 'create', friendly_name: 'Key 17' },
        ...{ fido2_aaguid: randomUUID(), initiating_entity: 'user', ...when },
      }),
    'nothing',
  ],
  [
    'CAEP 3.4, first',
    (names) =>
      caep('assurance-level-change', issSub(names), {
        ...{ namespace: 'NIST-AAL', current_level: 'nist-aal2', previous_level: 'nist-aal1' },
        ...{ change_direction: 'increase', initiating_entity: 'user', ...when },
      }),
    'nothing',
  ],
  [
    'CAEP 3.4, second',
    (names) =>
      caep('assurance-level-change', issSub(names), {
        ...{ namespace: 'Of our own', current_level: 'two', initiating_entity: 'user', ...when },
      }),
    'nothing',
  ],
  [
    'CAEP 3.5',
    (names) =>
      caep('device-compliance-change', complex({ device: device(names), tenant: opaque('tenant-7') }), {
        ...{ current_status: 'not-compliant', previous_status: 'compliant', ...reasons },
      }),
    'nothing',
  ],
  [
    'CAEP 3.6',
    (names) =>
      caep('session-established', email(names), { fp_ua: 'f-17', acr: 'AAL2', amr: ['otp'], ...when }),
    'nothing',
  ],
  [
    'CAEP 3.7',
    (names) => caep('session-presented', email(names), { fp_ua: 'f-17', ext_id: '17', ...when }),
    'nothing',
  ],
  [
    'CAEP 3.8',
    (names) =>
      caep(
        'risk-level-change',
        { ...issSub(names), iss: elsewhere },
        {
          ...{ current_level: 'LOW', previous_level: 'HIGH', principal: 'USER', ...when },
          risk_reason: 'PASSWORD_FOUND',
        },
      ),
    'nothing',
  ],
  ['RISC 2.1', (names) => risc('account-credential-change-required', issSub(names)), 'nothing'],
  ['RISC 2.3', (names) => risc('account-disabled', issSub(names), { reason: 'hijacking' }), 'offboard'],
  [
    'RISC 2.5',
    (names) => risc('identifier-changed', email(names), { 'new-value': 'new@example.org' }),
    'nothing',
  ],
  ['RISC 2.6', (names) => risc('identifier-recycled', email(names)), 'nothing'],
  [
    'RISC 2.7',
    (names) => risc('credential-compromise', issSub(names), { credential_type: 'password' }),
    'revoke',
  ],
];

const SUBJECTS: readonly Example[] = [
  ['RFC 9493 figure 1', (names) => about(email(names)), 'revoke'],
  ['RFC 9493 figure 2', () => about(phone), `${NO_USER} phone_number`],
  ['RFC 9493 figure 4', ({ address }) => about({ format: 'account', uri: `acct:${address}` }), 'revoke'],
  ['RFC 9493 figure 5', (names) => about(email(names)), 'revoke'],
  ['RFC 9493 figure 6', (names) => about(issSub(names)), 'revoke'],
  ['RFC 9493 figure 7', ({ uid }) => about(opaque(uid)), 'revoke'],
  ['RFC 9493 figure 8', () => about(phone), `${NO_USER} phone_number`],
  ['RFC 9493 figure 9', () => about(did('did:web:people.example.org')), `${NO_USER} did`],
  ['RFC 9493 figure 10', () => about(did('did:web:people.example.org/a?versionId=2')), `${NO_USER} did`],
  [
    'RFC 9493 figure 11',
    () => about({ format: 'uri', uri: 'https://people.example.org/17' }),
    `${NO_USER} uri`,
  ],
  ['RFC 9493 figure 12', () => about({ format: 'uri', uri: `urn:uuid:${randomUUID()}` }), `${NO_USER} uri`],
  [
    'RFC 9493 figure 13',
    (names) =>
      about({
        format: 'aliases',
        identifiers: [email(names), phone, { format: 'email', email: `also-${names.address}` }],
      }),
    'revoke',
  ],
  ['RFC 9493 figure 14', (names) => about(email(names)), 'revoke'],
  ['RFC 9493 figure 15', (names) => about(email(names), { sub: names.address }), '400 invalid_request'],
  ['RFC 9493 figure 16', (names) => about(email(names), { sub: 'x@example.org' }), '400 invalid_request'],
  [
    'RFC 9493 figure 17',
    ({ address }) => about({ format: 'account', uri: `acct:${address}` }, { sub: address }),
    '400 invalid_request',
  ],
  ['RFC 9493 figure 18', (names) => about(issSub(names)), 'revoke'],
  [
    'RFC 9493 figure 19',
    (names) => about({ ...issSub(names), iss: elsewhere }),
    'held: database: The subject belongs to a different issuer',
  ],
  [
    'RFC 9493 figure 20',
    (names) => about({ ...issSub(names), iss: elsewhere }, { sub: names.uid }),
    '400 invalid_request',
  ],
  ['SSF 3.2', (names) => about(email(names)), 'revoke'],
  [
    'SSF 3.3',
    (names) => about(complex({ user: email(names), tenant: { ...issSub(names), sub: 'tenant-7' } })),
    'revoke',
  ],
  ['SSF 3.5.1', (names) => about(jwtId(names)), `${NO_USER} jwt_id`],
  ['SSF 3.5.2', (names) => about(assertion(names)), `${NO_USER} saml_assertion_id`],
  ['SSF 3.5.3', () => about(addresses), `${NO_USER} ip_addresses`],
  ['SSF 4.1.1', (names) => about(email(names)), '400 invalid_key', 'HS256'],
  ['SSF 8.1.3.1, first, added', () => about(complex({ tenant: opaque('tenant-7') })), `${NO_USER} tenant`],
  [
    'SSF 8.1.3.1, first, sent',
    (names) => about(complex({ tenant: opaque('tenant-7'), user: email(names) })),
    'revoke',
  ],
  [
    'SSF 8.1.3.1, second, added',
    (names) => about(complex({ user: email(names), device: addresses })),
    'held: The event is about one device of the user',
  ],
  ['SSF 8.1.3.1, second, sent', (names) => about(complex({ user: email(names) })), 'revoke'],
  [
    'SSF 8.1.3.1, third',
    (names) => about(complex({ user: email(names), group: did('did:web:groups.example.org') })),
    'revoke',
  ],
  ['SSF 8.1.3.2', (names) => about(email(names)), 'revoke'],
  ['SSF 8.1.3.3', () => about({ format: 'phone', phone_number: '+4930555017' }), `${NO_USER} phone`],
];

/** A token that no published key has signed. */
function tokenWith(alg: string, claims: Claims): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ typ: 'secevent+jwt', alg })}.${part(claims)}`;
  const signature = alg === 'none' ? '' : createHmac('sha256', 'a secret').update(signed).digest('base64url');
  return `${signed}.${signature}`;
}

test.each([
  ['security event tokens', SETS],
  ['subjects', SUBJECTS],
])('the examples of the specifications are answered and carried out: %s', async (_, examples) => {
  const { transmitter } = world;
  const sent = await Promise.all(
    examples.map(async ([where, claimsOf, outcome, alg], index) => {
      const name = `of-${randomUUID().slice(0, 8)}-${index}`;
      const { email: address, token: access } = await world.member(name);
      const jti = randomUUID();
      const claims = {
        ...{ jti, aud: AUDIENCE },
        ...claimsOf({ iss: transmitter.issuer, uid: `uid-${name}`, address }),
      };
      const token =
        alg === undefined
          ? await transmitter.sign(claims)
          : tokenWith(alg, { iss: transmitter.issuer, ...claims });
      const response = await world.push(receiver, token);
      const { err } = response.status === 202 ? { err: '' } : ((await response.json()) as { err: string });
      return { where, name, jti, access, outcome, answer: `${response.status} ${err}`.trim() };
    }),
  );
  const recorded = () => world.signals();
  const accepted = sent.filter(({ answer }) => answer === '202').map(({ jti }) => jti);
  const all = await until(recorded, (signals) =>
    accepted.every((jti) => signals.find((each) => each.jti === jti)?.ended instanceof Date),
  );
  const rows = await world.service.database.query('SELECT username FROM auth_user WHERE is_active');
  const active = new Set(rows.map(({ username }) => username));
  const became = await Promise.all(
    sent.map(async ({ where, name, jti, access, answer }) => {
      const signal = all.find((each) => each.jti === jti);
      const what = signal?.state === 'done' ? signal.action : `${signal?.state}: ${signal?.reason}`;
      const hasAccess = [await world.accepts(access), active.has(name)];
      return { where, what: answer === '202' ? what : answer, hasAccess };
    }),
  );
  const expected = sent.map(({ where, outcome }) => ({
    where,
    what:
      outcome === 'nothing'
        ? 'ignored: Mapped to no action'
        : expect.stringMatching(new RegExp(`^${outcome}`)),
    hasAccess: [outcome !== 'revoke' && outcome !== 'offboard', outcome !== 'offboard'],
  }));
  expect(became).toEqual(expected);
});
