import { firstRow, type Queryable } from '../../db/database.ts';

/** The stored details of a pending login at an identity provider. */
export interface LoginDetails {
  /** The redirect URI sent to the provider. */
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
  await database.execute(
    `INSERT INTO service_sso_login (state, browser, backend, details, started, expires)
     VALUES ($1, $2, $3, $4::jsonb, $5, $6)`,
    [login.state, login.browser, login.backend, JSON.stringify(login.details), login.started, login.expires],
  );
}

/**
 * Consumes a pending, unexpired login by state, browser and backend. Each login has one response, on any
 * replica.
 */
export async function consumeLogin(
  database: Queryable,
  login: Pick<PendingLogin, 'state' | 'browser' | 'backend'> & { readonly at: Date },
): Promise<Pick<PendingLogin, 'details' | 'started'> | null> {
  return firstRow<Pick<PendingLogin, 'details' | 'started'>>(
    database,
    `DELETE FROM service_sso_login WHERE state = $1 AND browser = $2 AND backend = $3 AND expires > $4
     RETURNING details, started`,
    [login.state, login.browser, login.backend, login.at],
  );
}

/**
 * Records a used assertion until it expires.
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

export async function deleteExpiredLogins(database: Queryable, at: Date): Promise<void> {
  await database.execute('DELETE FROM service_sso_login WHERE expires <= $1', [at]);
  await database.execute('DELETE FROM service_sso_assertion WHERE expires <= $1', [at]);
}

/** Records a successful login through a backend with its configuration. */
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

/** The configuration of the last successful login, by backend. */
export async function successes(database: Queryable): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query<{ backend: string; configuration: string }>(
    'SELECT backend, configuration FROM service_sso_success',
  );
  return new Map(rows.map(({ backend, configuration }) => [backend, configuration]));
}
