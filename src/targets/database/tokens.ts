import { createHash } from 'node:crypto';
import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, shared, sql } from '@tokenctl/common/db/sql.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { globText } from '../../domain/policy/subject.ts';
import { Rows } from '../../domain/rows.ts';
import { type Comparison, comparisonsOf, keptOf, type Selector, whoseOf } from '../../domain/selector.ts';
import type { PlannedToken, RefreshToken, Token } from '../../domain/token.ts';
import type { Identified, TargetDescription } from '../../operations/ports/target.ts';
import type { RefreshTokenSelector } from '../../operations/ports/target-parts.ts';
import type { Connection } from './connection.ts';
import {
  allOf,
  type ColumnSql,
  dateOf,
  dateOrNull,
  type IdRange,
  idPages,
  inBatches,
  inRange,
  lastKeyOf,
  milliseconds,
  PAGE_LIMIT,
  pagesById,
  readArrays,
  when,
} from './queries.ts';
import { type Owners, resolveNames, TokenReferences } from './references.ts';
import { isInClear, type Layout, TABLES, tokenFingerprint, tokenHash } from './tables.ts';

/** Streams the access tokens of a selector, ascending by id. */
export function listTokens(connection: Connection, selector: Selector): Rows<Token> {
  const references = new TokenReferences(connection.layout);
  return tokenRows(connection, selector, {
    columns: TOKEN_COLUMNS,
    references,
    of: (row): Token => ({
      ...plannedToken(row, references),
      description: row.description,
      created: dateOf(row.created),
      expires: dateOf(row.expires),
      lastUsed: dateOrNull(row.last_used),
      fingerprint: row.fingerprint,
    }),
  });
}

/** The same tokens, with only the columns that a plan counts, which takes a third of the time to read. */
export function listTokensToPlan(connection: Connection, selector: Selector): Rows<PlannedToken> {
  const references = new TokenReferences(connection.layout);
  const of = (row: PlannedRow) => plannedToken(row, references);
  return tokenRows(connection, selector, { columns: PLANNED_COLUMNS, references, of });
}

function plannedToken(row: PlannedRow, references: TokenReferences): PlannedToken {
  return {
    id: row.id,
    user: references.user(row.user_id),
    application: references.application(row.application_id),
    scope: row.scope,
    hasRefreshToken: row.has_refresh_token,
    ...(row.refresh_created !== null && { refreshTokenCreated: dateOf(row.refresh_created) }),
  };
}

/** Maps the rows of a selector. Their users and applications are in `references` when a row is read. */
function tokenRows<Row extends PlannedRow, Of extends PlannedToken>(
  connection: Connection,
  selector: Selector,
  read: { columns: (layout: Layout) => ColumnSql<Row>; references: TokenReferences; of: (row: Row) => Of },
): Rows<Of> {
  const { layout, reader } = connection;
  async function* pages(): AsyncIterable<readonly Of[]> {
    const criteria = await conditionsOf(connection, selector);
    const found = pagesById<readonly Row[]>(connection.table('accessTokens'), {
      ids: selector.ids,
      read: (range) => readArrays(reader, read.columns(layout), tokensSql(layout, criteria, range)),
      lastId: lastKeyOf(({ id }) => id),
    });
    for await (const rows of found) {
      await read.references.load(connection, rows);
      yield keptOf(rows.map(read.of), selector);
    }
  }
  return Rows.from(pages());
}

/** The conditions of a selector on a row `t`, without its ids, and without its negations, which have no SQL. */
export async function conditionsOf(
  connection: Connection,
  selector: Selector,
): Promise<readonly (Sql | undefined)[]> {
  const { userIds, applicationIds } = await resolveNames(connection, whoseOf(selector));
  return [
    when(userIds, (ids) => sql`t.user_id = ANY(${ids}::bigint[])`),
    when(applicationIds, (ids) => sql`t.application_id = ANY(${ids}::bigint[])`),
    when(selector.none, () => sql`false`),
    ...comparisonsOf(selector).map(comparisonSql),
  ];
}

const COLUMNS = {
  created: sql`t.created`,
  expires: sql`t.expires`,
  used: sql`coalesce(t.last_used, t.created)`,
};
const OPERATORS = { '<': sql`<`, '<=': sql`<=`, '>': sql`>`, '>=': sql`>=` };

function comparisonSql(comparison: Comparison): Sql {
  switch (comparison.column) {
    case 'scope':
      return { with: sql`${comparison.to}::text = ANY(string_to_array(t.scope, ' '))` }[comparison.is];
    case 'description': {
      const patterns = comparison.to.map(likePattern);
      return { like: sql`t.description LIKE ANY(${patterns}::text[])` }[comparison.is];
    }
    case 'lastUsed':
      return { null: sql`t.last_used IS NULL` }[comparison.is];
    default:
      return sql`${COLUMNS[comparison.column]} ${OPERATORS[comparison.is]} ${comparison.to}::timestamptz`;
  }
}

