import { performance } from 'node:perf_hooks';

/** Something that a scenario needs and an installation may lack. */
export interface Need<Place> {
  /** Why it is lacking there, as an end of "Left out: …"; null where it is not. */
  readonly lack: (place: Place) => string | null;
}

/** One behavior: it throws if the installation or tokenctl behaves otherwise. A text that it gives is said in the report. */
interface Scenario<Place> {
  readonly name: string;
  readonly needs?: readonly Need<Place>[];
  readonly run: (place: Place) => Promise<unknown>;
}

/** Scenarios about one subject, which run in their order. */
export interface Suite<Place> {
  readonly name: string;
  readonly needs: readonly Need<Place>[];
  readonly scenarios: readonly Scenario<Place>[];
}

/** Thrown by a scenario that finds out on the way that the installation lacks something. */
export class LeftOut extends Error {}

/** What became of a scenario. */
export interface Outcome {
  readonly suite: string;
  readonly scenario: string;
  readonly state: 'passed' | 'failed' | 'left out';
  /** Why it failed or was left out; what a scenario that passed has to say, or null. */
  readonly why: string | null;
  readonly seconds: number;
}

/** What is lacking for a scenario, or null. */
export function lackOf<Place>(place: Place, needs: readonly Need<Place>[]): string | null {
  const lacks = needs.map(({ lack }) => lack(place)).filter((lack) => lack !== null);
  return lacks.length === 0 ? null : [...new Set(lacks)].join('; ');
}

/** Runs all scenarios that have what they need, one after the other, until `isStopped`. */
export async function runSuites<Place>(
  place: Place,
  suites: readonly Suite<Place>[],
  { say, isStopped }: { say: (outcome: Outcome) => void; isStopped: () => boolean },
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const suite of suites) {
    for (const scenario of suite.scenarios) {
      if (isStopped()) return outcomes;
      const began = performance.now();
      const { state, why } = await outcomeOf(place, suite, scenario);
      const seconds = (performance.now() - began) / 1000;
      const outcome = { suite: suite.name, scenario: scenario.name, state, why, seconds };
      outcomes.push(outcome);
      say(outcome);
    }
  }
  return outcomes;
}

async function outcomeOf<Place>(
  place: Place,
  suite: Suite<Place>,
  scenario: Scenario<Place>,
): Promise<Pick<Outcome, 'state' | 'why'>> {
  const lack = lackOf(place, [...suite.needs, ...(scenario.needs ?? [])]);
  if (lack !== null) return { state: 'left out', why: lack };
  try {
    const said = await scenario.run(place);
    return { state: 'passed', why: typeof said === 'string' ? said : null };
  } catch (error) {
    if (error instanceof LeftOut) return { state: 'left out', why: error.message };
    return { state: 'failed', why: error instanceof Error ? error.message : String(error) };
  }
}

/** A line of a scenario while the tests run. */
export function lineOf({ state, scenario, why, seconds }: Outcome): string {
  const line = `  ${state.padEnd(8)}  ${scenario} (${seconds.toFixed(1)} s)`;
  if (state === 'left out') return `  ${state.padEnd(8)}  ${scenario}`;
  return why === null ? line : `${line}\n${indented(why)}`;
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `            ${line}`)
    .join('\n');
}

/** The end of a report: what failed, what was left out for lack of what, and how many passed. */
export function summaryOf(outcomes: readonly Outcome[]): string {
  const of = (state: Outcome['state']) => outcomes.filter((outcome) => outcome.state === state);
  const [passed, failed, left] = [of('passed'), of('failed'), of('left out')];
  const lines: string[] = [];
  if (left.length > 0) {
    lines.push('Left out, and so not tested:');
    const reasons = Map.groupBy(left, ({ suite, why }) => `${suite}: ${why}`);
    for (const [reason, each] of reasons) lines.push(`  ${reason} (${count(each.length, 'test')})`);
  }
  if (failed.length > 0) {
    lines.push('Failed:', ...failed.map(({ suite, scenario }) => `  ${suite}: ${scenario}`));
  }
  lines.push(`${passed.length} passed, ${failed.length} failed, ${left.length} left out.`);
  return lines.join('\n');
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
