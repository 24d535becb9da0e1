import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';

import { MAY_AUTHENTICATE, USER_COLUMNS, type UserRecord } from './users.ts';

/** An access token with its user and application, without its value. */
export interface TokenRecord {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly description: string;
  readonly expires: Date;
  readonly scope: string;
  readonly user_id: number | null;
  readonly username: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly application_id: number | null;
  readonly application_name: string | null;
  readonly application_organization_id: number | null;
  readonly has_refresh_token: boolean;
  readonly last_used: Date | null;
}

/** Rows `t` of main_oauth2accesstoken with the owner `u` and the application `a`. */
export const TOKEN_FROM = sql`main_oauth2accesstoken t
  LEFT JOIN auth_user u ON u.id = t.user_id
  LEFT JOIN main_oauth2application a ON a.id = t.application_id
  LEFT JOIN oauth2_provider_refreshtoken f ON f.access_token_id = t.id`;

/** The columns of a {@link TokenRecord} over {@link TOKEN_FROM}. */
export const TOKEN_COLUMNS = sql`
  t.id, t.created, t.modified, t.description, t.expires, t.scope, t.user_id,
  u.username, u.first_name, u.last_name, t.application_id, a.name AS application_name,
  a.organization_id AS application_organization_id, f.id IS NOT NULL AS has_refresh_token, t.last_used`;

export function findToken(database: Queryable, id: number): Promise<TokenRecord | null> {
  return sql`SELECT ${TOKEN_COLUMNS} FROM ${TOKEN_FROM} WHERE t.id = ${id}`.first<TokenRecord>(database);
}

export async function lockToken(transaction: Queryable, id: number): Promise<TokenRecord | null> {
  await sql`SELECT FROM main_oauth2accesstoken WHERE id = ${id} FOR NO KEY UPDATE`.rows(transaction);
  return findToken(transaction, id);
}

/** A live access token with its owner. */
export interface BearerRecord {
  readonly token_id: number;
  readonly stored: string;
  readonly scope: string;
  readonly last_used: Date | null;
  readonly owner: UserRecord;
}

/** The live tokens with these hashes whose owners may authenticate. */
export async function findBearers(
  database: Queryable,
  hashes: readonly string[],
  at: Date,
): Promise<BearerRecord[]> {
  const rows = await sql`SELECT t.id AS token_id, t.token AS stored, t.scope, t.last_used, ${USER_COLUMNS}
    FROM main_oauth2accesstoken t JOIN auth_user u ON u.id = t.user_id
    WHERE t.token = ANY(${hashes}::varchar[]) AND t.expires > ${at} AND ${MAY_AUTHENTICATE}`
    .prepared('bearers')
    .rows<UserRecord & Omit<BearerRecord, 'owner'>>(database);
  return rows.map(({ token_id, stored, scope, last_used, ...owner }) => ({
    token_id,
    stored,
    scope,
    last_used,
    owner,
  }));
}

/** Sets the last use of a token, unless the stored one is later than `unless`. */
export async function touchLastUsed(
  database: Queryable,
  use: { readonly tokenId: number; readonly at: Date; readonly unless: Date },
): Promise<void> {
  await sql`UPDATE main_oauth2accesstoken SET last_used = ${use.at}
    WHERE id = ${use.tokenId} AND (last_used IS NULL OR last_used <= ${use.unless})`.execute(database);
}

/** A new access token, with its hash. */
export interface NewToken {
  readonly hash: string;
  readonly expires: Date;
  readonly scope: string;
  readonly description: string;
  readonly applicationId: number | null;
  readonly userId: number;
  readonly created: Date;
}

export async function insertToken(transaction: Queryable, token: NewToken): Promise<number> {
  const [id] = await sql`INSERT INTO main_oauth2accesstoken
      (token, expires, scope, description, application_id, user_id, created, updated, modified)
    VALUES (${token.hash}, ${token.expires}, ${token.scope}, ${token.description}, ${token.applicationId},
    ${token.userId}, ${token.created}, ${token.created}, ${token.created})
    RETURNING id`.ids(transaction);
  if (id === undefined) throw new Error('an INSERT … RETURNING returned no row');
  return id;
}

/** Adds the refresh token of an application's access token. */
export async function insertRefreshToken(
  transaction: Queryable,
  token: { hash: string; accessTokenId: number; applicationId: number; userId: number; created: Date },
): Promise<void> {
  await sql`INSERT INTO oauth2_provider_refreshtoken
      (token, access_token_id, application_id, user_id, created, updated)
    VALUES (${token.hash}, ${token.accessTokenId}, ${token.applicationId}, ${token.userId}, ${token.created},
    ${token.created})`.execute(transaction);
}

export async function updateToken(
  transaction: Queryable,
  change: { id: number; scope: string; description: string; modified: Date },
): Promise<void> {
  await sql`UPDATE main_oauth2accesstoken SET scope = ${change.scope}, description = ${change.description},
    modified = ${change.modified}, updated = ${change.modified} WHERE id = ${change.id}`.execute(transaction);
}

/** Deletes an access token. Its refresh token remains, as on the controller. Returns whether it existed. */
export function deleteToken(transaction: Queryable, id: number): Promise<boolean> {
  return sql`DELETE FROM main_oauth2accesstoken WHERE id = ${id}`.touchesOne(transaction);
}