function likePattern(pattern: string): string {
  return globText(pattern, { any: '%', one: '_', plain: (text) => text.replaceAll(/[\\%_]/g, '\\$&') });
}

/** The columns of an access token's row that a plan counts. Instants are in milliseconds. */
interface PlannedRow {
  readonly id: number;
  readonly user_id: number | null;
  readonly application_id: number | null;
  readonly scope: string;
  readonly has_refresh_token: boolean;
  readonly refresh_created: number | null;
}

/** An access token's row. Instants are in milliseconds. */
interface TokenRow extends PlannedRow {
  readonly description: string;
  readonly created: number;
  readonly expires: number;
  readonly last_used: number | null;
  readonly fingerprint: string;
}

const PLANNED_COLUMNS = (): ColumnSql<PlannedRow> => ({
  id: sql`t.id`,
  user_id: sql`t.user_id`,
  application_id: sql`t.application_id`,
  scope: sql`t.scope`,
  has_refresh_token: sql`r.id IS NOT NULL`,
  refresh_created: milliseconds(sql`r.created`),
});

export const TOKEN_COLUMNS = (layout: Layout): ColumnSql<TokenRow> => ({
  ...PLANNED_COLUMNS(),
  description: sql`t.description`,
  created: milliseconds(sql`t.created`),
  expires: milliseconds(sql`t.expires`),
  last_used: milliseconds(sql`t.last_used`),
  fingerprint: tokenFingerprint(layout, sql`t.token`),
});

/**
 * A page of access tokens after an id, ascending by id. Both indexes are read in parallel from that id on:
 * the condition on `r.access_token_id` follows from the join, and is repeated for the planner.
 */
export function tokensSql(layout: Layout, criteria: readonly (Sql | undefined)[], range: IdRange): Sql {
  const { accessTokens, refreshTokens } = TABLES[layout];
  const where = allOf(...inRange(sql`t.id`, range), ...criteria);
  return sql`FROM ${accessTokens} t
    LEFT JOIN ${refreshTokens} r
      ON r.access_token_id = t.id AND r.access_token_id > ${range.after}::bigint AND r.revoked IS NULL
    WHERE ${where} ORDER BY t.id ${PAGE_LIMIT}`;
}

/** Streams the refresh tokens of a selector, ascending by id. */
export async function* listRefreshTokens(
  connection: Connection,
  selector: RefreshTokenSelector,
): AsyncGenerator<RefreshToken, void> {
  const { ids, ...asked } = selector;
  const criteria = { ...asked, ...(await resolveNames(connection, asked)) };
  const { layout } = connection;
  const pages = idPages<RefreshTokenRow>(connection.table('refreshTokens'), ids, (range) =>
    refreshTokensSql(layout, criteria, range),
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
        revoked: dateOrNull(row.revoked),
        accessTokenId: row.access_token_id,
        fingerprint: row.fingerprint,
      };
    }
  }
}

type RefreshTokenCriteria = Omit<RefreshTokenSelector, keyof Owners> & Owners;

/** A refresh token's row. Instants are in milliseconds. */
interface RefreshTokenRow {
  readonly id: number;
  readonly user_id: number;
  readonly application_id: number;
  readonly access_token_id: number | null;
  readonly created: number;
  readonly revoked: number | null;
  readonly fingerprint: string;
}

/** `refreshTokenState` of domain/token.ts in SQL, for a row `r`. */
const REFRESH_TOKEN_STATE = sql`CASE WHEN r.revoked IS NOT NULL THEN 'revoked'
  WHEN r.access_token_id IS NULL THEN 'orphaned' ELSE 'live' END`;

function refreshTokensSql(layout: Layout, criteria: RefreshTokenCriteria, range: IdRange): Sql {
  const where = allOf(
    ...inRange(sql`r.id`, range),
    when(criteria.userIds, (ids) => sql`r.user_id = ANY(${ids}::bigint[])`),
    when(criteria.applicationIds, (ids) => sql`r.application_id = ANY(${ids}::bigint[])`),
    when(criteria.states, (states) => sql`${REFRESH_TOKEN_STATE} = ANY(${states}::text[])`),
    when(criteria.createdBefore, (at) => sql`r.created < ${at}::timestamptz`),
    when(criteria.revokedBefore, (at) => sql`r.revoked < ${at}::timestamptz`),
  );
  return sql`SELECT r.id, r.user_id, r.application_id, r.access_token_id,
       ${milliseconds(sql`r.created`)} AS created, ${milliseconds(sql`r.revoked`)} AS revoked,
       ${tokenFingerprint(layout, sql`r.token`)} AS fingerprint
     FROM ${TABLES[layout].refreshTokens} r
     WHERE ${where} ORDER BY r.id ${PAGE_LIMIT}`;
}

/** How many hashes one query looks up. If tokens are stored in plain text, each query reads the whole table. */
const HASHES_PER_QUERY = 5000;

