import { z } from 'zod';
import { matchesAny } from '../../domain/policy/subject.ts';
import { NEVER_DAYS, scopeWords, type Token } from '../../domain/token.ts';

const DAY = 86_400_000;
/** As the rule `never-expires` says. */
const NEVER = NEVER_DAYS * DAY;

const names = z.array(z.string().min(1).max(300)).max(200);
const days = z.coerce.number().positive().max(365_000).optional();
const instant = z.coerce.date().optional();
/** A list in a query: given once or several times. */
const listed = z
  .union([z.string().max(300), names])
  .transform((value) => (typeof value === 'string' ? [value] : value))
  .optional();

/** What of the tokens is shown, as a query has it. Criteria that are present must all hold. */
export const filterSchema = z.object({
  place: listed,
  /** Words, of which each is part of the owner's name, of the application's or of the description, or the token's id. */
  text: z.string().max(200).optional(),
  /** Names, or patterns with `*` and `?`. */
  user: listed,
  application: listed,
  /** Personal access tokens only. */
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
  /** After this instant; nothing matches where the target does not tell the last use. */
  usedSince: instant,
  usedBefore: instant,
});

/** A filter of the tokens of these contexts. */
export type TokenFilter = ReturnType<typeof filterOf>;

export function filterOf(query: z.infer<typeof filterSchema>, places: readonly string[]) {
  const { user, application, finding, place: _place, ...rest } = query;
  return { ...rest, places, users: user, applications: application, findings: finding };
}

/** A part of the filtered tokens, as a query has it. */
export const pageSchema = z.object({
  sort: z.enum(['id', 'user', 'application', 'scope', 'created', 'expires', 'lastUsed']).default('id'),
  descending: z.stringbool().default(false),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
  limit: z.coerce.number().int().min(0).max(500).default(100),
});

export type Page = z.infer<typeof pageSchema>;

/**
 * A filter as one test of a token. The criteria that the command has as flags mean the same as there.
 *
 * @param clocks.now By the clock of the token's context.
 * @param clocks.laterMs By how much that is later than the time by which ranges were chosen in a chart.
 */
export function matcher(
  filter: TokenFilter,
  { now, laterMs }: { readonly now: Date; readonly laterMs: number },
): (token: Token) => boolean {
  const { users, applications, scope, createdSince, createdBefore } = filter;
  const chosen = (at: Date | undefined) => at && new Date(at.getTime() + laterMs);
  const [expiresSince, expiresBefore] = [chosen(filter.expiresSince), chosen(filter.expiresBefore)];
  const [usedSince, usedBefore] = [chosen(filter.usedSince), chosen(filter.usedBefore)];
  const { expiry, use, unusedFor, expiresWithin } = filter;
  const words = (filter.text ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const soon = expiresWithin === undefined ? undefined : new Date(now.getTime() + expiresWithin * DAY);
  const unusedSince = unusedFor === undefined ? undefined : new Date(now.getTime() - unusedFor * DAY);
  const never = new Date(now.getTime() + NEVER);
  const tests: ((token: Token) => boolean)[] = [];
  const add = (isWanted: boolean, test: (token: Token) => boolean) => {
    if (isWanted) tests.push(test);
  };
  add(words.length > 0, (token) => words.every((word) => hasText(token, word)));
  add(users !== undefined, ({ user }) => user !== null && matchesAny(user.username, users ?? []));
  add(
    applications !== undefined,
    ({ application }) => application !== null && matchesAny(application.name, applications ?? []),
  );
  add(filter.personal === true, ({ application }) => application === null);
  add(scope !== undefined, (token) => token.scope.split(' ').includes(scope ?? ''));
  add(expiry === 'expired', ({ expires }) => expires <= now);
  add(expiry === 'live', ({ expires }) => expires > now);
  add(expiry === 'never', ({ expires }) => expires > never);
  if (soon !== undefined) tests.push(({ expires }) => expires > now && expires <= soon);
  add(use === 'never', ({ lastUsed }) => lastUsed === null);
  add(use === 'used', ({ lastUsed }) => lastUsed != null);
  if (unusedSince !== undefined) tests.push((token) => isUnused(token, unusedSince));
  if (createdSince !== undefined) tests.push(({ created }) => created >= createdSince);
  if (createdBefore !== undefined) tests.push(({ created }) => created < createdBefore);
  if (expiresSince !== undefined) tests.push(({ expires }) => expires > expiresSince);
  if (expiresBefore !== undefined) tests.push(({ expires }) => expires <= expiresBefore);
  if (usedSince !== undefined) tests.push(({ lastUsed }) => lastUsed != null && lastUsed > usedSince);
  if (usedBefore !== undefined) tests.push(({ lastUsed }) => lastUsed != null && lastUsed <= usedBefore);
  return (token) => tests.every((test) => test(token));
}

function hasText({ id, user, application, description }: Token, text: string): boolean {
  return (
    String(id) === text ||
    (user?.username.toLowerCase().includes(text) ?? false) ||
    (application?.name.toLowerCase().includes(text) ?? false) ||
    description.toLowerCase().includes(text)
  );
}

/** Last used before an instant, or never used and made before it. Unknown where the target does not tell. */
function isUnused({ lastUsed, created }: Token, since: Date): boolean {
  if (lastUsed === undefined) return false;
  return (lastUsed ?? created) < since;
}
