import type { Queryable } from '../../db/database.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { AuthorizationCode } from '../../domain/token.ts';
import type { AuthorizationCodeSelector } from '../../operations/ports/target-parts.ts';
import type { Connection } from './connection.ts';
import { dateOf, type IdRange, idPages, inRange, milliseconds, PAGE_SIZE } from './queries.ts';
import { resolveNames, TokenReferences } from './references.ts';
import { processRows } from './revocation.ts';
import { type Layout, TABLES } from './tables.ts';

/** Streams the authorization codes of a selector, ascending by id. Their values stay in the database. */
export async function* listAuthorizationCodes(
  connection: Connection,
  { ids, state, ...whose }: AuthorizationCodeSelector,
): AsyncGenerator<AuthorizationCode, void> {
  const names = await resolveNames(connection, whose);
  const { layout } = connection;
  const pages = idPages(connection.table('authorizationCodes'), ids, (database, range) =>
    readPage(database, { layout, range, criteria: { ...names, state } }),
  );
  const references = new TokenReferences(layout);
  for await (const rows of pages) {
    await references.load(connection, rows);
    for (const row of rows) {
      yield {
        id: row.id,
        user: references.user(row),
        application: references.application(row),
        created: dateOf(row.created),
        expires: dateOf(row.expires),
      };
    }
  }
}

/**
 * Deletes authorization codes, live or not. Nothing is written to the activity stream: neither a controller nor a
 * gateway records codes there.
 */
export function deleteAuthorizationCodes(
  connection: Connection,
  options: { readonly ids: readonly number[]; readonly lockRetryMs: number },
): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  return processRows(connection, {
    ...options,
    purpose: 'revoke',
    process: (database, ids) => deleteRows(database, layout, ids),
    findRemaining: (database, ids) => readExistingIds(database, layout, ids),
  });
}

interface CodeRow {
  readonly id: number;
  readonly user_id: number;
  readonly application_id: number;
  readonly created: number;
  readonly expires: number;
}

function readPage(
  database: Queryable,
  options: {
    readonly layout: Layout;
    readonly range: IdRange;
    readonly criteria: {
      readonly userIds: readonly number[] | undefined;
      readonly applicationIds: readonly number[] | undefined;
      readonly state: AuthorizationCodeSelector['state'];
    };
  },
): Promise<CodeRow[]> {
  const { layout, range, criteria } = options;
  const { authorizationCodes, unredeemed } = TABLES[layout];
  const where = inRange('c.id', range)
    .add(criteria.userIds, (ids) => `c.user_id = ANY(${ids}::bigint[])`)
    .add(criteria.applicationIds, (ids) => `c.application_id = ANY(${ids}::bigint[])`)
    .require(criteria.state === 'live' ? `c.expires > now()${unredeemed}` : 'c.expires <= now()');
  return database.query<CodeRow>(
    `SELECT c.id, c.user_id, c.application_id, ${milliseconds('c.created')} AS created,
       ${milliseconds('c.expires')} AS expires
     FROM ${authorizationCodes} c WHERE ${where.sql} ORDER BY c.id LIMIT ${PAGE_SIZE}`,
    where.values,
  );
}

async function deleteRows(database: Queryable, layout: Layout, ids: readonly number[]): Promise<Outcome[]> {
  const table = TABLES[layout].authorizationCodes;
  const rows = await database.query<{ id: number }>(
    `DELETE FROM ${table} c WHERE c.id = ANY($1::bigint[]) RETURNING c.id`,
    [ids],
    'delete authorization codes',
  );
  return rows.map(({ id }) => ({ tokenId: id, result: 'revoked' }));
}

async function readExistingIds(
  database: Queryable,
  layout: Layout,
  ids: readonly number[],
): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT c.id FROM ${TABLES[layout].authorizationCodes} c WHERE c.id = ANY($1::bigint[])`,
    [ids],
  );
  return rows.map(({ id }) => id);
}
