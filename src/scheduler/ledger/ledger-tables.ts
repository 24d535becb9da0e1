import type { StateSchema } from '@tokenctl/common/db/state-tables.ts';

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
/** The schedulers, and until when each counts as running, on the ledger's clock. */
const CREATE_SCHEDULER = `CREATE TABLE tokenctl_scheduler.scheduler (
     holder text PRIMARY KEY,
     seen bigint NOT NULL,
     alive_until bigint NOT NULL)`;
const CREATE_TABLES: readonly string[] = [
  `CREATE TABLE tokenctl_scheduler.job (
     name text PRIMARY KEY,
     schedule text NOT NULL,
     since bigint NOT NULL)`,
  CREATE_TICK,
  CREATE_RUN,
  CREATE_SCHEDULER,
];

/** Version 1 had other names for a state and a kind: `passed_over` and `by_hand`. */
const NEW_KIND = "CASE kind WHEN 'by_hand' THEN 'manual' ELSE kind END";
const NEW_STATE = "CASE state WHEN 'passed_over' THEN 'skipped' ELSE state END";
const MIGRATE_FROM_1: readonly string[] = [
  CREATE_SCHEDULER,
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

/** PostgreSQL and SQLite qualify index names in different places. */
const INDEXES = [
  { name: 'open_tick', unique: true, on: "tick (job) WHERE state IN ('running', 'waiting')" },
  { name: 'run_of_tick', unique: false, on: 'run (job, due)' },
  { name: 'run_completed', unique: false, on: "run (job, ended) WHERE state = 'completed'" },
  { name: 'run_began', unique: false, on: 'run (began)' },
] as const;

/** How the ledger's tables are created and migrated. */
export const ledgerSchema: StateSchema = {
  name: 'tokenctl_scheduler',
  what: "scheduler's ledger",
  setting: 'scheduler.ledger',
  docs: 'jobs',
  lock: 'ledgerSchema',
  version: 3,
  newer: {
    subject: "The scheduler's ledger",
    hint: 'Use the tokenctl version that wrote the ledger, or a later one.',
  },
  async create(queryable, { from, addIndex }) {
    const statements = from === null ? CREATE_TABLES : from === 1 ? MIGRATE_FROM_1 : [CREATE_SCHEDULER];
    for (const statement of statements) await queryable.execute(statement);
    // Version 2 has the indexes.
    for (const index of from === 2 ? [] : INDEXES) await addIndex(index);
  },
};
