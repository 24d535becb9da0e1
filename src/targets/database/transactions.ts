import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import type { OpenTransaction } from '../../operations/ports/target-parts.ts';

/**
 * The open transactions of other programs in this database that may write, oldest first. Every transaction holds a
 * lock on its virtual id, from its first statement until its changes are visible (PostgreSQL, pg_locks). Any role
 * sees these locks, but without `pg_read_all_stats` only the age of its own transactions. The server's own processes,
 * such as autovacuum, have no user.
 *
 * Others cannot see whether a transaction is read-only, and one without a transaction id may get one with its next
 * statement: a request reads before it writes. So only transactions that cannot write are excluded: those of roles
 * without the right to write any table that cannot become a role with it (SET ROLE), such as a backup role that is a
 * member of pg_read_all_data. Functions that run as their owner may write for every role.
 */
export async function openTransactions(database: Queryable): Promise<readonly OpenTransaction[]> {
  return await sql`WITH writer AS MATERIALIZED (
       SELECT u.usesysid FROM (SELECT DISTINCT usesysid FROM pg_stat_activity WHERE usesysid IS NOT NULL) u
       WHERE EXISTS (
         SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema')
       ) OR EXISTS (
         SELECT FROM pg_roles r CROSS JOIN pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE pg_has_role(u.usesysid, r.oid, 'MEMBER') AND c.relkind IN ('r', 'p', 'v')
           AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
           AND (has_any_column_privilege(r.oid, c.oid, 'INSERT') OR has_any_column_privilege(r.oid, c.oid, 'UPDATE'))))
     SELECT l.virtualxid AS key, a.pid, coalesce(a.application_name, '') AS program,
       extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds
     FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.granted
       AND a.datname = current_database() AND a.usesysid IN (SELECT usesysid FROM writer) AND a.pid <> pg_backend_pid()
     UNION ALL
     SELECT gid, NULL, 'a prepared transaction', extract(epoch FROM clock_timestamp() - prepared)::float8
     FROM pg_prepared_xacts WHERE database = current_database()
     ORDER BY seconds DESC NULLS LAST, key`.rows<OpenTransaction>(database);
}
