import type { Queryable } from '@tokenctl/common/db/database.ts';
import { joined, type Sql, sql } from '@tokenctl/common/db/sql.ts';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { isSameAddress } from '@tokenctl/common/signals/subject-identifier.ts';
import type { User } from '../../domain/token.ts';
import type {
  Contact,
  SetActiveOptions,
  UserIdentities,
  UserIdentity,
  UserSelector,
} from '../../operations/ports/target-parts.ts';
import { lastSuperuser } from '../../operations/scope/target-parts.ts';
import { gatewayChanges, insertEntries } from './activity-entries.ts';
import type { Connection } from './connection.ts';
import type { ACCOUNT_TABLES, RecognizedLayout } from './layout.ts';
import {
  allOf,
  dateOrNull,
  type IdRange,
  idPages,
  inBatches,
  inRange,
  milliseconds,
  PAGE_LIMIT,
  PAGE_SIZE,
  when,
} from './queries.ts';
import { readUserNames } from './references.ts';
import { type Layout, TABLES } from './tables.ts';

/** Streams users, ascending by id. */
export async function* listUsers(connection: Connection, selector: UserSelector): AsyncGenerator<User, void> {
  const pages = idPages<UserRow>(connection.table('users'), selector.ids, (range) =>
    usersSql(connection.recognized, selector, range),
  );
  for await (const rows of pages)
    for (const row of rows) yield { ...row, lastLogin: dateOrNull(row.lastLogin) };
}

/**
 * SQL for the organizations `o` of members `m`, by user: a role in a controller [seen on 24.6.1], not read in
 * a gateway.
 */
const MEMBERS: Readonly<Record<Layout, Sql | null>> = {
  controller: sql`main_organization o JOIN main_rbac_roles_members m ON m.role_id = o.member_role_id`,
  service: sql`main_organization o JOIN service_role m ON m.organization_id = o.id AND m.role = 'member'`,
  gateway: null,
};

/** The email addresses of users, and which of some organizations they are members of. */
export async function readContacts(
  connection: Connection,
  { names, organizations }: { names: readonly string[]; organizations: readonly string[] },
): Promise<Contact[]> {
  const { layout } = connection;
  const contacts: Contact[] = [];
  for (const batch of inBatches(names, PAGE_SIZE)) {
    const users = await connection.read(
      (database) =>
        sql`SELECT u.id, u.username, u.email FROM ${TABLES[layout].users} u
          WHERE u.username = ANY(${batch}::text[])
          ORDER BY u.id`.rows<{ id: number; username: string; email: string | null }>(database),
      'contacts',
    );
    const memberships = await readMembers(connection, { organizations, userIds: users.map(({ id }) => id) });
    const byUser = Map.groupBy(memberships, ({ user_id }) => user_id);
    for (const { id, username, email } of users) {
      const of = new Set(byUser.get(id)?.map(({ name }) => name));
      contacts.push({
        id,
        username,
        email: email === '' ? null : email,
        organizations: organizations.filter((name) => of.has(name)),
      });
    }
  }
  return contacts;
}

/** The links `l` of a gateway's users to their authenticators `a`. */
const AUTHENTICATORS = sql`dab_authentication_authenticatoruser l
    JOIN dab_authentication_authenticator a ON a.slug = l.provider_id`;

/** Those of a user `u`, without the local authenticator. */
const OWN_AUTHENTICATORS = sql`${AUTHENTICATORS}
    WHERE l.user_id = u.id AND a.type <> 'ansible_base.authentication.authenticator_plugins.local'`;

/** SQL for a user `u`'s accounts at identity providers, as JSON, without a gateway's local authenticator. */
const ACCOUNTS: Readonly<Record<'social' | 'gateway', Sql>> = {
  social: sql`(SELECT json_agg(json_build_object('provider', s.provider, 'uid', s.uid) ORDER BY s.id)
    FROM social_auth_usersocialauth s WHERE s.user_id = u.id)`,
  gateway: sql`(SELECT json_agg(json_build_object('provider', a.name, 'uid', l.uid) ORDER BY l.id)
    FROM ${OWN_AUTHENTICATORS})`,
};

