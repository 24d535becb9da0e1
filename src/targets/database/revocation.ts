import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, shared, sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Outcome } from '../../domain/plan.ts';
import type { RightsPurpose } from '../../operations/ports/target.ts';
import { insertTokensDeleted, refreshTokensDeletedCte, refreshTokensRevokedCte } from './activity-entries.ts';
import { eachOf, processInBatches } from './batches.ts';
import type { Connection } from './connection.ts';
import { type ArraysOf, arraysSql, type ColumnSql, rowsOf } from './queries.ts';
import { type Layout, TABLES, tokenFingerprint } from './tables.ts';

/** How many tokens one transaction revokes: about 50 ms of work, so that other transactions do not wait long. */
export const BATCH_SIZE = 2000;

interface RevocationOptions {
  readonly ids: readonly number[];
  /** How long to retry tokens that other transactions lock, in milliseconds. */
  readonly lockRetryMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Revokes access tokens, optionally with their refresh tokens, and yields the outcome of each. */
export function revokeAccessTokens(
  connection: Connection,
  options: RevocationOptions & { readonly withRefreshTokens: boolean },
): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  const { withRefreshTokens } = options;
  return processRows(connection, {
    ...options,
    purpose: 'revoke',
    remaining: TABLES[layout].accessTokens,
    process: (database, ids) => deleteAccessTokens(database, { layout, ids, withRefreshTokens }),
  });
}

/** Revokes refresh tokens, each with its access token. Already revoked tokens are unchanged. */
export function revokeRefreshTokens(
  connection: Connection,
  options: RevocationOptions,
): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  return processRows(connection, {
    ...options,
    purpose: 'revoke',
    remaining: sql`(SELECT r.id FROM ${TABLES[layout].refreshTokens} r WHERE r.revoked IS NULL)`,
    process: (database, ids) => updateRefreshTokens(database, { layout, ids }),
  });
}

/** Deletes the rows of refresh tokens, live or not. */
export function deleteRefreshTokens(
  connection: Connection,
  options: RevocationOptions,
): AsyncGenerator<Outcome, void> {
  const { layout } = connection;
  return processRows(connection, {
    ...options,
    purpose: 'cleanup',
    remaining: TABLES[layout].refreshTokens,
    process: (database, ids) => deleteRefreshTokenRows(database, { layout, ids }),
  });
}

/** Processes rows in batches. A missing row was already deleted, and counts as unchanged. */
export async function* processRows(
  connection: Connection,
  options: RevocationOptions & {
    readonly purpose: RightsPurpose;
    /** The rows still to process: an unprocessed one of them is locked. */
    readonly remaining: Sql;
    readonly process: (database: Queryable, ids: readonly number[]) => Promise<readonly Outcome[]>;
  },
): AsyncGenerator<Outcome, void> {
  const { ids, lockRetryMs, signal, purpose, remaining, process } = options;
  const { unprocessed, failure } = yield* eachOf(
    processInBatches<number, Outcome>({
      connection,
      purpose,
      lockRetryMs,
      signal,
      findRemaining: (database, some) =>
        sql`SELECT t.id FROM ${remaining} t WHERE t.id = ANY(${some}::bigint[])`.ids(database),
      items: ids,
      batchSize: BATCH_SIZE,
      process: async (database, batch) =>
        new Map((await process(database, batch)).map((outcome) => [outcome.tokenId, outcome])),
      missing: (tokenId) => ({ tokenId, result: 'unchanged' }),
    }),
  );
  for (const { item, reason } of unprocessed) yield { tokenId: item, result: 'failed', reason };
  if (failure === null) return;
  const { error, inFlight } = failure;
  if (isUnanswered(error)) {
    const reason = `no response, so it may or may not be revoked: ${error.message}`;
    yield* inFlight.map((tokenId): Outcome => ({ tokenId, result: 'failed', reason }));
  }
  throw error;
}

/** Whether it is unknown if the last transaction was committed. */
function isUnanswered(error: unknown): error is TokenctlError {
  return error instanceof TokenctlError && error.code === 'target_unreachable';
}

/** A revoked access token, and the refresh token that was revoked with it. */
interface RevokedPair {
  readonly id: number;
  readonly fingerprint: string;
  readonly refresh_id: number | null;
  readonly refresh_fingerprint: string | null;
}

/**
 * Revokes access tokens in one statement, in the controller's order: their live refresh tokens are revoked (if
 * requested) and detached, then the access tokens are deleted. A token is skipped while another transaction locks it
 * or its refresh token: `locked_refresh` contains those that could be locked, `present_refresh` all that exist.
 */
