import { literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { StreamEntry } from '../../../domain/investigation/deed.ts';
import { recordedMaker, streamEntryOf } from '../../../domain/investigation/gateway-entries.ts';
import type { Actor } from '../../../domain/investigation/investigation.ts';
import type { Connection } from '../connection.ts';
import { type ColumnSql, dateOf, milliseconds, readArrays } from '../queries.ts';
import { TABLES } from '../tables.ts';

/** A row of a gateway's activity stream. The time is in milliseconds. */
interface EntryRow {
  readonly id: number;
  readonly at: number;
  readonly operation: string;
  readonly model: string;
  readonly object_id: string | null;
  readonly related_model: string | null;
  readonly related_id: string | null;
  readonly related_field: string | null;
  readonly changes: Readonly<Record<string, unknown>> | null;
  readonly actor_id: number | null;
  readonly actor: string | null;
}

const COLUMNS: ColumnSql<EntryRow> = {
  id: sql`s.id`,
  at: milliseconds(sql`s.created`),
  operation: sql`s.operation`,
  model: sql`c.model`,
  object_id: sql`s.object_id`,
  related_model: sql`r.model`,
  related_id: sql`s.related_object_id`,
  related_field: sql`s.related_field_name`,
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
    const changes = row.changes ?? {};
    const actor =
      row.actor_id === null
        ? (actorOf?.(recordedMaker({ changes })) ?? null)
        : { id: row.actor_id, username: row.actor ?? '' };
    const entry = streamEntryOf(
      {
        id: row.id,
        at: dateOf(row.at),
        operation: row.operation,
        model: row.model,
        actor,
        changes,
        objectId: row.object_id,
        relatedModel: row.related_model ?? '',
        relatedId: row.related_id,
        relatedField: row.related_field ?? '',
      },
      settingNames,
    );
    return entry === null ? [] : [entry];
  });
  return { entries, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}
