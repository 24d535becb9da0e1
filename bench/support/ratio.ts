/** One measured thing: its times in milliseconds, a run each. */
export interface Measured {
  readonly name: string;
  readonly times: readonly number[];
}

/** The middle of several numbers: what a noisy machine disturbs least. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
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

/** Prints a ratio with its goal, and lets the benchmark fail where the goal is missed. */
export function judge(
  what: string,
  ratio: number,
  goal: { readonly atLeast: number } | { readonly atMost: number },
): void {
  const [word, limit] = 'atLeast' in goal ? ['at least', goal.atLeast] : ['at most', goal.atMost];
  const met = 'atLeast' in goal ? ratio >= limit : ratio <= limit;
  console.log(`${what}: ${ratio.toFixed(2)} (goal: ${word} ${limit}) ${met ? 'met' : 'MISSED'}`);
  if (!met) process.exitCode = 1;
}