/** Identifies the owners of token values by their SHA-256. No value leaves this process. */
export async function* identifyByHash(
  connection: Connection,
  values: readonly Secret[],
): AsyncGenerator<Identified, void> {
  const { layout } = connection;
  const hashes = values.map((value) => createHash('sha256').update(value.reveal()).digest('hex'));
  for (const batch of inBatches([...hashes.entries()], HASHES_PER_QUERY)) {
    const wanted = batch.map(([, hash]) => hash);
    const rows = await hashedSql(layout, wanted).rows<HashedRow>(connection.reader);
    const byHash = new Map(rows.map((row) => [row.hash, row]));
    for (const [index, hash] of batch) {
      const row = byHash.get(hash);
      if (row === undefined) continue;
      const { kind, id, live, user_id, username, last_used } = row;
      const user = user_id === null || username === null ? null : { id: user_id, username };
      const lastUsed = kind === 'access_token' ? { lastUsed: dateOrNull(last_used) } : {};
      yield { index, kind, live, ids: [id], user, fingerprint: hash.slice(0, 12), ...lastUsed, usedAt: null };
    }
  }
}

interface HashedRow {
  readonly kind: 'access_token' | 'refresh_token';
  readonly id: number;
  readonly hash: string;
  readonly live: boolean;
  readonly user_id: number | null;
  readonly username: string | null;
  /** In milliseconds; null for a refresh token. */
  readonly last_used: number | null;
}

/** The access and refresh tokens with one of these hashes, including expired and revoked ones. */
function hashedSql(layout: Layout, wanted: readonly string[]): Sql {
  const hashes = shared(wanted);
  const { accessTokens, refreshTokens, users } = TABLES[layout];
  const [access, refresh] = [tokenHash(layout, sql`t.token`), tokenHash(layout, sql`r.token`)];
  return sql`SELECT 'access_token' AS kind, t.id, ${access} AS hash, t.expires > now() AS live, t.user_id,
      u.username, ${milliseconds(sql`t.last_used`)} AS last_used
    FROM ${accessTokens} t LEFT JOIN ${users} u ON u.id = t.user_id WHERE ${access} = ANY(${hashes}::text[])
    UNION ALL
    SELECT 'refresh_token', r.id, ${refresh}, r.revoked IS NULL, r.user_id, u.username, NULL
    FROM ${refreshTokens} r LEFT JOIN ${users} u ON u.id = r.user_id
    WHERE ${refresh} = ANY(${hashes}::text[])`;
}

/** Sixty-four hex digits: a hash as tokenctl before 0.2 stored it in a gateway, or a plain-text token. */
const BARE_HEX = sql`~ '^[0-9a-f]{64}$'`;

/** How a gateway stores new tokens, according to its newest one; null if none. Bare hashes do not count. */
export async function newestForm(database: Queryable): Promise<'clear' | 'hash' | null> {
  const { accessTokens, refreshTokens } = TABLES.gateway;
  const newest = (table: Sql) =>
    sql`(SELECT t.created, ${isInClear(sql`t.token`)} AS clear FROM ${table} t
      WHERE NOT t.token ${BARE_HEX} ORDER BY t.id DESC LIMIT 1)`;
  const row = await sql`SELECT clear FROM (${newest(accessTokens)} UNION ALL ${newest(refreshTokens)}) n
    ORDER BY created DESC LIMIT 1`.first<{ clear: boolean }>(database);
  return row === null ? null : row.clear ? 'clear' : 'hash';
}

/** How many tokens of another form are listed. */
const MOST_NAMED = sql`LIMIT 20`;

export async function readTokenStorage(
  database: Queryable,
): Promise<Required<Pick<TargetDescription, 'tokensInClear' | 'unhashedTokens'>>> {
  const form = await newestForm(database);
  if (form === 'clear') return { tokensInClear: await hasTokensInClear(database), unhashedTokens: null };
  const rows = await sql`SELECT t.id, count(*) OVER ()::int AS count FROM ${TABLES.gateway.accessTokens} t
    WHERE ${isInClear(sql`t.token`)} AND t.expires > now()
    ORDER BY t.id ${MOST_NAMED}`.rows<{ id: number; count: number }>(database);
  const [first] = rows;
  const unhashedTokens = first && {
    hashes: form === 'hash',
    count: first.count,
    ids: rows.map(({ id }) => id),
  };
  return { tokensInClear: false, unhashedTokens: unhashedTokens ?? null };
}

/** Whether live tokens are stored in plain text: unexpired access tokens, refresh tokens that are not revoked. */
async function hasTokensInClear(database: Queryable): Promise<boolean> {
  const { accessTokens, refreshTokens } = TABLES.gateway;
  return await sql`SELECT WHERE EXISTS (
      SELECT FROM ${accessTokens} t WHERE ${isInClear(sql`t.token`)} AND t.expires > now())
    OR EXISTS (
      SELECT FROM ${refreshTokens} r WHERE ${isInClear(sql`r.token`)} AND r.revoked IS NULL)`.exists(
    database,
  );
}
