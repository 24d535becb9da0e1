import type { Queryable } from '../../../db/database.ts';
import type { Layout } from '../layout.ts';
import { TABLES, type Tables } from '../tables.ts';
import { noteEndedTokens } from './token-entries.ts';

/**
 * Parts of a statement that delete the access tokens in `taken` (id, description, scope, application; locked)
 * as the layout's own program does: a controller's links of the activity stream to them go, an entry for each is
 * added, by nobody, and then they go themselves, in `gone`. No foreign key has an action to do it.
 * Ids reach each part as an array, so that the index is used whatever the planner thinks of `taken`.
 */
export function deleteTaken(layout: Layout): string {
  const links =
    layout === 'gateway'
      ? ''
      : `links AS (
    DELETE FROM main_activitystream_o_auth2_access_token
    WHERE oauth2accesstoken_id = ANY(ARRAY(SELECT t.id FROM taken t))
  ), `;
  return `${links}entries AS (
    ${noteEndedTokens(layout)}
  ), gone AS (
    DELETE FROM ${TABLES[layout].accessTokens} WHERE id = ANY(ARRAY(SELECT t.id FROM taken t)) RETURNING id
  )`;
}

/** Those of these ids that are there, of access tokens or of refresh tokens. */
export async function readPresentIds(
  database: Queryable,
  options: {
    readonly table: Tables['accessTokens' | 'refreshTokens'];
    readonly ids: readonly number[];
  },
): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT t.id FROM ${options.table} t WHERE t.id = ANY($1::bigint[])`,
    [options.ids],
  );
  return rows.map(({ id }) => id);
}
