import { isDeepStrictEqual } from 'node:util';
import { SignalRefusal } from './signal-refusal.ts';

/** A subject identifier that is sufficient on its own (RFC 9493, section 3.2). */
export type SimpleIdentifier =
  | { readonly format: 'account'; readonly uri: string }
  | { readonly format: 'email'; readonly email: string }
  | { readonly format: 'iss_sub'; readonly iss: string; readonly sub: string }
  | { readonly format: 'opaque'; readonly id: string };

/** One identifier of a user, or several (RFC 9493, section 3.2.8). */
type UserIdentifier =
  | SimpleIdentifier
  | { readonly format: 'aliases'; readonly identifiers: readonly SimpleIdentifier[] };

/** The subject of an event: a user, optionally with members that narrow it (complex subjects of Shared Signals). */
export type SubjectIdentifier =
  | UserIdentifier
  | {
      readonly format: 'complex';
      /** Null if the event contains no user, only a device, a group or the like, or a user in an unknown format. */
      readonly user: UserIdentifier | null;
      /** The other members (`device`, `session`, `tenant`, `group`, …), and the unknown format. */
      readonly members: readonly string[];
      /** The user's tenant, if there is one in a known format. */
      readonly tenant?: SimpleIdentifier;
    };

/** The maximum length of values. No user of a controller has longer ones. */
const MAX_LENGTH = 512;
/** The maximum number of identifiers in a list of aliases. */
const MAX_ALIASES = 20;
const MAX_MEMBERS = 20;

/** The usual members of a complex subject, which identify one without a format (older drafts of Shared Signals). */
const COMPLEX_MEMBERS = ['user', 'device', 'session', 'application', 'tenant', 'org_unit', 'group'] as const;

/**
 * The members of a complex subject that limit an event to a part of the user's access: one session, or those
 * on one device or in one application (CAEP 1.0, section 3.1: all members together select the sessions).
 */
export const narrowingMembers: readonly string[] = ['session', 'device', 'application'];

/**
 * Reads a subject identifier: `sub_id` of RFC 9493, or an event's `subject` in the older drafts, which have
 * the format in `subject_type`, with hyphens, and complex subjects without one. A subject in another format,
 * such as a phone number, has no user: the event is still valid (RFC 8935, section 2.2).
 * @throws SignalRefusal `invalid_request` for a malformed identifier
 */
export function parseSubject(value: unknown): SubjectIdentifier {
  const members = membersOf(value);
  const format = formatOf(members);
  if (format === 'complex') return parseComplex(members);
  return parseUser(members, format) ?? { format: 'complex', user: null, members: [format].filter(isName) };
}

/**
 * The subject of a Global Token Revocation: `sub_id`, or `subject` as in the first drafts, which Okta and
 * Auth0 send. Throws SignalRefusal if it contains no user, and if the two differ.
 */
export function revocationSubject(body: unknown): SubjectIdentifier {
  const { sub_id: id, subject: old } = typeof body === 'object' && body !== null ? (body as Members) : {};
  const subject = parseSubject(id ?? old);
  if (id !== undefined && old !== undefined && !isDeepStrictEqual(parseSubject(old), subject))
    throw malformed('sub_id and subject differ');
  if (identifiersOf(subject).length === 0) throw malformed('it identifies no user');
  return subject;
}

/** Null for an unknown format. */
function parseUser(members: Members, format: string): UserIdentifier | null {
  if (format !== 'aliases') return parseSimple(members, format);
  const { identifiers } = members;
  if (!Array.isArray(identifiers) || identifiers.length === 0 || identifiers.length > MAX_ALIASES) {
    throw malformed(`aliases require 1 to ${MAX_ALIASES} identifiers`);
  }
  // RFC 9493, section 3.2.8: each identifies the same user, so the known ones are enough.
  const understood = identifiers.flatMap((each: unknown) => {
    const alias = membersOf(each);
    return parseSimple(alias, formatOf(alias)) ?? [];
  });
  return understood.length === 0 ? null : { format, identifiers: understood };
}

/** The identifiers of the user, each sufficient on its own; empty if the subject contains no user. */
export function identifiersOf(subject: SubjectIdentifier): readonly SimpleIdentifier[] {
  if (subject.format === 'aliases') return subject.identifiers;
  if (subject.format === 'complex') return subject.user === null ? [] : identifiersOf(subject.user);
  return [subject];
}

/**
 * Whether two email addresses are equal, ignoring the case of ASCII letters. Other characters must be identical: for
 * a database or `toLowerCase`, U+212A is a k, and someone could register a look-alike of another user's address.
 */
