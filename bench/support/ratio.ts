import { appendFileSync } from 'node:fs';

/** Whether only the smallest sizes are run, to see that a benchmark still works: then no goal is judged. */
const smoke = process.env['BENCH_SMOKE'] === '1';

/** What a benchmark measures with: the given size or number of rounds, or a small one in a smoke run. */
export function sized<T>(full: T, small: T): T {
  return smoke ? small : full;
}

/** One measured thing: its times in milliseconds, a run each. */
export interface Measured {
  readonly name: string;
  readonly times: readonly number[];
}

/** A ratio with its goal, as {@link judge} hands it to `npm run bench`. */
export interface Judged {
  readonly what: string;
  /** One value for each turn. */
  readonly values: readonly number[];
  readonly goal: Goal;
  readonly met: boolean;
}

/** The limit of a ratio's median. */
export type Goal = { readonly atLeast: number } | { readonly atMost: number };

/** The middle of several numbers: what a noisy machine disturbs least. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The ratio of each turn, of two things that were measured in turn. */
export function perTurn(of: readonly number[], to: readonly number[]): number[] {
  return of.map((value, turn) => value / (to[turn] ?? Number.NaN));
}

/**
 * Runs several things in turn, round after round, so that other load on the machine affects them
 * equally.
 */
export async function measureInTurn(
  rounds: number,
  things: Readonly<Record<string, () => Promise<void>>>,
): Promise<Readonly<Record<string, Measured>>> {
  const times = new Map<string, number[]>(Object.keys(things).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(things)) {
      const started = performance.now();
      await run();
      times.get(name)?.push(performance.now() - started);
    }
  }
  return Object.fromEntries([...times].map(([name, taken]) => [name, { name, times: taken }]));
}

export function goalText(goal: Goal): string {
  return 'atLeast' in goal ? `at least ${goal.atLeast}` : `at most ${goal.atMost}`;
}

/** A ratio to read: whole from 1,000 on. */
export function shown(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
}

/**
 * Prints a ratio with its goal and, where there is one value a turn, its spread; the median decides. Lets the benchmark fail
 * where the goal is missed, except in a smoke run. `npm run bench` takes the row from the file that BENCH_RESULTS names.
 */
export function judge(what: string, ratio: number | readonly number[], goal: Goal): void {
  const values = typeof ratio === 'number' ? [ratio] : ratio;
  const middle = median(values);
  const met = 'atLeast' in goal ? middle >= goal.atLeast : middle <= goal.atMost;
  const spread = values.length > 1 ? ` (${shown(Math.min(...values))} to ${shown(Math.max(...values))})` : '';
  const verdict = smoke ? 'not judged at this size' : met ? 'met' : 'MISSED';
  console.log(`${what}: ${shown(middle)}${spread} (goal: ${goalText(goal)}) ${verdict}`);
  const results = process.env['BENCH_RESULTS'];
  if (results !== undefined)
    appendFileSync(results, `${JSON.stringify({ what, values, goal, met } satisfies Judged)}\n`);
  if (!met && !smoke) process.exitCode = 1;
}
