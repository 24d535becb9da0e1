import { literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { StreamEntry } from '../../../domain/investigation/deed.ts';
import { recordedMaker, streamEntryOf } from '../../../domain/investigation/gateway-entries.ts';
import type { Actor } from '../../../domain/investigation/investigation.ts';
import type { Connection } from '../connection.ts';
import { type ColumnSql, dateOf, milliseconds, readArrays } from '../queries.ts';
import { TABLES } from '../tables.ts';

/** A row of a gateway's activity stream; the time in milliseconds. */
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

/** Entries `s` with the content type `c` of their object and the actor `u`, but no uses of tokens. */
const STREAM = sql`FROM ${TABLES.gateway.activity} s JOIN django_content_type c ON c.id = s.content_type_id
  LEFT JOIN django_content_type r ON r.id = s.related_content_type_id
  LEFT JOIN ${TABLES.gateway.users} u ON u.id = s.created_by_id
  WHERE (s.changes->'changed_fields' = '{"scope": ["write", "write read"]}'::jsonb) IS NOT TRUE`;

/** Which entries, and what is known about them. */
export interface GatewayEntryQuery {
  readonly where: Sql;
  readonly limit: number;
  readonly newestFirst?: boolean;
  /** The names of settings by the ids of their rows. */
  readonly settingNames: ReadonlyMap<number, string>;
  /** Whose entry it is, by who made its object, where the entry has no actor. */
  readonly actorOf?: ((maker: number | null) => Actor | null) | undefined;
}

/**
 * Reads entries in the controller's form, ascending by id: the first ones if there are more than the limit. Entries that record no
 * change are left out.
 */
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
