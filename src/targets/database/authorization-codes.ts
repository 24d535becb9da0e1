import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { AuthorizationCode } from '../../domain/token.ts';
import type { AuthorizationCodeSelector } from '../../operations/ports/target-parts.ts';
import type { Connection } from './connection.ts';
import { allOf, dateOf, type IdRange, idPages, inRange, milliseconds, PAGE_LIMIT, when } from './queries.ts';
import { type Owners, resolveNames, TokenReferences } from './references.ts';
import { processRows } from './revocation.ts';
import { type Layout, TABLES } from './tables.ts';

/** Streams the authorization codes of a selector, ascending by id. Their values stay in the database. */
export async function* listAuthorizationCodes(
  connection: Connection,
  { ids, state, ...whose }: AuthorizationCodeSelector,
): AsyncGenerator<AuthorizationCode, void> {
  const { layout } = connection;
  const criteria = { ...(await resolveNames(connection, whose)), state };
  const pages = idPages<CodeRow>(connection.table('authorizationCodes'), ids, (range) =>
    codesSql(layout, criteria, range),
  );
  const references = new TokenReferences(layout);
  for await (const rows of pages) {
    await references.load(connection, rows);
    for (const row of rows) {
      yield {
        id: row.id,
        user: references.user(row.user_id),
        application: references.application(row.application_id),
        created: dateOf(row.created),
        expires: dateOf(row.expires),
      };
    }
  }
}

/** Deletes authorization codes, live or not. Neither a controller nor a gateway records codes in its stream. */
export function deleteAuthorizationCodes(
  connection: Connection,
  options: { readonly ids: readonly number[]; readonly lockRetryMs: number },
): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  return processRows(connection, {
    ...options,
    purpose: 'revoke',
    remaining: TABLES[layout].authorizationCodes,
    process: (database, ids) => deleteRows(database, layout, ids),
  });
}

interface CodeRow {
  readonly id: number;
  readonly user_id: number;
  readonly application_id: number;
  readonly created: number;
  readonly expires: number;
}

interface CodeCriteria extends Owners {
  readonly state: AuthorizationCodeSelector['state'];
}

function codesSql(layout: Layout, { userIds, applicationIds, state }: CodeCriteria, range: IdRange): Sql {
  const { authorizationCodes, unredeemed } = TABLES[layout];
  const where = allOf(
    ...inRange(sql`c.id`, range),
    when(userIds, (ids) => sql`c.user_id = ANY(${ids}::bigint[])`),
    when(applicationIds, (ids) => sql`c.application_id = ANY(${ids}::bigint[])`),
    state === 'live' ? sql`c.expires > now()${unredeemed}` : sql`c.expires <= now()`,
  );
  return sql`SELECT c.id, c.user_id, c.application_id, ${milliseconds(sql`c.created`)} AS created,
      ${milliseconds(sql`c.expires`)} AS expires
    FROM ${authorizationCodes} c WHERE ${where} ORDER BY c.id ${PAGE_LIMIT}`;
}

async function deleteRows(database: Queryable, layout: Layout, ids: readonly number[]): Promise<Outcome[]> {
  const deleted = sql`DELETE FROM ${TABLES[layout].authorizationCodes} c
    WHERE c.id = ANY(${ids}::bigint[]) RETURNING c.id`.prepared('delete authorization codes');
  return (await deleted.ids(database)).map((tokenId) => ({ tokenId, result: 'revoked' }));
}
