import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { openStateTables, type StatePlace, type StateTables } from '@tokenctl/common/db/state-tables.ts';
import type {
  Claim,
  Claimant,
  HistorySelector,
  JobStore,
  OpenTick,
  RunOutcome,
  RunRecord,
  RunState,
  RunSummary,
  SchedulerSighting,
  TickKind,
  TickName,
  TickState,
} from '../../operations/ports/scheduler.ts';
import { ledgerSchema } from './ledger-tables.ts';

/**
 * Opens the ledger: in PostgreSQL, it is the schema `tokenctl_scheduler`, and leases use the server's clock. Throws as
 * {@link openStateTables}.
 */
export async function openLedgerTables(place: StatePlace): Promise<JobStore> {
  return new Ledger(await openStateTables(place, ledgerSchema));
}

interface TickRow {
  readonly job: string;
  readonly due: number;
  readonly kind: TickKind;
  readonly state: 'running' | 'waiting';
  readonly attempt: number;
  readonly failures: number;
  readonly losses: number;
  readonly run: string;
  readonly holder: string;
  readonly lease_left: number | null;
  readonly retry_at: number | null;
}

/** A job with its open tick. The tick's columns are null if there is none. */
interface JobRow extends Partial<TickRow> {
  readonly name: string;
  /** The instant after which ticks count; null for an unregistered job that was started manually. */
  readonly position: number | null;
}

interface RunRow extends Pick<TickRow, 'job' | 'due' | 'kind' | 'attempt' | 'holder'> {
  readonly id: string;
  readonly state: RunState;
  readonly began: number;
  readonly ended: number | null;
  readonly summary: string;
}

const OPEN = sql`state IN ('running', 'waiting')`;
const RUN_COLUMNS = sql`id, job, due, kind, attempt, holder, state, began, ended, summary`;

/** How many jobs one statement registers: each has three parameters, and SQLite allows 32,766. */
const JOBS_PER_STATEMENT = 1000;

interface Asked {
  readonly jobs: Set<string>;
  /** The latest time among the callers. */
  now: Date;
  readonly answer: Promise<ReadonlyMap<string, JobRow>>;
}

/** The ledger over a database: each method is one transaction. */
class Ledger implements JobStore {
  readonly #store: StateTables;
  /** Callers waiting for the state of jobs, answered together. */
  #asked: Asked | undefined;

  constructor(store: StateTables) {
    this.#store = store;
  }

