import type { Queryable } from '../../../db/database.ts';
import { milliseconds } from '../instants.ts';
import { ACTION_NODE, TOKEN_CHANGES } from './token-deletion.ts';
import { EXTERNAL_ACCOUNT } from './users.ts';

/** A user that a token can be made for. */
export interface Owner {
  readonly id: number;
  readonly username: string;
  readonly external_account: string | null;
}

/** A user by name, or null. */
export async function findOwner(database: Queryable, username: string): Promise<Owner | null> {
  const rows = await database.query<Owner>(
    `SELECT u.id, u.username, ${EXTERNAL_ACCOUNT} AS external_account FROM auth_user u WHERE u.username = $1`,
    [username],
  );
  return rows[0] ?? null;
}

/** What a new personal access token is made of. */
export interface NewToken {
  /** Its value as the layout stores it. */
  readonly stored: string;
  readonly userId: number;
  readonly scope: string;
  readonly description: string;
  /** Seconds. */
  readonly lifetime: number;
}

/**
 * Adds a personal access token with its entry in the activity stream and the link between them, in one
 * statement.
 *
 * @returns Its id, and when it was made and expires, in milliseconds.
 */
export async function insertToken(
  database: Queryable,
  token: NewToken,
): Promise<{ readonly id: number; readonly created: number; readonly expires: number }> {
  const [row] = await database.query<{ id: number; created: number; expires: number }>(
    `WITH token AS (
       INSERT INTO main_oauth2accesstoken
         (token, user_id, scope, description, created, updated, modified, expires)
       VALUES ($1, $2, $3, $4, now(), now(), now(), now() + make_interval(secs => $5))
       RETURNING id, description, scope, created, expires
     ), entry AS (
       INSERT INTO main_activitystream
         (operation, timestamp, changes, object_relationship_type, object1, object2, action_node, setting)
       SELECT 'create', now(), ${TOKEN_CHANGES}, '', 'o_auth2_access_token', '', '${ACTION_NODE}', '{}'
       FROM (SELECT token.*, NULL::text AS application FROM token) t
       RETURNING id
     ), link AS (
       INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
       SELECT e.id, t.id FROM entry e, token t
     )
     SELECT id, ${milliseconds('created')} AS created, ${milliseconds('expires')} AS expires FROM token`,
    [token.stored, token.userId, token.scope, token.description, token.lifetime],
  );
  if (row === undefined) throw new Error('an INSERT … RETURNING returned no row');
  return row;
}
