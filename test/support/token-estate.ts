import type { Queryable } from '@tokenctl/common/db/database.ts';

/** How many of what an estate holds. */
export interface EstateSize {
  readonly tokens: number;
  readonly users?: number;
  readonly applications?: number;
}

/**
 * Fills empty tables of a controller or of the service with access tokens, in SQL: the odd ids are personal,
 * the even ones an application's with a live refresh token; each has its entry in the activity stream and the
 * link to it. Users are called `user-N`; the one of token N is user `1 + N mod users`.
 */
export async function fillEstate(
  database: Queryable,
  { tokens, users = 100, applications = 10 }: EstateSize,
): Promise<void> {
  await database.execute(
    `INSERT INTO auth_user (id, password, is_superuser, username, first_name, last_name, email, is_staff, is_active,
       date_joined)
     SELECT n, '!', false, 'user-' || n, '', '', '', false, true, now() FROM generate_series(1, $1::int) n`,
    [users],
  );
  await database.execute(
    `INSERT INTO main_oauth2application (id, client_id, redirect_uris, client_type, authorization_grant_type,
       client_secret, name, skip_authorization, created, updated, description, logo_data, algorithm)
     SELECT n, 'client-' || n, '', 'confidential', 'password', 'secret', 'application ' || n, false, now(), now(), '',
       '', '' FROM generate_series(1, $1::int) n`,
    [applications],
  );
  await addTokens(database, { first: 1, last: tokens, users, applications });
  for (const table of [
    'auth_user',
    'main_oauth2application',
    'main_oauth2accesstoken',
    'oauth2_provider_refreshtoken',
  ]) {
    await database.execute(
      `SELECT setval(pg_get_serial_sequence('${table}', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM ${table}), false)`,
    );
  }
}

/** Adds the tokens of these ids, as {@link fillEstate} does; their ids and those of what hangs on them are free. */
export async function addTokens(
  database: Queryable,
  range: { first: number; last: number; users: number; applications: number },
): Promise<void> {
  const { first, last, users, applications } = range;
  await database.execute(
    `INSERT INTO main_oauth2accesstoken (id, token, expires, scope, created, updated, description, last_used,
       application_id, user_id, modified)
     SELECT n, encode(sha256(('access ' || n)::bytea), 'hex'), now() + interval '1 year',
       CASE WHEN n % 3 = 0 THEN 'read' ELSE 'write' END, now() - make_interval(days => (n % 400)::int), now(),
       CASE WHEN n % 5 = 0 THEN '' ELSE 'pipeline ' || n END,
       CASE WHEN n % 4 <> 0 THEN now() - make_interval(hours => (n % 5000)::int) END,
       CASE WHEN n % 2 = 0 THEN 1 + n % $4::int END, 1 + n % $3::int, now()
     FROM generate_series($1::int, $2::int) n`,
    [first, last, users, applications],
  );
  await database.execute(
    `INSERT INTO oauth2_provider_refreshtoken (id, token, access_token_id, application_id, user_id, created, updated)
     SELECT n, encode(sha256(('refresh ' || n)::bytea), 'hex'), n, 1 + n % $4::int, 1 + n % $3::int, now(), now()
     FROM generate_series($1::int, $2::int) n WHERE n % 2 = 0`,
    [first, last, users, applications],
  );
  await database.execute(
    `WITH entry AS (
       INSERT INTO main_activitystream (operation, timestamp, changes, object_relationship_type, object1, object2,
         actor_id, action_node, setting)
       SELECT 'create', now(), '{"description": "", "application": null, "scope": "write", "id": ' || n ||
         ', "token": "************"}', '', 'o_auth2_access_token', '', 1 + n % $3::int, 'node', '{}'
       FROM generate_series($1::int, $2::int) n RETURNING id, changes
     )
     INSERT INTO main_activitystream_o_auth2_access_token (activitystream_id, oauth2accesstoken_id)
     SELECT id, substring(changes FROM '"id": ([0-9]+)')::bigint FROM entry`,
    [first, last, users],
  );
}
