import { firstRow, hasRows, type Queryable } from '../../db/database.ts';

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
  `ARRAY(SELECT r.organization_id FROM service_role r WHERE r.user_id = u.id AND r.role = '${role}')`;

/** The columns of a {@link UserRecord}, of a row `u` of auth_user. */
export const USER_COLUMNS = `
  u.id, u.username, u.first_name, u.last_name, u.email, u.password, u.is_superuser, u.is_active,
  u.last_login, u.date_joined,
  EXISTS (SELECT FROM service_role r WHERE r.user_id = u.id AND r.role = 'system_auditor') AS is_system_auditor,
  COALESCE((SELECT p.ldap_dn FROM main_profile p WHERE p.user_id = u.id), '') AS ldap_dn,
  COALESCE((SELECT json_agg(json_build_object('provider', s.provider, 'uid', s.uid) ORDER BY s.id)
            FROM social_auth_usersocialauth s WHERE s.user_id = u.id), '[]') AS social_accounts,
  EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id) AS has_enterprise_account,
  ${roles('admin')} AS admin_of, ${roles('auditor')} AS auditor_of, ${roles('member')} AS member_of`;

/**
 * Whether a row `u` of auth_user comes from an identity provider, in SQL: the rule of `externalAccount`,
 * for queries that need nothing else of the user.
 */
export const IS_EXTERNAL = `(
  (u.password LIKE '!%'
   AND EXISTS (SELECT FROM main_profile p WHERE p.user_id = u.id AND p.ldap_dn <> ''))
  OR EXISTS (SELECT FROM social_auth_usersocialauth s WHERE s.user_id = u.id)
  OR EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id))`;

/** Whether DISABLE_LOCAL_AUTH is on, in SQL. */
const LOCAL_IS_OFF = `EXISTS (
  SELECT FROM conf_setting c WHERE c.key = 'DISABLE_LOCAL_AUTH' AND c.user_id IS NULL AND c.value = 'true')`;

/**
 * Whether the credentials of a row `u` of auth_user are accepted, in SQL: of an active user, and not of a
 * local one while DISABLE_LOCAL_AUTH is on.
 */
export const MAY_AUTHENTICATE = `(u.is_active AND (NOT ${LOCAL_IS_OFF} OR ${IS_EXTERNAL}))`;

export function findUser(database: Queryable, id: number): Promise<UserRecord | null> {
  return firstRow<UserRecord>(database, `SELECT ${USER_COLUMNS} FROM auth_user u WHERE u.id = $1`, [id]);
}

/** A user by name, or null. Names are compared exactly, as the controller does. */
export function findUserByName(database: Queryable, username: string): Promise<UserRecord | null> {
  return firstRow<UserRecord>(database, `SELECT ${USER_COLUMNS} FROM auth_user u WHERE u.username = $1`, [
    username,
  ]);
}

/** The writable fields of a user. `password` is hashed. */
interface NewUser {
  readonly username: string;
  readonly password: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly is_superuser: boolean;
  readonly is_active: boolean;
}

/**
 * Adds a user and the user's profile.
 *
 * @returns The id, or null if the name is taken.
 */
export async function insertUser(transaction: Queryable, user: NewUser): Promise<number | null> {
  const rows = await transaction.query<{ id: number }>(
    `INSERT INTO auth_user (username, password, first_name, last_name, email, is_superuser, is_active)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (username) DO NOTHING RETURNING id`,
    [
      user.username,
      user.password,
      user.first_name,
      user.last_name,
      user.email,
      user.is_superuser,
      user.is_active,
    ],
  );
  const id = rows[0]?.id;
  if (id === undefined) return null;
  await transaction.execute('INSERT INTO main_profile (user_id) VALUES ($1)', [id]);
  return id;
}

/**
 * Whether another user has this name or one that looks like it: in another case or width, with punctuation
 * before or after it, or with letters of another script that have the same shape.
 */
export function isUsernameTaken(database: Queryable, username: string, except: number): Promise<boolean> {
  return hasRows(
    database,
    'SELECT FROM auth_user WHERE service_lookalike(username) = service_lookalike($1) AND id <> $2 LIMIT 1',
    [username, except],
  );
}

/** The same, and lets nobody else take such a name until the transaction ends. */
export async function claimUsername(
  transaction: Queryable,
  username: string,
  except: number,
): Promise<'claimed' | 'taken'> {
  await transaction.query(
    "SELECT pg_advisory_xact_lock(hashtextextended('username ' || service_lookalike($1), 0))",
    [username],
  );
  return (await isUsernameTaken(transaction, username, except)) ? 'taken' : 'claimed';
}

/** Writes all changeable columns of a user. */
export async function updateUser(transaction: Queryable, id: number, user: NewUser): Promise<void> {
  await transaction.execute(
    `UPDATE auth_user SET username = $2, password = $3, first_name = $4, last_name = $5, email = $6,
       is_superuser = $7, is_active = $8 WHERE id = $1`,
    [
      id,
      user.username,
      user.password,
      user.first_name,
      user.last_name,
      user.email,
      user.is_superuser,
      user.is_active,
    ],
  );
}

