import { NEVER_DAYS } from '@tokenctl/common/token-terms.ts';
import { z } from 'zod';
import { matchesAny } from '../../domain/policy/subject.ts';
import { comparisonsOf, meets, type TokenCriteria } from '../../domain/selector.ts';
import { scopeWords, type Token } from '../../domain/token.ts';
import { ageText, type Typed } from '../command-line.ts';

const DAY = 86_400_000;

const names = z.array(z.string().min(1).max(300)).max(200);
const days = z.coerce.number().positive().max(365_000).optional();
const instant = z.coerce.date().optional();
/** A list in a query: given once or several times. */
const listed = z
  .union([z.string().max(300), names])
  .transform((value) => (typeof value === 'string' ? [value] : value))
  .optional();

/** The filter of tokens in a query. All criteria must match. */
export const filterSchema = z.object({
  place: listed,
  /** Words, each part of the owner's name, the application's name or the description, or the token's id. */
  text: z.string().max(200).optional(),
  id: z.coerce.number().int().positive().optional(),
  /** Names, or patterns with `*` and `?`. */
  user: listed,
  /** Groups of the owner, as member or administrator: names, or patterns. */
  organization: listed,
  team: listed,
  application: listed,
  description: listed,
  personal: z.stringbool().optional(),
  scope: z.enum(scopeWords).optional(),
  expiry: z.enum(['expired', 'live', 'never']).optional(),
  /** In days from now. */
  expiresWithin: days,
  use: z.enum(['never', 'used']).optional(),
  /** In days. */
  unusedFor: days,
  /** Tokens that violate one of these rules of the policy. */
  finding: listed,
  createdSince: instant,
  createdBefore: instant,
  expiresSince: instant,
  expiresBefore: instant,
  /** After this instant; nothing matches if the target does not show the last use. */
  usedSince: instant,
  usedBefore: instant,
});

/** A filter of the tokens of these contexts. */
export type TokenFilter = ReturnType<typeof filterOf>;

export function filterOf(query: z.infer<typeof filterSchema>, places: readonly string[]) {
  const { place: _place, ...rest } = query;
  return { ...rest, places };
}

/** A part of the filtered tokens, from a query. */
export const pageSchema = z.object({
  sort: z.enum(['id', 'user', 'application', 'scope', 'created', 'expires', 'lastUsed']).default('id'),
  descending: z.stringbool().default(false),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
  limit: z.coerce.number().int().min(0).max(500).default(100),
});

export type Page = z.infer<typeof pageSchema>;

/**
 * A filter as one predicate, without findings, organizations and teams, which are read from the target.
 * Criteria that the command has as flags mean the same there.
 * @param clocks.now By the clock of the token's context.
 * @param clocks.laterMs How much that is later than the time by which ranges were chosen in a chart.
 */
export function matcher(
  filter: TokenFilter,
  { now, laterMs }: { now: Date; laterMs: number },
): (token: Token) => boolean {
  const { user: users, application: applications, use } = filter;
  const chosen = (at: Date | undefined) => at && new Date(at.getTime() + laterMs);
  const [usedSince, usedBefore] = [chosen(filter.usedSince), chosen(filter.usedBefore)];
  const words = (filter.text ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const range = { expiresAfter: chosen(filter.expiresSince), expiredAt: chosen(filter.expiresBefore) };
  const asked = [...criteriaOf(filter, now), range].flatMap(comparisonsOf);
  const tests = asked.map((comparison) => (token: Token) => meets(token, comparison));
  const add = (isWanted: boolean, test: (token: Token) => boolean) => {
    if (isWanted) tests.push(test);
  };
  add(filter.id !== undefined, ({ id }) => id === filter.id);
  add(words.length > 0, (token) => words.every((word) => hasText(token, word)));
  add(users !== undefined, ({ user }) => user !== null && matchesAny(user.username, users ?? []));
  add(
    applications !== undefined,
    ({ application }) => application !== null && matchesAny(application.name, applications ?? []),
  );
  add(filter.personal === true, ({ application }) => application === null);
  add(use === 'used', ({ lastUsed }) => lastUsed != null);
  if (usedSince !== undefined) tests.push(({ lastUsed }) => lastUsed != null && lastUsed > usedSince);
  if (usedBefore !== undefined) tests.push(({ lastUsed }) => lastUsed != null && lastUsed <= usedBefore);
  return (token) => tests.every((test) => test(token));
}

/** The criteria of a filter that the command has flags for; several may be about one column. */
function criteriaOf(filter: TokenFilter, now: Date): TokenCriteria[] {
  const { scope, createdSince, createdBefore, expiry, expiresWithin, use, unusedFor } = filter;
  const inDays = (days: number) => new Date(now.getTime() + days * DAY);
  return [
    { scope, descriptions: filter.description, createdSince, createdBefore },
    { neverUsed: use === 'never' || undefined },
    { expiredAt: expiry === 'expired' ? now : undefined },
    { expiresAfter: expiry === 'live' ? now : expiry === 'never' ? inDays(NEVER_DAYS) : undefined },
    expiresWithin === undefined ? {} : { expiresAfter: now, expiredAt: inDays(expiresWithin) },
    { unusedSince: unusedFor === undefined ? undefined : inDays(-unusedFor) },
  ];
}

function hasText({ id, user, application, description }: Token, text: string): boolean {
  return (
    String(id) === text ||
    (user?.username.toLowerCase().includes(text) ?? false) ||
    (application?.name.toLowerCase().includes(text) ?? false) ||
    description.toLowerCase().includes(text)
  );
}

/** A filter as equivalent flags; null if it has a criterion without a flag. */
export function flagsOf(filter: TokenFilter): { readonly typed: Typed } | null {
  const { places: _, user, organization, team, application, scope, description, finding, ...rest } = filter;
  const { expiry, expiresWithin, use, unusedFor, createdSince, createdBefore, ...more } = rest;
  const isMore = Object.values(more).some((value) => value !== undefined && value !== false && value !== '');
  // The command accepts only one flag about the expiry.
  const isBoth = expiry !== undefined && expiresWithin !== undefined;
  if (isMore || isBoth || use === 'used' || expiry === 'live') return null;
  const typed: Typed = {
    ...{ user, organization, team, application, scope, description },
    expired: expiry === 'expired',
    'never-expires': expiry === 'never',
    'expires-within': daysText(expiresWithin),
    'never-used': use === 'never',
    'unused-for': daysText(unusedFor),
    'created-after': createdSince?.toISOString(),
    'created-before': createdBefore?.toISOString(),
    finding,
  };
  const isAll = Object.values(typed).every((value) => value === undefined || value === false);
  return { typed: isAll ? { all: true } : typed };
}

function daysText(days: number | undefined): string | undefined {
  if (days === undefined) return undefined;
  return Number.isInteger(days) || days > 365 ? `${Math.round(days)}d` : ageText(days * 24);
}