/** Streams the users' accounts at identity providers, ascending by id. */
export async function* listIdentities(connection: Connection): AsyncGenerator<UserIdentities, void> {
  const { layout, accountTables } = connection.recognized;
  const has = (table: (typeof ACCOUNT_TABLES)[number]) => layout !== 'gateway' && accountTables.has(table);
  const accounts =
    layout === 'gateway' ? ACCOUNTS.gateway : has('social_auth_usersocialauth') ? ACCOUNTS.social : sql`NULL`;
  const dn = has('main_profile')
    ? sql`(SELECT nullif(p.ldap_dn, '') FROM main_profile p WHERE p.user_id = u.id)`
    : sql`NULL::text`;
  const pages = idPages<UserIdentities>(
    connection.table('users'),
    undefined,
    (range) => sql`SELECT u.id, nullif(u.email, '') AS email, ${dn} AS "ldapDn",
        coalesce(${accounts}, '[]'::json) AS accounts
      FROM ${TABLES[layout].users} u WHERE ${allOf(...inRange(sql`u.id`, range))} ORDER BY u.id ${PAGE_LIMIT}`,
  );
  try {
    for await (const rows of pages) yield* rows;
  } catch (error) {
    throw withPage(
      error,
      `This role is not allowed to read how identity providers identify the users in ${connection.address}`,
    );
  }
}

type Account = Exclude<UserIdentity, { readonly email: unknown }>;

function accountOwners(layout: Layout, { provider, uid }: Account): Sql {
  if (layout !== 'gateway')
    return sql`SELECT s.user_id AS id FROM social_auth_usersocialauth s WHERE s.provider = ${provider} AND s.uid = ${uid}`;
  return sql`SELECT l.user_id AS id FROM ${AUTHENTICATORS} WHERE (a.slug = ${provider} OR a.name = ${provider}) AND l.uid = ${uid}`;
}

/** How many users of one identity are returned. Two are already too many. */
const MOST_IDENTIFIED = sql`LIMIT 10`;

/** The users of an email address or account; null if accounts are not stored here, or are unreadable. */
export async function identifiedUsers(
  connection: Connection,
  by: UserIdentity,
): Promise<readonly number[] | null> {
  const { layout, recognized } = connection;
  if ('email' in by) {
    const rows = await connection.read(
      (database) =>
        sql`SELECT u.id, u.email FROM ${TABLES[layout].users} u WHERE lower(u.email) = lower(${by.email})
          ORDER BY u.id ${MOST_IDENTIFIED}`.rows<{ id: number; email: string }>(database),
      'contacts',
    );
    // `lower` follows the locale, which also folds look-alikes.
    return rows.filter(({ email }) => isSameAddress(email, by.email)).map(({ id }) => id);
  }
  if (layout === 'controller' && !recognized.accountTables.has('social_auth_usersocialauth')) return null;
  try {
    const owners = accountOwners(layout, by);
    return [...new Set(await sql`${owners} ORDER BY id ${MOST_IDENTIFIED}`.ids(connection.reader))];
  } catch (error) {
    if (isRefused(error)) return null;
    throw error;
  }
}

function isRefused(error: unknown): error is TokenctlError {
  return error instanceof TokenctlError && error.code === 'permission_refused';
}

/** A query's error, with the documentation page of the grant if it is missing. */
function withPage(error: unknown, message: string): unknown {
  if (!isRefused(error)) return error;
  const hint =
    'Grant the permission as described in `tokenctl docs database` ("Reading email addresses and accounts").';
  return new TokenctlError('permission_refused', message, { hint, cause: error });
}

interface Membership {
  readonly user_id: number;
  readonly name: string;
}

