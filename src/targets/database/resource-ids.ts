import { sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Connection } from './connection.ts';

/**
 * The platform's ids of users. Its connected components share one id per user. Controllers before 24 do not
 * have this table [seen on 23.5.1].
 * @returns By user id; null if the table is missing or this role may not read it, because no other query
 * needs that right.
 */
export async function readResourceIds({
  database,
  reader,
}: Connection): Promise<ReadonlyMap<number, string> | null> {
  const found = await sql`SELECT to_regclass('dab_resource_registry_resource') IS NOT NULL
    AND to_regclass('dab_resource_registry_resourcetype') IS NOT NULL AS present`.first<{ present: boolean }>(
    database,
  );
  if (found?.present !== true) return null;
  try {
    const rows = await sql`SELECT r.object_id AS id, r.ansible_id::text AS resource
      FROM dab_resource_registry_resource r
      JOIN dab_resource_registry_resourcetype t ON t.content_type_id = r.content_type_id
      WHERE t.name = 'shared.user'`.rows<{ id: string; resource: string }>(reader);
    return new Map(rows.map(({ id, resource }) => [Number(id), resource]));
  } catch (error) {
    if (error instanceof TokenctlError && error.code === 'permission_refused') return null;
    throw error;
  }
}
