import { type Exception, exceptionMatches, isExpiredException } from './policy/subject.ts';
import type { Token } from './token.ts';

/** A template for mail to owners: plain text with placeholders such as `{owner}`. */
export interface MailTemplate {
  /** One line. */
  readonly subject: string;
  readonly text: string;
}

export const placeholders = [
  'owner',
  'controller',
  'context',
  'organization',
  'count',
  'expiring',
  'revoked',
] as const;

type Placeholder = (typeof placeholders)[number];

const PLACEHOLDER = /\{([^{}\s]*)\}/g;

/** Checks a template; returns the first unknown placeholder, null if all are known. */
export function unknownPlaceholder({ subject, text }: MailTemplate): string | null {
  const known: readonly string[] = placeholders;
  const used = [...`${subject}\n${text}`.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
  return used.find((name) => !known.includes(name)) ?? null;
}

/** The template for organizations without their own. */
export const defaultTemplate: MailTemplate = {
  subject: 'Your tokens at {controller}',
  text: `Hello {owner},

this email is about {count} of your OAuth2 tokens at {controller}.

{expiring}{revoked}Programs that use these tokens need new ones. Contact the administrators of {controller} if you did not expect this.
`,
};

/** A token that expires soon, and the threshold it has reached. */
export interface ExpiringToken {
  readonly token: Token;
  /** In days: the smallest threshold that applies. */
  readonly threshold: number;
  /** Whole days until it expires, rounded down. */
  readonly daysLeft: number;
  /** Whether tokenctl revokes it then; otherwise the controller refuses it from then on. */
  readonly isRevoked: boolean;
}

export interface RevokedToken {
  readonly id: number;
  /** RFC 3339: when it was revoked according to the audit log. */
  readonly at: string;
}

export interface OwnerMessage {
  readonly owner: string;
  readonly controller: string;
  readonly context: string;
  /** The first configured organization of the owner; null for none. */
  readonly organization: string | null;
  readonly expiring: readonly ExpiringToken[];
  readonly revoked: readonly RevokedToken[];
}

/** The maximum number of tokens of each kind in a mail. */
const LISTED = 50;
const MAX_SUBJECT = 200;
const MAX_VALUE = 200;

/**
 * Fills in a template. Values from the controller become one printable line each, in which long runs of
 * letters and digits are hidden: a description may contain a token.
 */
export function renderMail(template: MailTemplate, message: OwnerMessage): MailTemplate {
  const { owner, controller, context, organization, expiring, revoked } = message;
  const count = expiring.length + revoked.length;
  const values: Readonly<Record<Placeholder, string>> = {
    owner: oneLine(owner),
    controller: oneLine(controller),
    context: oneLine(context),
    organization: oneLine(organization ?? ''),
    count: String(count),
    expiring: block('These expire soon:', expiring.map(expiringText)),
    revoked: block(
      'These were revoked:',
      revoked.map(({ id, at }) => `token ${id}: revoked ${minute(at)}`),
    ),
  };
  const fill = (text: string) =>
    text.replace(PLACEHOLDER, (whole, name: string) =>
      Object.hasOwn(values, name) ? values[name as Placeholder] : whole,
    );
  return { subject: clean(fill(template.subject)).slice(0, MAX_SUBJECT), text: fill(template.text) };
}

function block(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  const more = lines.length - LISTED;
  const listed = lines.slice(0, LISTED).map((line) => `  ${line}`);
  return `${[title, ...listed, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n')}\n\n`;
}

function expiringText({ token, daysLeft, isRevoked }: ExpiringToken): string {
  const { id, application, scope, description, expires } = token;
  const about = [
    application === null ? 'personal' : `application ${oneLine(application.name)}`,
    `scope ${oneLine(scope)}`,
    ...(description === '' ? [] : [`"${withoutSecrets(clean(description)).slice(0, MAX_VALUE)}"`]),
  ];
  const days = daysLeft === 0 ? 'in less than a day' : `in ${daysLeft} ${daysLeft === 1 ? 'day' : 'days'}`;
  return `token ${id} (${about.join(', ')}): ${isRevoked ? 'will be revoked' : 'expires'} ${minute(expires.toISOString())}, ${days}`;
}

/** A time to the minute, in UTC. */
function minute(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
}

/** Hides what could be a token's value, or part of one. */
function withoutSecrets(text: string): string {
  return text.replace(/[A-Za-z0-9\-._~+/]{25,}=*/g, '[hidden]');
}

function oneLine(text: string): string {
  return clean(text).slice(0, MAX_VALUE);
}

/** Replaces control and format characters, including line separators, with spaces. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

/** An address as used by mail programs, without quotes, comments and names: RFC 5321 §4.1.2 allows more. */
const ADDRESS = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$/;
const MAX_ADDRESS = 254;

/** Whether mail may be sent to an address: to any if no domains are given. */
export function isSendable(address: string, domains: readonly string[]): boolean {
  if (address.length > MAX_ADDRESS || !ADDRESS.test(address)) return false;
  const [, domain = ''] = address.toLowerCase().split('@');
  return domains.length === 0 || domains.some((each) => each.toLowerCase() === domain);
}

/** Whether a rule excludes notices to the owner about a token. */
export function isOptedOut(token: Token, rules: readonly Exception[], now: Date): boolean {
  return rules.some((rule) => !isExpiredException(rule, now) && exceptionMatches(rule, token));
}

/** The same for a revoked token. The audit log has only its owner: rules with other criteria never match. */
export function isOwnerOptedOut(owner: string, rules: readonly Exception[], now: Date): boolean {
  const named = rules.filter((rule) => rule.application === undefined && rule.description === undefined);
  return isOptedOut({ ...NO_TOKEN, user: { id: 0, username: owner } }, named, now);
}

const NO_TOKEN: Token = {
  id: 0,
  user: null,
  application: null,
  scope: '',
  description: '',
  created: new Date(0),
  expires: new Date(0),
  lastUsed: null,
  hasRefreshToken: false,
  fingerprint: null,
};
