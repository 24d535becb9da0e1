import type { Queryable } from '../../db/database.ts';
import { GONE_COLUMNS, NOTE_GONE } from './issued-tokens.ts';
import { IS_ADMITTED } from './local-credentials.ts';

/** A token whose value was presented for revocation. */
export interface PresentedToken {
  /** The client it was issued to; null for a personal access token. */
  readonly application_id: number | null;
  /** Null for an access token that no refresh token goes with. */
  readonly family: number | null;
  readonly access_token_id: number | null;
}

/**
 * The access token or refresh token with this stored form, or null. Which of the two it is need not be told:
 * a hint is only that (RFC 7009 §2.1).
 */
export async function findPresented(database: Queryable, storedForm: string): Promise<PresentedToken | null> {
  const rows = await database.query<PresentedToken>(
    `SELECT t.application_id, r.family, t.id AS access_token_id
     FROM main_oauth2accesstoken t LEFT JOIN oauth2_provider_refreshtoken r ON r.access_token_id = t.id
     WHERE t.token = $1
     UNION ALL
     SELECT r.application_id, r.family, r.access_token_id FROM oauth2_provider_refreshtoken r WHERE r.token = $1`,
    [storedForm],
  );
  return rows[0] ?? null;
}

/** Ends an access token that stands alone, with its entry in the activity stream. */
export async function endAccessToken(
  database: Queryable,
  ending: { readonly id: number; readonly at: Date; readonly node: string },
): Promise<void> {
  await database.execute(
    `WITH gone AS (DELETE FROM main_oauth2accesstoken t WHERE t.id = $3 RETURNING ${GONE_COLUMNS}) ${NOTE_GONE}`,
    [ending.at, ending.node, ending.id],
  );
}

/** What introspection (RFC 7662) tells of a live token. */
export interface LiveToken {
  readonly kind: 'access_token' | 'refresh_token';
  readonly scope: string;
  readonly created: Date;
  /** Of an access token. */
  readonly expires: Date | null;
  readonly user_id: number;
  readonly username: string;
  readonly application_id: number | null;
  readonly client_id: string | null;
}

/** The live access or refresh token with this stored form, of a user whose credentials are accepted, or null. */
export async function findLive(database: Queryable, storedForm: string, at: Date): Promise<LiveToken | null> {
  const rows = await database.query<LiveToken>(
    `SELECT 'access_token' AS kind, t.scope, t.created, t.expires, u.id AS user_id, u.username,
       a.id AS application_id, a.client_id
     FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id
     LEFT JOIN main_oauth2application a ON a.id = t.application_id
     WHERE t.token = $1 AND t.expires > $2 AND ${IS_ADMITTED}
     UNION ALL
     SELECT 'refresh_token', COALESCE(r.scope, t.scope), r.created, NULL, u.id, u.username, a.id, a.client_id
     FROM oauth2_provider_refreshtoken r JOIN auth_user u ON u.id = r.user_id
     JOIN main_oauth2application a ON a.id = r.application_id
     JOIN main_oauth2accesstoken t ON t.id = r.access_token_id
     WHERE r.token = $1 AND r.revoked IS NULL AND ${IS_ADMITTED}`,
    [storedForm, at],
  );
  return rows[0] ?? null;
}

/** The scopes of the live tokens that a user granted an application. */
export async function grantedScopes(
  database: Queryable,
  grant: { readonly userId: number; readonly applicationId: number; readonly at: Date },
): Promise<readonly string[]> {
  const rows = await database.query<{ scope: string }>(
    `SELECT DISTINCT t.scope FROM main_oauth2accesstoken t
     WHERE t.user_id = $1 AND t.application_id = $2 AND t.expires > $3`,
    [grant.userId, grant.applicationId, grant.at],
  );
  return rows.map(({ scope }) => scope);
}
