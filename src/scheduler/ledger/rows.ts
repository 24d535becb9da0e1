import type { Claim, OpenTick, RunRecord, RunSummary } from '../../operations/ports/scheduler.ts';
import type { TickRow } from './queries.ts';
import type { RunRow } from './run-queries.ts';

/** A stored tick as the claim that its newest run is. */
export function claimOf({ job, due, kind, run, attempt, failures, losses }: TickRow): Claim {
  return { job, due: new Date(due), kind, run, attempt, failures, losses };
}

/** A stored tick as an open one. */
export function openTickOf(row: TickRow): OpenTick {
  const { job, due, kind, run, holder, state, lease_left, retry_at, losses } = row;
  return {
    job,
    due: new Date(due),
    kind,
    run,
    holder,
    state,
    leaseLeft: lease_left ?? 0,
    retryAt: retry_at === null ? null : new Date(retry_at),
    losses,
  };
}

/** A stored run as the history shows it. */
export function runOf(row: RunRow): RunRecord {
  const { id, job, due, kind, attempt, holder, state, began, ended, summary } = row;
  return {
    run: id,
    job,
    due: new Date(due),
    kind,
    attempt,
    holder,
    state,
    began: new Date(began),
    ended: ended === null ? null : new Date(ended),
    summary: JSON.parse(summary) as RunSummary,
  };
}
