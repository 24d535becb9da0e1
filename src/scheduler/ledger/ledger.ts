import { randomUUID } from 'node:crypto';
import type { Queryable } from '../../db/database.ts';
import type {
  Claim,
  Claimant,
  Ending,
  HistorySelector,
  OpenTick,
  RunRecord,
  RunSummary,
  Standing,
  TickClaims,
  TickKind,
  TickName,
} from '../../operations/ports/scheduler.ts';
import * as queries from './queries.ts';
import { claimOf, openTickOf, runOf } from './rows.ts';
import * as runs from './run-queries.ts';
import type { LedgerStore } from './store.ts';

const NOTHING = '{}';

/** The ledger over a database: each method is one transaction. */
export class Ledger implements TickClaims {
  readonly #store: LedgerStore;

  constructor(store: LedgerStore) {
    this.#store = store;
  }

  register(jobs: readonly { readonly name: string; readonly schedule: string }[], now: Date): Promise<void> {
    return this.#store.transaction(async (queryable) => {
      for (const { name, schedule } of jobs) {
        await queries.upsertJob(queryable, { name, schedule, now: now.getTime() });
      }
    });
  }

  standing(job: string, now: Date): Promise<Standing> {
    return this.#store.transaction(async (queryable) => {
      const position = await this.#position(queryable, { job, now: now.getTime() });
      const open = await queries.selectOpenTick(queryable, { job, clock: this.#store.now });
      return {
        position: position === null ? now : new Date(position),
        open: open === undefined ? null : openTickOf(open),
      };
    });
  }

  async #position(
    queryable: Queryable,
    at: { readonly job: string; readonly now: number },
  ): Promise<number | null> {
    const position = await queries.selectPosition(queryable, at);
    if (position === null || position <= at.now) return position;
    await queries.correctSince(queryable, at);
    return await queries.selectPosition(queryable, at);
  }

  claim(tick: TickName & { readonly kind: TickKind }, claimant: Claimant): Promise<Claim | null> {
    const { job, due, kind } = tick;
    const { holder, lease, now } = claimant;
    const run = randomUUID();
    const stored = { job, due: due.getTime(), kind, run, holder };
    return this.#store.transaction(async (queryable) => {
      if (!(await queries.insertTick(queryable, { ...stored, lease, clock: this.#store.now }))) return null;
      const claim = { job, due, kind, run, attempt: 1, failures: 0, losses: 0 };
      await runs.insertRun(queryable, began(stored, { attempt: 1, now }));
      return claim;
    });
  }

  takeOver(
    job: string,
    { holder, lease, now, early = false }: Claimant & { readonly early?: boolean },
  ): Promise<Claim | null> {
    const run = randomUUID();
    return this.#store.transaction(async (queryable) => {
      const due = early ? Number.MAX_SAFE_INTEGER : now.getTime();
      const retake = { job, run, holder, lease, due, clock: this.#store.now };
      const row = await queries.retakeTick(queryable, retake);
      if (row === undefined) return null;
      await runs.loseRuns(queryable, { ...row, now: now.getTime() });
      await runs.insertRun(queryable, began(row, { attempt: row.attempt, now }));
      return claimOf(row);
    });
  }

  giveUp(
    tick: OpenTick,
    { summary, now }: { readonly summary: RunSummary; readonly now: Date },
  ): Promise<boolean> {
    const { job, due, run } = tick;
    return this.#store.transaction(async (queryable) => {
      const abandoned = { job, due: due.getTime(), run, clock: this.#store.now };
      if (!(await queries.abandonTick(queryable, abandoned))) return false;
      await runs.settleRun(queryable, {
        id: run,
        state: 'lost',
        now: now.getTime(),
        summary: JSON.stringify(summary),
      });
      return true;
    });
  }

  passOver(
    tick: TickName,
    { summary, now }: { readonly summary: RunSummary; readonly now: Date },
  ): Promise<void> {
    const run = randomUUID();
    const stored = { job: tick.job, due: tick.due.getTime(), kind: 'schedule', run, holder: '' } as const;
    return this.#store.transaction(async (queryable) => {
      if (!(await queries.insertPassedOver(queryable, stored))) return;
      await runs.insertRun(queryable, {
        ...began(stored, { attempt: 0, now }),
        state: 'passed_over',
        ended: now.getTime(),
        summary: JSON.stringify(summary),
      });
    });
  }

  renew({ job, due, attempt }: Claim, lease: number): Promise<boolean> {
    const extended = { job, due: due.getTime(), attempt, lease, clock: this.#store.now };
    return this.#store.transaction((queryable) => queries.extendLease(queryable, extended));
  }

  end(claim: Claim, { state, retryAt, summary, now }: Ending): Promise<boolean> {
    const { job, due, attempt, run } = claim;
    return this.#store.transaction(async (queryable) => {
      const settled = await queries.settleTick(queryable, {
        job,
        due: due.getTime(),
        attempt,
        state: retryAt !== null ? 'waiting' : state === 'completed' ? 'completed' : 'failed',
        failures: state === 'failed' ? 1 : 0,
        retryAt: retryAt?.getTime() ?? null,
      });
      // An answer that was lost on its way makes this the second time: then the run ended as it should.
      if (!settled) return (await runs.selectRunState(queryable, run)) === state;
      await runs.settleRun(queryable, {
        id: run,
        state,
        now: now.getTime(),
        summary: JSON.stringify(summary),
      });
      return true;
    });
  }

  history({ job, states = [], limit }: HistorySelector): Promise<readonly RunRecord[]> {
    return this.#store.transaction(async (queryable) =>
      (await runs.selectRuns(queryable, { job: job ?? null, states, limit })).map(runOf),
    );
  }

  run(id: string): Promise<RunRecord | null> {
    return this.#store.transaction(async (queryable) => {
      const [row, another] = await runs.selectRunsById(queryable, id);
      return row === undefined || another !== undefined ? null : runOf(row);
    });
  }

  lastSuccesses(): Promise<ReadonlyMap<string, Date>> {
    return this.#store.transaction(async (queryable) => {
      const rows = await runs.selectLastSuccesses(queryable);
      return new Map(rows.map(({ job, at }) => [job, new Date(at)]));
    });
  }

  forget(before: Date): Promise<void> {
    return this.#store.transaction(async (queryable) => {
      await runs.deleteRuns(queryable, before.getTime());
      await queries.deleteTicks(queryable, before.getTime());
    });
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

/** A run at its beginning. */
function began(
  tick: queries.NewTick,
  { attempt, now }: { readonly attempt: number; readonly now: Date },
): runs.RunRow {
  const { job, due, kind, run, holder } = tick;
  const began = now.getTime();
  return { id: run, job, due, kind, attempt, holder, state: 'running', began, ended: null, summary: NOTHING };
}