async function readMembers(
  connection: Connection,
  asked: { readonly organizations: readonly string[]; readonly userIds: readonly number[] },
): Promise<readonly Membership[]> {
  const members = MEMBERS[connection.layout];
  if (members === null || asked.organizations.length === 0) return [];
  try {
    return await sql`SELECT m.user_id, o.name FROM ${members} WHERE o.name = ANY(${asked.organizations}::text[])
      AND m.user_id = ANY(${asked.userIds}::int[])`.rows<Membership>(connection.reader);
  } catch (error) {
    throw withPage(
      error,
      `This role is not allowed to read the members of organizations in ${connection.address}`,
    );
  }
}

/**
 * Activates or deactivates a user, and records it without an actor. Returns whether anything changed. Throws
 * `not_found`, or `lockout_refused` for a superuser who must be kept.
 */
export function setUserActive(
  connection: Connection,
  change: { readonly userId: number; readonly active: boolean } & SetActiveOptions,
): Promise<boolean> {
  const { layout } = connection;
  const { userId, active, spareLastSuperuser = false } = change;
  return connection.write('users', async (transaction) => {
    if (!active && spareLastSuperuser) await requireOtherSuperuser(transaction, { layout, userId });
    if (await updateUserActive(transaction, { layout, userId, active })) return true;
    const [user] = await readUserNames(transaction, { layout, ids: [userId] });
    if (user === undefined) throw new TokenctlError('not_found', `User ${userId} does not exist`);
    return false;
  });
}

/**
 * If the user is a superuser, locks the active ones until the transaction ends. Of two who are deactivated at
 * the same time, each transaction then sees the other's result (PostgreSQL, "Read Committed": the condition
 * is checked again for a row that was locked).
 */
async function requireOtherSuperuser(
  transaction: Queryable,
  { layout, userId }: { layout: Layout; userId: number },
): Promise<void> {
  const users = TABLES[layout].users;
  const superusers = await sql`SELECT u.id FROM ${users} u
    WHERE u.is_superuser AND u.is_active
      AND EXISTS (SELECT FROM ${users} own WHERE own.id = ${userId} AND own.is_superuser)
    ORDER BY u.id FOR UPDATE OF u`.ids(transaction);
  if (superusers.length === 1 && superusers[0] === userId) throw lastSuperuser(userId);
}

/** In the controller's order. An LDAP name counts only if the user has no usable password. */
const CONTROLLER_ACCOUNTS: readonly (readonly [(typeof ACCOUNT_TABLES)[number], Sql])[] = [
  [
    'sso_userenterpriseauth',
    sql`WHEN EXISTS (SELECT FROM sso_userenterpriseauth e WHERE e.user_id = u.id) THEN 'enterprise'`,
  ],
  [
    'social_auth_usersocialauth',
    sql`WHEN EXISTS (SELECT FROM social_auth_usersocialauth s WHERE s.user_id = u.id) THEN 'social'`,
  ],
  [
    'main_profile',
    sql`WHEN u.password LIKE '!%'
       AND EXISTS (SELECT FROM main_profile p WHERE p.user_id = u.id AND p.ldap_dn <> '') THEN 'ldap'`,
  ],
];

/** A column of the authenticator of a gateway's user, unless it is the local one. */
const ofAuthenticator = (column: Sql) =>
  sql`(SELECT ${column} FROM ${OWN_AUTHENTICATORS} ORDER BY l.id LIMIT 1)`;

const GATEWAY_ACCOUNT = ofAuthenticator(sql`CASE substring(a.type FROM '[^.]*$') WHEN 'ldap' THEN 'ldap'
      WHEN 'radius' THEN 'enterprise' WHEN 'tacacs' THEN 'enterprise' ELSE 'social' END`);

/**
 * SQL for the name of a user `u`'s identity provider in the management commands: its kind in a controller,
 * the authenticator's name in a gateway [seen on both]; null for a local account.
 */
