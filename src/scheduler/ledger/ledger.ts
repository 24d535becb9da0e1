import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Queryable } from '../../db/database.ts';
import {
  openStateDatabase,
  openStateFile,
  type StateDatabaseOptions,
  type StateSchema,
  type StateTables,
} from '../../db/state-tables.ts';
import { TokenctlError } from '../../domain/errors.ts';
import type {
  Claim,
  Claimant,
  HistorySelector,
  JobStore,
  OpenTick,
  RunOutcome,
  RunRecord,
  RunSummary,
  TickKind,
  TickName,
  TickState,
} from '../../operations/ports/scheduler.ts';
import type { RunRow, TickRow } from './queries.ts';
import * as queries from './queries.ts';

const EMPTY_SUMMARY = '{}';

interface Asked {
  readonly jobs: Set<string>;
  /** The latest time of those who ask. */
  now: Date;
  readonly answer: Promise<ReadonlyMap<string, queries.JobRow>>;
}

/** The ledger over a database: each method is one transaction. */
class Ledger implements JobStore {
  readonly #store: StateTables;
  /** Questions for the state of jobs that are answered together, and their answer. */
  #asked: Asked | undefined;

  constructor(store: StateTables) {
    this.#store = store;
  }

  register(jobs: readonly { readonly name: string; readonly schedule: string }[], now: Date): Promise<void> {
    return this.#store.transaction((queryable) => queries.upsertJobs(queryable, jobs, now.getTime()));
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

  /** The states of all jobs that are asked for until the event loop gets here: hundreds of loops wake up together. */
  async #answer(): Promise<ReadonlyMap<string, queries.JobRow>> {
    await setImmediate();
    const { jobs, now } = this.#asked ?? { jobs: new Set<string>(), now: new Date() };
    this.#asked = undefined;
    const rows = await this.#store.transaction((queryable) =>
      queries.selectJobs(queryable, { jobs: [...jobs], now: now.getTime(), clock: this.#store.now }),
    );
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** The position of a job that was registered by a clock that was ahead. */
  #correctedPosition(job: string, now: Date): Promise<Date> {
    return this.#store.transaction(async (queryable) => {
      const at = { job, now: now.getTime() };
      await queries.correctSince(queryable, at);
      const [row] = await queries.selectJobs(queryable, { jobs: [job], now: at.now, clock: this.#store.now });
      return new Date(row?.position ?? now);
    });
  }

  claim(tick: TickName & { readonly kind: TickKind }, claimant: Claimant): Promise<Claim | null> {
    const { job, due, kind } = tick;
    const { holder, lease, now } = claimant;
    const run = randomUUID();
    const stored = { job, due: due.getTime(), kind, run, holder };
    return this.#store.transaction(async (queryable) => {
      if (!(await queries.insertTick(queryable, { ...stored, lease, clock: this.#store.now }))) return null;
      const claim = { job, due, kind, run, attempt: 1, failures: 0, losses: 0 };
      await queries.insertRun(queryable, began(stored, { attempt: 1, now }));
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
      await queries.markRunsLost(queryable, { ...row, now: now.getTime() });
      await queries.insertRun(queryable, began(row, { attempt: row.attempt, now }));
      return claimOf(row);
    });
  }

  abandon(
    tick: OpenTick,
    { summary, now }: { readonly summary: RunSummary; readonly now: Date },
  ): Promise<boolean> {
    const { job, due, run } = tick;
    return this.#store.transaction(async (queryable) => {
      const abandoned = { job, due: due.getTime(), run, clock: this.#store.now };
      if (!(await queries.endAbandonedTick(queryable, abandoned))) return false;
      await queries.settleRun(queryable, {
        id: run,
        state: 'lost',
        now: now.getTime(),
        summary: JSON.stringify(summary),
      });
      return true;
    });
  }

  skip(
    tick: TickName,
    { summary, now }: { readonly summary: RunSummary; readonly now: Date },
  ): Promise<void> {
    const run = randomUUID();
    const stored = { job: tick.job, due: tick.due.getTime(), kind: 'schedule', run, holder: '' } as const;
    return this.#store.transaction(async (queryable) => {
      if (!(await queries.insertSkipped(queryable, stored))) return;
      await queries.insertRun(queryable, {
        ...began(stored, { attempt: 0, now }),
        state: 'skipped',
        ended: now.getTime(),
        summary: JSON.stringify(summary),
      });
    });
  }

