import type { Queryable } from '../../../db/database.ts';
import { milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { TABLES } from '../tables.ts';
import { EXTERNAL_ACCOUNT } from './external-account.ts';
import { noteMadeToken } from './token-entries.ts';

/** A user that a token can be made for. */
export interface Owner {
  readonly id: number;
  readonly username: string;
  readonly external_account: string | null;
}

/** A user by name, or null. */
export async function findOwner(
  database: Queryable,
  { layout, username }: { readonly layout: Layout; readonly username: string },
): Promise<Owner | null> {
  const rows = await database.query<Owner>(
    `SELECT u.id, u.username, ${EXTERNAL_ACCOUNT[layout]} AS external_account
     FROM ${TABLES[layout].users} u WHERE u.username = $1`,
    [username],
  );
  return rows[0] ?? null;
}

/** What a new personal access token is made of. */
export interface NewToken {
  readonly layout: Layout;
  /** Its value as the layout stores it. */
  readonly stored: string;
  readonly userId: number;
  readonly scope: string;
  readonly description: string;
  /** Seconds. */
  readonly lifetime: number;
}

/** Links a controller's entry with the token. */
const LINK = `, link AS (
       INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
       SELECT e.id, t.id FROM entry e, token t
     )`;

/**
 * Adds a personal access token with its entry in the activity stream and a controller's link between
 * them, in one statement.
 *
 * @returns Its id, and when it was made and expires, in milliseconds.
 */
export async function insertToken(
  database: Queryable,
  token: NewToken,
): Promise<{ readonly id: number; readonly created: number; readonly expires: number }> {
  const { layout } = token;
  const { accessTokens, tokenStamps } = TABLES[layout];
  const [row] = await database.query<{ id: number; created: number; expires: number }>(
    `WITH token AS (
       INSERT INTO ${accessTokens} (token, user_id, scope, description, expires, ${tokenStamps.join(', ')})
       VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), ${tokenStamps.map(() => 'now()').join(', ')})
       RETURNING id, description, scope, created, expires, user_id, application_id, source_refresh_token_id
     ), entry AS (
       ${noteMadeToken(layout)}
     )${layout === 'gateway' ? '' : LINK}
     SELECT id, ${milliseconds('created')} AS created, ${milliseconds('expires')} AS expires FROM token`,
    [token.stored, token.userId, token.scope, token.description, token.lifetime],
  );
  if (row === undefined) throw new Error('an INSERT … RETURNING returned no row');
  return row;
}
