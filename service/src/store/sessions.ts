import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';

import { MAY_AUTHENTICATE, USER_COLUMNS, type UserRecord } from './users.ts';

/** A session row with its owner. `session_key` is the hash of the cookie's value. */
export interface SessionRecord {
  readonly session_key: string;
  readonly expire_date: Date;
  readonly owner: UserRecord;
  /** The identity provider's session that started it; null for a password login. */
  readonly provider: ProviderSession | null;
}

export interface ProviderSession {
  readonly backend: string;
  /** When the session here must end; null if the provider does not say. */
  readonly ends: Date | null;
  readonly details: {
    /** SAML: the short name of the identity provider, and its names for the user and session in the single logout. */
    readonly idp?: string;
    readonly nameId?: string;
    readonly nameIdFormat?: string;
    readonly sessionIndex?: string;
    /** OpenID Connect: the account, the session's name for back-channel logout, and the time of the ID token. */
    readonly uid?: string;
    readonly sid?: string;
    readonly issued?: string;
  };
}

/** A live session of a user who may authenticate, or null. */
export async function findSession(
  database: Queryable,
  sessionKey: string,
  at: Date,
): Promise<SessionRecord | null> {
  const rows = await sql`SELECT s.session_key, s.expire_date, p.backend, p.details, p.ends, ${USER_COLUMNS}
    FROM django_session s
    JOIN main_usersessionmembership m ON m.session_id = s.session_key
    JOIN auth_user u ON u.id = m.user_id
    LEFT JOIN service_provider_session p ON p.session_key = s.session_key
    WHERE s.session_key = ${sessionKey} AND s.expire_date > ${at}
    AND ${MAY_AUTHENTICATE}`.rows<UserRecord & Omit<SessionRecord, 'owner'> & OptionalProvider>(database);
  const row = rows[0];
  if (row === undefined) return null;
  const { session_key, expire_date, backend, details, ends, ...owner } = row;
  const provider = backend === null || details === null ? null : { backend, details, ends };
  return { session_key, expire_date, owner, provider };
}

type OptionalProvider = { readonly [Name in keyof ProviderSession]: ProviderSession[Name] | null };

export async function insertSession(
  transaction: Queryable,
  session: { key: string; userId: number; created: Date; expires: Date; provider: ProviderSession | null },
): Promise<void> {
  await sql`INSERT INTO django_session (session_key, session_data, expire_date)
    VALUES (${session.key}, ${''}, ${session.expires})`.execute(transaction);
  await sql`INSERT INTO main_usersessionmembership (created, session_id, user_id)
    VALUES (${session.created}, ${session.key}, ${session.userId})`.execute(transaction);
  if (session.provider === null) return;
  const { backend, details, ends } = session.provider;
  await sql`INSERT INTO service_provider_session (session_key, backend, details, ends)
    VALUES (${session.key}, ${backend}, ${JSON.stringify(details)}::jsonb, ${ends})`.execute(transaction);
}

export async function extendSession(database: Queryable, sessionKey: string, expires: Date): Promise<void> {
  await sql`UPDATE django_session SET expire_date = ${expires}
    WHERE session_key = ${sessionKey}`.execute(database);
}

export async function deleteSession(database: Queryable, sessionKey: string): Promise<void> {
  await sql`DELETE FROM django_session WHERE session_key = ${sessionKey}`.execute(database);
}

/** Ends a user's sessions from a SAML provider, or those with these indexes. Returns their number. */
export function deleteProviderSessions(
  database: Queryable,
  of: { readonly idp: string; readonly nameId: string; readonly sessionIndexes: readonly string[] },
): Promise<number> {
  return sql`DELETE FROM django_session WHERE session_key IN (
       SELECT session_key FROM service_provider_session
       WHERE backend = 'saml' AND details->>'idp' = ${of.idp} AND details->>'nameId' = ${of.nameId}
         AND (cardinality(${of.sessionIndexes}::text[]) = 0
         OR details->>'sessionIndex' = ANY(${of.sessionIndexes}::text[])))`.execute(database);
}

/** Ends a user's oldest live sessions until `most` remain. */
export async function deleteOldestSessions(
  transaction: Queryable,
  options: { readonly userId: number; readonly most: number; readonly at: Date },
): Promise<void> {
  await sql`DELETE FROM django_session WHERE session_key IN (
       SELECT m.session_id FROM main_usersessionmembership m
       JOIN django_session s ON s.session_key = m.session_id
       WHERE m.user_id = ${options.userId} AND s.expire_date > ${options.at}
       ORDER BY m.created DESC, m.id DESC OFFSET ${options.most})`.execute(transaction);
}

export function deleteExpiredSessions(database: Queryable, at: Date): Promise<number> {
  return sql`DELETE FROM django_session WHERE expire_date <= ${at}`.execute(database);
}
