import type { Runtime } from '../app/runtime.ts';
import { type LeaseJson, leaseRows } from '../cli/leases/lease-flow.ts';
import { endingJobText } from '../cli/leases/lease-text.ts';
import { sunsetStatus } from '../cli/sunset/sunset-flow.ts';

/** The leases that the page can list, of one controller: those that end first. */
const MAX_LISTED = 1_000;

/** The ends that tokenctl gives the tokens of a controller, and what is left of its sunsets. */
export type Lifetimes = Awaited<ReturnType<typeof lifetimesOf>>;

/**
 * Reads {@link Lifetimes}.
 *
 * @throws TokenctlError as the log and the target.
 */
export async function lifetimesOf(runtime: Runtime) {
  const byEnd = (one: LeaseJson, other: LeaseJson) => Date.parse(one.until) - Date.parse(other.until);
  const open = (await leaseRows(runtime, false)).toSorted(byEnd);
  const { weeks, unknownUses } = await sunsetStatus(runtime);
  const [next] = open;
  const { context } = await runtime.description();
  return {
    at: (await runtime.targetClock()).now(),
    open: open.length,
    overdue: open.filter(({ isOverdue }) => isOverdue).length,
    leases: open.slice(0, MAX_LISTED),
    /** Whether a job ends them, and otherwise how; null without any. */
    job: next === undefined ? null : await endingJobText(runtime, { context, until: new Date(next.until) }),
    weeks,
    /** Of how many tokens of sunsets it is not known whether they are in use. */
    unknownUses,
  };
}
