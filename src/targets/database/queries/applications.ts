import type { Queryable } from '../../../db/database.ts';
import type { Application, ApplicationReference } from '../../../domain/token.ts';
import { instant, milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { TABLES } from '../tables.ts';

/** The names of applications by their ids. */
export function readApplicationNames(
  database: Queryable,
  { layout, ids }: { readonly layout: Layout; readonly ids: readonly number[] },
): Promise<ApplicationReference[]> {
  return database.query<ApplicationReference>(
    `SELECT a.id, a.name FROM ${TABLES[layout].applications} a WHERE a.id = ANY($1::bigint[])`,
    [ids],
  );
}

/** The ids of applications by their names, compared exactly; several organizations may share a name. */
export async function readApplicationIds(
  database: Queryable,
  { layout, names }: { readonly layout: Layout; readonly names: readonly string[] },
): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT a.id FROM ${TABLES[layout].applications} a WHERE a.name = ANY($1::text[])`,
    [names],
  );
  return rows.map(({ id }) => id);
}

/** All applications, or those of these names, ascending by id. */
export async function readApplications(
  database: Queryable,
  { layout, names }: { readonly layout: Layout; readonly names: readonly string[] | null },
): Promise<Application[]> {
  const rows = await database.query<Omit<Application, 'created'> & { created: number }>(
    `SELECT a.id, a.name, a.client_type AS "clientType", a.authorization_grant_type AS "grantType",
       ${milliseconds('a.created')} AS created
     FROM ${TABLES[layout].applications} a WHERE $1::text[] IS NULL OR a.name = ANY($1::text[]) ORDER BY a.id`,
    [names],
  );
  return rows.map((row) => ({ ...row, created: instant(row.created) }));
}
