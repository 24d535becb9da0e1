import type { Queryable } from '../../db/database.ts';
import type { Condition } from '../listing/filters.ts';

/** How many tokens an application has, as far as somebody sees them, and the first ten. */
export interface ApplicationTokens {
  readonly application_id: number;
  readonly count: number;
  readonly first: readonly { readonly id: number; readonly scope: string }[];
}

/**
 * What the given applications have of the tokens for which a condition holds, by the application's id.
 *
 * @param visible Over rows `t` of tokens and `a` of applications; its parameters begin at `$2`.
 */
export async function tokensByApplication(
  database: Queryable,
  applicationIds: readonly number[],
  visible: Condition,
): Promise<ReadonlyMap<number, ApplicationTokens>> {
  if (applicationIds.length === 0) return new Map();
  const rows = await database.query<ApplicationTokens>(
    `SELECT a.id AS application_id, n.count, f.first
     FROM main_oauth2application a,
     LATERAL (SELECT count(*) AS count FROM main_oauth2accesstoken t
              WHERE t.application_id = a.id AND (${visible.sql})) n,
     LATERAL (SELECT COALESCE(json_agg(json_build_object('id', s.id, 'scope', s.scope) ORDER BY s.id), '[]') AS first
              FROM (SELECT t.id, t.scope FROM main_oauth2accesstoken t
                    WHERE t.application_id = a.id AND (${visible.sql}) ORDER BY t.id LIMIT 10) s) f
     WHERE a.id = ANY($1::bigint[])`,
    [applicationIds, ...visible.values],
  );
  return new Map(rows.map((row) => [row.application_id, row]));
}
