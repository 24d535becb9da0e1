import { literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { StreamEntry } from '../../../domain/investigation/deed.ts';
import {
  type GatewayEntry,
  recordedMaker,
  streamEntryOf,
} from '../../../domain/investigation/gateway-entries.ts';
import type { Actor } from '../../../domain/investigation/investigation.ts';
import type { Connection } from '../connection.ts';
import { type ColumnSql, dateOf, milliseconds, readArrays } from '../queries.ts';
import { TABLES } from '../tables.ts';

/** A row of a gateway's activity stream. The time is in milliseconds. */
interface EntryRow extends Pick<GatewayEntry, 'id' | 'operation' | 'model'> {
  readonly at: number;
  readonly object_id: GatewayEntry['objectId'];
  readonly related_model: string;
  readonly related_id: GatewayEntry['relatedId'];
  readonly related_field: string;
  readonly changes: GatewayEntry['changes'] | null;
  readonly actor_id: number | null;
  readonly actor: string | null;
}

const COLUMNS: ColumnSql<EntryRow> = {
  id: sql`s.id`,
  at: milliseconds(sql`s.created`),
  operation: sql`s.operation`,
  model: sql`c.model`,
  object_id: sql`s.object_id`,
  related_model: sql`coalesce(r.model, '')`,
  related_id: sql`s.related_object_id`,
  related_field: sql`coalesce(s.related_field_name, '')`,
  changes: sql`s.changes`,
  actor_id: sql`s.created_by_id`,
  actor: sql`u.username`,
};

/** Entries `s` with the content type `c` of their object and the actor `u`, without token uses. */
const STREAM = sql`FROM ${TABLES.gateway.activity} s JOIN django_content_type c ON c.id = s.content_type_id
  LEFT JOIN django_content_type r ON r.id = s.related_content_type_id
  LEFT JOIN ${TABLES.gateway.users} u ON u.id = s.created_by_id
  WHERE (s.changes->'changed_fields' = '{"scope": ["write", "write read"]}'::jsonb) IS NOT TRUE`;

/** The condition on the entries, and what is known about them. */
export interface GatewayEntryQuery {
  readonly where: Sql;
  readonly limit: number;
  readonly newestFirst?: boolean;
  /** The names of settings by row id. */
  readonly settingNames: ReadonlyMap<number, string>;
  /** The actor of an entry without one, derived from its object's creator. */
  readonly actorOf?: ((maker: number | null) => Actor | null) | undefined;
}

/** Reads entries in the controller's form, ascending by id, up to the limit. Omits entries without a change. */
export async function readGatewayEntries(
  connection: Connection,
  { where, limit, newestFirst = false, settingNames, actorOf }: GatewayEntryQuery,
): Promise<{ entries: readonly StreamEntry[]; next: number | null }> {
  const direction = newestFirst ? sql` DESC` : sql``;
  const rows = await readArrays(
    connection.reader,
    COLUMNS,
    sql`${STREAM} AND ${where} ORDER BY s.id${direction} LIMIT ${literal(limit)}`,
  );
  const entries = rows.flatMap((row) => {
    const { id, at, operation, model, actor_id: actorId, object_id: objectId } = row;
    const { related_model: relatedModel, related_id: relatedId, related_field: relatedField } = row;
    const changes = row.changes ?? {};
    const actor =
      actorId === null
        ? (actorOf?.(recordedMaker({ changes })) ?? null)
        : { id: actorId, username: row.actor ?? '' };
    const entry = { id, at: dateOf(at), operation, model, objectId, relatedModel, relatedId, relatedField };
    return streamEntryOf({ ...entry, actor, changes }, settingNames) ?? [];
  });
  return { entries, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}
