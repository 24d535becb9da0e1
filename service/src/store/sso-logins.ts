import type { Queryable } from '@tokenctl/common/db/database.ts';
import { sql } from '@tokenctl/common/db/sql.ts';

export interface LoginDetails {
  readonly redirectUri: string;
  /** The path to open after the login; null for the default. */
  readonly next: string | null;
  /** OpenID Connect: the expected nonce of the id token. */
  readonly nonce?: string;
  /** OAuth2: the PKCE code verifier. */
  readonly verifier?: string;
  /** SAML: the identity provider and the request id. */
  readonly idp?: string;
  readonly requestId?: string;
}

/** A pending login. `state` and `browser` are hashes of the state parameter and the browser's cookie. */
export interface PendingLogin {
  readonly state: string;
  readonly browser: string;
  readonly backend: string;
  readonly details: LoginDetails;
  readonly started: Date;
  readonly expires: Date;
}

export async function insertLogin(database: Queryable, login: PendingLogin): Promise<void> {
  await sql`INSERT INTO service_sso_login (state, browser, backend, details, started, expires)
    VALUES (${login.state}, ${login.browser}, ${login.backend}, ${JSON.stringify(login.details)}::jsonb,
    ${login.started}, ${login.expires})`.execute(database);
}

/** Consumes a pending, unexpired login by state, browser and backend. Only one response can use it, on any replica. */
export function consumeLogin(
  database: Queryable,
  login: Pick<PendingLogin, 'state' | 'browser' | 'backend'> & { readonly at: Date },
): Promise<Pick<PendingLogin, 'details' | 'started'> | null> {
  return sql`DELETE FROM service_sso_login WHERE state = ${login.state} AND browser = ${login.browser}
    AND backend = ${login.backend} AND expires > ${login.at}
    RETURNING details, started`.first<Pick<PendingLogin, 'details' | 'started'>>(database);
}

/** Records a used assertion until it expires. Returns whether this was its first use. */
export function recordAssertion(
  database: Queryable,
  assertion: { readonly digest: string; readonly expires: Date },
): Promise<boolean> {
  return sql`INSERT INTO service_sso_assertion (digest, expires)
    VALUES (${assertion.digest}, ${assertion.expires}) ON CONFLICT DO NOTHING`.touchesOne(database);
}

export async function deleteExpiredLogins(database: Queryable, at: Date): Promise<void> {
  await sql`DELETE FROM service_sso_login WHERE expires <= ${at}`.execute(database);
  await sql`DELETE FROM service_sso_assertion WHERE expires <= ${at}`.execute(database);
}

export async function recordSuccess(
  database: Queryable,
  success: { readonly backend: string; readonly configuration: string; readonly at: Date },
): Promise<void> {
  await sql`INSERT INTO service_sso_success (backend, configuration, at)
    VALUES (${success.backend}, ${success.configuration}, ${success.at})
    ON CONFLICT (backend) DO UPDATE
    SET configuration = EXCLUDED.configuration, at = EXCLUDED.at`.execute(database);
}

/** The configuration of the last successful login, by backend. */
export async function successes(database: Queryable): Promise<ReadonlyMap<string, string>> {
  const rows = await sql`SELECT backend, configuration
    FROM service_sso_success`.rows<{ backend: string; configuration: string }>(database);
  return new Map(rows.map(({ backend, configuration }) => [backend, configuration]));
}
