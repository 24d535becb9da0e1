import type { Queryable } from '@tokenctl/common/db/database.ts';
import { identifier, joined, literal, type Sql, sql } from '@tokenctl/common/db/sql.ts';

/** A user with flags, organization roles and linked accounts, for access decisions. */
export interface UserRecord {
  readonly id: number;
  readonly username: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly password: string;
  readonly is_superuser: boolean;
  readonly is_active: boolean;
  readonly is_system_auditor: boolean;
  readonly last_login: Date | null;
  readonly date_joined: Date;
  readonly ldap_dn: string;
  /** Linked accounts at social or single sign-on providers. */
  readonly social_accounts: readonly { readonly provider: string; readonly uid: string }[];
  /** Linked to an enterprise provider (RADIUS, TACACS+, SAML). */
  readonly has_enterprise_account: boolean;
  readonly admin_of: readonly number[];
  readonly auditor_of: readonly number[];
  readonly member_of: readonly number[];
}

const roles = (role: string) =>
  sql`ARRAY(SELECT r.organization_id FROM service_role r
    WHERE r.user_id = u.id AND r.role = ${literal(role)})`;

/** A user that another record refers to, with column names that start with a prefix; null if there is none. */
export type Person<Prefix extends string> = { readonly [Column in `${Prefix}_id`]: number | null } & {
  readonly [Column in `${Prefix}_${'username' | 'first_name' | 'last_name'}`]: string | null;
};

/** The columns of a {@link Person} for a row of auth_user with this alias. */
export function personColumns(alias: string, prefix: string): Sql {
  const columns = ['id', 'username', 'first_name', 'last_name'];
  return joined(
    columns.map((name) => sql`${identifier(`${alias}.${name}`)} AS ${identifier(`${prefix}_${name}`)}`),
  );
}

/** The columns of a {@link UserRecord} for a row `u` of auth_user. */
export const USER_COLUMNS = sql`
  u.id, u.username, u.first_name, u.last_name, u.email, u.password, u.is_superuser, u.is_active,
  u.last_login, u.date_joined, EXISTS (SELECT FROM service_role r
  WHERE r.user_id = u.id AND r.role = 'system_auditor') AS is_system_auditor,
  COALESCE((SELECT p.ldap_dn FROM main_profile p WHERE p.user_id = u.id), '') AS ldap_dn,
  COALESCE((SELECT json_agg(json_build_object('provider', s.provider, 'uid', s.uid) ORDER BY s.id)
            FROM social_auth_usersocialauth s WHERE s.user_id = u.id), '[]') AS social_accounts,
  EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id) AS has_enterprise_account,
  ${roles('admin')} AS admin_of, ${roles('auditor')} AS auditor_of, ${roles('member')} AS member_of`;

/** Whether a row `u` of auth_user comes from an identity provider, in SQL. Same rule as `externalAccount`. */
export const IS_EXTERNAL = sql`(
  (u.password LIKE '!%'
   AND EXISTS (SELECT FROM main_profile p WHERE p.user_id = u.id AND p.ldap_dn <> ''))
  OR EXISTS (SELECT FROM social_auth_usersocialauth s WHERE s.user_id = u.id)
  OR EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id))`;

/** Whether DISABLE_LOCAL_AUTH is on, in SQL. */
const LOCAL_IS_OFF = sql`EXISTS (
  SELECT FROM conf_setting c WHERE c.key = 'DISABLE_LOCAL_AUTH' AND c.user_id IS NULL AND c.value = 'true')`;

/** Whether a user `u` may authenticate, in SQL: active, and not local while DISABLE_LOCAL_AUTH is on. */
export const MAY_AUTHENTICATE = sql`(u.is_active AND (NOT ${LOCAL_IS_OFF} OR ${IS_EXTERNAL}))`;

export function findUser(database: Queryable, id: number): Promise<UserRecord | null> {
  return sql`SELECT ${USER_COLUMNS} FROM auth_user u WHERE u.id = ${id}`.first<UserRecord>(database);
}