export async function deleteAccessTokens(
  database: Queryable,
  options: { layout: Layout; ids: readonly number[]; withRefreshTokens: boolean },
): Promise<Outcome[]> {
  const { layout } = options;
  const { accessTokens, refreshTokens, applications, refreshTokenUpdatedAt } = TABLES[layout];
  const ids = shared(options.ids);
  const withRefreshTokens = shared(options.withRefreshTokens);
  const revokedWithThem = sql`SELECT s.refresh_id AS id FROM selected s
    WHERE ${withRefreshTokens}::boolean AND s.refresh_id IS NOT NULL AND s.refresh_revoked IS NULL`;
  const columns: ColumnSql<RevokedPair> = {
    id: sql`s.id`,
    fingerprint: tokenFingerprint(layout, sql`s.token`),
    refresh_id: sql`CASE WHEN ${withRefreshTokens}::boolean AND s.refresh_revoked IS NULL THEN s.refresh_id END`,
    refresh_fingerprint: tokenFingerprint(layout, sql`s.refresh_token`),
  };
  const result = await sql`WITH locked AS MATERIALIZED (
       SELECT t.id, t.token, t.description, t.scope, t.application_id FROM ${accessTokens} t
       WHERE t.id = ANY(${ids}::bigint[]) FOR UPDATE SKIP LOCKED
     ), locked_refresh AS MATERIALIZED (
       SELECT r.id, r.token, r.revoked FROM ${refreshTokens} r
       WHERE r.access_token_id = ANY(${ids}::bigint[]) FOR UPDATE SKIP LOCKED
     ), present_refresh AS MATERIALIZED (
       SELECT r.id, r.access_token_id FROM ${refreshTokens} r
       WHERE r.access_token_id = ANY(${ids}::bigint[])
     ), selected AS MATERIALIZED (
       SELECT l.id, l.token, l.description, l.scope, a.name AS application,
         r.id AS refresh_id, r.token AS refresh_token, r.revoked AS refresh_revoked
       FROM locked l
       LEFT JOIN present_refresh p ON p.access_token_id = l.id
       LEFT JOIN locked_refresh r ON r.id = p.id
       LEFT JOIN ${applications} a ON a.id = l.application_id
       WHERE p.id IS NULL OR r.id IS NOT NULL
     ), refresh_tokens AS (
       UPDATE ${refreshTokens} r SET access_token_id = NULL,
         revoked = CASE WHEN ${withRefreshTokens}::boolean AND r.revoked IS NULL THEN now() ELSE r.revoked END,
         ${refreshTokenUpdatedAt} = CASE WHEN ${withRefreshTokens}::boolean AND r.revoked IS NULL THEN now()
           ELSE r.${refreshTokenUpdatedAt} END
       WHERE r.id = ANY(ARRAY(SELECT s.refresh_id FROM selected s WHERE s.refresh_id IS NOT NULL))
     ), ${deleteSelectedCtes(layout)}${refreshTokensRevokedCte(layout, revokedWithThem)}
     SELECT ${arraysSql(columns)} FROM selected s JOIN deleted d ON d.id = s.id`
    .prepared('revoke tokens')
    .rows<ArraysOf<RevokedPair>>(database);
  return rowsOf(result).map(({ id, fingerprint, refresh_id, refresh_fingerprint }) => ({
    tokenId: id,
    fingerprint,
    result: 'revoked',
    ...(refresh_id !== null &&
      refresh_fingerprint !== null && { refreshToken: { id: refresh_id, fingerprint: refresh_fingerprint } }),
  }));
}

/**
 * CTEs that delete the access tokens in the CTE `selected` (id, description, scope, application; locked) as
 * the layout's own program does: they delete a controller's links from the activity stream, add an entry for
 * each token, and delete the tokens (in `deleted`). No foreign key has an action to do it. Each part gets the
 * ids as an array, so that it uses the index whatever the planner estimates for `selected`.
 */
function deleteSelectedCtes(layout: Layout): Sql {
  const links =
    layout === 'gateway'
      ? sql``
      : sql`links AS (
    DELETE FROM main_activitystream_o_auth2_access_token
    WHERE oauth2accesstoken_id = ANY(ARRAY(SELECT s.id FROM selected s))
  ), `;
  return sql`${links}entries AS (
    ${insertTokensDeleted(layout)}
  ), deleted AS (
    DELETE FROM ${TABLES[layout].accessTokens} WHERE id = ANY(ARRAY(SELECT s.id FROM selected s)) RETURNING id
  )`;
}

