import type { Queryable } from '../../db/database.ts';

/** What is kept of a login that is under way at an identity provider. */
export interface LoginDetails {
  /** Where the provider sends the user back to, as it was told. */
  readonly redirectUri: string;
  /** Where to go after the login, a path of this service; null for nowhere in particular. */
  readonly next: string | null;
  /** OpenID Connect: what the id token has to say. */
  readonly nonce?: string;
  /** OAuth2: the secret of PKCE. */
  readonly verifier?: string;
  /** SAML: which identity provider was asked, and the request's id. */
  readonly idp?: string;
  readonly requestId?: string;
}

/** A login under way. `state` and `browser` are digests of what the provider and the browser hold. */
export interface PendingLogin {
  readonly state: string;
  readonly browser: string;
  readonly backend: string;
  readonly details: LoginDetails;
  readonly started: Date;
  readonly expires: Date;
}

/** Notes that a login was begun. */
export async function insertLogin(database: Queryable, login: PendingLogin): Promise<void> {
  await database.execute(
    `INSERT INTO service_sso_login (state, browser, backend, details, started, expires)
     VALUES ($1, $2, $3, $4::jsonb, $5, $6)`,
    [login.state, login.browser, login.backend, JSON.stringify(login.details), login.started, login.expires],
  );
}

/** Takes a login that is not over yet, by all that it is bound to: it is there for one answer, on any replica. */
export async function consumeLogin(
  database: Queryable,
  login: Pick<PendingLogin, 'state' | 'browser' | 'backend'> & { readonly at: Date },
): Promise<Pick<PendingLogin, 'details' | 'started'> | null> {
  const rows = await database.query<Pick<PendingLogin, 'details' | 'started'>>(
    `DELETE FROM service_sso_login WHERE state = $1 AND browser = $2 AND backend = $3 AND expires > $4
     RETURNING details, started`,
    [login.state, login.browser, login.backend, login.at],
  );
  return rows[0] ?? null;
}

/**
 * Notes that an assertion was used, for as long as it could be used again.
 *
 * @returns Whether this was the first time.
 */
export async function recordAssertion(
  database: Queryable,
  assertion: { readonly digest: string; readonly expires: Date },
): Promise<boolean> {
  const touched = await database.execute(
    'INSERT INTO service_sso_assertion (digest, expires) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [assertion.digest, assertion.expires],
  );
  return touched === 1;
}

/** Deletes logins and assertions whose time is over. */
export async function deleteExpiredLogins(database: Queryable, at: Date): Promise<void> {
  await database.execute('DELETE FROM service_sso_login WHERE expires <= $1', [at]);
  await database.execute('DELETE FROM service_sso_assertion WHERE expires <= $1', [at]);
}

/** Notes that a backend, as it is configured, logged somebody in. */
export async function recordSuccess(
  database: Queryable,
  success: { readonly backend: string; readonly configuration: string; readonly at: Date },
): Promise<void> {
  await database.execute(
    `INSERT INTO service_sso_success (backend, configuration, at) VALUES ($1, $2, $3)
     ON CONFLICT (backend) DO UPDATE SET configuration = EXCLUDED.configuration, at = EXCLUDED.at`,
    [success.backend, success.configuration, success.at],
  );
}

/** The configuration with which each backend last logged somebody in, by backend. */
export async function successes(database: Queryable): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query<{ backend: string; configuration: string }>(
    'SELECT backend, configuration FROM service_sso_success',
  );
  return new Map(rows.map(({ backend, configuration }) => [backend, configuration]));
}
