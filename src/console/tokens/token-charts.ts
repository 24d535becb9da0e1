import type { Token } from '../../domain/token.ts';
import { expirySteps, useSteps } from '../../domain/token-statistics.ts';

const DAY = 86_400_000;
const MAX_FACETS = 12;

/** Token counts, in the steps of the audit report. */
export type Charts = ReturnType<typeof chartsOf>;

/** A token, and how far its context's clock is ahead of the charts' time, in milliseconds. */
export interface ChartedToken {
  readonly token: Token;
  readonly laterMs: number;
}

type Rows = readonly ChartedToken[];

/** The charts of tokens: `forExpiry` and `forUse` are the tokens from which their ranges are chosen. */
export function chartsOf(
  { found, forExpiry, forUse }: { found: Rows; forExpiry: Rows; forUse: Rows },
  now: Date,
) {
  const tellsUse = forUse.some(({ token }) => token.lastUsed !== undefined);
  return {
    facets: {
      users: facet(found, ({ user }) => user?.username ?? null),
      applications: facet(found, ({ application }) => application?.name ?? null),
    },
    expiry: expiryBars(forExpiry, now),
    /** Null if no context shows the last use. */
    lastUse: tellsUse ? useBars(forUse, now) : null,
  };
}

/** Number of tokens per value; null for none: a personal access token, a deleted owner. */
function facet(rows: Rows, of: (token: Token) => string | null) {
  const counts = new Map<string | null, number>();
  for (const { token } of rows) {
    const name = of(token);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Array.from(counts, ([name, count]) => ({ name, count }))
    .sort((one, other) => other.count - one.count || ((one.name ?? '') < (other.name ?? '') ? -1 : 1))
    .slice(0, MAX_FACETS);
}

/** Number of tokens per period: after `from`, up to and including `to`; null if open-ended. Soonest first. */
function expiryBars(rows: Rows, now: Date) {
  const ends = expirySteps.map(([days]) => now.getTime() + days * DAY);
  const counts = expirySteps.map(() => 0);
  for (const { token, laterMs } of rows) {
    const at = token.expires.getTime() - laterMs;
    let step = 0;
    while (at > (ends[step] ?? Number.POSITIVE_INFINITY)) step += 1;
    counts[step] = (counts[step] ?? 0) + 1;
  }
  return expirySteps.map(([, label], index) => ({
    from: instant(ends[index - 1]),
    to: instant(ends[index]),
    label,
    count: counts[index] ?? 0,
  }));
}

/** Most recent first, then those that were never used; last, those whose last use is unknown, if any. */
function useBars(rows: Rows, now: Date) {
  const begins = useSteps.map(([days]) => now.getTime() - days * DAY);
  const counts = useSteps.map(() => 0);
  let never = 0;
  let notTold = 0;
  for (const { token, laterMs } of rows) {
    const used = token.lastUsed?.getTime();
    if (used === undefined) {
      if (token.lastUsed === undefined) notTold += 1;
      else never += 1;
      continue;
    }
    const at = used - laterMs;
    let step = 0;
    while (at <= (begins[step] ?? Number.NEGATIVE_INFINITY)) step += 1;
    counts[step] = (counts[step] ?? 0) + 1;
  }
  const bars = useSteps.map(([, label], index) => ({
    from: instant(begins[index]),
    to: instant(begins[index - 1]),
    label,
    count: counts[index] ?? 0,
  }));
  return [
    ...bars,
    { from: null, to: null, label: 'never', count: never },
    ...(notTold === 0 ? [] : [{ from: null, to: null, label: 'unknown', count: notTold }]),
  ];
}

/** Null for an open-ended step. */
function instant(time: number | undefined): string | null {
  return time === undefined || !Number.isFinite(time) ? null : new Date(time).toISOString();
}
