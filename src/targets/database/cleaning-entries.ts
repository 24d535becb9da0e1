import type { Queryable } from '../../db/database.ts';
import { isKnownKind } from '../../domain/investigation/kinds.ts';
import { ROLE_LINK, STORES } from './evidence-tables.ts';

/** The table of the activity stream. */
export const ENTRIES = 'main_activitystream';

export function linkOf(kind: string): (readonly [table: string, column: string])[] {
  if (kind === 'role') return [ROLE_LINK];
  const found = isKnownKind(kind) ? STORES[kind]?.link : undefined;
  return found === undefined ? [] : [found];
}

/** An entry of the activity stream; it has no actor. */
interface NewEntry {
  readonly operation: 'update' | 'disassociate' | 'delete';
  readonly object1: string;
  readonly object2?: string;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly kind: string; readonly id: number | null }[];
  readonly setting?: unknown;
  /** The entry that made the link: the controller repeats its relationship. */
  readonly like?: number | null;
}

/** Writes an entry as the controller does, but for the actor, and links it to its objects. */
export async function record(transaction: Queryable, entry: NewEntry): Promise<void> {
  const { operation, object1, object2 = '', changes, links, setting = {}, like = null } = entry;
  const [row] = await transaction.query<{ id: number }>(
    `INSERT INTO ${ENTRIES} (operation, timestamp, changes, object_relationship_type, object1, object2, action_node, setting)
     SELECT $1, now(), (CASE WHEN l.changes::jsonb ? 'relationship'
         THEN $2::jsonb || jsonb_build_object('relationship', l.changes::jsonb->'relationship') ELSE $2::jsonb END)::text,
       coalesce(l.object_relationship_type, ''), $3, $4, 'tokenctl', $5::jsonb
     FROM (SELECT 1) one LEFT JOIN ${ENTRIES} l ON l.id = $6::bigint RETURNING id`,
    [operation, JSON.stringify(changes), object1, object2, JSON.stringify(setting), like],
  );
  for (const { kind, id } of links) {
    for (const [table, column] of linkOf(kind)) {
      await transaction.execute(`INSERT INTO ${table} (activitystream_id, ${column}) VALUES ($1, $2)`, [
        row?.id,
        id,
      ]);
    }
  }
}