/** A user by name, or null. Names are compared exactly, as on the controller. */
export function findUserByName(database: Queryable, username: string): Promise<UserRecord | null> {
  return sql`SELECT ${USER_COLUMNS} FROM auth_user u
    WHERE u.username = ${username}`
    .prepared('user by name')
    .first<UserRecord>(database);
}

/** A new user's fields, except the password. */
export const BLANK_USER = {
  username: '',
  first_name: '',
  last_name: '',
  email: '',
  is_superuser: false,
  is_system_auditor: false,
  is_active: true,
};

/** The writable fields of a user. `password` is hashed. */
type NewUser = Pick<UserRecord, Exclude<keyof typeof BLANK_USER, 'is_system_auditor'> | 'password'>;

/** Adds a user and the user's profile. Returns the id, or null if the name exists. */
export async function insertUser(transaction: Queryable, user: NewUser): Promise<number | null> {
  const row = await sql`INSERT INTO auth_user
      (username, password, first_name, last_name, email, is_superuser, is_active)
    VALUES (${user.username}, ${user.password}, ${user.first_name}, ${user.last_name}, ${user.email},
      ${user.is_superuser}, ${user.is_active})
    ON CONFLICT (username) DO NOTHING RETURNING id`.first<{ id: number }>(transaction);
  if (row === null) return null;
  await sql`INSERT INTO main_profile (user_id) VALUES (${row.id})`.execute(transaction);
  return row.id;
}

/**
 * Whether another user has this name or a look-alike: in another case or width, with punctuation before or
 * after it, with invisible characters, or with characters of the same shape (UTS 39). Two names of only ASCII
 * letters are not compared by shape: `user1` is not `userl`, and `corn` is not `com`.
 */
export function isUsernameTaken(database: Queryable, username: string, except: number): Promise<boolean> {
  return sql`SELECT FROM auth_user WHERE id <> ${except} AND (
      service_lookalike(username) = service_lookalike(${username})
      OR service_name_shape(username) = service_name_shape(${username})
        AND octet_length(username || ${username}) > char_length(username || ${username})) LIMIT 1`.exists(
    database,
  );
}

