import type { Queryable } from '../../db/database.ts';

/** An account at an identity provider: the provider's name, and the one name there that never changes. */
export interface AccountName {
  readonly provider: string;
  readonly uid: string;
}

/** The user that an account is linked to, or null. Nothing but the provider and its name of the account counts. */
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
 * @returns Whether it is linked now: not where it was linked already, to whomever.
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

/** Marks a user as one of an enterprise's identity provider, as the controller does with those of SAML. */
export async function markEnterprise(
  transaction: Queryable,
  mark: { readonly userId: number; readonly provider: string },
): Promise<void> {
  await transaction.execute(
    'INSERT INTO sso_userenterpriseauth (user_id, provider) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [mark.userId, mark.provider],
  );
}

/** Whether an active superuser can log in through one of these providers. */
export async function superuserOf(database: Queryable, providers: readonly string[]): Promise<boolean> {
  const rows = await database.query(
    `SELECT FROM social_auth_usersocialauth s JOIN auth_user u ON u.id = s.user_id
     WHERE s.provider = ANY($1::text[]) AND u.is_superuser AND u.is_active LIMIT 1`,
    [providers],
  );
  return rows.length > 0;
}

/** Writes what a provider says of a user's name and address. */
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
