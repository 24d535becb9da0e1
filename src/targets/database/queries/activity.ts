import type { Queryable } from '../../../db/database.ts';
import type { ActivitySelector } from '../../../operations/ports/target-selectors.ts';
import { Conditions } from '../conditions.ts';
import { milliseconds } from '../instants.ts';
import { PAGE } from '../pages.ts';

/** An entry of the activity stream; `at` in milliseconds. */
export interface ActivityRow {
  readonly id: number;
  readonly at: number;
  readonly operation: string;
  readonly object: string;
  readonly changes: string;
  readonly actor_id: number | null;
  readonly actor: string | null;
}

/**
 * A page of the activity stream after an id, oldest first. What a token's end left of it is the id in
 * `changes`; a description that looks like one has its quotes escaped there.
 */
export function readActivityPage(
  database: Queryable,
  options: { readonly selector: ActivitySelector; readonly after: number },
): Promise<ActivityRow[]> {
  const { selector, after } = options;
  const where = new Conditions()
    .add(after, (id) => `s.id > ${id}::bigint`)
    .add(selector.actorIds, (ids) => `s.actor_id = ANY(${ids}::bigint[])`)
    .add(selector.since, (at) => `s.timestamp >= ${at}::timestamptz`)
    .add(selector.until, (at) => `s.timestamp < ${at}::timestamptz`)
    .add(
      selector.tokenIds,
      (ids) => `(s.id IN (SELECT l.activitystream_id FROM main_activitystream_o_auth2_access_token l
           WHERE l.oauth2accesstoken_id = ANY(${ids}::bigint[]))
         OR (s.object1 = 'o_auth2_access_token'
           AND substring(s.changes FROM '"id"\\s*:\\s*([0-9]+)') = ANY(${ids}::bigint[]::text[])))`,
    );
  return database.query<ActivityRow>(
    `SELECT s.id, ${milliseconds('s.timestamp')} AS at, s.operation, s.object1 AS object, s.changes,
       u.id AS actor_id, u.username AS actor
     FROM main_activitystream s LEFT JOIN auth_user u ON u.id = s.actor_id
     WHERE ${where.sql} ORDER BY s.id LIMIT ${PAGE}`,
    where.values,
  );
}

/** When each of these users was last the actor of anything, in milliseconds. */
export function readLastChanges(
  database: Queryable,
  userIds: readonly number[],
): Promise<{ readonly actor_id: number; readonly at: number }[]> {
  return database.query(
    `SELECT s.actor_id, ${milliseconds('max(s.timestamp)')} AS at
     FROM main_activitystream s WHERE s.actor_id = ANY($1::bigint[]) GROUP BY s.actor_id`,
    [userIds],
  );
}