interface RefreshTokenIds {
  readonly layout: Layout;
  readonly ids: readonly number[];
}

/**
 * Revokes live refresh tokens in one statement, as the controller does: deletes the access token of each and
 * keeps the row. A token is skipped while another transaction locks it or its access token.
 */
async function updateRefreshTokens(database: Queryable, { layout, ids }: RefreshTokenIds) {
  const { accessTokens, refreshTokens, applications, refreshTokenUpdatedAt } = TABLES[layout];
  const rows = await sql`WITH locked AS MATERIALIZED (
       SELECT r.id, r.token, r.access_token_id FROM ${refreshTokens} r
       WHERE r.id = ANY(${ids}::bigint[]) AND r.revoked IS NULL FOR UPDATE SKIP LOCKED
     ), locked_access AS MATERIALIZED (
       SELECT t.id, t.description, t.scope, t.application_id FROM ${accessTokens} t
       WHERE t.id = ANY(ARRAY(SELECT l.access_token_id FROM locked l WHERE l.access_token_id IS NOT NULL))
       FOR UPDATE SKIP LOCKED
     ), revocable AS MATERIALIZED (
       SELECT l.id, l.token, l.access_token_id FROM locked l
       WHERE l.access_token_id IS NULL OR l.access_token_id IN (SELECT t.id FROM locked_access t)
     ), selected AS MATERIALIZED (
       SELECT t.id, t.description, t.scope, a.name AS application
       FROM locked_access t LEFT JOIN ${applications} a ON a.id = t.application_id
     ), revoked AS (
       UPDATE ${refreshTokens} r
       SET revoked = now(), ${refreshTokenUpdatedAt} = now(), access_token_id = NULL
       WHERE r.id = ANY(ARRAY(SELECT e.id FROM revocable e)) RETURNING r.id
     ), ${deleteSelectedCtes(layout)}${refreshTokensRevokedCte(layout, sql`SELECT e.id FROM revocable e`)}
     SELECT e.id, ${tokenFingerprint(layout, sql`e.token`)} AS fingerprint
     FROM revocable e JOIN revoked r ON r.id = e.id`
    .prepared('revoke refresh tokens')
    .rows<RevokedRow>(database);
  return rows.map(revokedOutcome);
}

/** Deletes refresh tokens in one statement, and detaches their access tokens. Skips those that others lock. */
export async function deleteRefreshTokenRows(
  database: Queryable,
  { layout, ids: all }: RefreshTokenIds,
): Promise<Outcome[]> {
  const { accessTokens, refreshTokens } = TABLES[layout];
  const ids = shared(all);
  const rows = await sql`WITH locked AS MATERIALIZED (
       SELECT r.id FROM ${refreshTokens} r
       WHERE r.id = ANY(${ids}::bigint[]) FOR UPDATE SKIP LOCKED
     ), locked_access AS MATERIALIZED (
       SELECT t.id FROM ${accessTokens} t
       WHERE t.source_refresh_token_id = ANY(${ids}::bigint[]) FOR UPDATE SKIP LOCKED
     ), busy AS MATERIALIZED (
       SELECT t.source_refresh_token_id AS id FROM ${accessTokens} t
       WHERE t.source_refresh_token_id = ANY(${ids}::bigint[]) AND t.id NOT IN (SELECT l.id FROM locked_access l)
     ), selected AS MATERIALIZED (
       SELECT l.id FROM locked l WHERE l.id NOT IN (SELECT b.id FROM busy b)
     ), detached AS (
       UPDATE ${accessTokens} t SET source_refresh_token_id = NULL
       WHERE t.source_refresh_token_id = ANY(ARRAY(SELECT s.id FROM selected s))
     )${refreshTokensDeletedCte(layout)}
     DELETE FROM ${refreshTokens} r WHERE r.id = ANY(ARRAY(SELECT s.id FROM selected s))
     RETURNING r.id, ${tokenFingerprint(layout, sql`r.token`)} AS fingerprint`
    .prepared('delete refresh tokens')
    .rows<RevokedRow>(database);
  return rows.map(revokedOutcome);
}

interface RevokedRow {
  readonly id: number;
  readonly fingerprint: string;
}

function revokedOutcome({ id, fingerprint }: RevokedRow): Outcome {
  return { tokenId: id, fingerprint, result: 'revoked' };
}
