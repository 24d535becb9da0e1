import type { LeasedToken } from './leases.ts';

/** A token that should get an end, and its last use; null for never or unknown. */
export interface EndlessToken extends LeasedToken {
  readonly scope: string;
  readonly lastUsed: Date | null;
}

/** The tokens of one owner, which end together. */
export interface OwnersTokens {
  readonly owner: { readonly id: number; readonly username: string };
  readonly tokens: readonly EndlessToken[];
}

export interface OwnersEnd extends OwnersTokens {
  readonly until: Date;
}

/** How ends are spread. */
export interface Spread {
  readonly now: Date;
  /** The earliest end, in days from now: owners are notified before. */
  readonly notice: number;
  /** The latest end, in days from now. */
  readonly days: number;
  /** The maximum number of tokens per day; an owner with more has a day alone. */
  readonly perDay: number;
  /** Whether to include Saturdays and Sundays. */
  readonly weekends: boolean;
  /** Number of tokens that already end on each day, by ISO date. */
  readonly taken?: ReadonlyMap<string, number>;
}

const DAY_MS = 86_400_000;
/** Hour of the day, in UTC: people who can help are at work then, in Europe and in America. */
const HOUR = 14;

/**
 * Spreads the ends of tokens evenly over the days: all of one owner on one day, unused ones first, so that
 * mistakes show early and in few places, and who uses a token has the most time.
 * @returns Null if there are too few days for so many tokens.
 */
export function spreadEnds(owners: readonly OwnersTokens[], spread: Spread): readonly OwnersEnd[] | null {
  const days = daysOf(spread);
  const total = owners.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const sorted = inOrder(owners);
  // Owners with many tokens leave days half full: uses the smallest number per day that fits.
  let most = Math.min(spread.perDay, Math.ceil(total / Math.max(1, days.length)));
  for (;;) {
    const room = { ...spread, days, most };
    const ends = filled(sorted, { ...room, total }) ?? filled(sorted, room);
    if (ends !== null || most === spread.perDay) return ends;
    most = Math.min(spread.perDay, Math.ceil(most * 1.1));
  }
}

/** The minimum number of days that {@link spreadEnds} needs. */
export function daysNeeded(owners: readonly OwnersTokens[], spread: Spread): number {
  // A day for each owner and each taken day, doubled for weekends.
  const enough = spread.notice + 2 * (owners.length + (spread.taken?.size ?? 0) + 2);
  const days = daysOf({ ...spread, days: enough });
  const last = filled(inOrder(owners), { ...spread, days, most: spread.perDay })?.at(-1)?.until;
  return Math.round(((last ?? spread.now).getTime() - todayOf(spread)) / DAY_MS);
}

function inOrder(owners: readonly OwnersTokens[]): readonly OwnersTokens[] {
  const used = new Map(owners.map((each) => [each, lastUse(each)]));
  const useOf = (each: OwnersTokens) => used.get(each) ?? 0;
  return owners.toSorted(
    (one, other) => useOf(one) - useOf(other) || compare(one.owner.username, other.owner.username),
  );
}

function filled(
  owners: readonly OwnersTokens[],
  {
    days,
    most,
    total = Number.POSITIVE_INFINITY,
    taken = new Map(),
  }: Pick<Spread, 'taken'> & {
    days: readonly Date[];
    most: number;
    /** Number of tokens to distribute over all days; default: the first days are filled. */
    total?: number;
  },
): readonly OwnersEnd[] | null {
  const ends: OwnersEnd[] = [];
  let day = 0;
  let count = 0;
  let before = 0;
  const on = (at: Date | undefined) => (at === undefined ? 0 : (taken.get(dateOf(at)) ?? 0));
  count = on(days[0]);
  for (const each of owners) {
    const due = Math.floor((before * days.length) / total);
    while (day < due || (count > 0 && count + each.tokens.length > most)) {
      day += 1;
      if (day >= days.length) return null;
      count = on(days[day]);
    }
    const until = days[day];
    if (until === undefined) return null;
    ends.push({ ...each, until });
    count += each.tokens.length;
    before += each.tokens.length;
  }
  return ends;
}

function todayOf({ now }: Spread): number {
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), HOUR);
}

function daysOf(spread: Spread): readonly Date[] {
  const { notice, days, weekends } = spread;
  const today = todayOf(spread);
  const count = Math.max(0, days - notice);
  return Array.from({ length: count }, (_, index) => new Date(today + (notice + index + 1) * DAY_MS)).filter(
    (day) => weekends || (day.getUTCDay() !== 0 && day.getUTCDay() !== 6),
  );
}

export function dateOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** The last use of any of an owner's tokens, in milliseconds; 0 for never. */
function lastUse({ tokens }: OwnersTokens): number {
  return Math.max(0, ...tokens.map(({ lastUsed }) => lastUsed?.getTime() ?? 0));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
