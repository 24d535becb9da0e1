import { isDeepStrictEqual } from 'node:util';
import { SignalRefusal } from './signal-refusal.ts';
import { parseSubject, type SubjectIdentifier } from './subject-identifier.ts';

/** What a controller can be told, and what the configuration maps to an action. */
export const signalKinds = [
  'session-revoked',
  'sessions-revoked',
  'session-established',
  'session-presented',
  'token-revoked',
  'tokens-revoked',
  'credential-revoked',
  'credential-changed',
  'credential-compromise',
  'token-claims-change',
  'assurance-level-change',
  'risk-level-change',
  'device-compliance-change',
  'account-disabled',
  'account-purged',
  'account-enabled',
  'account-credential-change-required',
  'identifier-changed',
  'identifier-recycled',
  'recovery-activated',
  'recovery-information-changed',
  'opt-in',
  'opt-out-initiated',
  'opt-out-cancelled',
  'opt-out-effective',
  'global-token-revocation',
  'backchannel-logout',
] as const;

export type SignalKind = (typeof signalKinds)[number];

/** What is done for the user whom a signal is about; from the mildest to the strongest. */
export const signalActions = ['nothing', 'end-sessions', 'revoke', 'lockdown', 'offboard'] as const;

export type SignalAction = (typeof signalActions)[number];

/**
 * What is done where the configuration says nothing. Tokens end when the provider says that a session, a credential or the
 * account is withdrawn; an account that is disabled or deleted is offboarded. An ordinary logout ends browser sessions only:
 * tokens are made to outlive it. A changed password, claim or device ends nothing.
 */
export const defaultActions: Readonly<Record<SignalKind, SignalAction>> = {
  'session-revoked': 'revoke',
  'sessions-revoked': 'revoke',
  'session-established': 'nothing',
  'session-presented': 'nothing',
  'token-revoked': 'revoke',
  'tokens-revoked': 'revoke',
  'credential-revoked': 'revoke',
  'credential-changed': 'nothing',
  'credential-compromise': 'revoke',
  'token-claims-change': 'nothing',
  'assurance-level-change': 'nothing',
  'risk-level-change': 'nothing',
  'device-compliance-change': 'nothing',
  'account-disabled': 'offboard',
  'account-purged': 'offboard',
  'account-enabled': 'nothing',
  'account-credential-change-required': 'nothing',
  'identifier-changed': 'nothing',
  'identifier-recycled': 'nothing',
  'recovery-activated': 'nothing',
  'recovery-information-changed': 'nothing',
  'opt-in': 'nothing',
  'opt-out-initiated': 'nothing',
  'opt-out-cancelled': 'nothing',
  'opt-out-effective': 'nothing',
  'global-token-revocation': 'revoke',
  'backchannel-logout': 'end-sessions',
};

/** One event of a security event token. */
export interface SignalEvent {
  /** Null for an event type that tokenctl does not know. */
  readonly kind: SignalKind | 'verification' | 'stream-updated' | null;
  /** The event type, as the token names it. */
  readonly uri: string;
  /** Null for an event about the stream itself, and for one of an unknown type. */
  readonly subject: SubjectIdentifier | null;
  /** What it says about itself in a word, such as `initiating_entity`. */
  readonly members?: Readonly<Record<string, string>>;
  /** What is not certain about it, so that a person has to decide. */
  readonly doubt?: string;
  /** What the event says of the stream: its `state` or `status`. */
  readonly state?: string;
  /** The stream that it is about, where it says so. */
  readonly stream?: string;
}

/** A verified security event token (RFC 8417), read. */
export interface SecurityEvent {
  readonly issuer: string;
  /** `jti`: the transmitter gives each event one, and redelivers it with the same. */
  readonly id: string;
  readonly issued: Date;
  readonly events: readonly SignalEvent[];
}

/** The namespace of the event types that OpenID specifications define. */
const OPENID = 'https://schemas.openid.net/secevent/';
const CAEP = `${OPENID}caep/event-type/`;
const RISC = `${OPENID}risc/event-type/`;
/** OAuth Event Types 1.0, a draft that Google implements. */
const OAUTH = `${OPENID}oauth/event-type/`;
const STREAM = `${OPENID}ssf/event-type/`;
/** The event of a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.4). */
export const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

const kindsIn = (namespace: string, kinds: readonly SignalKind[]) =>
  kinds.map((kind) => [`${namespace}${kind}`, kind] as const);
/** Sent at every login. */
const LOGINS = kindsIn(CAEP, ['session-established', 'session-presented']);
const REQUESTED = [
  ...kindsIn(CAEP, ['session-revoked', 'token-claims-change', 'assurance-level-change', 'risk-level-change']),
  ...kindsIn(CAEP, ['device-compliance-change']),
  // Two kinds, by what became of the credential.
  [`${CAEP}credential-change`, 'credential-changed'] as const,
  ...kindsIn(RISC, ['account-disabled', 'account-purged', 'account-enabled', 'credential-compromise']),
  ...kindsIn(RISC, ['account-credential-change-required', 'sessions-revoked', 'identifier-changed']),
  ...kindsIn(RISC, ['identifier-recycled', 'recovery-activated', 'recovery-information-changed']),
  ...kindsIn(RISC, ['opt-in', 'opt-out-initiated', 'opt-out-cancelled', 'opt-out-effective']),
  ...kindsIn(OAUTH, ['token-revoked', 'tokens-revoked']),
];
/** The event types that name a user. */
const KIND_BY_URI: ReadonlyMap<string, SignalKind> = new Map([...REQUESTED, ...LOGINS]);

const STREAM_EVENTS: ReadonlyMap<string, 'verification' | 'stream-updated'> = new Map([
  [`${STREAM}verification`, 'verification'],
  // Of Google.
  [`${RISC}verification`, 'verification'],
  [`${STREAM}stream-updated`, 'stream-updated'],
]);

