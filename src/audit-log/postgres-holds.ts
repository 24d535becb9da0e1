import type { Database, Queryable } from '../db/database.ts';

/** What a run's advisory lock is derived from, so that it meets no other program's. */
const KEY = "hashtextextended('tokenctl audit run ' || $1, 0)";

/** One run that is held: by an advisory lock of a transaction that stays open. */
interface Hold {
  readonly database: Database;
  readonly transaction: Queryable;
  /** Ends the transaction, and with it the lock. */
  readonly release: () => void;
}

/**
 * Says which runs are being worked on: each holds an advisory lock in a transaction that changes nothing
 * and stays open. The lock ends with its connection, and so at once when the process is killed, whichever
 * machine it ran on; the server asks a machine that fell silent whether it still lives.
 */
export class PostgresHolds {
  readonly #holds = new Map<string, Hold>();

  /**
   * Holds a run until disposed of.
   *
   * @throws The database's error.
   */
  async hold(database: Database, run: string): Promise<Disposable> {
    if (this.#holds.has(run)) throw new Error(`Run ${run} is held already`);
    this.#holds.set(run, await openHold(database, run));
    return { [Symbol.dispose]: () => this.#end(run) };
  }

  /** Takes those holds again whose connection was lost. */
  async renew(database: Database): Promise<void> {
    for (const [run, hold] of this.#holds) {
      if (hold.database === database && (await isAlive(hold))) continue;
      hold.release();
      const renewed = await openHold(database, run);
      // It may have been disposed of meanwhile.
      if (this.#holds.get(run) === hold) this.#holds.set(run, renewed);
      else renewed.release();
    }
  }

  /** Lets all runs go. */
  releaseAll(): void {
    for (const run of this.#holds.keys()) this.#end(run);
  }

  #end(run: string): void {
    this.#holds.get(run)?.release();
    this.#holds.delete(run);
  }
}

/** Which of some runs a living process works on, of this log's database. */
export async function heldRuns(connection: Queryable, runs: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await connection.query<{ run: string }>(
    `SELECT run FROM unnest($1::text[]) AS run WHERE EXISTS (
      SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND ((classid::bigint << 32) | objid::bigint) = ${KEY.replace('$1', 'run')})`,
    [runs],
  );
  return new Set(rows.map(({ run }) => run));
}

async function openHold(database: Database, run: string): Promise<Hold> {
  const taken = Promise.withResolvers<Queryable>();
  const released = Promise.withResolvers<void>();
  database
    .transaction(async (transaction) => {
      // The transaction idles on purpose; where the network falls silent its lock ends within a minute.
      await transaction.execute(
        `SELECT set_config(name, '0', true) FROM pg_settings
          WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')
        UNION ALL SELECT set_config('tcp_keepalives_idle', '30', true)
        UNION ALL SELECT set_config('tcp_keepalives_interval', '10', true)
        UNION ALL SELECT set_config('tcp_keepalives_count', '3', true)`,
      );
      // Shared, so that it is there at once while the server still believes in a lost connection of ours.
      await transaction.execute(`SELECT pg_advisory_xact_lock_shared(${KEY})`, [run]);
      taken.resolve(transaction);
      await released.promise;
    })
    .catch(taken.reject);
  return { database, transaction: await taken.promise, release: released.resolve };
}

async function isAlive({ transaction }: Hold): Promise<boolean> {
  return await transaction.query('SELECT 1').then(
    () => true,
    () => false,
  );
}
