import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { IS_EXTERNAL, MAY_AUTHENTICATE } from './users.ts';

/** A new pair of tokens. `accessToken` and `refreshToken` are hashes. */
export interface NewPair {
  readonly at: Date;
  readonly node: string;
  readonly accessToken: string;
  /** Null for the implicit grant. */
  readonly refreshToken: string | null;
  readonly expires: Date;
  readonly client: { readonly id: number; readonly name: string };
  readonly scope: string;
}

/**
 * Stores a pair of tokens and its activity entry for the one row of `origin` (user_id, family, and
 * refresh_token_id of the replaced refresh token or null). Without a row it stores nothing: one statement
 * claims a grant and creates its tokens.
 * @param claim The common table expressions after WITH, including `origin`.
 */
export function storePair(claim: Sql, pair: NewPair): Sql {
  const { at, node, accessToken, expires, scope, refreshToken, client } = pair;
  return sql`WITH ${claim}, access AS (
    INSERT INTO main_oauth2accesstoken
      (token, expires, scope, application_id, user_id, created, updated, modified, source_refresh_token_id)
    SELECT ${accessToken}, ${expires}, ${scope}, ${client.id}, o.user_id, ${at}, ${at}, ${at},
      o.refresh_token_id FROM origin o
    RETURNING id, scope, application_id, user_id
  ), refresh AS (
    INSERT INTO oauth2_provider_refreshtoken
      (token, access_token_id, application_id, user_id, created, updated, family)
    SELECT ${refreshToken}::text, a.id, a.application_id, a.user_id, ${at}, ${at}, o.family
    FROM access a, origin o WHERE ${refreshToken}::text IS NOT NULL
  ), entry AS (
    INSERT INTO main_activitystream (operation, timestamp, changes, object1, action_node)
    SELECT 'create', ${at}, json_build_object('description', '', 'application', ${client.name}::text,
      'scope', a.scope, 'id', a.id, 'token', '************')::text, 'o_auth2_access_token', ${node}
      FROM access a
    RETURNING id
  ), link AS (
    INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
    SELECT e.id, a.id FROM entry e, access a
  )
  SELECT id FROM access`;
}

/** Issues tokens for an active user whose password hash is still `password` (if given). Returns false otherwise. */
export async function issuePair(
  database: Queryable,
  pair: NewPair,
  owner: { readonly id: number; readonly password: string | null },
): Promise<boolean> {
  const claim = sql`origin AS (
    SELECT u.id AS user_id, nextval('service_token_family') AS family, NULL::bigint AS refresh_token_id
    FROM auth_user u
    WHERE u.id = ${owner.id} AND u.is_active
      AND (${owner.password}::text IS NULL OR u.password = ${owner.password}))`;
  return storePair(claim, pair).exists(database);
}

interface Deletion {
  readonly at: Date;
  readonly node: string;
}

/** The common table expression that deletes access tokens `t`. {@link recordDeleted} adds their activity entries. */
export function deletedTokens(which: Sql): Sql {
  return sql`gone AS (DELETE FROM main_oauth2accesstoken t ${which} RETURNING t.id, t.description, t.scope,
    (SELECT a.name FROM main_oauth2application a WHERE a.id = t.application_id) AS application)`;
}

export function recordDeleted({ at, node }: Deletion): Sql {
  return sql`INSERT INTO main_activitystream (operation, timestamp, changes, object1, action_node)
    SELECT 'delete', ${at}, json_build_object('description', g.description, 'application', g.application,
      'scope', g.scope, 'id', g.id, 'token', '************')::text, 'o_auth2_access_token', ${node}
      FROM gone g`;
}

/** Deletes access tokens `t`, each with its activity entry. Returns their number. */
export function deleteTokens(transaction: Queryable, which: Sql, deletion: Deletion): Promise<number> {
  return sql`WITH ${deletedTokens(which)} ${recordDeleted(deletion)}`.execute(transaction);
}

/** A token that a client asks to revoke. */
export interface FoundToken {
  /** The token's client; null for a personal access token. */
  readonly application_id: number | null;
  /** Null for an access token without a refresh token. */
  readonly family: number | null;
  readonly access_token_id: number | null;
}

