import { textHash } from '../compact-collections.ts';
import type { Application, ApplicationReference, RefreshToken, Token, UserReference } from '../token.ts';

/** What a finding is about. The member that the kind names holds it. */
export type Subject =
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'refreshToken'; readonly refreshToken: RefreshToken }
  | { readonly kind: 'application'; readonly application: Application }
  | { readonly kind: 'user'; readonly user: UserReference }
  /** A day in UTC: `2026-11-21`. */
  | { readonly kind: 'day'; readonly day: string }
  /** A setting of the controller, in its own name. */
  | { readonly kind: 'setting'; readonly setting: string }
  | { readonly kind: 'purpose'; readonly purpose: Purpose }
  | { readonly kind: 'exception'; readonly exception: ExceptionReference };

/** What several tokens are for, as far as anybody wrote it down: one owner, one application, one description. */
export interface Purpose {
  readonly user: UserReference;
  readonly application: ApplicationReference | null;
  readonly description: string;
}

/** An exception of the policy: whose rule it is, and its place in that rule's list, from 1. */
export interface ExceptionReference {
  readonly rule: string;
  readonly number: number;
  readonly reason: string;
}

/**
 * A short text that names the subject and stays the same from run to run: `token:17`, `user:5`. Baselines
 * and SARIF know findings by it.
 */
export function subjectKey(subject: Subject): string {
  switch (subject.kind) {
    case 'token':
      return `token:${subject.token.id}`;
    case 'refreshToken':
      return `refresh-token:${subject.refreshToken.id}`;
    case 'application':
      return `application:${subject.application.id}`;
    case 'user':
      return `user:${subject.user.id}`;
    case 'day':
      return `day:${subject.day}`;
    case 'setting':
      return `setting:${subject.setting}`;
    case 'purpose': {
      const { user, application, description } = subject.purpose;
      return `purpose:${user.id}:${application?.id ?? 0}:${textHash(description).toString(36)}`;
    }
    case 'exception':
      return `exception:${subject.exception.rule}:${textHash(subject.exception.reason).toString(36)}`;
  }
}

/** The owner of the subject; null if it has no owner or the owner is unknown. */
export function ownerOf(subject: Subject): UserReference | null {
  switch (subject.kind) {
    case 'token':
      return subject.token.user;
    case 'refreshToken':
      return subject.refreshToken.user;
    case 'user':
      return subject.user;
    case 'purpose':
      return subject.purpose.user;
    default:
      return null;
  }
}

/** The application that the subject belongs to or is; null for none. */
export function applicationOf(subject: Subject): ApplicationReference | null {
  switch (subject.kind) {
    case 'token':
      return subject.token.application;
    case 'refreshToken':
      return subject.refreshToken.application;
    case 'application':
      return subject.application;
    case 'purpose':
      return subject.purpose.application;
    default:
      return null;
  }
}

/** The description of the subject; null if it cannot have one. */
function descriptionOf(subject: Subject): string | null {
  if (subject.kind === 'token') return subject.token.description;
  return subject.kind === 'purpose' ? subject.purpose.description : null;
}

/** The subject for people, in a few words: `token 17`, `user alice`. */
export function subjectName(subject: Subject): string {
  switch (subject.kind) {
    case 'token':
      return `token ${subject.token.id}`;
    case 'refreshToken':
      return `refresh token ${subject.refreshToken.id}`;
    case 'application':
      return `application ${subject.application.name}`;
    case 'user':
      return `user ${subject.user.username}`;
    case 'day':
      return subject.day;
    case 'setting':
      return subject.setting;
    case 'purpose':
      return `tokens "${subject.purpose.description}"`;
    case 'exception':
      return `exception ${subject.exception.number} of ${subject.exception.rule}`;
  }
}

/**
 * What a rule is not to find, and why. Criteria that are present must all hold; without one it is everything
 * that the rule finds. Each is a text exactly, or a pattern with `*` and `?`.
 */
export interface Exception {
  /** The owner's name. */
  readonly user?: string | undefined;
  /** The application's name. */
  readonly application?: string | undefined;
  /** The token's description. */
  readonly description?: string | undefined;
  /** The last day (UTC) on which it holds: `2026-12-31`. Without it, it holds for good. */
  readonly until?: string | undefined;
  readonly reason: string;
}

export function isExpiredException({ until }: Exception, now: Date): boolean {
  return until !== undefined && now.toISOString().slice(0, 10) > until;
}

/** What exceptions look at: whose something is, from which application, and its description; null for what it has not. */
export interface Excusable {
  readonly user: UserReference | null;
  readonly application: ApplicationReference | null;
  readonly description: string | null;
}

/** What exceptions look at of a subject. */
export function excusable(subject: Subject): Excusable {
  return { user: ownerOf(subject), application: applicationOf(subject), description: descriptionOf(subject) };
}

/** Whether an exception matches. Does not check whether it has expired. */
export function exceptionMatches(exception: Exception, of: Excusable): boolean {
  const { user, application, description } = exception;
  return (
    (user === undefined || matches(of.user?.username, user)) &&
    (application === undefined || matches(of.application?.name, application)) &&
    (description === undefined || matches(of.description, description))
  );
}

/** A missing value matches no pattern, not even `*`. */
function matches(text: string | null | undefined, pattern: string): boolean {
  return text !== null && text !== undefined && matchesGlob(text, pattern);
}

/** A backslash before a wildcard makes it plain. */
const ESCAPED = /\\([*?])/g;
/** Stand for plain wildcards while a pattern is compared: no name has them, they are not characters. */
const PLAIN: Readonly<Record<string, string>> = { '*': '\uFFFE', '?': '\uFFFF' };

/**
 * Whether a text is what a pattern means: `*` stands for any characters, `?` for one, `\*` and `\?` for these
 * characters, everything else for itself. Takes time in proportion to both lengths at most, whatever the
 * pattern.
 */
export function matchesGlob(text: string, pattern: string): boolean {
  if (!pattern.includes('\\')) return matchesPlain(text, pattern);
  const plain = pattern.replaceAll(ESCAPED, (_, wildcard: string) => PLAIN[wildcard] ?? wildcard);
  return matchesPlain(text, plain);
}

/** A pattern in another notation: what stands there for any characters, for one, and for text as it is. */
export function globText(
  pattern: string,
  to: { readonly any: string; readonly one: string; readonly plain: (text: string) => string },
): string {
  return pattern.replaceAll(/\\([*?])|\*|\?|[^*?\\]+|\\/g, (part, escaped?: string) => {
    if (escaped !== undefined) return to.plain(escaped);
    return part === '*' ? to.any : part === '?' ? to.one : to.plain(part);
  });
}

function matchesPlain(text: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  let lastStar = -1;
  let retryAt = 0;
  while (at < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === '*') {
      lastStar = inPattern;
      inPattern += 1;
      retryAt = at;
    } else if (wanted !== undefined && isMatch(wanted, text[at])) {
      at += wanted === '?' && (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
      inPattern += 1;
    } else if (lastStar >= 0) {
      // The last star takes one character more, and what follows it is tried again from there.
      retryAt += 1;
      at = retryAt;
      inPattern = lastStar + 1;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === '*') inPattern += 1;
  return inPattern === pattern.length;
}

function isMatch(wanted: string, character: string | undefined): boolean {
  if (wanted === '?' || wanted === character) return true;
  return character !== undefined && PLAIN[character] === wanted;
}

/** Whether a text is what one of several patterns means. */
export function matchesAny(text: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesGlob(text, pattern));
}
