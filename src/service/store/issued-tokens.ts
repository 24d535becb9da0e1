import type { Queryable } from '../../db/database.ts';

/** A pair of tokens to be stored, by the stored forms of their values. */
export interface NewPair {
  readonly at: Date;
  /** The node that the activity stream names. */
  readonly node: string;
  readonly accessToken: string;
  /** Null where none is given: with the implicit grant. */
  readonly refreshToken: string | null;
  readonly expires: Date;
  readonly client: { readonly id: number; readonly name: string };
  /** What the access token may do. */
  readonly scope: string;
  /** What was granted, where that is more. */
  readonly granted: string | null;
}

/** The parameters `$1` to `$9` of {@link PAIR}; a statement's own follow from `$10`. */
export function pairValues(pair: NewPair): unknown[] {
  const { at, node, accessToken, expires, scope, refreshToken, granted, client } = pair;
  return [at, node, accessToken, expires, scope, refreshToken, granted, client.id, client.name];
}

/**
 * Stores a pair of tokens and its entry in the activity stream, over one row `origin` (user_id, family,
 * refresh_token_id: the refresh token it replaces, or null). Without such a row nothing is stored: a grant
 * is claimed and its tokens are made by one statement, so that neither stands without the other.
 */
export const PAIR = `
  access AS (
    INSERT INTO main_oauth2accesstoken
      (token, expires, scope, application_id, user_id, created, updated, modified, source_refresh_token_id)
    SELECT $3, $4, $5, $8, o.user_id, $1, $1, $1, o.refresh_token_id FROM origin o
    RETURNING id, scope, application_id, user_id
  ), refresh AS (
    INSERT INTO oauth2_provider_refreshtoken
      (token, access_token_id, application_id, user_id, created, updated, family, scope)
    SELECT $6::text, a.id, a.application_id, a.user_id, $1, $1, o.family, $7::text FROM access a, origin o
    WHERE $6::text IS NOT NULL
  ), entry AS (
    INSERT INTO main_activitystream (operation, timestamp, changes, object1, action_node)
    SELECT 'create', $1, json_build_object('description', '', 'application', $9::text, 'scope', a.scope,
      'id', a.id, 'token', '************')::text, 'o_auth2_access_token', $2 FROM access a
    RETURNING id
  ), link AS (
    INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
    SELECT e.id, a.id FROM entry e, access a
  )
  SELECT id FROM access`;

/**
 * Issues tokens to a client for a user who is active and, where it is given, still has the password that was
 * verified (in its stored form).
 *
 * @returns Whether it is so.
 */
export async function issuePair(
  database: Queryable,
  pair: NewPair,
  owner: { readonly id: number; readonly password: string | null },
): Promise<boolean> {
  const rows = await database.query(
    `WITH origin AS (
       SELECT u.id AS user_id, nextval('service_token_family') AS family, NULL::bigint AS refresh_token_id
       FROM auth_user u
       WHERE u.id = $10 AND u.is_active AND ($11::text IS NULL OR u.password = $11)
     ), ${PAIR}`,
    [...pairValues(pair), owner.id, owner.password],
  );
  return rows.length === 1;
}

/** What a deletion of access tokens `t` returns, for {@link NOTE_GONE}. */
export const GONE_COLUMNS = `
  t.id, t.description, t.scope,
  (SELECT a.name FROM main_oauth2application a WHERE a.id = t.application_id) AS application`;

/** Notes the end of the access tokens in `gone` in the activity stream; `$1` is when, `$2` the node. */
export const NOTE_GONE = `
  INSERT INTO main_activitystream (operation, timestamp, changes, object1, action_node)
  SELECT 'delete', $1, json_build_object('description', g.description, 'application', g.application,
    'scope', g.scope, 'id', g.id, 'token', '************')::text, 'o_auth2_access_token', $2 FROM gone g`;
