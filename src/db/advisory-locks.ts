import type { Queryable } from './database.ts';

/**
 * The keys of the advisory locks that processes take in a shared database. They are listed in one place because two parts
 * with the same key would wait for each other. Never change a released key: processes of different versions share it.
 */
export const ADVISORY_LOCKS = {
  serviceMigration: 7_305_114_201,
  auditLogSchema: 7_305_114_202,
  auditLogAppend: 7_305_114_203,
  ledgerSchema: 7_305_114_204,
} as const;

/**
 * Takes a lock until the end of the transaction.
 *
 * @param timeoutMs How long it waits for the lock, and each later statement for another one (SQLSTATE 55P03). Any statement
 * may take twice that (57014).
 */
export async function lockWithin(
  transaction: Queryable,
  lock: keyof typeof ADVISORY_LOCKS,
  timeoutMs: number,
): Promise<void> {
  const wait = Math.ceil(timeoutMs);
  await transaction.execute(
    `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
      set_config('idle_in_transaction_session_timeout', $2, true)`,
    [String(wait), String(2 * wait)],
  );
  await transaction.execute('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS[lock]]);
}
