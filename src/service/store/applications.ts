import type { Queryable } from '../../db/database.ts';
import type { Condition } from '../listing/filters.ts';

/** An OAuth2 application with its organization, without the client secret. */
export interface ApplicationRecord {
  readonly id: number;
  readonly created: Date;
  readonly modified: Date;
  readonly name: string;
  readonly description: string;
  readonly client_id: string;
  readonly client_type: string;
  readonly redirect_uris: string;
  readonly authorization_grant_type: string;
  readonly skip_authorization: boolean;
  readonly organization_id: number | null;
  readonly organization_name: string | null;
  readonly organization_description: string | null;
}

/** Rows `a` of main_oauth2application with their organization `o` and the user `u` it is registered for. */
export const APPLICATION_FROM = `main_oauth2application a
  LEFT JOIN main_organization o ON o.id = a.organization_id
  LEFT JOIN auth_user u ON u.id = a.user_id`;

/** The columns of an {@link ApplicationRecord} over {@link APPLICATION_FROM}. */
export const APPLICATION_COLUMNS = `
  a.id, a.created, a.updated AS modified, a.name, a.description, a.client_id, a.client_type, a.redirect_uris,
  a.authorization_grant_type, a.skip_authorization, a.organization_id, o.name AS organization_name,
  o.description AS organization_description`;

/** An application by id, or null. */
export async function findApplication(database: Queryable, id: number): Promise<ApplicationRecord | null> {
  const rows = await database.query<ApplicationRecord>(
    `SELECT ${APPLICATION_COLUMNS} FROM ${APPLICATION_FROM} WHERE a.id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** The same, locked until the transaction ends. */
export async function lockApplication(transaction: Queryable, id: number): Promise<ApplicationRecord | null> {
  await transaction.query('SELECT FROM main_oauth2application WHERE id = $1 FOR UPDATE', [id]);
  return findApplication(transaction, id);
}

/** The id of the application of this name in the organization of that name ('' for none), or null. */
export async function findApplicationId(
  database: Queryable,
  name: string,
  organization: string,
): Promise<number | null> {
  const rows = await database.query<{ id: number }>(
    `SELECT a.id FROM ${APPLICATION_FROM} WHERE a.name = $1 AND COALESCE(o.name, '') = $2`,
    [name, organization],
  );
  return rows[0]?.id ?? null;
}

/** The writable fields of an application. */
export interface ApplicationFacts {
  readonly name: string;
  readonly description: string;
  readonly client_type: string;
  readonly redirect_uris: string;
  readonly authorization_grant_type: string;
  readonly skip_authorization: boolean;
  readonly organization_id: number | null;
}

/**
 * Adds an application.
 *
 * @param client Its client id, and the hash of its secret.
 * @returns The id, or null if the organization has an application of this name.
 */
export async function insertApplication(
  transaction: Queryable,
  facts: ApplicationFacts,
  client: { readonly id: string; readonly storedSecret: string; readonly created: Date },
): Promise<number | null> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO main_oauth2application
       (client_id, client_secret, created, updated, name, description, client_type, redirect_uris,
        authorization_grant_type, skip_authorization, organization_id)
     VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (name, organization_id) DO NOTHING RETURNING id`,
    [
      client.id,
      client.storedSecret,
      client.created,
      facts.name,
      facts.description,
      facts.client_type,
      facts.redirect_uris,
      facts.authorization_grant_type,
      facts.skip_authorization,
      facts.organization_id,
    ],
  );
  return rows[0]?.id ?? null;
}

/**
 * Updates an application. The grant type and the client id never change.
 *
 * @param change With the hash of a new secret, or null to keep the old one; and whether consents that users
 * gave before do not count any more.
 * @returns False if the organization has another application of this name.
 */
export async function updateApplication(
  transaction: Queryable,
  change: ApplicationFacts & {
    readonly id: number;
    readonly storedSecret: string | null;
    readonly asksAgain: boolean;
    readonly modified: Date;
  },
): Promise<boolean> {
  const touched = await transaction.execute(
    `UPDATE main_oauth2application SET name = $2, description = $3, client_type = $4, redirect_uris = $5,
       skip_authorization = $6, organization_id = $7, client_secret = COALESCE($8, client_secret), updated = $9,
       consents_from = CASE WHEN $10 THEN nextval('service_token_family') ELSE consents_from END
     WHERE id = $1 AND NOT EXISTS (
       SELECT FROM main_oauth2application other
       WHERE other.name = $2 AND other.organization_id = $7 AND other.id <> $1)`,
    [
      change.id,
      change.name,
      change.description,
      change.client_type,
      change.redirect_uris,
      change.skip_authorization,
      change.organization_id,
      change.storedSecret,
      change.modified,
      change.asksAgain,
    ],
  );
  return touched === 1;
}

/**
 * Deletes an application with its access tokens, refresh tokens and codes.
 *
 * @returns Whether it existed.
 */
export async function deleteApplication(transaction: Queryable, id: number): Promise<boolean> {
  return (await transaction.execute('DELETE FROM main_oauth2application WHERE id = $1', [id])) === 1;
}

/** An application as an OAuth2 client (RFC 6749 §2). `client_secret` is hashed. */
export interface ClientRecord {
  readonly id: number;
  readonly name: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly client_type: 'confidential' | 'public';
  readonly authorization_grant_type: string;
  /** Separated by white space. */
  readonly redirect_uris: string;
  readonly skip_authorization: boolean;
  readonly organization_id: number | null;
}

/** The clients with these client identifiers. */
export function findClients(database: Queryable, clientIds: readonly string[]): Promise<ClientRecord[]> {
  return database.query(
    `SELECT id, name, client_id, client_secret, client_type, authorization_grant_type, redirect_uris,
       skip_authorization, organization_id
     FROM main_oauth2application WHERE client_id = ANY($1::varchar[])`,
    [clientIds],
    'clients',
  );
}

/** The client with this client identifier, or null. */
export async function findClient(database: Queryable, clientId: string): Promise<ClientRecord | null> {
  const [client] = await findClients(database, [clientId]);
  return client ?? null;
}

/** The number of an application's visible tokens, and the first ten. */
export interface ApplicationTokens {
  readonly application_id: number;
  readonly count: number;
  readonly first: readonly { readonly id: number; readonly scope: string }[];
}

/**
 * The visible tokens of the given applications, by application id.
 *
 * @param visible Over rows `t` of tokens and `a` of applications; its parameters begin at `$2`.
 */
export async function tokensByApplication(
  database: Queryable,
  applicationIds: readonly number[],
  visible: Condition,
): Promise<ReadonlyMap<number, ApplicationTokens>> {
  if (applicationIds.length === 0) return new Map();
  const rows = await database.query<ApplicationTokens>(
    `SELECT a.id AS application_id, n.count, f.first
     FROM main_oauth2application a,
     LATERAL (SELECT count(*) AS count FROM main_oauth2accesstoken t
              WHERE t.application_id = a.id AND (${visible.sql})) n,
     LATERAL (SELECT COALESCE(json_agg(json_build_object('id', s.id, 'scope', s.scope) ORDER BY s.id), '[]') AS first
              FROM (SELECT t.id, t.scope FROM main_oauth2accesstoken t
                    WHERE t.application_id = a.id AND (${visible.sql}) ORDER BY t.id LIMIT 10) s) f
     WHERE a.id = ANY($1::bigint[])`,
    [applicationIds, ...visible.values],
  );
  return new Map(rows.map((row) => [row.application_id, row]));
}
