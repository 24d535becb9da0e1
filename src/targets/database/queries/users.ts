import type { User, UserReference } from '../../../core/token.ts';
import type { Queryable } from '../../../db/database.ts';
import type { UserSelector } from '../../../operations/ports/target-selectors.ts';
import { Conditions } from '../conditions.ts';
import { instantOrNull, milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { PAGE } from '../pages.ts';
import { ACTION_NODE } from './token-deletion.ts';

/** The names of users by their ids. */
export function readUserNames(database: Queryable, ids: readonly number[]): Promise<UserReference[]> {
  return database.query<UserReference>(
    'SELECT u.id, u.username FROM auth_user u WHERE u.id = ANY($1::bigint[])',
    [ids],
  );
}

/** The ids of users by their names, compared exactly. */
export async function readUserIds(database: Queryable, names: readonly string[]): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    'SELECT u.id FROM auth_user u WHERE u.username = ANY($1::text[])',
    [names],
  );
  return rows.map(({ id }) => id);
}

/**
 * Which kind of identity provider a user `u` comes from, in the controller's words; null for a local
 * account. An LDAP name counts while there is no usable password beside it.
 */
export const EXTERNAL_ACCOUNT = `CASE
    WHEN u.password LIKE '!%'
      AND EXISTS (SELECT FROM main_profile p WHERE p.user_id = u.id AND p.ldap_dn <> '') THEN 'ldap'
    WHEN EXISTS (SELECT FROM social_auth_usersocialauth s WHERE s.user_id = u.id) THEN 'social'
    WHEN EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id) THEN 'enterprise'
  END`;

/** A controller keeps its system auditors in tables that differ from release to release: null there. */
const IS_SYSTEM_AUDITOR: Readonly<Record<Layout, string>> = {
  controller: 'NULL::boolean',
  service: "EXISTS (SELECT FROM service_role r WHERE r.user_id = u.id AND r.role = 'system_auditor')",
};

interface UserRow {
  readonly id: number;
  readonly username: string;
  readonly is_superuser: boolean;
  readonly is_system_auditor: boolean | null;
  readonly is_active: boolean;
  readonly external_account: string | null;
  readonly last_login: number | null;
}

/** A page of users after an id. */
export async function readUserPage(
  database: Queryable,
  options: { readonly layout: Layout; readonly selector: UserSelector; readonly after: number },
): Promise<User[]> {
  const { layout, selector, after } = options;
  const where = new Conditions()
    .add(after, (id) => `u.id > ${id}::bigint`)
    .add(selector.names, (names) => `u.username = ANY(${names}::text[])`);
  if (selector.inactive === true) where.require('NOT u.is_active');
  const rows = await database.query<UserRow>(
    `SELECT u.id, u.username, u.is_superuser, u.is_active, ${milliseconds('u.last_login')} AS last_login,
       ${IS_SYSTEM_AUDITOR[layout]} AS is_system_auditor, ${EXTERNAL_ACCOUNT} AS external_account
     FROM auth_user u WHERE ${where.sql} ORDER BY u.id LIMIT ${PAGE}`,
    where.values,
  );
  return rows.map((row) => ({
    id: row.id,
    username: row.username,
    isSuperuser: row.is_superuser,
    isSystemAuditor: row.is_system_auditor ?? undefined,
    isActive: row.is_active,
    externalAccount: row.external_account,
    lastLogin: instantOrNull(row.last_login),
  }));
}

/**
 * Sets whether a user is active, and notes it in the activity stream as the controller does, by nobody.
 *
 * @returns Whether anything changed.
 */
export async function updateUserActive(
  transaction: Queryable,
  { userId, active }: { readonly userId: number; readonly active: boolean },
): Promise<boolean> {
  const rows = await transaction.query(
    `WITH changed AS (
       UPDATE auth_user SET is_active = $2 WHERE id = $1 AND is_active <> $2 RETURNING id, username
     )
     INSERT INTO main_activitystream
       (operation, timestamp, changes, object_relationship_type, object1, object2, action_node, setting)
     SELECT 'update', now(),
       '{"is_active": [' || (NOT $2::boolean)::text || ', ' || $2::boolean::text || '], "id": ' || c.id
         || ', "username": ' || to_json(c.username::text) || '}',
       '', 'user', '', '${ACTION_NODE}', '{}'
     FROM changed c RETURNING operation`,
    [userId, active],
  );
  return rows.length > 0;
}
