import type { Queryable } from '../../../db/database.ts';

/** What stands as `action_node` in the activity stream, where a controller names its node. */
export const ACTION_NODE = 'tokenctl';

/** `changes` of an entry about an access token `t`, its application's name in `t.application`: JSON as the controller spaces it. */
export const TOKEN_CHANGES = `'{"description": ' || to_json(t.description::text)
    || ', "application": ' || coalesce(to_json(t.application::text)::text, 'null')
    || ', "scope": ' || to_json(t.scope::text) || ', "id": ' || t.id || ', "token": "************"}'`;

/**
 * Deletes the access tokens in `taken` (id, description, scope, application; locked), as the controller
 * does: the links of the activity stream to them go, an entry for each is added, by nobody (`actor_id`
 * null), and then they go themselves, in `gone`. No foreign key has an action to do it on a controller.
 * Ids reach each statement as an array, so that the index is used whatever the planner thinks of `taken`.
 */
export const DELETE_TAKEN = `
  links AS (
    DELETE FROM main_activitystream_o_auth2_access_token
    WHERE oauth2accesstoken_id = ANY(ARRAY(SELECT t.id FROM taken t))
  ), entries AS (
    INSERT INTO main_activitystream
      (operation, timestamp, changes, object_relationship_type, object1, object2, action_node, setting)
    SELECT 'delete', now(), ${TOKEN_CHANGES}, '', 'o_auth2_access_token', '', '${ACTION_NODE}', '{}'
    FROM taken t ORDER BY t.id
  ), gone AS (
    DELETE FROM main_oauth2accesstoken WHERE id = ANY(ARRAY(SELECT t.id FROM taken t)) RETURNING id
  )`;

/** Those of these ids that are there, of access tokens or of refresh tokens. */
export async function readPresentIds(
  database: Queryable,
  table: 'main_oauth2accesstoken' | 'oauth2_provider_refreshtoken',
  ids: readonly number[],
): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT t.id FROM ${table} t WHERE t.id = ANY($1::bigint[])`,
    [ids],
  );
  return rows.map(({ id }) => id);
}
