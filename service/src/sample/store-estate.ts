import { randomBytes } from 'node:crypto';
import type { Database, Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { hashToken } from '../auth/secret-hashes.ts';
import type { SampleEstate, SampleToken, SampleUser } from './estate.ts';

const BATCH = 2000;

/** Stores a sample estate in one transaction. Users have unusable passwords, application tokens refresh tokens. */
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
    await sql`INSERT INTO oauth2_provider_refreshtoken
        (token, access_token_id, application_id, user_id, created, updated)
      SELECT encode(sha256((t.token || '/refresh')::bytea), 'hex'), t.id, t.application_id, t.user_id,
        t.created, t.created
      FROM main_oauth2accesstoken t
      WHERE t.application_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM oauth2_provider_refreshtoken f WHERE f.access_token_id = t.id)`.execute(transaction);
  });
}

async function insertUsers(transaction: Queryable, users: readonly SampleUser[]): Promise<number[]> {
  const columns = sql`username text, "firstName" text, "lastName" text, active boolean, superuser boolean`;
  const rows = await sql`INSERT INTO auth_user
      (username, first_name, last_name, email, password, is_active, is_superuser, date_joined)
    SELECT username, "firstName", "lastName", username || '@example.com', '!', active, superuser,
      now() - interval '1000 days'
    FROM ${rowsOf(users, columns)} RETURNING id`.rows<{ id: number }>(transaction);
  const ids = rows.map((row) => row.id);
  const named = users.map((user, index) => ({ ...user, id: ids[index] ?? 0 }));
  const of = (kind: SampleUser['external']) =>
    rowsOf(
      named.filter((user) => user.external === kind),
      sql`username text, id integer`,
    );
  await sql`INSERT INTO main_profile (user_id, ldap_dn)
    SELECT id,
    CASE WHEN external = 'ldap' THEN 'uid=' || username || ',ou=people,dc=example,dc=com' ELSE '' END
    FROM ${rowsOf(named, sql`username text, id integer, external text`)}`.execute(transaction);
  await sql`INSERT INTO social_auth_usersocialauth (provider, uid, user_id)
    SELECT 'github', username, id FROM ${of('social')}`.execute(transaction);
  await sql`INSERT INTO sso_userenterpriseauth (provider, user_id)
    SELECT 'saml', id FROM ${of('enterprise')}`.execute(transaction);
  return ids;
}

async function insertApplications(transaction: Queryable, { applications }: SampleEstate): Promise<number[]> {
  const made = applications.map((application) => ({
    ...application,
    id: randomBytes(20).toString('hex'),
    secret: hashToken(randomBytes(64).toString('hex')),
  }));
  const columns = sql`name text, "grant" text, client text, id text, secret text`;
  const rows = await sql`INSERT INTO main_oauth2application
      (name, authorization_grant_type, client_type, client_id, client_secret, redirect_uris, organization_id)
    SELECT name, "grant", client, id, secret,
      CASE WHEN "grant" = 'authorization-code' THEN 'https://app.example.com/callback' ELSE '' END,
      (SELECT id FROM main_organization ORDER BY id LIMIT 1)
    FROM ${rowsOf(made, columns)} RETURNING id`.rows<{ id: number }>(transaction);
  return rows.map((row) => row.id);
}

/** The teams belong to the first organization, like the applications. */
async function insertTeams(transaction: Queryable, { teams }: SampleEstate, userIds: readonly number[]) {
  for (const { name, description, admins, members } of teams) {
    const roles = [
      ...admins.map((position) => ({ id: userIds[position] ?? 0, role: 'admin' })),
      ...members.map((position) => ({ id: userIds[position] ?? 0, role: 'member' })),
    ];
    await sql`WITH made AS (
        INSERT INTO main_team (name, description, organization_id)
        SELECT ${name}, ${description}, id FROM main_organization ORDER BY id LIMIT 1
        ON CONFLICT DO NOTHING RETURNING id
      )
      INSERT INTO service_team_role (team_id, user_id, role)
      SELECT made.id, new.id, new.role
      FROM made, ${rowsOf(roles, sql`id integer, role text`)}`.execute(transaction);
  }
}

async function insertTokens(
  transaction: Queryable,
  tokens: readonly SampleToken[],
  id: { owner: (token: SampleToken) => number | null; application: (token: SampleToken) => number | null },
): Promise<void> {
  const rows = tokens.map((token) => ({
    ...token,
    user: id.owner(token),
    application: id.application(token),
  }));
  const columns = sql`hash text, "user" integer, application bigint, scope text, description text,
    created timestamptz, expires timestamptz, "lastUsed" timestamptz`;
  await sql`INSERT INTO main_oauth2accesstoken
      (token, user_id, application_id, scope, description, created, updated, modified, expires, last_used)
    SELECT hash, "user", application, scope, description, created, created, created, expires, "lastUsed"
    FROM ${rowsOf(rows, columns)}`.execute(transaction);
}

/** Rows as a table `new` in SQL, with these columns. */
export function rowsOf(rows: readonly object[], columns: Sql): Sql {
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS new (${columns})`;
}