  /** If a job's schedule changed, its ticks count from now on. */
  register(jobs: readonly { readonly name: string; readonly schedule: string }[], now: Date): Promise<void> {
    return this.#store.transaction(async (queryable) => {
      for (let from = 0; from < jobs.length; from += JOBS_PER_STATEMENT) {
        const some = jobs.slice(from, from + JOBS_PER_STATEMENT);
        const rows = some.map(
          ({ name, schedule }) => sql`(${name}, ${schedule}, CAST(${now.getTime()} AS bigint))`,
        );
        await sql`INSERT INTO tokenctl_scheduler.job AS known (name, schedule, since) VALUES ${joined(rows)}
          ON CONFLICT (name) DO UPDATE SET schedule = excluded.schedule, since = excluded.since
          WHERE known.schedule <> excluded.schedule`.execute(queryable);
      }
    });
  }

  async tickState(job: string, now: Date): Promise<TickState> {
    const asked = this.#asked ?? { jobs: new Set<string>(), now, answer: this.#answer() };
    this.#asked = asked;
    asked.jobs.add(job);
    if (now > asked.now) asked.now = now;
    const row = (await asked.answer).get(job);
    if (row === undefined) return { position: now, open: null };
    const open = row.run === undefined || row.run === null ? null : openTickOf(row as TickRow);
    if (row.position === null) return { position: now, open };
    if (row.position <= now.getTime()) return { position: new Date(row.position), open };
    return { position: await this.#correctedPosition(job, now), open };
  }

  /** The states of all jobs requested before the event loop gets here: hundreds of loops wake up together. */
  async #answer(): Promise<ReadonlyMap<string, JobRow>> {
    await setImmediate();
    const { jobs, now } = this.#asked ?? { jobs: new Set<string>(), now: new Date() };
    this.#asked = undefined;
    const rows = await this.#store.transaction((queryable) => this.#selectJobs(queryable, [...jobs], now));
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** The position of a job that was registered by a clock that was ahead: its start moves back to now. */
  #correctedPosition(job: string, now: Date): Promise<Date> {
    return this.#store.transaction(async (queryable) => {
      await sql`UPDATE tokenctl_scheduler.job SET since = ${now.getTime()}
        WHERE name = ${job} AND since > ${now.getTime()}`.execute(queryable);
      const [row] = await this.#selectJobs(queryable, [job], now);
      return new Date(row?.position ?? now);
    });
  }

  /** The position and the open tick of each of these jobs. */
  async #selectJobs(queryable: Queryable, jobs: readonly string[], now: Date): Promise<readonly JobRow[]> {
    const names = jobs.map((job) => sql`(CAST(${job} AS text))`);
    const rows = await sql`WITH asked (name) AS (VALUES ${joined(names)})
      SELECT asked.name, known.since, (SELECT max(due) FROM tokenctl_scheduler.tick
          WHERE tick.job = asked.name AND kind = 'schedule' AND due <= ${now.getTime()}) AS newest,
        open.job, open.due, open.kind, open.state, open.attempt, open.failures, open.losses, open.run,
        open.holder, open.lease_until - ${this.#store.now} AS lease_left, open.retry_at
      FROM asked
      LEFT JOIN tokenctl_scheduler.job known ON known.name = asked.name
      LEFT JOIN tokenctl_scheduler.tick open
        ON open.job = asked.name AND open.${OPEN}`.rows<
      JobRow & { readonly since: number | null; readonly newest: number | null }
    >(queryable);
    return rows.map((row) => ({
      ...row,
      position: row.since === null ? null : Math.max(row.since, row.newest ?? 0),
    }));
  }

  /** When a lease granted now ends, by the ledger's clock. */
  #until(lease: number): Sql {
    return sql`${this.#store.now} + CAST(${lease} AS bigint)`;
  }

  /** Null if the tick exists or the job has an open one. */
  claim(tick: TickName & { readonly kind: TickKind }, claimant: Claimant): Promise<Claim | null> {
    const { job, due, kind } = tick;
    const { holder, lease, now } = claimant;
    const claim = { job, due, kind, run: randomUUID(), attempt: 1, failures: 0, losses: 0 };
    return this.#store.transaction(async (queryable) => {
      const isNew = await sql`INSERT INTO tokenctl_scheduler.tick
          (job, due, kind, state, attempt, run, holder, lease_until)
        VALUES (${job}, ${due.getTime()}, ${kind}, 'running', 1, ${claim.run}, ${holder}, ${this.#until(lease)})
        ON CONFLICT DO NOTHING`.touchesOne(queryable);
      if (!isNew) return null;
      await insertRun(queryable, { claim, holder, now });
      return claim;
    });
  }

  /** Reclaims a job's open tick if its lease has expired or its retry is due. */
  takeOver(job: string, { holder, lease, now, early = false }: Claimant & { early?: boolean }) {
    const due = early ? Number.MAX_SAFE_INTEGER : now.getTime();
    return this.#store.transaction(async (queryable) => {
      const [row] = await sql`UPDATE tokenctl_scheduler.tick SET attempt = attempt + 1,
          losses = losses + CASE WHEN state = 'running' THEN 1 ELSE 0 END, state = 'running',
          run = ${randomUUID()}, holder = ${holder}, lease_until = ${this.#until(lease)}, retry_at = NULL
        WHERE job = ${job} AND ((state = 'running' AND lease_until <= ${this.#store.now})
          OR (state = 'waiting' AND retry_at <= CAST(${due} AS bigint)))
        RETURNING job, due, kind, run, attempt, failures, losses`.rows<TickRow>(queryable);
      if (row === undefined) return null;
      await sql`UPDATE tokenctl_scheduler.run SET state = 'lost', ended = ${now.getTime()}
        WHERE job = ${job} AND due = ${row.due} AND attempt < ${row.attempt} AND state = 'running'`.execute(
        queryable,
      );
      const claim = { ...row, due: new Date(row.due) };
      await insertRun(queryable, { claim, holder, now });
      return claim;
    });
  }

  /** Ends a tick whose lease has expired, if its run is still the given one. */
  abandon(
    { job, due, run }: OpenTick,
    { summary, now }: { summary: RunSummary; now: Date },
  ): Promise<boolean> {
    return this.#store.transaction(async (queryable) => {
      const isOurs = await sql`UPDATE tokenctl_scheduler.tick SET state = 'failed', lease_until = NULL
        WHERE job = ${job} AND due = ${due.getTime()} AND run = ${run} AND state = 'running'
        AND lease_until <= ${this.#store.now}`.touchesOne(queryable);
      if (isOurs) await endRun(queryable, run, { state: 'lost', summary, now });
      return isOurs;
    });
  }

  skip({ job, due }: TickName, { summary, now }: { summary: RunSummary; now: Date }) {
    const claim = { job, due, kind: 'schedule', run: randomUUID(), attempt: 0 } as const;
    return this.#store.transaction(async (queryable) => {
      const isNew =
        await sql`INSERT INTO tokenctl_scheduler.tick (job, due, kind, state, attempt, run, holder)
        VALUES (${job}, ${due.getTime()}, 'schedule', 'skipped', 0, ${claim.run}, '')
        ON CONFLICT DO NOTHING`.touchesOne(queryable);
      if (isNew) await insertRun(queryable, { claim, holder: '', now, skipped: summary });
    });
  }

  /** False if the claim is not the newest. */
  renew({ job, due, attempt }: Claim, lease: number): Promise<boolean> {
    return this.#store.transaction((queryable) =>
      sql`UPDATE tokenctl_scheduler.tick SET lease_until = ${this.#until(lease)}
        WHERE job = ${job} AND due = ${due.getTime()} AND attempt = ${attempt}
        AND state = 'running'`.touchesOne(queryable),
    );
  }

  end(claim: Claim, { state, retryAt, summary, now }: RunOutcome): Promise<boolean> {
    const { job, due, attempt, run } = claim;
    const next = retryAt !== null ? 'waiting' : state === 'completed' ? 'completed' : 'failed';
    return this.#store.transaction(async (queryable) => {
      const isNewest = await sql`UPDATE tokenctl_scheduler.tick
        SET state = ${next}, failures = failures + CAST(${state === 'failed' ? 1 : 0} AS integer),
          retry_at = CAST(${retryAt?.getTime() ?? null} AS bigint), lease_until = NULL
        WHERE job = ${job} AND due = ${due.getTime()} AND attempt = ${attempt}
        AND state = 'running'`.touchesOne(queryable);
      if (isNewest) {
        await endRun(queryable, run, { state, summary, now });
        return true;
      }
      // If a response was lost, this is the second attempt: the run ended correctly.
      const [ended] = await sql`SELECT state FROM tokenctl_scheduler.run
        WHERE id = ${run}`.rows<{ state: RunState }>(queryable);
      return ended?.state === state;
    });
  }

  history({ job, states = [], limit }: HistorySelector): Promise<readonly RunRecord[]> {
    const ofStates =
      states.length === 0 ? sql`` : sql`AND state IN (${joined(states.map((state) => sql`${state}`))})`;
    return this.#store.transaction(async (queryable) => {
      const rows = await sql`SELECT ${RUN_COLUMNS} FROM tokenctl_scheduler.run
        WHERE (CAST(${job ?? null} AS text) IS NULL OR job = ${job ?? null}) ${ofStates}
        ORDER BY began DESC, due DESC, attempt DESC LIMIT ${limit}`.rows<RunRow>(queryable);
      return rows.map(runOf);
    });
  }

  run(id: string): Promise<RunRecord | null> {
    return this.#store.transaction(async (queryable) => {
      // Two rows mean that the id's prefix is ambiguous.
      const [row, another] = await sql`SELECT ${RUN_COLUMNS} FROM tokenctl_scheduler.run
        WHERE substr(id, 1, CAST(${id.length} AS integer)) = ${id} LIMIT 2`.rows<RunRow>(queryable);
      return row === undefined || another !== undefined ? null : runOf(row);
    });
  }

  lastSuccesses(): Promise<ReadonlyMap<string, Date>> {
    return this.#store.transaction(async (queryable) => {
      const rows = await sql`SELECT job, max(ended) AS at FROM tokenctl_scheduler.run
        WHERE state = 'completed' GROUP BY job`.rows<{ job: string; at: number }>(queryable);
      return new Map(rows.map(({ job, at }) => [job, new Date(at)]));
    });
  }

  beat(holder: string, aliveMs: number): Promise<void> {
    const { now } = this.#store;
    return this.#store.transaction(async (queryable) => {
      await sql`INSERT INTO tokenctl_scheduler.scheduler (holder, seen, alive_until)
        VALUES (${holder}, ${now}, ${this.#until(aliveMs)})
        ON CONFLICT (holder) DO UPDATE SET seen = excluded.seen, alive_until = excluded.alive_until`.execute(
        queryable,
      );
      await sql`DELETE FROM tokenctl_scheduler.scheduler WHERE alive_until <= ${now} AND holder <> ${holder}`.execute(
        queryable,
      );
    });
  }

  /** A heartbeat later than now is from before the ledger's clock was set back, so it does not count. */
  sighting(): Promise<SchedulerSighting> {
    const { now } = this.#store;
    return this.#store.transaction(async (queryable) => {
      const [row] = await sql`SELECT max(seen) AS last, ${now} AS now,
          coalesce(sum(CASE WHEN seen <= ${now} AND alive_until > ${now} THEN 1 ELSE 0 END), 0) AS alive
        FROM tokenctl_scheduler.scheduler`.rows<{ last: number | null; now: number; alive: number }>(
        queryable,
      );
      const { last = null, now: time = 0, alive = 0 } = row ?? {};
      return { running: Number(alive) > 0, lastSeen: last === null ? null : new Date(Math.min(last, time)) };
    });
  }

  /** The newest tick of each job is kept: it marks the job's position. */
  forget(before: Date): Promise<void> {
    return this.#store.transaction(async (queryable) => {
      await sql`DELETE FROM tokenctl_scheduler.run WHERE ended < ${before.getTime()}`.execute(queryable);
      await sql`DELETE FROM tokenctl_scheduler.tick WHERE due < ${before.getTime()} AND NOT (${OPEN}) AND due < (
         SELECT max(later.due) FROM tokenctl_scheduler.tick AS later
         WHERE later.job = tick.job AND later.kind = 'schedule')`.execute(queryable);
    });
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

