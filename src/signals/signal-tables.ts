import type { StateSchema } from '@tokenctl/common/db/state-tables.ts';

/**
 * The signals, in SQL that PostgreSQL and SQLite share. Instants are milliseconds since 1970, UTC; `lease_until` is on the
 * store's clock, the others on the receiver's. Lists and objects are JSON.
 */
const CREATE_SIGNAL = `CREATE TABLE tokenctl_signals.signal (
     id text PRIMARY KEY,
     issuer text NOT NULL,
     jti text NOT NULL,
     transmitter text NOT NULL,
     route text NOT NULL,
     kinds text NOT NULL,
     kind text,
     subject text,
     action text NOT NULL,
     issued bigint NOT NULL,
     received bigint NOT NULL,
     state text NOT NULL
       CHECK (state IN ('waiting', 'acting', 'done', 'held', 'ignored', 'dismissed')),
     reason text,
     users text NOT NULL,
     runs text NOT NULL,
     attempts integer NOT NULL,
     changed bigint NOT NULL,
     ended bigint,
     retry_at bigint NOT NULL,
     lease_until bigint,
     holder text,
     released text,
     told integer NOT NULL)`;

/** Affected users, by the limit that they count against. */
const CREATE_ACTED = `CREATE TABLE tokenctl_signals.acted (
     username text NOT NULL,
     counted_as text NOT NULL,
     at bigint NOT NULL,
     PRIMARY KEY (username, counted_as))`;

/** The requested verification events, to distinguish them from those of others. */
const CREATE_VERIFICATION = `CREATE TABLE tokenctl_signals.verification (
     transmitter text NOT NULL,
     stream text NOT NULL,
     state text NOT NULL,
     at bigint NOT NULL)`;

const INDEXES = [
  { name: 'signal_open', unique: false, on: "signal (received) WHERE state IN ('waiting', 'acting')" },
  { name: 'signal_received', unique: false, on: 'signal (received)' },
] as const;

/** Indexes for queries that run every second and with every status: these lists stay short, or are counted. */
const LATER_INDEXES = [
  { name: 'signal_untold', unique: false, on: "signal (received) WHERE state = 'held' AND told = 0" },
  { name: 'signal_state', unique: false, on: 'signal (state)' },
] as const;

/** How the tables of the signal queue are created and migrated. */
export const signalsSchema: StateSchema = {
  name: 'tokenctl_signals',
  what: 'queue of signals',
  setting: 'signals.queue',
  docs: 'signals',
  lock: 'signalsSchema',
  // 1 had fewer indexes, before 3 all actions had one limit.
  version: 4,
  newer: {
    subject: 'The signal queue',
    hint: 'Use the tokenctl version that wrote the queue, or a later one.',
  },
  async create(queryable, { from, addIndex }) {
    if (from === null) {
      for (const statement of [CREATE_SIGNAL, CREATE_ACTED, CREATE_VERIFICATION])
        await queryable.execute(statement);
      for (const index of [...INDEXES, ...LATER_INDEXES]) await addIndex(index);
      return;
    }
    if (from === 1) for (const index of LATER_INDEXES) await addIndex(index);
    if (from < 3) {
      // It only remembers an hour.
      await queryable.execute('DROP TABLE tokenctl_signals.acted');
      await queryable.execute(CREATE_ACTED);
    }
    await queryable.execute(CREATE_VERIFICATION);
  },
};
