import type { Queryable } from '../../../db/database.ts';
import { hashOf } from '../fingerprint.ts';
import type { Layout } from '../layout.ts';
import { TABLES } from '../tables.ts';

/** A token that was found by its hash. */
export interface HashedRow {
  readonly kind: 'access_token' | 'refresh_token';
  readonly id: number;
  readonly hash: string;
  readonly live: boolean;
  readonly user_id: number | null;
  readonly username: string | null;
}

/** The access and refresh tokens whose value has one of these hashes, the dead ones that are still there included. */
export function readByHash(
  database: Queryable,
  { layout, hashes }: { readonly layout: Layout; readonly hashes: readonly string[] },
): Promise<HashedRow[]> {
  const { accessTokens, refreshTokens, users } = TABLES[layout];
  return database.query<HashedRow>(
    `SELECT 'access_token' AS kind, t.id, ${hashOf(layout, 't.token')} AS hash, t.expires > now() AS live, t.user_id, u.username
     FROM ${accessTokens} t LEFT JOIN ${users} u ON u.id = t.user_id
     WHERE ${hashOf(layout, 't.token')} = ANY($1::text[])
     UNION ALL
     SELECT 'refresh_token', r.id, ${hashOf(layout, 'r.token')}, r.revoked IS NULL, r.user_id, u.username
     FROM ${refreshTokens} r LEFT JOIN ${users} u ON u.id = r.user_id
     WHERE ${hashOf(layout, 'r.token')} = ANY($1::text[])`,
    [hashes],
  );
}