  renew({ job, due, attempt }: Claim, lease: number): Promise<boolean> {
    const extended = { job, due: due.getTime(), attempt, lease, clock: this.#store.now };
    return this.#store.transaction((queryable) => queries.extendLease(queryable, extended));
  }

  end(claim: Claim, { state, retryAt, summary, now }: RunOutcome): Promise<boolean> {
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
      if (!settled) return (await queries.selectRunState(queryable, run)) === state;
      await queries.settleRun(queryable, {
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
      (await queries.selectRuns(queryable, { job: job ?? null, states, limit })).map(runOf),
    );
  }

  run(id: string): Promise<RunRecord | null> {
    return this.#store.transaction(async (queryable) => {
      const [row, another] = await queries.selectRunsById(queryable, id);
      return row === undefined || another !== undefined ? null : runOf(row);
    });
  }

  lastSuccesses(): Promise<ReadonlyMap<string, Date>> {
    return this.#store.transaction(async (queryable) => {
      const rows = await queries.selectLastSuccesses(queryable);
      return new Map(rows.map(({ job, at }) => [job, new Date(at)]));
    });
  }

  forget(before: Date): Promise<void> {
    return this.#store.transaction(async (queryable) => {
      await queries.deleteRuns(queryable, before.getTime());
      await queries.deleteTicks(queryable, before.getTime());
    });
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

function began(
  tick: queries.NewTick,
  { attempt, now }: { readonly attempt: number; readonly now: Date },
): queries.RunRow {
  const { job, due, kind, run, holder } = tick;
  const began = now.getTime();
  return {
    id: run,
    job,
    due,
    kind,
    attempt,
    holder,
    state: 'running',
    began,
    ended: null,
    summary: EMPTY_SUMMARY,
  };
}

/** A stored tick as the claim that its newest run is. */
function claimOf({ job, due, kind, run, attempt, failures, losses }: TickRow): Claim {
  return { job, due: new Date(due), kind, run, attempt, failures, losses };
}

