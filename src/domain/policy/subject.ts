import { textHash } from '../compact-collections.ts';
import type { Application, ApplicationReference, RefreshToken, Token, UserReference } from '../token.ts';

/** The subject of a finding, in the member named by its kind. */
export type Subject =
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'refreshToken'; readonly refreshToken: RefreshToken }
  | { readonly kind: 'application'; readonly application: Application }
  | { readonly kind: 'user'; readonly user: UserReference }
  /** A day in UTC: `2026-11-21`. */
  | { readonly kind: 'day'; readonly day: string }
  /** A setting of the controller, by its own name. */
  | { readonly kind: 'setting'; readonly setting: string }
  | { readonly kind: 'purpose'; readonly purpose: Purpose }
  | { readonly kind: 'exception'; readonly exception: ExceptionReference };

/** The documented purpose of several tokens: one owner, one application, one description. */
export interface Purpose {
  readonly user: UserReference;
  readonly application: ApplicationReference | null;
  readonly description: string;
}

/** An exception of the policy: its rule, and its position in that rule's list, from 1. */
export interface ExceptionReference {
  readonly rule: string;
  readonly number: number;
  readonly reason: string;
}

/** A key of the subject, stable between runs: `token:17`, `user:5`. Used in baselines and SARIF. */
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

/** The input of exceptions: owner, application and description; null for a missing or unknown one. */
export interface Excusable {
  readonly user: UserReference | null;
  /** The application that the subject belongs to or is. */
  readonly application: ApplicationReference | null;
  readonly description: string | null;
}

const NOTHING: Excusable = { user: null, application: null, description: null };

export function excusable(subject: Subject): Excusable {
  switch (subject.kind) {
    case 'token':
      return subject.token;
    case 'purpose':
      return subject.purpose;
    case 'refreshToken': {
      const { user, application } = subject.refreshToken;
      return { ...NOTHING, user, application };
    }
    case 'user':
      return { ...NOTHING, user: subject.user };
    case 'application':
      return { ...NOTHING, application: subject.application };
    default:
      return NOTHING;
  }
}

/** The displayed subject, in a few words: `token 17`, `user alice`. */
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
 * Findings that a rule should suppress, and why. All criteria must match; without criteria, everything that
 * the rule finds. Each is an exact text, or a pattern with `*` and `?`.
 */
export interface Exception {
  readonly user?: string | undefined;
  readonly application?: string | undefined;
  readonly description?: string | undefined;
  /** The last day (UTC) on which it applies: `2026-12-31`. Default: no end. */
  readonly until?: string | undefined;
  readonly reason: string;
}

export function isExpiredException({ until }: Exception, now: Date): boolean {
  return until !== undefined && now.toISOString().slice(0, 10) > until;
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

/** A backslash before a wildcard makes it literal. */
const ESCAPED = /\\([*?])/g;
/** Placeholders for literal wildcards in a comparison: noncharacters, which no name contains. */
const PLAIN: Readonly<Record<string, string>> = { '*': '\uFFFE', '?': '\uFFFF' };

/**
 * Whether a text matches a pattern: `*` matches any characters, `?` one, `\*` and `\?` these characters,
 * anything else itself. Takes time in proportion to both lengths at most, whatever the pattern.
 */
export function matchesGlob(text: string, pattern: string): boolean {
  if (!pattern.includes('\\')) return matchesPlain(text, pattern);
  const plain = pattern.replaceAll(ESCAPED, (_, wildcard: string) => PLAIN[wildcard] ?? wildcard);
  return matchesPlain(text, plain);
}

/** A pattern in another notation, given its forms of any characters, of one, and of literal text. */
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
      // The last star takes one more character, and what follows it is tried again from there.
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

export function matchesAny(text: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesGlob(text, pattern));
}