/** Grants or removes the system auditor role. */
export async function setSystemAuditor(transaction: Queryable, id: number, is: boolean): Promise<void> {
  await transaction.execute(
    is
      ? "INSERT INTO service_role (user_id, role) VALUES ($1, 'system_auditor') ON CONFLICT DO NOTHING"
      : "DELETE FROM service_role WHERE user_id = $1 AND role = 'system_auditor'",
    [id],
  );
}

/**
 * Records a login if the user is still active and has the verified password. The row stays locked until the
 * transaction ends, which serializes logins and password changes of a user.
 *
 * @returns False if the user was deactivated or the password changed.
 */
export async function touchLastLogin(transaction: Queryable, user: UserRecord, at: Date): Promise<boolean> {
  const touched = await transaction.execute(
    'UPDATE auth_user SET last_login = $3 WHERE id = $1 AND password = $2 AND is_active',
    [user.id, user.password, at],
  );
  return touched === 1;
}

/**
 * Locks users in id order until the transaction ends, to serialize changes that depend on their facts. Rows
 * that refer to them can still be added.
 */
export async function lockUsers(transaction: Queryable, ids: readonly number[]): Promise<void> {
  await transaction.query(
    'SELECT FROM auth_user WHERE id = ANY($1::integer[]) ORDER BY id FOR NO KEY UPDATE',
    [ids],
  );
}

/** What a request proved its user by: a session, a token, or a password (both null). */
export interface UserProof {
  readonly userId: number;
  readonly sessionKey: string | null;
  readonly tokenId: number | null;
}

/**
 * Whether the user of a request may still authenticate, with the same credential. It stays so until the transaction ends: what
 * ends the access of a user locks the row first, so that it finds what this transaction adds.
 */
export async function isStillProven(
  transaction: Queryable,
  { userId, sessionKey, tokenId }: UserProof,
): Promise<boolean> {
  await transaction.query('SELECT FROM auth_user WHERE id = $1 FOR SHARE', [userId]);
  const rows = await transaction.query(
    `SELECT FROM auth_user u WHERE u.id = $1 AND ${MAY_AUTHENTICATE}
       AND ($2::text IS NULL OR EXISTS (SELECT FROM django_session s WHERE s.session_key = $2))
       AND ($3::bigint IS NULL OR EXISTS (SELECT FROM main_oauth2accesstoken t WHERE t.id = $3))`,
    [userId, sessionKey, tokenId],
  );
  return rows.length === 1;
}

/** Deletes a user with tokens, refresh tokens, sessions, roles and linked accounts. */
export async function deleteUser(transaction: Queryable, id: number): Promise<boolean> {
  await transaction.execute(
    'DELETE FROM django_session WHERE session_key IN (SELECT session_id FROM main_usersessionmembership WHERE user_id = $1)',
    [id],
  );
  return (await transaction.execute('DELETE FROM auth_user WHERE id = $1', [id])) === 1;
}

/** Whether any user exists. False on the first start. */
export async function hasUsers(database: Queryable): Promise<boolean> {
  return hasRows(database, 'SELECT FROM auth_user LIMIT 1');
}

/** An account at an identity provider: the provider and the account's permanent id there. */
interface AccountName {
  readonly provider: string;
  readonly uid: string;
}

export async function findLinkedUser(database: Queryable, account: AccountName): Promise<number | null> {
  const rows = await database.query<{ user_id: number }>(
    'SELECT user_id FROM social_auth_usersocialauth WHERE provider = $1 AND uid = $2',
    [account.provider, account.uid],
  );
  return rows[0]?.user_id ?? null;
}

/**
 * Links an account to a user.
 *
 * @returns False if the account was already linked to any user.
 */
export async function linkAccount(
  transaction: Queryable,
  link: AccountName & { readonly userId: number; readonly at: Date },
): Promise<boolean> {
  const touched = await transaction.execute(
    `INSERT INTO social_auth_usersocialauth (provider, uid, user_id, created, modified)
     VALUES ($1, $2, $3, $4, $4) ON CONFLICT (provider, uid) DO NOTHING`,
    [link.provider, link.uid, link.userId, link.at],
  );
  return touched === 1;
}

/** Marks a user as an enterprise user, as the controller does for SAML. */
export async function markEnterprise(
  transaction: Queryable,
  mark: { readonly userId: number; readonly provider: string },
): Promise<void> {
  await transaction.execute(
    'INSERT INTO sso_userenterpriseauth (user_id, provider) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [mark.userId, mark.provider],
  );
}

/** The accounts of active superusers at identity providers. */
export function superuserAccounts(database: Queryable): Promise<AccountName[]> {
  return database.query<AccountName>(
    `SELECT s.provider, s.uid FROM social_auth_usersocialauth s JOIN auth_user u ON u.id = s.user_id
     WHERE u.is_superuser AND u.is_active`,
  );
}

/** Updates a user's profile from an identity provider. */
export async function updateProfile(
  transaction: Queryable,
  profile: {
    readonly userId: number;
    readonly email: string;
    readonly firstName: string;
    readonly lastName: string;
    readonly isSuperuser: boolean;
  },
): Promise<void> {
  await transaction.execute(
    'UPDATE auth_user SET email = $2, first_name = $3, last_name = $4, is_superuser = $5 WHERE id = $1',
    [profile.userId, profile.email, profile.firstName, profile.lastName, profile.isSuperuser],
  );
}
