import type { Runtime } from '../app/runtime.ts';
import { type LeaseJson, leaseRows } from '../cli/leases/lease-flow.ts';
import { endingJobText } from '../cli/leases/lease-text.ts';
import { sunsetStatus } from '../cli/sunset/sunset-flow.ts';

/** The maximum number of a controller's leases to list, those that end first. */
const MAX_LISTED = 1_000;

/** The ends that tokenctl gives a controller's tokens, and the progress of its sunsets. */
export type Lifetimes = Awaited<ReturnType<typeof lifetimesOf>>;

/** Reads {@link Lifetimes}. Throws as the log and the target. */
export async function lifetimesOf(runtime: Runtime) {
  const byEnd = (one: LeaseJson, other: LeaseJson) => Date.parse(one.until) - Date.parse(other.until);
  const open = (await leaseRows(runtime, false)).toSorted(byEnd);
  const { weeks, unknownUses } = await sunsetStatus(runtime);
  const [next] = open;
  const { context } = await runtime.description();
  return {
    open: open.length,
    overdue: open.filter(({ isOverdue }) => isOverdue).length,
    leases: open.slice(0, MAX_LISTED),
    /** Whether a job ends them, and otherwise how; null if there are none. */
    job: next === undefined ? null : await endingJobText(runtime, { context, until: new Date(next.until) }),
    weeks,
    /** Number of sunset tokens for which it is unknown whether they are in use. */
    unknownUses,
  };
}