export function isSameAddress(one: string, other: string): boolean {
  return asciiLowerCase(one) === asciiLowerCase(other);
}

export function domainOf(address: string): string {
  return asciiLowerCase(address.slice(address.lastIndexOf('@') + 1));
}

function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The subject in one line for people: `email alice@example.org`. */
export function subjectText(subject: SubjectIdentifier): string {
  switch (subject.format) {
    case 'account':
      return `account ${subject.uri}`;
    case 'email':
      return `email ${subject.email}`;
    case 'iss_sub':
      return `${subject.sub} of ${subject.iss}`;
    case 'opaque':
      return `opaque ${subject.id}`;
    case 'aliases':
      return subject.identifiers.map(subjectText).join(', also ');
    case 'complex': {
      const others = subject.members.length === 0 ? '' : ` (with ${subject.members.join(', ')})`;
      return `${subject.user === null ? 'no user' : subjectText(subject.user)}${others}`;
    }
  }
}

/** The address in an `acct:` URI (RFC 7565): `alice@example.org`. Throws SignalRefusal if there is none. */
export function accountAddress(uri: string): string {
  const [, user, host] = /^acct:([^@\s]+)@([^@\s/?#]+)$/i.exec(uri) ?? [];
  if (user === undefined || host === undefined)
    throw malformed('an account must have the form acct:user@host');
  try {
    return `${decodeURIComponent(user)}@${host}`;
  } catch {
    throw malformed('the account is not percent-encoded correctly');
  }
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw malformed('it is not an object');
}

function formatOf(members: Members): string {
  const named = members['format'] ?? members['subject_type'];
  // The drafts before RFC 9493 used `iss-sub` and `id-token-claims`.
  if (typeof named === 'string') return named.replaceAll('-', '_');
  if (COMPLEX_MEMBERS.some((name) => Object.hasOwn(members, name))) return 'complex';
  throw malformed('it has no format');
}

function parseSimple(members: Members, format: string): SimpleIdentifier | null {
  switch (format) {
    case 'account': {
      const uri = text(members, 'uri');
      accountAddress(uri);
      return { format, uri };
    }
    case 'email': {
      const email = text(members, 'email');
      if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw malformed('the email is not an address');
      return { format, email };
    }
    case 'iss_sub':
    case 'id_token_claims':
      return { format: 'iss_sub', iss: text(members, 'iss'), sub: text(members, 'sub') };
    case 'opaque':
      return { format, id: text(members, 'id') };
    default:
      return null;
  }
}

function parseComplex(members: Members): SubjectIdentifier {
  // Shared Signals 1.0, section 3.3: further names are allowed.
  const others = Object.keys(members)
    .filter((name) => !['format', 'subject_type', 'user'].includes(name) && isName(name))
    .slice(0, MAX_MEMBERS);
  const tenant = readTenant(members['tenant']);
  const rest = tenant === null ? {} : { tenant };
  if (!Object.hasOwn(members, 'user')) return { format: 'complex', user: null, members: others, ...rest };
  const given = membersOf(members['user']);
  const user = parseUser(given, formatOf(given));
  return { format: 'complex', user, members: user === null ? [...others, 'user'] : others, ...rest };
}

/** An unreadable tenant is not ours, but the event is still valid. */
function readTenant(value: unknown): SimpleIdentifier | null {
  try {
    const members = membersOf(value);
    return parseSimple(members, formatOf(members));
  } catch (error) {
    if (error instanceof SignalRefusal) return null;
    throw error;
  }
}

/** The name of a subject's tenant in the configuration; null for an unknown format. */
export function tenantName(subject: SubjectIdentifier & { readonly format: 'complex' }): string | null {
  const { tenant } = subject;
  if (tenant === undefined) return null;
  if (tenant.format === 'iss_sub') return tenant.sub;
  return tenant.format === 'opaque' ? tenant.id : tenant.format === 'email' ? tenant.email : tenant.uri;
}

/** Whether a name can be shown. */
function isName(name: string): boolean {
  return /^[\x21-\x7e]{1,100}$/.test(name);
}

function text(members: Members, name: string): string {
  const value = members[name];
  if (typeof value !== 'string' || value === '') throw malformed(`${name} is missing`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: databases and terminals take none
  if (value.length > MAX_LENGTH || /[\u0000-\u001f\u007f]/.test(value)) throw malformed(`${name} is invalid`);
  return value;
}

function malformed(why: string): SignalRefusal {
  return new SignalRefusal('invalid_request', `The subject identifier is invalid: ${why}`);
}
