import type { Queryable } from '../../db/database.ts';
import type { OpenTransaction } from '../../operations/ports/target-parts.ts';

/**
 * The open transactions of other programs in this database, the oldest first. Every transaction holds a lock on its virtual id, from its
 * first statement until what it wrote is visible (PostgreSQL, pg_locks); any role sees these locks, but the age only of its own
 * transactions without `pg_read_all_stats`. The server's own processes, such as autovacuum, have no user.
 */
export async function openTransactions(database: Queryable): Promise<readonly OpenTransaction[]> {
  return await database.query<OpenTransaction>(
    `SELECT l.virtualxid AS key, a.pid, coalesce(a.application_name, '') AS program,
       extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds
     FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.granted
       AND a.datname = current_database() AND a.usesysid IS NOT NULL AND a.pid <> pg_backend_pid()
     UNION ALL
     SELECT gid, NULL, 'a prepared transaction', extract(epoch FROM clock_timestamp() - prepared)::float8
     FROM pg_prepared_xacts WHERE database = current_database()
     ORDER BY seconds DESC NULLS LAST, key`,
  );
}
