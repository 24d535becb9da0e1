import type { Queryable } from '../../db/database.ts';

/** An application as the OAuth2 endpoints know it: a client (RFC 6749 §2). `client_secret` in its stored form. */
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
}

/** The clients with these client identifiers. */
export function findClients(database: Queryable, clientIds: readonly string[]): Promise<ClientRecord[]> {
  return database.query(
    `SELECT id, name, client_id, client_secret, client_type, authorization_grant_type, redirect_uris,
       skip_authorization
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
