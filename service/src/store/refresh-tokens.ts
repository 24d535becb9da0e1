import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { deletedTokens, deleteTokens, type NewPair, recordDeleted, storePair } from './issued-tokens.ts';
import { IS_EXTERNAL, MAY_AUTHENTICATE, SEES_APPLICATION } from './users.ts';

/** A refresh token with the facts that a refresh checks. */
export interface RefreshTokenRecord {
  readonly id: number;
  readonly stored: string;
  readonly application_id: number;
  readonly created: Date;
  /** When it was used or revoked. */
  readonly revoked: Date | null;
  readonly family: number;
  /** Its access token; null if that was revoked or deleted. */
  readonly access_token_id: number | null;
  /** The scope of its access token, which a refresh keeps or narrows; null without an access token. */
  readonly scope: string | null;
  readonly may_authenticate: boolean;
  readonly is_external: boolean;
  /** Whether its user sees the application and so may have tokens for it. */
  readonly sees_application: boolean;
}

export function findRefreshTokens(
  database: Queryable,
  hashes: readonly string[],
): Promise<RefreshTokenRecord[]> {
  // OFFSET 0 forces index lookups even with stale planner statistics of fast-growing tables.
  return sql`SELECT f.* FROM unnest(${hashes}::varchar[]) k (token) CROSS JOIN LATERAL (
       SELECT r.id, r.token AS stored, r.application_id, r.created, r.revoked, r.family,
       t.id AS access_token_id, t.scope,
         ${MAY_AUTHENTICATE} AS may_authenticate, ${IS_EXTERNAL} AS is_external,
         ${SEES_APPLICATION} AS sees_application
       FROM oauth2_provider_refreshtoken r
       JOIN auth_user u ON u.id = r.user_id
       JOIN main_oauth2application a ON a.id = r.application_id
       LEFT JOIN main_oauth2accesstoken t ON t.id = r.access_token_id
       WHERE r.token = k.token OFFSET 0) f`
    .prepared('refresh tokens')
    .rows(database);
}

/** The refresh token with this hash, or null. */
export async function findRefreshToken(
  database: Queryable,
  hash: string,
): Promise<RefreshTokenRecord | null> {
  const [token] = await findRefreshTokens(database, [hash]);
  return token ?? null;
}

/**
 * Replaces a refresh token and its access token by a new pair (rotation, RFC 9700 §4.14.2). Exactly one of
 * several concurrent calls succeeds. Locks the access token before the refresh token, as all revocations do,
 * to avoid deadlocks.
 * @returns Whether this call replaced it. False if it was used or its access token was revoked before.
 */
export async function rotateRefreshToken(
  database: Queryable,
  pair: NewPair,
  old: { readonly id: number; readonly accessTokenId: number },
): Promise<boolean> {
  const claim = sql`held AS (
      SELECT t.id FROM main_oauth2accesstoken t WHERE t.id = ${old.accessTokenId} FOR UPDATE
    ), origin AS (
      UPDATE oauth2_provider_refreshtoken r
      SET revoked = ${pair.at}, updated = ${pair.at}, access_token_id = NULL
      FROM held h WHERE r.id = ${old.id} AND r.revoked IS NULL AND r.access_token_id = h.id
      RETURNING r.user_id, r.family, r.id AS refresh_token_id
    ), ${deletedTokens(sql`USING held h, origin o WHERE t.id = h.id`)}, farewell AS (${recordDeleted(pair)})`;
  return storePair(claim, pair).prepared('rotate refresh token').exists(database);
}

/**
 * Revokes a family: all tokens of one grant. A concurrent refresh may add a new pair, so it repeats until no live
 * token remains. Deletes each access token before it revokes the refresh token, the lock order of a refresh.
 */
export async function endFamily(
  transaction: Queryable,
  ending: { readonly family: number; readonly at: Date; readonly node: string },
): Promise<void> {
  const { family, at } = ending;
  const which = sql`USING oauth2_provider_refreshtoken r
    WHERE r.family = ${family} AND t.id = r.access_token_id`;
  let lives = true;
  while (lives) {
    await deleteTokens(transaction, which, ending);
    await sql`UPDATE oauth2_provider_refreshtoken SET revoked = ${at}, updated = ${at}
      WHERE family = ${family} AND revoked IS NULL AND access_token_id IS NULL`.execute(transaction);
    lives = await sql`SELECT FROM oauth2_provider_refreshtoken
      WHERE family = ${family} AND (revoked IS NULL OR access_token_id IS NOT NULL)
      LIMIT 1`.exists(transaction);
  }
}
