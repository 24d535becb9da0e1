import type { Queryable } from '../../../db/database.ts';
import { fingerprintOf } from '../fingerprint.ts';
import type { Layout } from '../layout.ts';
import { TABLES } from '../tables.ts';
import { deleteTaken } from './token-deletion.ts';
import { alsoNoteDeleted, alsoNoteRevoked } from './token-entries.ts';

/** A refresh token that was revoked or deleted. */
export interface EndedRow {
  readonly id: number;
  readonly fingerprint: string;
}

/** Which refresh tokens. */
interface Ids {
  readonly layout: Layout;
  readonly ids: readonly number[];
}

/**
 * Revokes live refresh tokens in one statement, as the controller does: the access token beside each is
 * deleted, the row stays. One is passed over while another transaction holds it, or its access token.
 *
 * @returns Those that are revoked.
 */
export function revokeRefreshTokens(database: Queryable, { layout, ids }: Ids): Promise<EndedRow[]> {
  const { accessTokens, refreshTokens, applications, refreshStamp } = TABLES[layout];
  return database.query<EndedRow>(
    `WITH found AS MATERIALIZED (
       SELECT r.id, r.token, r.access_token_id FROM ${refreshTokens} r
       WHERE r.id = ANY($1::bigint[]) AND r.revoked IS NULL FOR UPDATE SKIP LOCKED
     ), beside AS MATERIALIZED (
       SELECT t.id, t.description, t.scope, t.application_id FROM ${accessTokens} t
       WHERE t.id = ANY(ARRAY(SELECT f.access_token_id FROM found f WHERE f.access_token_id IS NOT NULL))
       FOR UPDATE SKIP LOCKED
     ), meant AS MATERIALIZED (
       SELECT f.id, f.token, f.access_token_id FROM found f
       WHERE f.access_token_id IS NULL OR f.access_token_id IN (SELECT b.id FROM beside b)
     ), taken AS MATERIALIZED (
       SELECT b.id, b.description, b.scope, a.name AS application
       FROM beside b LEFT JOIN ${applications} a ON a.id = b.application_id
     ), revoked AS (
       UPDATE ${refreshTokens} r
       SET revoked = now(), ${refreshStamp} = now(), access_token_id = NULL
       WHERE r.id = ANY(ARRAY(SELECT m.id FROM meant m)) RETURNING r.id
     ), ${deleteTaken(layout)}${alsoNoteRevoked(layout, 'SELECT m.id, m.access_token_id FROM meant m')}
     SELECT m.id, ${fingerprintOf(layout, 'm.token')} AS fingerprint
     FROM meant m JOIN revoked r ON r.id = m.id`,
    [ids],
    'revoke refresh tokens',
  );
}

/**
 * Deletes refresh tokens in one statement; access tokens that came of one forget it first. One is passed
 * over while another transaction holds it, or such an access token.
 *
 * @returns Those that are deleted.
 */
export function deleteRefreshTokens(database: Queryable, { layout, ids }: Ids): Promise<EndedRow[]> {
  const { accessTokens, refreshTokens } = TABLES[layout];
  return database.query<EndedRow>(
    `WITH found AS MATERIALIZED (
       SELECT r.id FROM ${refreshTokens} r
       WHERE r.id = ANY($1::bigint[]) FOR UPDATE SKIP LOCKED
     ), offspring AS MATERIALIZED (
       SELECT t.id FROM ${accessTokens} t
       WHERE t.source_refresh_token_id = ANY($1::bigint[]) FOR UPDATE SKIP LOCKED
     ), busy AS MATERIALIZED (
       SELECT t.source_refresh_token_id AS id FROM ${accessTokens} t
       WHERE t.source_refresh_token_id = ANY($1::bigint[]) AND t.id NOT IN (SELECT o.id FROM offspring o)
     ), meant AS MATERIALIZED (
       SELECT f.id FROM found f WHERE f.id NOT IN (SELECT b.id FROM busy b)
     ), forgotten AS (
       UPDATE ${accessTokens} t SET source_refresh_token_id = NULL
       WHERE t.source_refresh_token_id = ANY(ARRAY(SELECT m.id FROM meant m))
     )${alsoNoteDeleted(layout)}
     DELETE FROM ${refreshTokens} r WHERE r.id = ANY(ARRAY(SELECT m.id FROM meant m))
     RETURNING r.id, ${fingerprintOf(layout, 'r.token')} AS fingerprint`,
    [ids],
    'delete refresh tokens',
  );
}

/** Those of these refresh tokens that are there and alive. */
export async function readLiveRefreshIds(database: Queryable, { layout, ids }: Ids): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT r.id FROM ${TABLES[layout].refreshTokens} r WHERE r.id = ANY($1::bigint[]) AND r.revoked IS NULL`,
    [ids],
  );
  return rows.map(({ id }) => id);
}
