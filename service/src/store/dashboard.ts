import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';

export interface VisibleRows {
  readonly from: Sql;
  readonly visible: Sql;
}

/** The number of rows of each kind, in one statement. */
export async function countEach<Kind extends string>(
  database: Queryable,
  kinds: Readonly<Record<Kind, VisibleRows>>,
): Promise<Readonly<Record<Kind, number>>> {
  const counts = Object.entries<VisibleRows>(kinds).map(
    ([kind, { from, visible }]) =>
      sql`(SELECT count(*)::integer FROM ${from} WHERE ${visible}) AS ${identifier(kind)}`,
  );
  const row = await sql`SELECT ${joined(counts)}`.first<Record<Kind, number>>(database);
  if (row === null) throw new Error('a statement without FROM returned no row');
  return row;
}

/** The number of all rows, and of those that meet each condition, in one scan. */
export async function countParts<Part extends string>(
  database: Queryable,
  { from, visible }: VisibleRows,
  parts: Readonly<Record<Part, Sql>>,
): Promise<Readonly<Record<Part | 'total', number>>> {
  const counts = Object.entries<Sql>(parts).map(
    ([part, condition]) => sql`count(*) FILTER (WHERE ${condition})::integer AS ${identifier(part)}`,
  );
  const row = await sql`SELECT count(*)::integer AS total, ${joined(counts)}
    FROM ${from} WHERE ${visible}`.first<Record<Part | 'total', number>>(database);
  if (row === null) throw new Error('an aggregate returned no row');
  return row;
}

/** The inventories `x` that meet a condition and whose last finished job failed. */
export function failedInventories(condition: Sql): VisibleRows {
  const visible = sql`(${condition}) AND x.id IN (
    SELECT l.inventory_id FROM (
      SELECT DISTINCT ON (j.inventory_id) j.inventory_id, j.status FROM service_job j WHERE j.finished IS NOT NULL
      ORDER BY j.inventory_id, j.finished DESC, j.id DESC) l
    WHERE l.status IN ('failed', 'error'))`;
  return { from: sql`main_inventory x`, visible };
}

/** The numbers of finished jobs `x` by status and day (UTC). */
export function countFinishedJobs(
  database: Queryable,
  { visible, since }: { visible: Sql; since: Date },
): Promise<{ readonly status: string; readonly day: Date; readonly count: number }[]> {
  return sql`SELECT x.status, date_trunc('day', x.finished, 'UTC') AS day, count(*)::integer AS count
    FROM service_job x WHERE (${visible}) AND x.finished >= ${since}
    GROUP BY x.status, date_trunc('day', x.finished, 'UTC')`.rows(database);
}
