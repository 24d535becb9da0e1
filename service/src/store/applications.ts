import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { columnsOf } from './job-options.ts';
import {
  findResource,
  OF_ORGANIZATION,
  ORGANIZATION_OF,
  type ResourceRow,
  type Storage,
} from './resources.ts';

/** An OAuth2 application with its organization, without the client secret. */
export interface ApplicationRecord extends ResourceRow {
  readonly client_id: string;
  readonly client_type: string;
  readonly redirect_uris: string;
  readonly authorization_grant_type: string;
  readonly skip_authorization: boolean;
  readonly organization: number | null;
  readonly organization_name: string | null;
  readonly organization_description: string | null;
}

const COLUMNS = [
  'client_id',
  'client_type',
  'redirect_uris',
  'authorization_grant_type',
  'skip_authorization',
];

/** Rows `x` of main_oauth2application with their organization `o` and owner `u`. */
export const APPLICATIONS: Storage = {
  table: 'main_oauth2application',
  from: sql`main_oauth2application x ${OF_ORGANIZATION} LEFT JOIN auth_user u ON u.id = x.user_id`,
  columns: sql`${ORGANIZATION_OF}, ${columnsOf(COLUMNS, 'x')}`,
  written: ['name', 'description', 'organization', 'client_secret', ...COLUMNS],
  modified: 'updated',
  owner: 'organization_id',
};

export function findApplication(database: Queryable, id: number): Promise<ApplicationRecord | null> {
  return findResource(database, APPLICATIONS, id);
}

/** Earlier consents of users for an application no longer count. */
export async function forgetConsents(transaction: Queryable, id: number): Promise<void> {
  await sql`UPDATE main_oauth2application SET consents_from = nextval('service_token_family')
    WHERE id = ${id}`.execute(transaction);
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

export function findClients(database: Queryable, clientIds: readonly string[]): Promise<ClientRecord[]> {
  return sql`SELECT id, name, client_id, client_secret, client_type, authorization_grant_type, redirect_uris,
      skip_authorization, organization_id
    FROM main_oauth2application WHERE client_id = ANY(${clientIds}::varchar[])`
    .prepared('clients')
    .rows(database);
}

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

/** The visible tokens of the given applications, by application id; `visible` is over tokens `t` and `a`. */
export async function tokensByApplication(
  database: Queryable,
  applicationIds: readonly number[],
  visible: Sql,
): Promise<ReadonlyMap<number, ApplicationTokens>> {
  if (applicationIds.length === 0) return new Map();
  const rows = await sql`SELECT a.id AS application_id, n.count, f.first
    FROM main_oauth2application a, LATERAL (SELECT count(*) AS count FROM main_oauth2accesstoken t
             WHERE t.application_id = a.id AND (${visible})) n,
    LATERAL (SELECT COALESCE(json_agg(json_build_object('id', s.id, 'scope', s.scope)
    ORDER BY s.id), '[]') AS first
             FROM (SELECT t.id, t.scope FROM main_oauth2accesstoken t
                   WHERE t.application_id = a.id AND (${visible}) ORDER BY t.id LIMIT 10) s) f
    WHERE a.id = ANY(${applicationIds}::bigint[])`.rows<ApplicationTokens>(database);
  return new Map(rows.map((row) => [row.application_id, row]));
}
