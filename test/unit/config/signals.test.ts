import { expect, test } from 'vitest';
import { signalsSchema } from '../../../src/config/signals.ts';

const transmitter = { issuer: 'https://idp.example.com', jwks: 'https://idp.example.com/keys' };
const audience = 'https://tokenctl.example.com';
const token = { file: '/secrets/token' };

/** What is wrong with a section, as one text; empty for a valid one. */
function problems(section: object): string {
  const result = signalsSchema.safeParse(section);
  return result.success
    ? ''
    : result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ');
}
const ofTransmitter = (more: object) => problems({ transmitters: { idp: { ...transmitter, ...more } } });

test('an event is remembered for longer than it may be sent again', () => {
  expect(problems({ keepDays: 30 })).toContain('keepDays must be at least 31');
  expect(ofTransmitter({ maxAge: '31d' })).toContain('must be at most 30d');
  expect(ofTransmitter({ maxAge: '30d' })).toBe('');
});

test('addresses whose answers are trusted, or that get a token, are https or of this machine', () => {
  for (const jwks of [
    'http://idp.example.com/keys',
    'http://127.0.0.1.example.com/',
    'file:///keys',
    'https://a:b@idp/',
  ])
    expect(ofTransmitter({ jwks })).not.toBe('');
  expect(ofTransmitter({ audience, poll: { url: 'http://idp.example.com/poll', token } })).toContain('https');
  expect(ofTransmitter({ jwks: 'http://127.0.0.1:8080/keys' })).toBe('');
});

test('how events arrive is said once, and wholly, unless a command can ask the transmitter', () => {
  expect(ofTransmitter({ push: {} })).toContain('no audience');
  expect(ofTransmitter({ audience, poll: { token } })).toContain('has poll without its url');
  expect(
    ofTransmitter({ audience, push: {}, poll: { url: 'https://idp.example.com/poll', token } }),
  ).toContain('has both push and poll');
  expect(ofTransmitter({ management: { token }, poll: { token } })).toBe('');
  expect(problems({ transmitters: { one: transmitter, two: transmitter } })).toContain(
    'has the same issuer as one',
  );
  expect(ofTransmitter({ push: { token: 'the token itself' }, audience })).toContain('push.token');
});

test('a mapping is an action, or an action with conditions that its events can meet', () => {
  const mapped = (actions: object) => problems({ actions });
  const when = { initiating_entity: 'admin', credential_type: ['password', 'vendor-token'] };
  expect(mapped({ 'session-revoked': 'lockdown', 'credential-revoked': { action: 'revoke', when } })).toBe(
    '',
  );
  expect(
    ofTransmitter({
      actions: {
        'risk-level-change': { action: 'revoke', when: { current_level: 'HIGH' } },
        'device-compliance-change': { action: 'revoke', when: { current_status: 'not-compliant' } },
      },
    }),
  ).toBe('');
  for (const [name, value, problem] of [
    ['initiating_entity', 'amdin', 'admin'],
    ['credential_type', 'pasword', 'did you mean "password"?'],
    ['current_level', 'HIGH', 'current_level never occurs in an event credential-revoked'],
    ['current_status', 'compliant', 'current_status never occurs in an event credential-revoked'],
    ['change_direction', 'decrease', 'change_direction never occurs in an event credential-revoked'],
    ['credential_typ', 'password', 'credential_typ'],
  ])
    expect(
      mapped({ 'credential-revoked': { action: 'revoke', when: { [name as string]: value } } }),
    ).toContain(problem);
  expect(mapped({ 'session-revoked': 'revok' })).toContain('actions.session-revoked.action');
});

test('what polls or manages a stream has a token, or a client that gets one', () => {
  const client = { tokenUrl: 'https://idp.example.com/token', clientId: 'c', clientSecret: token };
  const poll = { url: 'https://idp.example.com/poll' };
  expect(ofTransmitter({ audience, poll })).toContain('has poll without a token and no client');
  expect(ofTransmitter({ management: {} })).toContain('has management without a token and no client');
  expect(ofTransmitter({ audience, poll, client, management: {} })).toBe('');
  expect(ofTransmitter({ client: { ...client, clientSecret: undefined } })).toContain('requires either');
  expect(ofTransmitter({ client: { ...client, privateKey: { file: 'key.pem' } } })).toContain(
    'requires either',
  );
  expect(ofTransmitter({ client: { ...client, tokenUrl: 'http://idp.example.com/token' } })).toContain(
    'https',
  );
  expect(ofTransmitter({ jwks: { file: 'okta.pem' } })).toBe('');
  expect(ofTransmitter({ jwks: { fil: 'okta.pem' } })).toContain('{ file: PATH }');
});