/** The access token or refresh token with this hash, or null. The type hint is optional (RFC 7009 §2.1). */
export function findTokenByHash(database: Queryable, hash: string): Promise<FoundToken | null> {
  return sql`SELECT t.application_id, r.family, t.id AS access_token_id
    FROM main_oauth2accesstoken t LEFT JOIN oauth2_provider_refreshtoken r ON r.access_token_id = t.id
    WHERE t.token = ${hash}
    UNION ALL
    SELECT r.application_id, r.family, r.access_token_id FROM oauth2_provider_refreshtoken r
    WHERE r.token = ${hash}`.first<FoundToken>(database);
}

/** Deletes an access token without a refresh token and adds its activity entry. */
export async function endAccessToken(
  database: Queryable,
  ending: { readonly id: number; readonly at: Date; readonly node: string },
): Promise<void> {
  await deleteTokens(database, sql`WHERE t.id = ${ending.id}`, ending);
}

/** The facts of a live token for introspection (RFC 7662). */
export interface LiveToken {
  readonly kind: 'access_token' | 'refresh_token';
  readonly scope: string;
  readonly created: Date;
  /** Null for a refresh token. */
  readonly expires: Date | null;
  readonly user_id: number;
  readonly username: string;
  readonly application_id: number | null;
  readonly client_id: string | null;
}

/** The live access or refresh token with this hash, of a user whose credentials are accepted, or null. */
export function findLiveToken(database: Queryable, hash: string, at: Date): Promise<LiveToken | null> {
  return sql`SELECT 'access_token' AS kind, t.scope, t.created, t.expires, u.id AS user_id, u.username,
      a.id AS application_id, a.client_id
    FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id
    LEFT JOIN main_oauth2application a ON a.id = t.application_id
    WHERE t.token = ${hash} AND t.expires > ${at} AND ${MAY_AUTHENTICATE}
    UNION ALL
    SELECT 'refresh_token', t.scope, r.created, NULL, u.id, u.username, a.id, a.client_id
    FROM oauth2_provider_refreshtoken r JOIN auth_user u ON u.id = r.user_id
    JOIN main_oauth2application a ON a.id = r.application_id
    JOIN main_oauth2accesstoken t ON t.id = r.access_token_id
    WHERE r.token = ${hash} AND r.revoked IS NULL AND ${MAY_AUTHENTICATE}`.first<LiveToken>(database);
}

/** The scopes of a user's live tokens for an application, granted since its redirect URIs last changed. */
export async function findGrantedScopes(
  database: Queryable,
  grant: { readonly userId: number; readonly applicationId: number; readonly at: Date },
): Promise<readonly string[]> {
  const rows = await sql`SELECT DISTINCT t.scope FROM main_oauth2accesstoken t
    JOIN oauth2_provider_refreshtoken r ON r.access_token_id = t.id
    JOIN main_oauth2application a ON a.id = t.application_id AND r.family > a.consents_from
    WHERE t.user_id = ${grant.userId} AND t.application_id = ${grant.applicationId}
    AND t.expires > ${grant.at}`.rows<{ scope: string }>(database);
  return rows.map(({ scope }) => scope);
}

/** Revokes all credentials of local users: sessions, codes, access tokens (with entries), refresh tokens. */
export async function endLocalCredentials(
  transaction: Queryable,
  ending: { readonly at: Date; readonly node: string },
): Promise<void> {
  await sql`DELETE FROM django_session WHERE session_key IN (
    SELECT m.session_id FROM main_usersessionmembership m
    JOIN auth_user u ON u.id = m.user_id WHERE NOT ${IS_EXTERNAL})`.execute(transaction);
  await sql`DELETE FROM oauth2_provider_grant WHERE user_id IN (
    SELECT u.id FROM auth_user u WHERE NOT ${IS_EXTERNAL})`.execute(transaction);
  const which = sql`USING auth_user u WHERE u.id = t.user_id AND NOT ${IS_EXTERNAL}`;
  await deleteTokens(transaction, which, ending);
  await sql`UPDATE oauth2_provider_refreshtoken SET revoked = ${ending.at}, updated = ${ending.at}
    WHERE revoked IS NULL AND user_id IN (
      SELECT u.id FROM auth_user u WHERE NOT ${IS_EXTERNAL})`.execute(transaction);
}