/** The same. Also keeps others from taking such a name until the transaction ends. */
export async function claimUsername(
  transaction: Queryable,
  username: string,
  except: number,
): Promise<'claimed' | 'taken'> {
  // Always in this order, so that two claims cannot deadlock.
  for (const key of [
    sql`'username ' || service_lookalike(${username})`,
    sql`'shape ' || service_name_shape(${username})`,
  ]) {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`.rows(transaction);
  }
  return (await isUsernameTaken(transaction, username, except)) ? 'taken' : 'claimed';
}

/** Writes all changeable columns of a user. */
export async function updateUser(transaction: Queryable, id: number, user: NewUser): Promise<void> {
  await sql`UPDATE auth_user SET username = ${user.username}, password = ${user.password},
    first_name = ${user.first_name}, last_name = ${user.last_name}, email = ${user.email},
       is_superuser = ${user.is_superuser}, is_active = ${user.is_active}
       WHERE id = ${id}`.execute(transaction);
}

export async function setSystemAuditor(transaction: Queryable, id: number, is: boolean): Promise<void> {
  const change = is
    ? sql`INSERT INTO service_role (user_id, role) VALUES (${id}, 'system_auditor') ON CONFLICT DO NOTHING`
    : sql`DELETE FROM service_role WHERE user_id = ${id} AND role = 'system_auditor'`;
  await change.execute(transaction);
}

/**
 * Records a login if the user is still active and has the verified password; else returns false. The row
 * stays locked until the transaction ends, which serializes logins and password changes of a user.
 */
export function touchLastLogin(transaction: Queryable, user: UserRecord, at: Date): Promise<boolean> {
  return sql`UPDATE auth_user SET last_login = ${at}
    WHERE id = ${user.id} AND password = ${user.password} AND is_active`.touchesOne(transaction);
}

/** Locks users in id order until the transaction ends. Rows that refer to them can still be added. */
export async function lockUsers(transaction: Queryable, ids: readonly number[]): Promise<void> {
  await sql`SELECT FROM auth_user WHERE id = ANY(${ids}::integer[])
    ORDER BY id FOR NO KEY UPDATE`.rows(transaction);
}

/** The credential of a request's user: a session, a token, or a password (both null). */
export interface UserProof {
  readonly userId: number;
  readonly sessionKey: string | null;
  readonly tokenId: number | null;
}

/**
 * Whether a request's user may still authenticate with the same credential. This holds until the transaction
 * ends: ending a user's access locks the row first, so it finds what this transaction adds.
 */
export async function isStillProven(
  transaction: Queryable,
  { userId, sessionKey, tokenId }: UserProof,
): Promise<boolean> {
  await sql`SELECT FROM auth_user WHERE id = ${userId} FOR SHARE`.rows(transaction);
  const rows = await sql`SELECT FROM auth_user u WHERE u.id = ${userId} AND ${MAY_AUTHENTICATE}
       AND (${sessionKey}::text IS NULL OR EXISTS (SELECT FROM django_session s
       WHERE s.session_key = ${sessionKey}))
       AND (${tokenId}::bigint IS NULL OR EXISTS (SELECT FROM main_oauth2accesstoken t
       WHERE t.id = ${tokenId}))`.rows(transaction);
  return rows.length === 1;
}

/** Ends all sessions of a user. Returns their number. */
export function deleteSessionsOf(transaction: Queryable, userId: number): Promise<number> {
  return sql`DELETE FROM django_session WHERE session_key IN (
    SELECT session_id FROM main_usersessionmembership WHERE user_id = ${userId})`.execute(transaction);
}

/** Deletes a user with tokens, refresh tokens, sessions, roles and linked accounts. */
export async function deleteUser(transaction: Queryable, id: number): Promise<boolean> {
  await deleteSessionsOf(transaction, id);
  return sql`DELETE FROM auth_user WHERE id = ${id}`.touchesOne(transaction);
}

/** Whether any user exists: false on the first start. */
export function hasUsers(database: Queryable): Promise<boolean> {
  return sql`SELECT FROM auth_user LIMIT 1`.exists(database);
}

/** The provider and the account's permanent id there. */
interface AccountName {
  readonly provider: string;
  readonly uid: string;
}

export async function findLinkedUser(database: Queryable, account: AccountName): Promise<number | null> {
  const rows = await sql`SELECT user_id FROM social_auth_usersocialauth
    WHERE provider = ${account.provider} AND uid = ${account.uid}`.rows<{ user_id: number }>(database);
  return rows[0]?.user_id ?? null;
}

/** Links an account to a user. Returns false if the account was already linked to any user. */
export function linkAccount(
  transaction: Queryable,
  link: AccountName & { readonly userId: number; readonly at: Date },
): Promise<boolean> {
  return sql`INSERT INTO social_auth_usersocialauth (provider, uid, user_id, created, modified)
    VALUES (${link.provider}, ${link.uid}, ${link.userId}, ${link.at}, ${link.at})
    ON CONFLICT (provider, uid) DO NOTHING`.touchesOne(transaction);
}

/** Marks a user as an enterprise user, as the controller does for SAML. */
export async function markEnterprise(
  transaction: Queryable,
  mark: { readonly userId: number; readonly provider: string },
): Promise<void> {
  await sql`INSERT INTO sso_userenterpriseauth (user_id, provider)
    VALUES (${mark.userId}, ${mark.provider}) ON CONFLICT DO NOTHING`.execute(transaction);
}

/** The accounts of active superusers at identity providers. */
export function superuserAccounts(database: Queryable): Promise<AccountName[]> {
  return sql`SELECT s.provider, s.uid FROM social_auth_usersocialauth s JOIN auth_user u ON u.id = s.user_id
    WHERE u.is_superuser AND u.is_active`.rows<AccountName>(database);
}

/** Whether a user `u` sees an application `a`. Same rule as `canSeeApplications`. */
export const SEES_APPLICATION = sql`(u.is_superuser OR EXISTS (SELECT FROM service_role r
  WHERE r.user_id = u.id AND (r.role = 'system_auditor' OR r.organization_id = a.organization_id)))`;
