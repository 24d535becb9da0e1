/** The version of the tables below. A ledger of a higher one is refused. */
export const LEDGER_VERSION = 1;

/** Makes the ledger's schema in PostgreSQL; in SQLite the attached file stands for it. */
export const MAKE_SCHEMA = 'CREATE SCHEMA IF NOT EXISTS tokenctl_scheduler';

/**
 * The ledger's tables, in words that PostgreSQL and SQLite share. Instants are milliseconds since 1970, UTC:
 * `due`, `began`, `ended`, `since` and `retry_at` on the scheduler's clock, `lease_until` on the ledger's.
 *
 * `open_tick` is what keeps two runs of one job apart: whatever replicas believe, a second open tick of a
 * job cannot be stored.
 */
export const MAKE_TABLES: readonly string[] = [
  'CREATE TABLE tokenctl_scheduler.version (number integer NOT NULL)',
  `CREATE TABLE tokenctl_scheduler.job (
     name text PRIMARY KEY,
     schedule text NOT NULL,
     since bigint NOT NULL)`,
  `CREATE TABLE tokenctl_scheduler.tick (
     job text NOT NULL,
     due bigint NOT NULL,
     kind text NOT NULL CHECK (kind IN ('schedule', 'by_hand')),
     state text NOT NULL CHECK (state IN ('running', 'waiting', 'completed', 'failed', 'passed_over')),
     attempt integer NOT NULL,
     failures integer NOT NULL DEFAULT 0,
     losses integer NOT NULL DEFAULT 0,
     run text NOT NULL,
     holder text NOT NULL,
     lease_until bigint,
     retry_at bigint,
     PRIMARY KEY (job, due))`,
  `CREATE TABLE tokenctl_scheduler.run (
     id text PRIMARY KEY,
     job text NOT NULL,
     due bigint NOT NULL,
     kind text NOT NULL,
     attempt integer NOT NULL,
     holder text NOT NULL,
     state text NOT NULL
       CHECK (state IN ('running', 'completed', 'failed', 'interrupted', 'lost', 'passed_over')),
     began bigint NOT NULL,
     ended bigint,
     summary text NOT NULL)`,
];

/** The indexes, whose names PostgreSQL and SQLite qualify at different places. */
export const INDEXES = [
  { name: 'open_tick', unique: true, on: "tick (job) WHERE state IN ('running', 'waiting')" },
  { name: 'run_of_tick', unique: false, on: 'run (job, due)' },
  { name: 'run_completed', unique: false, on: "run (job, ended) WHERE state = 'completed'" },
  { name: 'run_began', unique: false, on: 'run (began)' },
] as const;
