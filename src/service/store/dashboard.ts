import type { Queryable } from '../../db/database.ts';
import type { Condition } from '../listing/filters.ts';

/** The number of rows that a caller may see. */
export async function countRows(
  database: Queryable,
  from: string,
  { sql, values }: Condition,
): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM ${from} WHERE ${sql}`,
    values,
  );
  return row?.count ?? 0;
}

/** The number of inventories `x` whose last finished job failed. */
export function countFailedInventories(database: Queryable, { sql, values }: Condition): Promise<number> {
  return countRows(database, 'main_inventory x', {
    sql: `(${sql}) AND (
      SELECT j.status FROM service_job j WHERE j.inventory_id = x.id AND j.finished IS NOT NULL
      ORDER BY j.finished DESC, j.id DESC LIMIT 1) IN ('failed', 'error')`,
    values,
  });
}

/** The numbers of finished jobs `x` by status and day (UTC). */
export function countFinishedJobs(
  database: Queryable,
  { visible, since }: { readonly visible: Condition; readonly since: Date },
): Promise<{ readonly status: string; readonly day: Date; readonly count: number }[]> {
  return database.query(
    `SELECT x.status, date_trunc('day', x.finished, 'UTC') AS day, count(*)::integer AS count
     FROM service_job x WHERE (${visible.sql}) AND x.finished >= $${visible.values.length + 1}
     GROUP BY x.status, date_trunc('day', x.finished, 'UTC')`,
    [...visible.values, since],
  );
}
