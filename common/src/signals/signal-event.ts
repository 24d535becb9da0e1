import { isDeepStrictEqual } from 'node:util';
import { SignalRefusal } from './signal-refusal.ts';
import { parseSubject, type SubjectIdentifier } from './subject-identifier.ts';

/** The kinds of signals that the configuration maps to actions. */
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

/** The actions for the user of a signal, from the mildest to the strongest. */
export const signalActions = ['nothing', 'end-sessions', 'revoke', 'lockdown', 'offboard'] as const;

export type SignalAction = (typeof signalActions)[number];

/**
 * The default actions. Tokens end if the provider withdraws a session, a credential or the account; a
 * disabled or deleted account is offboarded. An ordinary logout ends only browser sessions, because tokens
 * are made to outlive them. A changed password, claim or device ends nothing.
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

export interface SignalEvent {
  /** Null for an event type that tokenctl does not know. */
  readonly kind: SignalKind | 'verification' | 'stream-updated' | null;
  /** The event type in the token. */
  readonly uri: string;
  /** Null for an event about the stream itself, and for one of an unknown type. */
  readonly subject: SubjectIdentifier | null;
  /** Its members with one-word values, such as `initiating_entity`. */
  readonly members?: Readonly<Record<string, string>>;
  /** What is unclear about it, so that a person has to decide. */
  readonly doubt?: string;
  /** The `state` or `status` of the stream in the event. */
  readonly state?: string;
  /** The stream of the event, if it contains one. */
  readonly stream?: string;
}

/** The content of a verified security event token (RFC 8417). */
export interface SecurityEvent {
  readonly issuer: string;
  /** `jti`: the transmitter assigns one to each event, and redelivers it with the same one. */
  readonly id: string;
  readonly issued: Date;
  readonly events: readonly SignalEvent[];
}

/** The namespace of OpenID's event types. */
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
  // Two kinds, depending on the change of the credential.
  [`${CAEP}credential-change`, 'credential-changed'] as const,
  ...kindsIn(RISC, ['account-disabled', 'account-purged', 'account-enabled', 'credential-compromise']),
  ...kindsIn(RISC, ['account-credential-change-required', 'sessions-revoked', 'identifier-changed']),
  ...kindsIn(RISC, ['identifier-recycled', 'recovery-activated', 'recovery-information-changed']),
  ...kindsIn(RISC, ['opt-in', 'opt-out-initiated', 'opt-out-cancelled', 'opt-out-effective']),
  ...kindsIn(OAUTH, ['token-revoked', 'tokens-revoked']),
];
/** The event types about a user. */
const KIND_BY_URI: ReadonlyMap<string, SignalKind> = new Map([...REQUESTED, ...LOGINS]);

const STREAM_EVENTS: ReadonlyMap<string, 'verification' | 'stream-updated'> = new Map([
  [`${STREAM}verification`, 'verification'],
  // Google's.
  [`${RISC}verification`, 'verification'],
  [`${STREAM}stream-updated`, 'stream-updated'],
]);

export const requestedEvents: readonly string[] = REQUESTED.map(([uri]) => uri);

/** Whether an OpenID or IETF specification defines this event type: an unknown one may withdraw something. */
export function isStandardEvent(uri: string): boolean {
  return /^(https?:\/\/schemas\.openid\.net\/|urn:ietf:params:)/i.test(uri);
}

/** More events than any transmitter sends in one token; Shared Signals 1.0, section 4.2.1, allows one. */
const MAX_EVENTS = 10;
const MAX_ID_LENGTH = 256;

/**
 * Reads the claims of a verified security event token. The subject is in `sub_id` (Shared Signals 1.0) or, in
 * older drafts, in the event's `subject`; if they differ, a person has to decide.
 * @throws SignalRefusal `invalid_request`
 */
export function readSecurityEvent(claims: Readonly<Record<string, unknown>>): SecurityEvent {
  const { iss, jti, iat, events, sub_id: subjectId } = claims;
  if (typeof iss !== 'string' || iss === '') throw invalid('the claim iss is missing');
  if (typeof iat !== 'number') throw invalid('the claim iat is missing');
  const entries = eventEntries(events);
  if (entries.some(([uri]) => uri.startsWith(OPENID))) {
    // Shared Signals 1.0, section 4.1.2: a token with `sub` could be mistaken for a login token.
    if (claims['sub'] !== undefined) throw invalid('the claim sub is not allowed, use sub_id');
    // Section 4.1.7: `exp` is not allowed either.
    if (claims['exp'] !== undefined) throw invalid('the claim exp is not allowed');
  }
  const common = subjectId === undefined ? null : parseSubject(subjectId);
  const read = entries.map(([uri, body]) => readEvent(uri, { body, common }));
  const [first, ...others] = read.flatMap(({ subject }) => subject ?? []);
  // RFC 8417, section 2.2: all events of a token have one subject. Of two subjects, one would be ignored.
  const isAboutStream = read.some(({ kind }) => kind === 'stream-updated');
  if (others.some((subject) => !isDeepStrictEqual(subject, first)) || (isAboutStream && first !== undefined))
    throw invalid('its events have different subjects');
  return { issuer: iss, id: eventId(jti), issued: new Date(iat * 1000), events: read };
}

/** The `jti`, which is unique among the tokens of an issuer. Throws SignalRefusal if it is missing. */
export function eventId(jti: unknown): string {
  if (typeof jti !== 'string' || jti === '') throw invalid('the claim jti is missing');
  if (jti.length > MAX_ID_LENGTH || !/^[\x20-\x7e]+$/.test(jti)) throw invalid('the claim jti is invalid');
  return jti;
}

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
  // Shared Signals 1.0, section 3.1.1: both may describe the same user in different ways.
  const differ = own !== null && !isDeepStrictEqual(own, subject);
  const doubt = differ ? { doubt: 'sub_id and the subject of the event differ' } : {};
  return { ...read, uri, subject, members: shortTexts(members), ...doubt };
}

/** CAEP 1.0, section 3.3: `create`, `revoke`, `update` or `delete`. Any other value may mean a withdrawal. */
function credentialChange({
  change_type: type,
}: Readonly<Record<string, unknown>>): Pick<SignalEvent, 'kind' | 'doubt'> {
  if (type === 'create' || type === 'update') return { kind: 'credential-changed' };
  if (type === 'revoke' || type === 'delete') return { kind: 'credential-revoked' };
  return { kind: 'credential-revoked', doubt: 'The event does not contain change_type' };
}

/** The members with short text values, which can narrow a mapping in the configuration. */
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
