import type { Queryable } from '../../../db/database.ts';
import type { ActivitySelector } from '../../../operations/ports/target.ts';
import { Conditions } from '../conditions.ts';
import { milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { PAGE } from '../pages.ts';
import { TABLES } from '../tables.ts';
import { contentTypeOf } from './entries.ts';

/** An entry of the activity stream; `at` in milliseconds. */
export interface ActivityRow {
  readonly id: number;
  readonly at: number;
  readonly operation: string;
  /** In the controller's words, as far as it has one for it. */
  readonly object: string;
  /** The id of what it is about, where a column tells it. */
  readonly object_id: string | null;
  readonly changes: string | null;
  readonly actor_id: number | null;
  readonly actor: string | null;
}

/** The activity stream `s` of a layout, in SQL. */
interface Stream {
  readonly at: string;
  readonly actor: string;
  readonly object: string;
  readonly objectId: string;
  /** Whether an entry is about one of these access tokens. */
  readonly isAbout: (ids: string) => string;
}

/**
 * What a token's end left of it at a controller is the id in `changes`; a description that looks like one has
 * its quotes escaped there.
 */
const CONTROLLER: Stream = {
  at: 's.timestamp',
  actor: 's.actor_id',
  object: 's.object1',
  objectId: 'NULL::text',
  isAbout: (ids) => `(s.id IN (SELECT l.activitystream_id FROM main_activitystream_o_auth2_access_token l
           WHERE l.oauth2accesstoken_id = ANY(${ids}::bigint[]))
         OR (s.object1 = 'o_auth2_access_token'
           AND substring(s.changes FROM '"id"\\s*:\\s*([0-9]+)') = ANY(${ids}::bigint[]::text[])))`,
};

/** A gateway names an object by its content type and id, whether it is there or not. */
const GATEWAY: Stream = {
  at: 's.created',
  actor: 's.created_by_id',
  object: `(SELECT CASE c.model WHEN 'oauth2accesstoken' THEN 'o_auth2_access_token'
       WHEN 'oauth2refreshtoken' THEN 'o_auth2_refresh_token' WHEN 'oauth2application' THEN 'o_auth2_application'
       WHEN 'preference' THEN 'setting' ELSE c.model END
     FROM django_content_type c WHERE c.id = s.content_type_id)`,
  objectId: 's.object_id',
  isAbout: (ids) =>
    `(s.content_type_id = ${contentTypeOf('access_token')} AND s.object_id = ANY(${ids}::bigint[]::text[]))`,
};

const STREAMS: Readonly<Record<Layout, Stream>> = {
  controller: CONTROLLER,
  service: CONTROLLER,
  gateway: GATEWAY,
};

/** A page of the activity stream after an id, oldest first. */
export function readActivityPage(
  database: Queryable,
  options: { readonly layout: Layout; readonly selector: ActivitySelector; readonly after: number },
): Promise<ActivityRow[]> {
  const { layout, selector, after } = options;
  const { activity, users } = TABLES[layout];
  const stream = STREAMS[layout];
  const where = new Conditions()
    .add(after, (id) => `s.id > ${id}::bigint`)
    .add(selector.actorIds, (ids) => `${stream.actor} = ANY(${ids}::bigint[])`)
    .add(selector.since, (at) => `${stream.at} >= ${at}::timestamptz`)
    .add(selector.until, (at) => `${stream.at} < ${at}::timestamptz`)
    .add(selector.tokenIds, stream.isAbout);
  return database.query<ActivityRow>(
    `SELECT s.id, ${milliseconds(stream.at)} AS at, s.operation, ${stream.object} AS object,
       ${stream.objectId} AS object_id, s.changes::text AS changes, u.id AS actor_id, u.username AS actor
     FROM ${activity} s LEFT JOIN ${users} u ON u.id = ${stream.actor}
     WHERE ${where.sql} ORDER BY s.id LIMIT ${PAGE}`,
    where.values,
  );
}

/** When each of these users was last the actor of anything, in milliseconds. */
export function readLastChanges(
  database: Queryable,
  { layout, userIds }: { readonly layout: Layout; readonly userIds: readonly number[] },
): Promise<{ readonly actor_id: number; readonly at: number }[]> {
  const { at, actor } = STREAMS[layout];
  return database.query(
    `SELECT ${actor} AS actor_id, ${milliseconds(`max(${at})`)} AS at
     FROM ${TABLES[layout].activity} s WHERE ${actor} = ANY($1::bigint[]) GROUP BY ${actor}`,
    [userIds],
  );
}
