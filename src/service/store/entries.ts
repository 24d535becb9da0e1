import type { Queryable } from '../../db/database.ts';

/** An entry of the gateway's activity stream. */
export interface EntryRecord {
  readonly id: number;
  readonly created: Date;
  readonly operation: string;
  readonly changes: Readonly<Record<string, unknown>> | null;
  readonly content_type_id: number;
  readonly object_id: string | null;
  readonly related_content_type_id: number | null;
  readonly related_object_id: string | null;
  readonly model: string;
  readonly related_model: string | null;
  readonly created_by_id: number | null;
  readonly username: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
}

/** Rows `e` of the activity stream with what they are about, `c`, the other side, `r`, and the actor, `u`. */
export const ENTRY_FROM = `dab_activitystream_entry e
  JOIN django_content_type c ON c.id = e.content_type_id
  LEFT JOIN django_content_type r ON r.id = e.related_content_type_id
  LEFT JOIN aap_gateway_api_user u ON u.id = e.created_by_id`;

/** The columns of an {@link EntryRecord} over {@link ENTRY_FROM}. */
export const ENTRY_COLUMNS = `
  e.id, e.created, e.operation, e.changes, e.content_type_id, e.object_id, e.related_content_type_id,
  e.related_object_id, c.model, r.model AS related_model, e.created_by_id, u.username, u.first_name, u.last_name`;

/** An entry by id, or null. */
export async function findEntry(database: Queryable, id: number): Promise<EntryRecord | null> {
  const rows = await database.query<EntryRecord>(
    `SELECT ${ENTRY_COLUMNS} FROM ${ENTRY_FROM} WHERE e.id = $1`,
    [id],
  );
  return rows[0] ?? null;
}
