import type { Queryable } from '../../../db/database.ts';
import type { Layout } from '../layout.ts';

/** A token that was found by its hash. */
export interface HashedRow {
  readonly kind: 'access_token' | 'refresh_token';
  readonly id: number;
  readonly hash: string;
  readonly live: boolean;
  readonly user_id: number | null;
  readonly username: string | null;
}

/** SQL for the SHA-256 (hex) of a stored token: the service stores it, a controller's is computed by the server. */
const HASH: Readonly<Record<Layout, (column: string) => string>> = {
  service: (column) => column,
  controller: (column) => `encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`,
};

/** The access and refresh tokens whose value has one of these hashes, the dead ones that are still there included. */
export function readByHash(
  database: Queryable,
  { layout, hashes }: { readonly layout: Layout; readonly hashes: readonly string[] },
): Promise<HashedRow[]> {
  const hash = HASH[layout];
  return database.query<HashedRow>(
    `SELECT 'access_token' AS kind, t.id, ${hash('t.token')} AS hash, t.expires > now() AS live, t.user_id, u.username
     FROM main_oauth2accesstoken t LEFT JOIN auth_user u ON u.id = t.user_id
     WHERE ${hash('t.token')} = ANY($1::text[])
     UNION ALL
     SELECT 'refresh_token', r.id, ${hash('r.token')}, r.revoked IS NULL, r.user_id, u.username
     FROM oauth2_provider_refreshtoken r LEFT JOIN auth_user u ON u.id = r.user_id
     WHERE ${hash('r.token')} = ANY($1::text[])`,
    [hashes],
  );
}