/** Stores a run that starts now or is skipped. */
async function insertRun(
  queryable: Queryable,
  begun: {
    readonly claim: Pick<Claim, 'job' | 'due' | 'kind' | 'run' | 'attempt'>;
    readonly holder: string;
    readonly now: Date;
    readonly skipped?: RunSummary;
  },
): Promise<void> {
  const { claim, holder, now, skipped } = begun;
  const { run, job, due, kind, attempt } = claim;
  const [state, ended] = skipped === undefined ? ['running', null] : ['skipped', now.getTime()];
  await sql`INSERT INTO tokenctl_scheduler.run (${RUN_COLUMNS})
    VALUES (${run}, ${job}, ${due.getTime()}, ${kind}, ${attempt}, ${holder}, ${state},
      ${now.getTime()}, ${ended}, ${JSON.stringify(skipped ?? {})})`.execute(queryable);
}

async function endRun(
  queryable: Queryable,
  run: string,
  { state, summary, now }: Pick<RunRecord, 'state' | 'summary'> & { now: Date },
): Promise<void> {
  await sql`UPDATE tokenctl_scheduler.run SET state = ${state}, ended = ${now.getTime()},
    summary = ${JSON.stringify(summary)} WHERE id = ${run} AND state = 'running'`.execute(queryable);
}

function openTickOf(row: TickRow): OpenTick {
  const { job, due, kind, run, holder, state, lease_left, retry_at, losses } = row;
  return {
    ...{ job, due: new Date(due), kind, run, holder, state, losses },
    leaseLeft: lease_left ?? 0,
    retryAt: retry_at === null ? null : new Date(retry_at),
  };
}

/** A stored run in the form of the history. */
function runOf({ id, due, began, ended, summary, ...row }: RunRow): RunRecord {
  const { job, kind, attempt, holder, state } = row;
  return {
    ...{ run: id, job, due: new Date(due), kind, attempt, holder, state },
    began: new Date(began),
    ended: ended === null ? null : new Date(ended),
    summary: JSON.parse(summary) as RunSummary,
  };
}
