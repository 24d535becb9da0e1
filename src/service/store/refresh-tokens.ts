import type { Queryable } from '../../db/database.ts';
import { SEES_APPLICATION } from '../access.ts';
import {
  DELETED_TOKEN_COLUMNS,
  type NewPair,
  newPairValues,
  PAIR,
  RECORD_DELETED_TOKENS,
} from './issued-tokens.ts';
import { IS_EXTERNAL, MAY_AUTHENTICATE } from './users.ts';

/** A refresh token with the facts that a refresh checks. */
export interface RefreshTokenRecord {
  readonly id: number;
  /** The hash of its value. */
  readonly stored: string;
  readonly application_id: number;
  readonly created: Date;
  /** When it was used or revoked. */
  readonly revoked: Date | null;
  readonly family: number;
  /** Its access token; null if that was revoked or deleted. */
  readonly access_token_id: number | null;
  /** The granted scope (RFC 6749 §6); null without an access token. */
  readonly granted: string | null;
  /** Whether its user may authenticate. */
  readonly may_authenticate: boolean;
  readonly is_external: boolean;
  /** Whether its user sees the application, and so may have tokens for it. */
  readonly sees_application: boolean;
}

/** The refresh tokens with these hashes. */
export function findRefreshTokens(
  database: Queryable,
  hashes: readonly string[],
): Promise<RefreshTokenRecord[]> {
  return database.query(
    // OFFSET 0 forces index lookups even with stale planner statistics of fast-growing tables.
    `SELECT f.* FROM unnest($1::varchar[]) k (token) CROSS JOIN LATERAL (
       SELECT r.id, r.token AS stored, r.application_id, r.created, r.revoked, r.family, t.id AS access_token_id,
         CASE WHEN t.id IS NOT NULL THEN COALESCE(r.scope, t.scope) END AS granted,
         ${MAY_AUTHENTICATE} AS may_authenticate, ${IS_EXTERNAL} AS is_external,
         ${SEES_APPLICATION} AS sees_application
       FROM oauth2_provider_refreshtoken r
       JOIN auth_user u ON u.id = r.user_id
       JOIN main_oauth2application a ON a.id = r.application_id
       LEFT JOIN main_oauth2accesstoken t ON t.id = r.access_token_id
       WHERE r.token = k.token OFFSET 0) f`,
    [hashes],
    'refresh tokens',
  );
}

/** The refresh token with this stored form, or null. */
export async function findRefreshToken(
  database: Queryable,
  hash: string,
): Promise<RefreshTokenRecord | null> {
  const [token] = await findRefreshTokens(database, [hash]);
  return token ?? null;
}

/**
 * Replaces a refresh token and its access token by a new pair (rotation, RFC 9700 §4.14.2). Of concurrent
 * calls exactly one succeeds. Locks the access token before the refresh token, as all revocations do, to
 * avoid deadlocks.
 *
 * @returns Whether this call replaced it. False if it was used or its access token was revoked before.
 */
export async function rotateRefreshToken(
  database: Queryable,
  pair: NewPair,
  old: { readonly id: number; readonly accessTokenId: number },
): Promise<boolean> {
  const rows = await database.query(
    `WITH held AS (
       SELECT t.id FROM main_oauth2accesstoken t WHERE t.id = $11 FOR UPDATE
     ), origin AS (
       UPDATE oauth2_provider_refreshtoken r SET revoked = $1, updated = $1, access_token_id = NULL
       FROM held h WHERE r.id = $10 AND r.revoked IS NULL AND r.access_token_id = h.id
       RETURNING r.user_id, r.family, r.id AS refresh_token_id
     ), gone AS (
       DELETE FROM main_oauth2accesstoken t USING held h, origin o WHERE t.id = h.id
       RETURNING ${DELETED_TOKEN_COLUMNS}
     ), farewell AS (${RECORD_DELETED_TOKENS}), ${PAIR}`,
    [...newPairValues(pair), old.id, old.accessTokenId],
    'rotate refresh token',
  );
  return rows.length === 1;
}

/**
 * Revokes a family: all tokens of one grant. A concurrent refresh may add a new pair, so it repeats until no
 * live token is left. Deletes each access token before it revokes the refresh token, the lock order of a
 * refresh.
 */
export async function endFamily(
  transaction: Queryable,
  ending: { readonly family: number; readonly at: Date; readonly node: string },
): Promise<void> {
  const { family, at, node } = ending;
  let lives = true;
  while (lives) {
    await transaction.execute(
      `WITH gone AS (
         DELETE FROM main_oauth2accesstoken t USING oauth2_provider_refreshtoken r
         WHERE r.family = $3 AND t.id = r.access_token_id
         RETURNING ${DELETED_TOKEN_COLUMNS}
       ) ${RECORD_DELETED_TOKENS}`,
      [at, node, family],
    );
    await transaction.execute(
      `UPDATE oauth2_provider_refreshtoken SET revoked = $1, updated = $1
       WHERE family = $2 AND revoked IS NULL AND access_token_id IS NULL`,
      [at, family],
    );
    const living = await transaction.query(
      `SELECT FROM oauth2_provider_refreshtoken
       WHERE family = $1 AND (revoked IS NULL OR access_token_id IS NOT NULL) LIMIT 1`,
      [family],
    );
    lives = living.length > 0;
  }
}