export function providerName(recognized: Pick<RecognizedLayout, 'layout' | 'accountTables'>): Sql {
  return recognized.layout === 'gateway' ? ofAuthenticator(sql`a.name`) : externalAccount(recognized);
}

/**
 * SQL for the kind of a user `u`'s identity provider, in the controller's terms; null for a local account. In
 * a gateway, a user with any authenticator other than the local one is external, even with a password. An
 * authenticator's type ends with its kind: `….local`, `….ldap`, `….saml`.
 */
function externalAccount({ layout, accountTables }: Pick<RecognizedLayout, 'layout' | 'accountTables'>): Sql {
  if (layout === 'gateway') return GATEWAY_ACCOUNT;
  const cases = CONTROLLER_ACCOUNTS.filter(([table]) => accountTables.has(table)).map(([, when]) => when);
  return cases.length === 0 ? sql`NULL::text` : sql`CASE ${joined(cases, ' ')} END`;
}

/** SQL for whether a user `u` is a system auditor. Null in a controller, whose tables for it differ. */
const IS_SYSTEM_AUDITOR: Readonly<Record<Layout, Sql>> = {
  controller: sql`NULL::boolean`,
  service: sql`EXISTS (SELECT FROM service_role r WHERE r.user_id = u.id AND r.role = 'system_auditor')`,
  gateway: sql`EXISTS (SELECT FROM dab_rbac_roleuserassignment g
    JOIN dab_rbac_roledefinition d ON d.id = g.role_definition_id
    WHERE g.user_id = u.id AND d.name = 'Platform Auditor')`,
};

interface UserRow extends Omit<User, 'lastLogin'> {
  /** In milliseconds. */
  readonly lastLogin: number | null;
}

function usersSql(recognized: RecognizedLayout, selector: UserSelector, range: IdRange): Sql {
  const { layout } = recognized;
  const where = allOf(
    ...inRange(sql`u.id`, range),
    when(selector.names, (names) => sql`u.username = ANY(${names}::text[])`),
    selector.inactive === true ? sql`NOT u.is_active` : undefined,
  );
  return sql`SELECT u.id, u.username, u.is_active AS "isActive", u.is_superuser AS "isSuperuser",
      ${IS_SYSTEM_AUDITOR[layout]} AS "isSystemAuditor", ${externalAccount(recognized)} AS "externalAccount",
      ${milliseconds(sql`u.last_login`)} AS "lastLogin"
    FROM ${TABLES[layout].users} u WHERE ${where} ORDER BY u.id ${PAGE_LIMIT}`;
}

const LINK_CTE = sql`, link AS (
       INSERT INTO main_activitystream_user (activitystream_id, user_id) SELECT e.id, c.id FROM entry e, changed c
     )`;

/** A controller's entries about updates contain only changed fields, and are linked to the user (seen on 24.6.1). */
function updateUserActive(
  transaction: Queryable,
  options: { readonly layout: Layout; readonly userId: number; readonly active: boolean },
): Promise<boolean> {
  const { layout, userId, active } = options;
  const isGateway = layout === 'gateway';
  const { users, userTimestamp } = TABLES[layout];
  const changes = isGateway
    ? gatewayChanges(
        'changed_fields',
        sql`jsonb_build_object('is_active',
          CASE WHEN ${active}::boolean THEN '["False", "True"]'::jsonb ELSE '["True", "False"]'::jsonb END)`,
      )
    : sql`'{"is_active": [' || (NOT ${active}::boolean)::text || ', ' || ${active}::boolean::text || ']}'`;
  return sql`WITH changed AS (
      UPDATE ${users} SET is_active = ${active}${userTimestamp}
      WHERE id = ${userId} AND is_active <> ${active} RETURNING id
    ), entry AS (
      ${insertEntries(layout, {
        operation: 'update',
        objectType: 'user',
        id: sql`c.id`,
        changes,
        from: sql`FROM changed c RETURNING id`,
      })}
    )${isGateway ? sql`` : LINK_CTE}
    SELECT id FROM changed`.exists(transaction);
}
