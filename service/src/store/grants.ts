import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';
import { type NewPair, storePair } from './issued-tokens.ts';
import { IS_EXTERNAL, MAY_AUTHENTICATE, SEES_APPLICATION } from './users.ts';

export interface NewCode {
  readonly hash: string;
  readonly created: Date;
  readonly expires: Date;
  readonly applicationId: number;
  readonly userId: number;
  readonly redirectUri: string;
  /** Whether the authorization request included it. Then the token request must repeat it (RFC 6749 §4.1.3). */
  readonly redirectUriGiven: boolean;
  readonly scope: string;
  /** Empty if missing. */
  readonly codeChallenge: string;
  readonly codeChallengeMethod: string;
}

export async function insertCode(database: Queryable, code: NewCode): Promise<void> {
  await sql`INSERT INTO oauth2_provider_grant
      (code, created, updated, expires, application_id, user_id, redirect_uri, redirect_uri_given, scope,
       code_challenge, code_challenge_method)
    VALUES (${code.hash}, ${code.created}, ${code.created}, ${code.expires}, ${code.applicationId},
    ${code.userId}, ${code.redirectUri}, ${code.redirectUriGiven}, ${code.scope}, ${code.codeChallenge},
    ${code.codeChallengeMethod})`.execute(database);
}

export interface CodeRecord {
  readonly id: number;
  readonly application_id: number;
  readonly expires: Date;
  readonly used: Date | null;
  readonly family: number;
  readonly redirect_uri: string;
  readonly redirect_uri_given: boolean;
  readonly scope: string;
  readonly code_challenge: string;
  readonly code_challenge_method: string;
  readonly may_authenticate: boolean;
  readonly is_external: boolean;
  /** Whether its user sees the application and so may have tokens for it. */
  readonly sees_application: boolean;
}

export async function findCode(database: Queryable, hash: string): Promise<CodeRecord | null> {
  return sql`SELECT g.id, g.application_id, g.expires, g.used, g.family, g.redirect_uri, g.redirect_uri_given,
    g.scope, g.code_challenge, g.code_challenge_method, ${MAY_AUTHENTICATE} AS may_authenticate,
      ${IS_EXTERNAL} AS is_external, ${SEES_APPLICATION} AS sees_application
    FROM oauth2_provider_grant g JOIN auth_user u ON u.id = g.user_id
    JOIN main_oauth2application a ON a.id = g.application_id
    WHERE g.code = ${hash}`.first<CodeRecord>(database);
}

/**
 * Exchanges an authorization code for tokens, and returns whether this call did it: exactly one of several
 * concurrent calls does. The code is kept and marked as used, to detect a second use (RFC 6749 §4.1.2).
 */
export async function exchangeCode(database: Queryable, pair: NewPair, codeId: number): Promise<boolean> {
  const claim = sql`origin AS (
    UPDATE oauth2_provider_grant g SET used = ${pair.at}, updated = ${pair.at} FROM auth_user u
    WHERE g.id = ${codeId} AND g.used IS NULL AND u.id = g.user_id AND u.is_active
    RETURNING g.user_id, g.family, NULL::bigint AS refresh_token_id)`;
  return storePair(claim, pair).exists(database);
}

/** Deletes the codes that expired before this time, used or not. */
export async function deleteCodes(database: Queryable, expiredBefore: Date): Promise<number> {
  return sql`DELETE FROM oauth2_provider_grant WHERE expires < ${expiredBefore}`.execute(database);
}
