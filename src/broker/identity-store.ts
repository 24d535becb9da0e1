import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import {
  openStateTables,
  type StatePlace,
  type StateSchema,
  type StateTables,
} from '@tokenctl/common/db/state-tables.ts';
import type { Admission, IdentityStore, IdentityUse } from '../operations/ports/broker.ts';

/** In SQL that PostgreSQL and SQLite share. Instants are milliseconds since 1970, by the clock of the store. */
const schema: StateSchema = {
  name: 'tokenctl_broker',
  what: 'store of the broker',
  setting: 'broker.store',
  docs: 'pipelines',
  lock: 'brokerSchema',
  version: 1,
  newer: {
    subject: 'The store of the broker',
    hint: 'Use the version of tokenctl that wrote it, or a newer one.',
  },
  async create(queryable, { addIndex }) {
    await queryable.execute(`CREATE TABLE tokenctl_broker.identity (
      id text PRIMARY KEY,
      rule text NOT NULL,
      used bigint NOT NULL,
      live_until bigint NOT NULL,
      kept_until bigint NOT NULL,
      fingerprint text)`);
    for (const index of INDEXES) await addIndex(index);
  },
};

const INDEXES = [
  { name: 'identity_rule', unique: false, on: 'identity (rule, used)' },
  { name: 'identity_live', unique: false, on: 'identity (rule, live_until)' },
  { name: 'identity_fingerprint', unique: false, on: 'identity (fingerprint)' },
  { name: 'identity_kept', unique: false, on: 'identity (kept_until)' },
] as const;

/** Opens the store: in PostgreSQL, it is the schema `tokenctl_broker`. Throws as {@link openStateTables}. */
export async function openIdentities(place: StatePlace): Promise<IdentityStore> {
  return identityStore(await openStateTables(place, schema));
}

const HOUR_MS = 3_600_000;

function identityStore(tables: StateTables): IdentityStore {
  const { now } = tables;
  const execute = (statement: ReturnType<typeof sql>) =>
    tables.transaction(async (queryable) => void (await statement.execute(queryable)));
  return {
    admit: (use) =>
      tables.transaction(async (queryable) => {
        // Concurrent checks would otherwise not count this one.
        await tables.takeTurn(queryable);
        return await admit(queryable, use, tables);
      }),
    withdraw: (id) => execute(sql`DELETE FROM tokenctl_broker.identity WHERE id = ${id}`),
    made: (id, fingerprint) =>
      execute(sql`UPDATE tokenctl_broker.identity SET fingerprint = ${fingerprint} WHERE id = ${id}`),
    ended: (fingerprint) =>
      execute(sql`UPDATE tokenctl_broker.identity SET live_until = 0 WHERE fingerprint = ${fingerprint}`),
    forget: () =>
      execute(sql`DELETE FROM tokenctl_broker.identity
        WHERE kept_until < ${now} AND live_until < ${now} AND used < ${now} - ${HOUR_MS}`),
    close: () => tables.close(),
  };
}

async function admit(
  queryable: Queryable,
  { id, rule, lifetimeMs, rememberMs, live, hourly }: IdentityUse,
  { now }: StateTables,
): Promise<Admission> {
  const counts = await sql`SELECT
      (SELECT CAST(count(*) AS integer) FROM tokenctl_broker.identity WHERE id = ${id}) AS known,
      (SELECT CAST(count(*) AS integer) FROM tokenctl_broker.identity
        WHERE rule = ${rule} AND live_until > ${now}) AS living,
      (SELECT CAST(count(*) AS integer) FROM tokenctl_broker.identity
        WHERE rule = ${rule} AND used > ${now} - ${HOUR_MS}) AS made`.first<{
    known: number;
    living: number;
    made: number;
  }>(queryable);
  if ((counts?.known ?? 0) > 0) return 'used';
  if ((counts?.living ?? 0) >= live) return 'live';
  if ((counts?.made ?? 0) >= hourly) return 'hourly';
  await sql`INSERT INTO tokenctl_broker.identity (id, rule, used, live_until, kept_until)
    VALUES (${id}, ${rule}, ${now}, ${now} + ${lifetimeMs}, ${now} + ${rememberMs})`.execute(queryable);
  return 'admitted';
}
