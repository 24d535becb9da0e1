import type { Queryable } from '../../../db/database.ts';
import type { User, UserReference } from '../../../domain/token.ts';
import type { UserSelector } from '../../../operations/ports/target.ts';
import { Conditions } from '../conditions.ts';
import { instantOrNull, milliseconds } from '../instants.ts';
import type { Layout } from '../layout.ts';
import { PAGE } from '../pages.ts';
import { TABLES } from '../tables.ts';
import { gatewayChanges, insertEntries } from './entries.ts';
import { EXTERNAL_ACCOUNT } from './external-account.ts';

/** The names of users by their ids. */
export function readUserNames(
  database: Queryable,
  { layout, ids }: { readonly layout: Layout; readonly ids: readonly number[] },
): Promise<UserReference[]> {
  return database.query<UserReference>(
    `SELECT u.id, u.username FROM ${TABLES[layout].users} u WHERE u.id = ANY($1::bigint[])`,
    [ids],
  );
}

/** The ids of users by their names, compared exactly. */
export async function readUserIds(
  database: Queryable,
  { layout, names }: { readonly layout: Layout; readonly names: readonly string[] },
): Promise<number[]> {
  const rows = await database.query<{ id: number }>(
    `SELECT u.id FROM ${TABLES[layout].users} u WHERE u.username = ANY($1::text[])`,
    [names],
  );
  return rows.map(({ id }) => id);
}

/**
 * SQL for whether a user `u` is a system auditor. A controller keeps them in tables that differ from release to
 * release: null there. A gateway calls its role for them so.
 */
const IS_SYSTEM_AUDITOR: Readonly<Record<Layout, string>> = {
  controller: 'NULL::boolean',
  service: "EXISTS (SELECT FROM service_role r WHERE r.user_id = u.id AND r.role = 'system_auditor')",
  gateway: `EXISTS (SELECT FROM dab_rbac_roleuserassignment g
    JOIN dab_rbac_roledefinition d ON d.id = g.role_definition_id
    WHERE g.user_id = u.id AND d.name = 'Platform Auditor')`,
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
       ${IS_SYSTEM_AUDITOR[layout]} AS is_system_auditor, ${EXTERNAL_ACCOUNT[layout]} AS external_account
     FROM ${TABLES[layout].users} u WHERE ${where.sql} ORDER BY u.id LIMIT ${PAGE}`,
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

/** The change of a user `c` to the state in `$2`, which it had not. */
const CONTROLLER_CHANGES = `'{"is_active": [' || (NOT $2::boolean)::text || ', ' || $2::boolean::text
    || '], "id": ' || c.id || ', "username": ' || to_json(c.username::text) || '}'`;
const GATEWAY_CHANGES = gatewayChanges(
  'changed_fields',
  `jsonb_build_object('is_active',
    CASE WHEN $2::boolean THEN '["False", "True"]'::jsonb ELSE '["True", "False"]'::jsonb END)`,
);

/**
 * Sets whether a user is active, and notes it in the activity stream, by nobody.
 *
 * @returns Whether anything changed.
 */
export async function updateUserActive(
  transaction: Queryable,
  options: { readonly layout: Layout; readonly userId: number; readonly active: boolean },
): Promise<boolean> {
  const { layout, userId, active } = options;
  const { users, userStamp } = TABLES[layout];
  const rows = await transaction.query(
    `WITH changed AS (
       UPDATE ${users} SET is_active = $2${userStamp} WHERE id = $1 AND is_active <> $2 RETURNING id, username
     )
     ${insertEntries(layout, {
       ...{ operation: 'update', about: 'user', id: 'c.id' },
       changes: layout === 'gateway' ? GATEWAY_CHANGES : CONTROLLER_CHANGES,
       from: 'FROM changed c RETURNING operation',
     })}`,
    [userId, active],
  );
  return rows.length > 0;
}
