import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, shared, sql } from '@tokenctl/common/db/sql.ts';
import { isKnownKind } from '../../../domain/investigation/kinds.ts';
import { ROLE_LINK, STORES } from './evidence-tables.ts';

export const ENTRIES = 'main_activitystream';

export function linkOf(kind: string): (readonly [table: string, column: string])[] {
  if (kind === 'role') return [ROLE_LINK];
  const found = isKnownKind(kind) ? STORES[kind]?.link : undefined;
  return found === undefined ? [] : [found];
}

interface Linked {
  readonly kind: string;
  readonly id: number | null;
}

/** The relationship in entries about a user's role. */
export const ROLE_MEMBERS = 'awx.main.models.rbac.Role_members';

/** An activity stream entry without an actor. */
interface NewEntry {
  readonly operation: 'update' | 'disassociate' | 'delete';
  readonly object1: string;
  readonly object2?: string;
  readonly changes: Readonly<Record<string, unknown>>;
  readonly links: readonly Linked[];
  readonly setting?: unknown;
  /** The entry that created the link. The controller repeats its relationship. */
  readonly like?: number | null;
}

/**
 * Records that a link was removed.
 * @param removal.links The entry's objects, if they are others than the two of the link.
 */
export async function recordRemoval(
  transaction: Queryable,
  removal: {
    readonly object: Linked;
    readonly other: Linked;
    readonly relationship?: string;
    readonly links?: readonly Linked[];
    readonly like: number | null;
  },
): Promise<void> {
  const { object, other, relationship, links = [object, other], like } = removal;
  const of = { object1: object.kind, object2: other.kind };
  const ids = { object1: object.kind, object1_pk: object.id, object2: other.kind, object2_pk: other.id };
  const changes = { ...ids, action: 'disassociate', relationship };
  await record(transaction, { operation: 'disassociate', ...of, changes, links, like });
}

/** Writes an entry as the controller does, but without an actor, and links it to its objects. */
export async function record(transaction: Queryable, entry: NewEntry): Promise<void> {
  const { operation, object1, object2 = '', changes, links, setting = {}, like = null } = entry;
  const recorded = shared(JSON.stringify(changes));
  const row = await sql`INSERT INTO main_activitystream (operation, timestamp, changes,
      object_relationship_type, object1, object2, action_node, setting)
    SELECT ${operation}, now(), (CASE WHEN l.changes::jsonb ? 'relationship'
        THEN ${recorded}::jsonb || jsonb_build_object('relationship', l.changes::jsonb->'relationship')
        ELSE ${recorded}::jsonb END)::text,
      coalesce(l.object_relationship_type, ''), ${object1}, ${object2}, 'tokenctl', ${JSON.stringify(setting)}::jsonb
    FROM (SELECT 1) one
    LEFT JOIN main_activitystream l ON l.id = ${like}::bigint
    RETURNING id`.first<{ id: number }>(transaction);
  for (const { kind, id } of links) {
    for (const [table, column] of linkOf(kind)) {
      await sql`INSERT INTO ${identifier(table)} (activitystream_id, ${identifier(column)})
        VALUES (${row?.id}, ${id})`.execute(transaction);
    }
  }
}