/** The event types to ask a transmitter for. */
export const requestedEvents: readonly string[] = REQUESTED.map(([uri]) => uri);

/** Whether a specification of OpenID or the IETF defines this event type: one that is unknown here may withdraw something. */
export function isStandardEvent(uri: string): boolean {
  return /^(https?:\/\/schemas\.openid\.net\/|urn:ietf:params:)/i.test(uri);
}

/** More events in one token than any transmitter sends; Shared Signals 1.0, section 4.2.1, allows one. */
const MAX_EVENTS = 10;
const MAX_ID_LENGTH = 256;

/**
 * Reads the claims of a verified security event token. Who it is about is in `sub_id` (Shared Signals 1.0)
 * or, in older drafts, in the `subject` of the event; where the two differ, a person has to decide.
 * @throws SignalRefusal `invalid_request`
 */
export function readSecurityEvent(claims: Readonly<Record<string, unknown>>): SecurityEvent {
  const { iss, jti, iat, events, sub_id: subjectId } = claims;
  if (typeof iss !== 'string' || iss === '') throw invalid('the claim iss is missing');
  if (typeof iat !== 'number') throw invalid('the claim iat is missing');
  const entries = eventEntries(events);
  if (entries.some(([uri]) => uri.startsWith(OPENID))) {
    // Shared Signals 1.0, section 4.1.2: a token with `sub` could be taken for one that logs someone in.
    if (claims['sub'] !== undefined) throw invalid('the claim sub is not allowed, use sub_id');
    // Section 4.1.7: nor one with `exp`.
    if (claims['exp'] !== undefined) throw invalid('the claim exp is not allowed');
  }
  const common = subjectId === undefined ? null : parseSubject(subjectId);
  const read = entries.map(([uri, body]) => readEvent(uri, { body, common }));
  const [first, ...others] = read.flatMap(({ subject }) => subject ?? []);
  // RFC 8417, section 2.2: all events of a token are about one subject. Of two, one would be left out.
  const isAboutStream = read.some(({ kind }) => kind === 'stream-updated');
  if (others.some((subject) => !isDeepStrictEqual(subject, first)) || (isAboutStream && first !== undefined))
    throw invalid('its events have different subjects');
  return { issuer: iss, id: eventId(jti), issued: new Date(iat * 1000), events: read };
}

/** The `jti`, by which a token is told from all others of its issuer. Throws SignalRefusal without one. */
export function eventId(jti: unknown): string {
  if (typeof jti !== 'string' || jti === '') throw invalid('the claim jti is missing');
  if (jti.length > MAX_ID_LENGTH || !/^[\x20-\x7e]+$/.test(jti)) throw invalid('the claim jti is invalid');
  return jti;
}

/** The events of a token by their types. */
export function eventEntries(events: unknown): readonly (readonly [uri: string, body: object])[] {
  if (typeof events !== 'object' || events === null || Array.isArray(events))
    throw invalid('the claim events is missing');
  const entries = Object.entries(events as Record<string, unknown>);
  if (entries.length === 0 || entries.length > MAX_EVENTS)
    throw invalid(`it has ${entries.length === 0 ? 'no event' : 'too many events'}`);
  return entries.map(([uri, body]) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw invalid('an event is not an object');
    return [uri, body];
  });
}

function readEvent(
  uri: string,
  { body, common }: { body: object; common: SubjectIdentifier | null },
): SignalEvent {
  const members = body as Readonly<Record<string, unknown>>;
  const stream = STREAM_EVENTS.get(uri);
  if (stream !== undefined) {
    // The subject of both is the stream.
    const { state, status } = members;
    const said = stream === 'verification' ? state : status;
    return {
      kind: stream,
      uri,
      subject: null,
      ...(typeof said === 'string' && { state: said.slice(0, 256) }),
      // Shared Signals 1.0, sections 8.1.4.1 and 8.1.5: the opaque subject is the stream_id.
      ...(common?.format === 'opaque' && { stream: common.id }),
    };
  }
  const known = KIND_BY_URI.get(uri);
  if (known === undefined) return { kind: null, uri: uri.slice(0, 256), subject: null };
  const own = members['subject'] === undefined ? null : parseSubject(members['subject']);
  const subject = common ?? own;
  if (subject === null) throw invalid('it names no subject');
  const read = known === 'credential-changed' ? credentialChange(members) : { kind: known };
  // Shared Signals 1.0, section 3.1.1: both may describe the same user, each in its own way.
  const differ = own !== null && !isDeepStrictEqual(own, subject);
  const doubt = differ ? { doubt: 'sub_id and the subject of the event differ' } : {};
  return { ...read, uri, subject, members: shortTexts(members), ...doubt };
}

/** CAEP 1.0, section 3.3: `create`, `revoke`, `update` or `delete`. Of any other, it is not known that nothing was withdrawn. */
function credentialChange({
  change_type: type,
}: Readonly<Record<string, unknown>>): Pick<SignalEvent, 'kind' | 'doubt'> {
  if (type === 'create' || type === 'update') return { kind: 'credential-changed' };
  if (type === 'revoke' || type === 'delete') return { kind: 'credential-revoked' };
  return { kind: 'credential-revoked', doubt: 'The event does not contain change_type' };
}

/** The members whose values are short texts, by which a configuration can narrow a mapping. */
function shortTexts(members: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) =>
      typeof value === 'string' && /^[\w.:-]{1,60}$/.test(value) ? [[name, value]] : [],
    ),
  );
}

function invalid(why: string): SignalRefusal {
  return new SignalRefusal('invalid_request', `The security event token is invalid: ${why}`);
}
