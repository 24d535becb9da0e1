import type { Token } from '../domain/token.ts';
import { expirySteps, useSteps } from '../domain/token-statistics.ts';

const DAY = 86_400_000;
const MAX_FACETS = 12;

/** How many tokens share a value. */
interface Facet {
  /** Null for none: a personal access token, an owner that is gone. */
  readonly name: string | null;
  readonly count: number;
}

/** How many tokens are in a stretch of time. */
interface Bar {
  /** RFC 3339; null where it is open. After `from`, up to and including `to`. */
  readonly from: string | null;
  readonly to: string | null;
  readonly label: string;
  readonly count: number;
}

/** Tokens in numbers, in the steps of the audit report. */
export interface Charts {
  readonly facets: {
    readonly users: readonly Facet[];
    readonly applications: readonly Facet[];
    readonly scopes: readonly Facet[];
  };
  readonly expiry: readonly Bar[];
  /** Null where no context tells the last use. */
  readonly lastUse: readonly Bar[] | null;
}

type Rows = readonly { readonly token: Token }[];

/** The charts of tokens: `forExpiry` and `forUse` are what they are chosen from by a range of that chart. */
export function chartsOf(
  { found, forExpiry, forUse }: { readonly found: Rows; readonly forExpiry: Rows; readonly forUse: Rows },
  now: Date,
): Charts {
  const tellsUse = forUse.some(({ token }) => token.lastUsed !== undefined);
  return {
    facets: {
      users: facet(found, ({ user }) => user?.username ?? null),
      applications: facet(found, ({ application }) => application?.name ?? null),
      scopes: facet(found, ({ scope }) => scope),
    },
    expiry: expiryBars(forExpiry, now),
    lastUse: tellsUse ? useBars(forUse, now) : null,
  };
}

function facet(rows: Rows, of: (token: Token) => string | null): Facet[] {
  const counts = new Map<string | null, number>();
  for (const { token } of rows) {
    const name = of(token);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Array.from(counts, ([name, count]) => ({ name, count }))
    .sort((one, other) => other.count - one.count || ((one.name ?? '') < (other.name ?? '') ? -1 : 1))
    .slice(0, MAX_FACETS);
}

/** Soonest first. */
function expiryBars(rows: Rows, now: Date): Bar[] {
  const edges = expirySteps.map(([days]) => edge(now.getTime() + days * DAY));
  const counts = countIn(rows, (token) => edges.findIndex((end) => end === null || token.expires <= end));
  return expirySteps.map(([, label], index) => ({
    ...{ from: edges[index - 1]?.toISOString() ?? null, to: edges[index]?.toISOString() ?? null, label },
    count: counts.get(index) ?? 0,
  }));
}

/** Most recent first, those that were never used last. */
function useBars(rows: Rows, now: Date): Bar[] {
  const edges = useSteps.map(([days]) => edge(now.getTime() - days * DAY));
  const counts = countIn(rows, ({ lastUsed }) =>
    lastUsed == null ? edges.length : edges.findIndex((begin) => begin === null || lastUsed > begin),
  );
  const bars = useSteps.map(([, label], index) => ({
    ...{ from: edges[index]?.toISOString() ?? null, to: edges[index - 1]?.toISOString() ?? null, label },
    count: counts.get(index) ?? 0,
  }));
  return [...bars, { from: null, to: null, label: 'never', count: counts.get(edges.length) ?? 0 }];
}

/** Null for a step that is open. */
function edge(time: number): Date | null {
  return Number.isFinite(time) ? new Date(time) : null;
}

function countIn(rows: Rows, stepOf: (token: Token) => number): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const { token } of rows) {
    const step = stepOf(token);
    counts.set(step, (counts.get(step) ?? 0) + 1);
  }
  return counts;
}
