import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { RoleRecord } from '../../../operations/ports/evidence.ts';
import type { Connection } from '../connection.ts';
import { type ArraysOf, readColumns } from '../queries.ts';
import { ROLE_MEMBERS, recordRemoval } from './cleaning-entries.ts';
import { SERVICE_ROLES } from './evidence-tables.ts';

/** The tables of {@link SERVICE_ROLES} from which rows are deleted to remove a user's role. */
export const SERVICE_GRANTS = ['service_role', 'service_team_role', 'service_role_grant'];

/** Whether a database, by its tables, is a service's and has its roles. */
export function hasServiceRoles(present: { readonly has: (table: string) => boolean }): boolean {
  return SERVICE_ROLES.every((table) => present.has(table));
}

/** The roles `r` of all objects. */
const ROLES = sql`(
  SELECT v.id, v.role || '_role' AS field, v.kind, v.object FROM (
    SELECT x.id, x.role, 'organization' AS kind, o.id AS object
    FROM main_organization o CROSS JOIN LATERAL (VALUES
      (o.admin_role_id, 'admin'), (o.auditor_role_id, 'auditor'), (o.member_role_id, 'member')) AS x (id, role)
    UNION ALL
    SELECT x.id, x.role, 'team', t.id
    FROM main_team t CROSS JOIN LATERAL (VALUES
      (t.admin_role_id, 'admin'), (t.member_role_id, 'member')) AS x (id, role)
    UNION ALL
    SELECT id, role, resource_type, resource_id FROM service_object_role) v) r`;

interface RoleRow {
  readonly id: number;
  readonly field: string;
  readonly kind: string;
  readonly object: number;
}

function rolesSql(ids: readonly number[]): Sql {
  return sql`SELECT r.id, r.field, r.kind, r.object FROM ${ROLES} WHERE r.id = ANY(${ids}::bigint[])`;
}

export async function readServiceRoles(
  { reader }: Connection,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RoleRecord>> {
  const rows = await rolesSql(ids).rows<RoleRow>(reader);
  return new Map(
    rows.map(({ id, field, kind, object }) => [id, { id, field, about: { kind, id: object, name: null } }]),
  );
}

/** The roles of entries about a user's role. The service derives these links and does not store them. */
export function readRoleLinks(
  { reader }: Connection,
  entries: readonly number[],
): Promise<ArraysOf<{ readonly entry: number; readonly object: number }>> {
  return readColumns<{ readonly entry: number; readonly object: number }>(
    reader,
    { entry: sql`s.id`, object: sql`r.id` },
    sql`FROM main_activitystream s JOIN ${ROLES} ON r.kind = s.object1
        AND r.object::text = s.changes::jsonb->>'object1_pk'
        AND r.field = substring(s.object_relationship_type FROM '[a-z_]+_role$')
      WHERE s.id = ANY(${entries}::bigint[]) AND s.object2 = 'user'`,
  );
}

/** Whether a user or team directly has a role of the service; null for another holder. */
export async function holdsServiceRole(
  { reader }: Connection,
  role: number,
  holder: { readonly kind: string; readonly id: number },
): Promise<boolean | null> {
  if (holder.kind === 'team') {
    return await sql`SELECT FROM service_role_grant
      WHERE role_id = ${role} AND team_id = ${holder.id}`.exists(reader);
  }
  if (holder.kind !== 'user') return null;
  return await sql`SELECT FROM ${ROLES} WHERE r.id = ${role} AND (
      EXISTS (SELECT FROM service_role_grant g WHERE g.role_id = r.id AND g.user_id = ${holder.id})
      OR r.kind = 'organization' AND EXISTS (SELECT FROM service_role h WHERE h.organization_id = r.object
        AND h.role || '_role' = r.field AND h.user_id = ${holder.id})
      OR r.kind = 'team' AND EXISTS (SELECT FROM service_team_role h WHERE h.team_id = r.object
        AND h.role || '_role' = r.field AND h.user_id = ${holder.id}))`.exists(reader);
}

/**
 * Removes an object's role from a user. The service itself reads roles with each request.
 * @param entry The entry that granted it; null if unknown.
 */
export async function removeServiceRole(
  transaction: Queryable,
  { roleId, userId, entry }: { roleId: number | null; userId: number | null; entry: number | null },
): Promise<'done' | 'unchanged'> {
  const role = await rolesSql(roleId === null ? [] : [roleId]).first<RoleRow>(transaction);
  if (role === null) return 'unchanged';
  const { field, kind, object } = role;
  const deletions = [
    sql`DELETE FROM service_role_grant WHERE role_id = ${roleId} AND user_id = ${userId}`,
    ...(kind === 'organization'
      ? [
          sql`DELETE FROM service_role
            WHERE organization_id = ${object} AND role || '_role' = ${field} AND user_id = ${userId}`,
        ]
      : []),
    ...(kind === 'team'
      ? [
          sql`DELETE FROM service_team_role
            WHERE team_id = ${object} AND role || '_role' = ${field} AND user_id = ${userId}`,
        ]
      : []),
  ];
  let deleted = 0;
  for (const deletion of deletions) deleted += await deletion.execute(transaction);
  if (deleted === 0) return 'unchanged';
  await recordRemoval(transaction, {
    object: { kind, id: object },
    other: { kind: 'user', id: userId },
    relationship: ROLE_MEMBERS,
    like: entry,
  });
  return 'done';
}
