import { type Sql, shared, sql } from '@tokenctl/common/db/sql.ts';
import type { Activity } from '../../domain/token.ts';
import type { ActivitySelector } from '../../operations/ports/target-parts.ts';
import { contentTypeId } from './activity-entries.ts';
import type { Connection } from './connection.ts';
import {
  allOf,
  dateOf,
  type IdRange,
  idPages,
  inBatches,
  inRange,
  milliseconds,
  PAGE_LIMIT,
  PAGE_SIZE,
  when,
} from './queries.ts';
import { type Layout, TABLES } from './tables.ts';

/** Streams the activity stream, oldest first. */
export async function* listActivity(
  connection: Connection,
  selector: ActivitySelector,
): AsyncGenerator<Activity, void> {
  const { layout } = connection;
  const pages = idPages<ActivityRow>(connection.table('activity'), undefined, (range) =>
    activitySql(layout, selector, range),
  );
  for await (const rows of pages) {
    for (const { id, at, operation, object, object_id, changes, actor_id, actor } of rows) {
      yield {
        id,
        at: dateOf(at),
        operation,
        actor: actor_id === null || actor === null ? null : { id: actor_id, username: actor },
        object,
        changes: layout === 'gateway' ? flattenChanges(changes, object_id) : (parseObject(changes) ?? {}),
      };
    }
  }
}

/** A gateway's changes in the controller's form: fields, or the old and new value of each; and the object's id. */
function flattenChanges(text: string | null, objectId: string | null): Readonly<Record<string, unknown>> {
  const changes = parseObject(text) ?? {};
  const id = Number(objectId ?? Number.NaN);
  return {
    ...parseObject(changes['added_fields']),
    ...parseObject(changes['removed_fields']),
    ...parseObject(changes['changed_fields']),
    ...(Number.isSafeInteger(id) && { id }),
  };
}

/** A JSON object, parsed or as text; undefined for anything else. */
function parseObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = typeof value === 'string' ? JSON.parse(value) : value;
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The time of each user's last change. Users without one are omitted. */
export async function lastChanges(
  connection: Connection,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, Date>> {
  const { layout } = connection;
  const last = new Map<number, Date>();
  for (const batch of inBatches(userIds, PAGE_SIZE)) {
    const rows = await lastChangesSql(layout, batch).rows<LastChange>(connection.reader);
    for (const { actor_id, at } of rows) last.set(actor_id, dateOf(at));
  }
  return last;
}

/** SQL for an entry `s` of a layout's activity stream. */
interface ActivitySql {
  readonly at: Sql;
  readonly actorId: Sql;
  readonly object: Sql;
  readonly objectId: Sql;
  readonly refersTo: (tokenIds: readonly number[]) => Sql;
  /** Whether an entry is a user's change, not the use of a token that a gateway records. */
  readonly isChange: Sql;
}

/** A deleted token's id remains only in `changes`. Quotes in descriptions are escaped, so the pattern is exact. */
const CONTROLLER: ActivitySql = {
  at: sql`s.timestamp`,
  actorId: sql`s.actor_id`,
  object: sql`s.object1`,
  objectId: sql`NULL::text`,
  refersTo: (tokenIds) => {
    const ids = shared(tokenIds);
    return sql`(s.id IN (SELECT l.activitystream_id FROM main_activitystream_o_auth2_access_token l
        WHERE l.oauth2accesstoken_id = ANY(${ids}::bigint[]))
      OR (s.object1 = 'o_auth2_access_token'
        AND substring(s.changes FROM '"id"\\s*:\\s*([0-9]+)') = ANY(${ids}::bigint[]::text[])))`;
  },
  isChange: sql`true`,
};

/** A gateway's entries contain the object's type and id, even after its deletion. */
const GATEWAY: ActivitySql = {
  at: sql`s.created`,
  actorId: sql`s.created_by_id`,
  object: sql`(SELECT CASE c.model WHEN 'oauth2accesstoken' THEN 'o_auth2_access_token'
       WHEN 'oauth2refreshtoken' THEN 'o_auth2_refresh_token' WHEN 'oauth2application' THEN 'o_auth2_application'
       WHEN 'preference' THEN 'setting' ELSE c.model END
     FROM django_content_type c WHERE c.id = s.content_type_id)`,
  objectId: sql`s.object_id`,
  refersTo: (ids) =>
    sql`(s.content_type_id = ${contentTypeId('access_token')} AND s.object_id = ANY(${ids}::bigint[]::text[]))`,
  isChange: sql`(s.changes->'changed_fields' = '{"scope": ["write", "write read"]}'::jsonb) IS NOT TRUE`,
};

const ACTIVITY_SQL: Readonly<Record<Layout, ActivitySql>> = {
  controller: CONTROLLER,
  service: CONTROLLER,
  gateway: GATEWAY,
};

/** An entry of the activity stream; `at` in milliseconds. */
interface ActivityRow {
  readonly id: number;
  readonly at: number;
  readonly operation: string;
  /** The controller's name for the object's type, if it has one. */
  readonly object: string;
  /** The object's id, if there is a column for it. */
  readonly object_id: string | null;
  readonly changes: string | null;
  readonly actor_id: number | null;
  readonly actor: string | null;
}

function activitySql(layout: Layout, selector: ActivitySelector, range: IdRange): Sql {
  const { activity, users } = TABLES[layout];
  const { at, actorId, object, objectId, refersTo } = ACTIVITY_SQL[layout];
  const where = allOf(
    ...inRange(sql`s.id`, range),
    when(selector.actorIds, (ids) => sql`${actorId} = ANY(${ids}::bigint[])`),
    when(selector.since, (since) => sql`${at} >= ${since}::timestamptz`),
    when(selector.until, (until) => sql`${at} < ${until}::timestamptz`),
    when(selector.tokenIds, refersTo),
  );
  return sql`SELECT s.id, ${milliseconds(at)} AS at, s.operation, ${object} AS object,
      ${objectId} AS object_id, s.changes::text AS changes, u.id AS actor_id, u.username AS actor
    FROM ${activity} s LEFT JOIN ${users} u ON u.id = ${actorId}
    WHERE ${where} ORDER BY s.id ${PAGE_LIMIT}`;
}

interface LastChange {
  readonly actor_id: number;
  readonly at: number;
}

function lastChangesSql(layout: Layout, userIds: readonly number[]): Sql {
  const { at, actorId, isChange } = ACTIVITY_SQL[layout];
  return sql`SELECT ${actorId} AS actor_id, ${milliseconds(sql`max(${at})`)} AS at FROM ${TABLES[layout].activity} s
    WHERE ${actorId} = ANY(${userIds}::bigint[]) AND ${isChange} GROUP BY ${actorId}`;
}
