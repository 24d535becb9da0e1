import { randomBytes } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isTokenOf } from '../../domain/leased-token.ts';
import { isOpen, type Lease, RELEASE_LEASE, SUNSET, type SunsetNote } from '../../domain/leases.ts';
import { expiresNever } from '../../domain/policy/lifetime-rules.ts';
import { type Exception, exceptionMatches, isExpiredException } from '../../domain/policy/subject.ts';
import {
  dateOf,
  daysNeeded,
  type EndlessToken,
  type OwnersEnd,
  type OwnersTokens,
  type Spread,
  spreadEnds,
} from '../../domain/sunset.ts';
import type { Token, UserReference } from '../../domain/token.ts';
import { Journal } from '../journal/journal.ts';
import type { Change } from '../journal/operation-run.ts';
import { LeaseReader } from '../journal/recorded-leases.ts';
import { writeRowEnds } from '../leases/row-ends.ts';
import type { Target } from '../ports/target.ts';
import { lastUseDays, MAX_LAST_USES } from '../tokens/last-use-days.ts';

/** Which tokens get an end, and when. */
export interface SunsetPlan {
  readonly id: string;
  /** In the order of their ends. */
  readonly owners: readonly OwnersEnd[];
  /** Selected tokens that get no end. */
  readonly left: {
    /** Tokens that expire in time. */
    readonly ending: number;
    /** Tokens that have a lease, from a rotation, a program or an earlier sunset. */
    readonly leased: number;
    /** Tokens covered by an exception to the rule never-expires. */
    readonly excepted: number;
    /** Application tokens, which are replaced by refreshing. */
    readonly ofApplications: number;
    readonly withoutOwner: number;
  };
}

interface PlanOptions {
  readonly target: Target;
  readonly tokens: AsyncIterable<Token>;
  readonly leases: readonly Lease[];
  readonly spread: Omit<Spread, 'taken'>;
  /** Tokens with a longer lifetime than this, in seconds, also get an end. */
  readonly maxLifetime: number | undefined;
  readonly exceptions: readonly Exception[];
  /** Tokens of this credential are skipped: tokenctl works with them. */
  readonly own: readonly number[];
}

/**
 * Plans an end for tokens that have none. Reads only. Tokens that already have a lease are unchanged, so that
 * running it again continues an interrupted sunset.
 * @throws TokenctlError `usage` if there are too few days for so many tokens
 */
export async function planSunset(options: PlanOptions): Promise<SunsetPlan> {
  const { leases, spread, exceptions, own } = options;
  const { now } = spread;
  const leased = Map.groupBy(leases.filter(isOpen), ({ token }) => token?.id);
  const rules = exceptions.filter((each) => !isExpiredException(each, now));
  const left = { ending: 0, leased: 0, excepted: 0, ofApplications: 0, withoutOwner: 0 };
  const chosen: (Token & { readonly user: UserReference })[] = [];
  for await (const token of options.tokens) {
    const { user } = token;
    if (leased.get(token.id)?.some((lease) => isTokenOf(lease, token))) left.leased += 1;
    else if (!isEndless(token, options, now)) left.ending += 1;
    else if (own.includes(token.id)) left.leased += 1;
    else if (rules.some((rule) => exceptionMatches(rule, token))) left.excepted += 1;
    else if (token.application !== null) left.ofApplications += 1;
    else if (user === null) left.withoutOwner += 1;
    else chosen.push({ ...token, user });
  }
  const used = await lastUses(options.target, { tokens: chosen, now });
  const owners = new Map<number, { owner: OwnersTokens['owner']; tokens: EndlessToken[] }>();
  for (const { user, id, fingerprint, created, expires, scope } of chosen) {
    const known = owners.get(user.id) ?? { owner: { id: user.id, username: user.username }, tokens: [] };
    known.tokens.push({
      ...{ id, fingerprint, scope, created: created.toISOString(), expires: expires.toISOString() },
      // A token whose last use is unknown may be in use: it ends late.
      lastUsed: used.has(id) ? (used.get(id) ?? null) : now,
    });
    owners.set(user.id, known);
  }
  const all = { ...spread, taken: takenDays(leases) };
  const ends = spreadEnds([...owners.values()], all);
  if (ends !== null) return { id: `sunset-${randomBytes(4).toString('hex')}`, owners: ends, left };
  throw new TokenctlError(
    'usage',
    `${spread.days} days are not enough for this many tokens, at most ${spread.perDay} per day`,
    { hint: `Use --over ${daysNeeded([...owners.values()], all)}d or longer, or a higher --per-day.` },
  );
}

/** Whether it never expires, or exceeds the maximum lifetime; and expires after the days of the sunset. */
function isEndless(token: Token, { maxLifetime, spread }: PlanOptions, now: Date): boolean {
  const { expires, created } = token;
  if (expires.getTime() <= now.getTime() + spread.days * 86_400_000) return false;
  const lifetime = (expires.getTime() - created.getTime()) / 1000;
  return expiresNever(token, now) || (maxLifetime !== undefined && lifetime > maxLifetime);
}

/**
 * The last uses of tokens by id, null for never. A REST API does not show them, but selects by them; tokens
 * are missing if there are too many to determine.
 * @throws TokenctlError what the target throws, except `unsupported`.
 */
