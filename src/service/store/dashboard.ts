import type { Queryable } from '../../db/database.ts';
import type { Condition } from '../listing/filters.ts';

/** Rows that a caller may see. */
export interface VisibleRows {
  readonly from: string;
  readonly visible: Condition;
}

/** How many rows there are of each kind, in one statement. */
export async function countEach<Kind extends string>(
  database: Queryable,
  kinds: Readonly<Record<Kind, VisibleRows>>,
): Promise<Readonly<Record<Kind, number>>> {
  const values: unknown[] = [];
  const counts = Object.entries<VisibleRows>(kinds).map(([kind, { from, visible }]) => {
    const before = values.length;
    values.push(...visible.values);
    const condition = visible.sql.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`);
    return `(SELECT count(*)::integer FROM ${from} WHERE ${condition}) AS ${kind}`;
  });
  const [row] = await database.query<Record<Kind, number>>(`SELECT ${counts.join(', ')}`, values);
  if (row === undefined) throw new Error('a statement without FROM returned no row');
  return row;
}

/** How many rows there are in all, and of those that each condition names, which has no parameters, in one scan. */
export async function countParts<Part extends string>(
  database: Queryable,
  { from, visible }: VisibleRows,
  parts: Readonly<Record<Part, string>>,
): Promise<Readonly<Record<Part | 'total', number>>> {
  const counts = Object.entries<string>(parts).map(
    ([part, condition]) => `count(*) FILTER (WHERE ${condition})::integer AS ${part}`,
  );
  const [row] = await database.query<Record<Part | 'total', number>>(
    `SELECT count(*)::integer AS total, ${counts.join(', ')} FROM ${from} WHERE ${visible.sql}`,
    visible.values,
  );
  if (row === undefined) throw new Error('an aggregate returned no row');
  return row;
}

/** The inventories `x`, of those that a condition names, whose last finished job failed. */
export function failedInventories({ sql, values }: Condition): VisibleRows {
  const visible = {
    sql: `(${sql}) AND (
      SELECT j.status FROM service_job j WHERE j.inventory_id = x.id AND j.finished IS NOT NULL
      ORDER BY j.finished DESC, j.id DESC LIMIT 1) IN ('failed', 'error')`,
    values,
  };
  return { from: 'main_inventory x', visible };
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
