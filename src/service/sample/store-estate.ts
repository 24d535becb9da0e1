import { randomBytes } from 'node:crypto';
import type { Database, Queryable } from '../../db/database.ts';
import { hashToken } from '../auth/secret-hashes.ts';
import type { SampleEstate, SampleToken, SampleUser } from './estate.ts';

const BATCH = 2000;

/**
 * Stores a sample estate in a service's database, in one transaction. Its users cannot log in: their
 * passwords are unusable. Each application token has a refresh token.
 */
export async function storeEstate(database: Database, estate: SampleEstate): Promise<void> {
  await database.transaction(async (transaction) => {
    const userIds = await insertUsers(transaction, estate.users);
    const applicationIds = await insertApplications(transaction, estate);
    await insertTeams(transaction, estate, userIds);
    const id = (ids: readonly number[], position: number | null) =>
      position === null ? null : (ids[position] ?? null);
    for (let from = 0; from < estate.tokens.length; from += BATCH) {
      const tokens = estate.tokens.slice(from, from + BATCH);
      await insertTokens(transaction, tokens, {
        owner: (token) => id(userIds, token.owner),
        application: (token) => id(applicationIds, token.application),
      });
    }
    await transaction.execute(
      `INSERT INTO oauth2_provider_refreshtoken (token, access_token_id, application_id, user_id, created, updated)
       SELECT encode(sha256((t.token || '/refresh')::bytea), 'hex'), t.id, t.application_id, t.user_id, t.created, t.created
       FROM main_oauth2accesstoken t
       WHERE t.application_id IS NOT NULL
         AND NOT EXISTS (SELECT FROM oauth2_provider_refreshtoken f WHERE f.access_token_id = t.id)`,
    );
  });
}

async function insertUsers(transaction: Queryable, users: readonly SampleUser[]): Promise<number[]> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO auth_user (username, first_name, last_name, email, password, is_active, is_superuser, date_joined)
     SELECT username, first_name, last_name, username || '@example.com', '!', is_active, is_superuser,
       now() - interval '1000 days'
     FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::boolean[])
       AS new (username, first_name, last_name, is_active, is_superuser)
     RETURNING id`,
    [
      users.map((user) => user.username),
      users.map((user) => user.firstName),
      users.map((user) => user.lastName),
      users.map((user) => user.active),
      users.map((user) => user.superuser),
    ],
  );
  const ids = rows.map((row) => row.id);
  const named = users.map((user, index) => ({ ...user, id: ids[index] ?? 0 }));
  const of = (kind: SampleUser['external']) => named.filter((user) => user.external === kind);
  await transaction.execute(
    `INSERT INTO main_profile (user_id, ldap_dn) SELECT * FROM unnest($1::integer[], $2::text[])`,
    [
      ids,
      named.map((user) =>
        user.external === 'ldap' ? `uid=${user.username},ou=people,dc=example,dc=com` : '',
      ),
    ],
  );
  await transaction.execute(
    `INSERT INTO social_auth_usersocialauth (provider, uid, user_id)
     SELECT 'github', uid, user_id FROM unnest($1::text[], $2::integer[]) AS new (uid, user_id)`,
    [of('social').map((user) => user.username), of('social').map((user) => user.id)],
  );
  await transaction.execute(
    `INSERT INTO sso_userenterpriseauth (provider, user_id) SELECT 'saml', user_id FROM unnest($1::integer[]) AS new (user_id)`,
    [of('enterprise').map((user) => user.id)],
  );
  return ids;
}

async function insertApplications(transaction: Queryable, { applications }: SampleEstate): Promise<number[]> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO main_oauth2application
       (name, authorization_grant_type, client_type, client_id, client_secret, redirect_uris, organization_id)
     SELECT name, kind, client, client_id, client_secret,
       CASE WHEN kind = 'authorization-code' THEN 'https://app.example.com/callback' ELSE '' END,
       (SELECT id FROM main_organization ORDER BY id LIMIT 1)
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
       AS new (name, kind, client, client_id, client_secret)
     RETURNING id`,
    [
      applications.map((application) => application.name),
      applications.map((application) => application.grant),
      applications.map((application) => application.client),
      applications.map(() => randomBytes(20).toString('hex')),
      applications.map(() => hashToken(randomBytes(64).toString('hex'))),
    ],
  );
  return rows.map((row) => row.id);
}

/** The teams are of the first organization, as the applications. */
async function insertTeams(
  transaction: Queryable,
  { teams }: SampleEstate,
  userIds: readonly number[],
): Promise<void> {
  for (const { name, description, admins, members } of teams) {
    await transaction.execute(
      `WITH made AS (
         INSERT INTO main_team (name, description, organization_id)
         SELECT $1, $2, id FROM main_organization ORDER BY id LIMIT 1 ON CONFLICT DO NOTHING RETURNING id
       )
       INSERT INTO service_team_role (team_id, user_id, role)
       SELECT made.id, new.user_id, new.role FROM made, unnest($3::integer[], $4::text[]) AS new (user_id, role)`,
      [
        name,
        description,
        [...admins, ...members].map((position) => userIds[position] ?? 0),
        [...admins.map(() => 'admin'), ...members.map(() => 'member')],
      ],
    );
  }
}

async function insertTokens(
  transaction: Queryable,
  tokens: readonly SampleToken[],
  id: {
    readonly owner: (token: SampleToken) => number | null;
    readonly application: (token: SampleToken) => number | null;
  },
): Promise<void> {
  await transaction.execute(
    `INSERT INTO main_oauth2accesstoken
       (token, user_id, application_id, scope, description, created, updated, modified, expires, last_used)
     SELECT token, user_id, application_id, scope, description, created, created, created, expires, last_used
     FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[],
       $7::timestamptz[], $8::timestamptz[])
       AS new (token, user_id, application_id, scope, description, created, expires, last_used)`,
    [
      tokens.map((token) => token.hash),
      tokens.map(id.owner),
      tokens.map(id.application),
      tokens.map((token) => token.scope),
      tokens.map((token) => token.description),
      tokens.map((token) => token.created.toISOString()),
      tokens.map((token) => token.expires.toISOString()),
      tokens.map((token) => token.lastUsed?.toISOString() ?? null),
    ],
  );
}
