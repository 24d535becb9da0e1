import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { NO_ANSWER_MS } from '@tokenctl/testing/limits.ts';
import { refused } from '@tokenctl/testing/refused.ts';
import { describe, expect, inject, test } from 'vitest';
import { openPostgresLog } from '../../../src/audit-log/postgres-log.ts';
import { openLedgerTables } from '../../../src/scheduler/ledger/ledger.ts';
import { draft, stillClock } from '../../support/drafts.ts';
import { refusal } from '../../support/logs.ts';

/** A database in which another session holds the given advisory locks. */
async function lockedDatabase(keys: readonly number[]) {
  const url = await createDatabase(inject('postgresUrl'));
  const other = await openOn(url);
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = other.transaction(async (transaction) => {
    for (const key of keys) await transaction.query('SELECT pg_advisory_xact_lock($1)', [key]);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return {
    url,
    async [Symbol.asyncDispose]() {
      released.resolve();
      await holding;
      await other.close();
    },
  };
}

const MIGRATION = 7_305_114_201;
const AUDIT_LOG = [7_305_114_202, 7_305_114_203];
const LEDGER = 7_305_114_204;

describe('the creation of tables', () => {
  test('of the ledger does not wait for appends to the audit log', async () => {
    await using at = await lockedDatabase([MIGRATION, ...AUDIT_LOG]);
    const ledger = await openLedgerTables({ database: await openOn(at.url) });
    await ledger.close();
  });

  test('of the ledger is given up on if another process does not finish it', async () => {
    await using at = await lockedDatabase([LEDGER]);
    const database = await openOn(at.url);
    expect(await refusal(openLedgerTables({ database, timeoutMs: NO_ANSWER_MS }))).toMatchObject({
      code: 'busy',
      message:
        "Another process did not finish creating the tables of the scheduler's ledger within 1 seconds",
    });
    await database.close();
  });

  test.each(AUDIT_LOG)('of the audit log is given up on if another process holds lock %i', async (key) => {
    await using at = await lockedDatabase([key]);
    const log = openPostgresLog({
      open: () => openOn(at.url),
      name: 'in PostgreSQL',
      clock: stillClock,
      timeoutMs: NO_ANSWER_MS,
    });
    expect(await refusal(log.append(draft()))).toMatchObject(
      refused('audit_unavailable', 'another process held its lock for too long'),
    );
    await log.close();
  });
});
