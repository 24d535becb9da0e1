import type { Queryable } from '../../../db/database.ts';
import type { RefreshTokenState } from '../../../domain/token.ts';
import { Conditions } from '../conditions.ts';
import { fingerprintOf } from '../fingerprint.ts';
import { milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { PAGE } from '../pages.ts';
import { TABLES } from '../tables.ts';

/** A selector's criteria with names as ids; those that are present must all hold. */
interface RefreshTokenCriteria {
  readonly ids?: readonly number[] | undefined;
  readonly userIds?: readonly number[] | undefined;
  readonly applicationIds?: readonly number[] | undefined;
  readonly states?: readonly RefreshTokenState[] | undefined;
  readonly createdBefore?: Date | undefined;
  readonly revokedBefore?: Date | undefined;
}

/** A refresh token's row; instants in milliseconds. */
export interface RefreshTokenRow {
  readonly id: number;
  readonly user_id: number;
  readonly application_id: number;
  readonly access_token_id: number | null;
  readonly created: number;
  readonly revoked: number | null;
  readonly fingerprint: string;
}

/** `refreshTokenState` (core/token.ts) in SQL, for a row `r`. */
const STATE = `CASE WHEN r.revoked IS NOT NULL THEN 'revoked'
  WHEN r.access_token_id IS NULL THEN 'orphaned' ELSE 'live' END`;

/** A page of refresh tokens after an id, ascending. */
export function readRefreshTokenPage(
  database: Queryable,
  options: { readonly layout: Layout; readonly criteria: RefreshTokenCriteria; readonly after: number },
): Promise<RefreshTokenRow[]> {
  const { layout, criteria, after } = options;
  const where = new Conditions()
    .add(after, (id) => `r.id > ${id}::bigint`)
    .add(criteria.ids, (ids) => `r.id = ANY(${ids}::bigint[])`)
    .add(criteria.userIds, (ids) => `r.user_id = ANY(${ids}::bigint[])`)
    .add(criteria.applicationIds, (ids) => `r.application_id = ANY(${ids}::bigint[])`)
    .add(criteria.states, (states) => `${STATE} = ANY(${states}::text[])`)
    .add(criteria.createdBefore, (at) => `r.created < ${at}::timestamptz`)
    .add(criteria.revokedBefore, (at) => `r.revoked < ${at}::timestamptz`);
  return database.query<RefreshTokenRow>(
    `SELECT r.id, r.user_id, r.application_id, r.access_token_id,
       ${milliseconds('r.created')} AS created, ${milliseconds('r.revoked')} AS revoked,
       ${fingerprintOf(layout, 'r.token')} AS fingerprint
     FROM ${TABLES[layout].refreshTokens} r WHERE ${where.sql} ORDER BY r.id LIMIT ${PAGE}`,
    where.values,
  );
}