export async function lastUses(
  target: Target,
  { tokens, now }: { tokens: readonly Token[]; now: Date },
): Promise<ReadonlyMap<number, Date | null>> {
  const known = new Map<number, Date | null>();
  const hidden: Token[] = [];
  for (const token of tokens) {
    if (token.lastUsed === undefined) hidden.push(token);
    else known.set(token.id, token.lastUsed);
  }
  if (hidden.length === 0 || hidden.length > MAX_LAST_USES) return known;
  try {
    return new Map([...known, ...(await lastUseDays(target, { tokens: hidden, now }))]);
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'unsupported') return known;
    throw error;
  }
}

/** The number of tokens of earlier sunsets that end on each day. */
function takenDays(leases: readonly Lease[]): ReadonlyMap<string, number> {
  const taken = new Map<string, number>();
  for (const { sunset, until, state } of leases) {
    if (sunset === null || state !== 'open') continue;
    const day = dateOf(new Date(until));
    taken.set(day, (taken.get(day) ?? 0) + 1);
  }
  return taken;
}

/** The maximum number of tokens per audit log entry: usually all of an owner's, who has one day. */
const PER_NOTE = 5000;
/** The number of owners recorded at a time: entries that are written together share a disk sync. */
const OWNERS_AT_ONCE = 50;

/**
 * Records the ends of a plan, some owners at a time: from then on the tokens have leases. If the target
 * stores ends, they are then written into the rows; over REST nothing is changed on the controller.
 * @param onRecorded Called occasionally, with the number of tokens that have an end so far.
 * @returns The number of tokens that got one: fewer than planned if the signal stopped it, or another sunset
 * was faster.
 * @throws TokenctlError `audit_unavailable`, and as the target.
 */
export async function recordSunset(
  options: Change,
  { id, owners }: SunsetPlan,
  onRecorded: (done: number) => void = () => undefined,
): Promise<number> {
  const journal = new Journal({ ...options, operation: SUNSET });
  const reader = new LeaseReader(options.log);
  const isInRow = options.target.ends !== undefined;
  let done = 0;
  for (let next = 0; next < owners.length && options.signal?.aborted !== true; next += OWNERS_AT_ONCE) {
    const group = owners.slice(next, next + OWNERS_AT_ONCE);
    await journal.notes(group.flatMap((each) => notesOf(id, each, isInRow)));
    if (isInRow) await writeRowEnds(options, await reader.read(options.description));
    done += group.reduce((sum, { tokens }) => sum + tokens.length, 0);
    onRecorded(done);
  }
  return (await reader.read(options.description)).filter(({ sunset }) => sunset === id).length;
}

function notesOf(sunset: string, { owner, tokens, until }: OwnersEnd, isInRow: boolean) {
  const parts = Array.from({ length: Math.ceil(tokens.length / PER_NOTE) }, (_, part) =>
    tokens.slice(part * PER_NOTE, (part + 1) * PER_NOTE).map(({ lastUsed: _used, ...token }) => token),
  );
  return parts.map((part) => {
    const row = isInRow && { row: true as const };
    const note: SunsetNote = { sunset, owner, until: until.toISOString(), ...row, tokens: part };
    return { ...note, selection: `${part.length} of ${owner.username}, ${dateOf(until)}` };
  });
}

/**
 * Withdraws future ends of leases: their tokens stay valid as long as the controller accepts them. Rows get
 * their old expiry back.
 * @throws TokenctlError `audit_unavailable`, and as the target.
 */
export async function releaseLeases(options: Change, leases: readonly Lease[]): Promise<void> {
  const journal = new Journal({ ...options, operation: RELEASE_LEASE });
  for (let start = 0; start < leases.length; start += PER_NOTE) {
    const ids = leases.slice(start, start + PER_NOTE).map(({ id }) => id);
    await journal.note({ leases: ids, selection: `the end dates of ${ids.length} tokens` });
  }
  await writeRowEnds(options);
}

/** The progress of a sunset for the ends of one week, identified by Monday's date. */
export interface SunsetWeek {
  readonly week: string;
  readonly ends: number;
  /** Revoked, or otherwise gone. */
  readonly ended: number;
  /** Still to end, and used within a week. */
  readonly inUse: number;
  /** Number of tokens of the sunset that remain after that week. */
  readonly left: number;
}

/** Counts the ends of sunsets by week. `used` has the last uses of tokens that are still listed, by id. */
export function sunsetWeeks(
  leases: readonly Lease[],
  { used, now }: { used: ReadonlyMap<number, Date | null>; now: Date },
): readonly SunsetWeek[] {
  const weeks = Map.groupBy(leases, ({ until }) => mondayOf(new Date(until)));
  let left = leases.length;
  return [...weeks]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([week, of]) => {
      left -= of.length;
      const inUse = of.filter((lease) => isOpen(lease) && isUsedLately(lease, { used, now })).length;
      return {
        week,
        ends: of.length,
        ended: of.filter(({ state }) => state === 'ended').length,
        inUse,
        left,
      };
    });
}

export function isUsedLately(
  { token }: Pick<Lease, 'token'>,
  { used, now }: { used: ReadonlyMap<number, Date | null>; now: Date },
): boolean {
  const at = token === null ? null : (used.get(token.id) ?? null);
  return at !== null && now.getTime() - at.getTime() < 7 * 86_400_000;
}

function mondayOf(at: Date): string {
  return dateOf(new Date(at.getTime() - ((at.getUTCDay() + 6) % 7) * 86_400_000));
}