function openTickOf(row: TickRow): OpenTick {
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
function runOf(row: RunRow): RunRecord {
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

/** The version of the tables below. A newer ledger is rejected. */
const LEDGER_VERSION = 2;

/**
 * The ledger's tables, in SQL that PostgreSQL and SQLite share. Instants are milliseconds since 1970, UTC:
 * `due`, `began`, `ended`, `since` and `retry_at` on the scheduler's clock, `lease_until` on the ledger's.
 *
 * The index `open_tick` prevents overlapping runs: a second open tick of a job cannot be stored.
 */
const CREATE_TICK = `CREATE TABLE tokenctl_scheduler.tick (
     job text NOT NULL,
     due bigint NOT NULL,
     kind text NOT NULL CHECK (kind IN ('schedule', 'manual')),
     state text NOT NULL CHECK (state IN ('running', 'waiting', 'completed', 'failed', 'skipped')),
     attempt integer NOT NULL,
     failures integer NOT NULL DEFAULT 0,
     losses integer NOT NULL DEFAULT 0,
     run text NOT NULL,
     holder text NOT NULL,
     lease_until bigint,
     retry_at bigint,
     PRIMARY KEY (job, due))`;
const CREATE_RUN = `CREATE TABLE tokenctl_scheduler.run (
     id text PRIMARY KEY,
     job text NOT NULL,
     due bigint NOT NULL,
     kind text NOT NULL,
     attempt integer NOT NULL,
     holder text NOT NULL,
     state text NOT NULL
       CHECK (state IN ('running', 'completed', 'failed', 'interrupted', 'lost', 'skipped')),
     began bigint NOT NULL,
     ended bigint,
     summary text NOT NULL)`;
const CREATE_TABLES: readonly string[] = [
  'CREATE TABLE tokenctl_scheduler.version (number integer NOT NULL)',
  `CREATE TABLE tokenctl_scheduler.job (
     name text PRIMARY KEY,
     schedule text NOT NULL,
     since bigint NOT NULL)`,
  CREATE_TICK,
  CREATE_RUN,
];

/** Version 1 had other names for a state and a kind: `passed_over` and `by_hand`. */
const NEW_KIND = "CASE kind WHEN 'by_hand' THEN 'manual' ELSE kind END";
const NEW_STATE = "CASE state WHEN 'passed_over' THEN 'skipped' ELSE state END";
const MIGRATE_FROM_1: readonly string[] = [
  'ALTER TABLE tokenctl_scheduler.tick RENAME TO tick_1',
  'ALTER TABLE tokenctl_scheduler.run RENAME TO run_1',
  CREATE_TICK,
  CREATE_RUN,
  `INSERT INTO tokenctl_scheduler.tick (job, due, kind, state, attempt, failures, losses, run, holder, lease_until, retry_at)
   SELECT job, due, ${NEW_KIND}, ${NEW_STATE}, attempt, failures, losses, run, holder, lease_until, retry_at
   FROM tokenctl_scheduler.tick_1`,
  `INSERT INTO tokenctl_scheduler.run (id, job, due, kind, attempt, holder, state, began, ended, summary)
   SELECT id, job, due, ${NEW_KIND}, attempt, holder, ${NEW_STATE}, began, ended, summary
   FROM tokenctl_scheduler.run_1`,
  'DROP TABLE tokenctl_scheduler.tick_1',
  'DROP TABLE tokenctl_scheduler.run_1',
];

/** PostgreSQL and SQLite qualify the names of indexes in different places. */
const INDEXES = [
  { name: 'open_tick', unique: true, on: "tick (job) WHERE state IN ('running', 'waiting')" },
  { name: 'run_of_tick', unique: false, on: 'run (job, due)' },
  { name: 'run_completed', unique: false, on: "run (job, ended) WHERE state = 'completed'" },
  { name: 'run_began', unique: false, on: 'run (began)' },
] as const;

/** The ledger's tables. */
const ledgerSchema: StateSchema = {
  name: 'tokenctl_scheduler',
  what: "scheduler's ledger",
  setting: 'scheduler.ledger',
  docs: 'docs/jobs.md',
  lock: 'ledgerSchema',
  async create(queryable, { exist, indexStatement }) {
    if (exist && (await ledgerVersion(queryable)) === LEDGER_VERSION) return;
    for (const statement of exist ? MIGRATE_FROM_1 : CREATE_TABLES) await queryable.execute(statement);
    for (const index of INDEXES) await queryable.execute(indexStatement(index));
    await queryable.execute('DELETE FROM tokenctl_scheduler.version');
    await queryable.execute('INSERT INTO tokenctl_scheduler.version (number) VALUES ($1)', [LEDGER_VERSION]);
  },
};

/** The version of an existing ledger: the current one, or an older one that can be migrated. */
async function ledgerVersion(queryable: Queryable): Promise<number> {
  const [row] = await queryable.query<{ number: number }>('SELECT number FROM tokenctl_scheduler.version');
  const version = row?.number ?? 0;
  if (version === 1 || version === LEDGER_VERSION) return version;
  throw new TokenctlError(
    'configuration',
    `The scheduler's ledger has version ${version}; this program supports version ${LEDGER_VERSION}`,
    { hint: 'Use the version of tokenctl that wrote the ledger, or a newer one.' },
  );
}

/**
 * Opens the ledger in an SQLite file, for any number of processes on one machine. Creates the file and its
 * folder if they are missing.
 *
 * @throws TokenctlError `database_unreachable` if the file cannot be opened or is not a ledger,
 * `configuration` if it is newer than the program.
 */
export async function openFileLedger(path: string): Promise<JobStore> {
  return new Ledger(await openStateFile(path, ledgerSchema));
}

/**
 * Opens the ledger in PostgreSQL, for replicas on several machines. Creates the schema `tokenctl_scheduler`
 * if it is missing. Leases use the server's clock.
 *
 * @throws TokenctlError `database_unreachable`, `configuration` if the ledger is newer than the program,
 * `permission_refused` if the role may not create the schema, `busy` if another process does not finish
 * creating it.
 */
export async function openPostgresLedger(options: StateDatabaseOptions): Promise<JobStore> {
  return new Ledger(await openStateDatabase(options, ledgerSchema));
}
