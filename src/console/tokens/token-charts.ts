import type { Token } from '../../domain/token.ts';
import { expirySteps, useSteps } from '../../domain/token-statistics.ts';

const DAY = 86_400_000;
const MAX_FACETS = 12;

/** Tokens in numbers, in the steps of the audit report. */
export type Charts = ReturnType<typeof chartsOf>;

/** A token, and by how many milliseconds the clock of its context is later than the time of the charts. */
export interface ChartedToken {
  readonly token: Token;
  readonly laterMs: number;
}

type Rows = readonly ChartedToken[];

/** The charts of tokens: `forExpiry` and `forUse` are what they are chosen from by a range of that chart. */
export function chartsOf(
  { found, forExpiry, forUse }: { readonly found: Rows; readonly forExpiry: Rows; readonly forUse: Rows },
  now: Date,
) {
  const tellsUse = forUse.some(({ token }) => token.lastUsed !== undefined);
  return {
    facets: {
      users: facet(found, ({ user }) => user?.username ?? null),
      applications: facet(found, ({ application }) => application?.name ?? null),
      scopes: facet(found, ({ scope }) => scope),
    },
    expiry: expiryBars(forExpiry, now),
    /** Null where no context tells the last use. */
    lastUse: tellsUse ? useBars(forUse, now) : null,
  };
}

/** How many tokens share each value; null for none: a personal access token, an owner that is gone. */
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

/** How many tokens are in each stretch of time: after `from`, up to and including `to`; null where it is open. Soonest first. */
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

/** Most recent first, then those that were never used; last, those whose last use their context does not tell, if any. */
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

/** Null for the end of a step that is open. */
function instant(time: number | undefined): string | null {
  return time === undefined || !Number.isFinite(time) ? null : new Date(time).toISOString();
}
