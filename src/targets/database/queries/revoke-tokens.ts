import type { Queryable } from '../../../db/database.ts';
import { fingerprintOf } from '../fingerprint.ts';
import type { Layout } from '../layout.ts';
import { TABLES } from '../tables.ts';
import { deleteTaken } from './token-deletion.ts';
import { alsoNoteRevoked } from './token-entries.ts';

/** An access token that was revoked, and the live refresh token that went with it. */
export interface RevokedRow {
  readonly id: number;
  readonly fingerprint: string;
  readonly refresh_id: number | null;
  readonly refresh_fingerprint: string | null;
}

/** The refresh tokens in `taken` that are revoked along. */
const REVOKED_BESIDE = `SELECT k.refresh_id AS id, k.id AS access_token_id FROM taken k
      WHERE $2::boolean AND k.refresh_id IS NOT NULL AND k.refresh_revoked IS NULL`;

/**
 * Revokes access tokens in one statement, in the controller's order: live refresh tokens beside them are
 * revoked (where that is meant) and let go of them, then they are deleted. A token is passed over while
 * another transaction holds it, or the refresh token beside it: `beside` are those that could be locked,
 * `present` all that are there.
 *
 * @returns Those that are revoked.
 */
export function revokeTokens(
  database: Queryable,
  options: {
    readonly layout: Layout;
    readonly ids: readonly number[];
    readonly withRefreshTokens: boolean;
  },
): Promise<RevokedRow[]> {
  const { layout, ids, withRefreshTokens } = options;
  const { accessTokens, refreshTokens, applications, refreshStamp } = TABLES[layout];
  return database.query<RevokedRow>(
    `WITH found AS MATERIALIZED (
       SELECT t.id, t.token, t.description, t.scope, t.application_id FROM ${accessTokens} t
       WHERE t.id = ANY($1::bigint[]) FOR UPDATE SKIP LOCKED
     ), beside AS MATERIALIZED (
       SELECT r.id, r.token, r.revoked FROM ${refreshTokens} r
       WHERE r.access_token_id = ANY($1::bigint[]) FOR UPDATE SKIP LOCKED
     ), present AS MATERIALIZED (
       SELECT r.id, r.access_token_id FROM ${refreshTokens} r
       WHERE r.access_token_id = ANY($1::bigint[])
     ), taken AS MATERIALIZED (
       SELECT f.id, f.token, f.description, f.scope, a.name AS application,
         b.id AS refresh_id, b.token AS refresh_token, b.revoked AS refresh_revoked
       FROM found f
       LEFT JOIN present p ON p.access_token_id = f.id
       LEFT JOIN beside b ON b.id = p.id
       LEFT JOIN ${applications} a ON a.id = f.application_id
       WHERE p.id IS NULL OR b.id IS NOT NULL
     ), refresh_tokens AS (
       UPDATE ${refreshTokens} r SET access_token_id = NULL,
         revoked = CASE WHEN $2::boolean AND r.revoked IS NULL THEN now() ELSE r.revoked END,
         ${refreshStamp} = CASE WHEN $2::boolean AND r.revoked IS NULL THEN now() ELSE r.${refreshStamp} END
       WHERE r.id = ANY(ARRAY(SELECT t.refresh_id FROM taken t WHERE t.refresh_id IS NOT NULL))
     ), ${deleteTaken(layout)}${alsoNoteRevoked(layout, REVOKED_BESIDE)}
     SELECT t.id, ${fingerprintOf(layout, 't.token')} AS fingerprint,
       CASE WHEN $2::boolean AND t.refresh_revoked IS NULL THEN t.refresh_id END AS refresh_id,
       ${fingerprintOf(layout, 't.refresh_token')} AS refresh_fingerprint
     FROM taken t JOIN gone g ON g.id = t.id`,
    [ids, withRefreshTokens],
    'revoke tokens',
  );
}
