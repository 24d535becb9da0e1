import type { Queryable } from '../../../db/database.ts';
import type { Selector } from '../../../domain/selector.ts';
import { Conditions } from '../conditions.ts';
import { fingerprintOf } from '../fingerprint.ts';
import { milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { PAGE } from '../pages.ts';
import { TABLES } from '../tables.ts';

/** A selector's criteria with names as ids; those that are present must all hold. */
type TokenCriteria = Omit<Selector, 'all' | 'ids' | 'users' | 'applications'> & {
  readonly ids?: readonly number[] | undefined;
  readonly userIds?: readonly number[] | undefined;
  readonly applicationIds?: readonly number[] | undefined;
};

/** Each criterion over a row `t`. A criterion that a selector gains must gain a line here. */
const CRITERIA: { readonly [Name in keyof Required<TokenCriteria>]: (parameter: string) => string } = {
  ids: (ids) => `t.id = ANY(${ids}::bigint[])`,
  userIds: (ids) => `t.user_id = ANY(${ids}::bigint[])`,
  applicationIds: (ids) => `t.application_id = ANY(${ids}::bigint[])`,
  scope: (word) => `${word}::text = ANY(string_to_array(t.scope, ' '))`,
  createdBefore: (at) => `t.created < ${at}::timestamptz`,
  unusedSince: (at) => `coalesce(t.last_used, t.created) < ${at}::timestamptz`,
  neverUsed: (never) => `(t.last_used IS NULL) = ${never}::boolean`,
  expiredAt: (at) => `t.expires <= ${at}::timestamptz`,
};

/** An access token's row; instants in milliseconds. */
export interface TokenRow {
  readonly id: number;
  readonly user_id: number | null;
  readonly application_id: number | null;
  readonly scope: string;
  readonly description: string;
  readonly created: number;
  readonly expires: number;
  readonly last_used: number | null;
  readonly has_refresh_token: boolean;
  readonly fingerprint: string;
}

/**
 * A page of access tokens after an id, ascending. Both indexes are read in step from that id on: the
 * condition on `r.access_token_id` follows from the join and says so to the planner.
 */
export function readTokenPage(
  database: Queryable,
  options: { readonly layout: Layout; readonly criteria: TokenCriteria; readonly after: number },
): Promise<TokenRow[]> {
  const { layout, criteria } = options;
  const { accessTokens, refreshTokens } = TABLES[layout];
  const where = new Conditions();
  const after = where.parameter(options.after);
  where.require(`t.id > ${after}::bigint`);
  for (const name of Object.keys(CRITERIA) as (keyof TokenCriteria)[]) {
    where.add(criteria[name], CRITERIA[name]);
  }
  return database.query<TokenRow>(
    `SELECT t.id, t.user_id, t.application_id, t.scope, t.description,
       ${milliseconds('t.created')} AS created, ${milliseconds('t.expires')} AS expires,
       ${milliseconds('t.last_used')} AS last_used, r.id IS NOT NULL AS has_refresh_token,
       ${fingerprintOf(layout, 't.token')} AS fingerprint
     FROM ${accessTokens} t
     LEFT JOIN ${refreshTokens} r
       ON r.access_token_id = t.id AND r.access_token_id > ${after}::bigint AND r.revoked IS NULL
     WHERE ${where.sql} ORDER BY t.id LIMIT ${PAGE}`,
    where.values,
  );
}
