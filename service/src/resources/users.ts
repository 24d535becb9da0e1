import type { Queryable } from '@tokenctl/common/db/database.ts';
import { type Sql, sql } from '@tokenctl/common/db/sql.ts';
import type { FastifyInstance } from 'fastify';
import {
  canChangeUser,
  canCreate,
  canDeleteUser,
  canSeeEverything,
  visibleTokens,
  visibleUsers,
} from '../access.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import { EVERY_ROW } from '../listing/filters.ts';
import { type Condition, type Listing, list, requireMatch, seenAnd } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { viewerRow } from '../role-levels.ts';
import { requireSuperuserLogin } from '../settings/remaining-login.ts';
import { keepDeletedActor, recordTokenDeletions } from '../store/activity.ts';
import { pick } from '../store/job-options.ts';
import { deleteUser, findUser, findUserByName, USER_COLUMNS, type UserRecord } from '../store/users.ts';
import { changeUser, createUser, lockUser } from './change-user.ts';
import { pathId } from './request-values.ts';
import { byCaller, logChange } from './resource.ts';
import { tokenFields } from './token-json.ts';
import { issueToken, listTokens } from './tokens.ts';
import { userFields, userJson } from './user-json.ts';

/** `/api/v2/me/`, `/api/v2/users/`, `/api/v2/users/N/` and the tokens of a user. */
export function serveUsers(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/me/',
    name: 'Me',
    description: 'The current user.',
    fields: userFields,
    handlers: { GET: me },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/',
    name: 'Users',
    description: 'The users that you can see.',
    fields: userFields,
    allows: ({ caller }) => canCreate(caller.user, 'user'),
    handlers: { GET: (exchange) => listUsers(exchange), POST: create },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/',
    name: 'User',
    description: 'One user, by ID or by name. A new password or a deactivation ends all other sessions.',
    fields: userFields,
    allows: async (exchange) => canChangeUser(exchange.caller.user, await seenUser(exchange)),
    handlers: {
      GET: async (exchange) => userJson(await matchingUser(exchange), exchange.caller, true),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: remove,
    },
  });
}

/**
 * `/users/N/tokens/`, `/personal_tokens/` and `/authorized_tokens/`. The first lists the tokens of user N
 * that the caller may see; the others list the caller's own tokens, whatever N is, as on the controller.
 */
export function serveUserTokens(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/tokens/',
    name: 'Tokens of a user',
    description: 'The tokens of this user that you can see. POST creates one for yourself.',
    fields: tokenFields,
    handlers: {
      GET: async (exchange) => {
        const owner = await existing(exchange);
        const visible = visibleTokens(exchange.caller.user);
        return listTokens(exchange, sql`t.user_id = ${owner.id} AND (${visible})`);
      },
      POST: (exchange) => issueToken(exchange, 'any'),
    },
  });
  const own = (application: Sql) => (exchange: Exchange) =>
    listTokens(exchange, sql`t.user_id = ${exchange.caller.user.id} AND t.application_id ${application}`);
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/personal_tokens/',
    name: 'Personal access tokens',
    description: 'Your own tokens without an application.',
    fields: tokenFields,
    handlers: { GET: own(sql`IS NULL`), POST: (exchange) => issueToken(exchange, 'personal') },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/authorized_tokens/',
    name: 'Authorized tokens',
    description: 'Your own tokens with an application.',
    fields: tokenFields,
    handlers: { GET: own(sql`IS NOT NULL`), POST: (exchange) => issueToken(exchange, 'authorized') },
  });
}

/** A list with one entry: the caller, as just read for authentication. */
async function me(exchange: Exchange): Promise<unknown> {
  const { request, caller } = exchange;
  const { user } = caller;
  if (request.url.includes('?')) return listUsers(exchange, sql`u.id = ${user.id}`);
  return { count: 1, next: null, previous: null, results: [userJson(user, caller)] };
}

/** Lists the users that the caller sees and that meet a condition. */
export function listUsers(exchange: Exchange, condition: Condition = EVERY_ROW): Promise<unknown> {
  return list<UserRecord>(exchange, {
    ...userRows(exchange, condition),
    columns: USER_COLUMNS,
    render: (users) => users.map((user) => userJson(user, exchange.caller)),
  });
}

/** The same as SQL parts, for lists and filters. */
export function userRows(
  { caller: { user } }: Exchange,
  condition: Condition,
): Pick<Listing<never>, 'fields' | 'from' | 'visible' | 'among'> {
  const from = sql`auth_user u ${viewerRow(user)}`;
  return { fields: userFields, from, ...seenAnd(visibleUsers(user), condition) };
}

/** Superusers only. An organization's admin creates users in the organization (`/organizations/N/users/`). */
async function create(exchange: Exchange): Promise<unknown> {
  const { caller, request, reply } = exchange;
  const mayCreate = () => canCreate(caller.user, 'user');
  const user = await createUser(exchange, jsonObject(request), { mayCreate });
  reply.code(201).header('Location', `/api/v2/users/${user.id}/`);
  return userJson(user, caller, true);
}

async function existing({ service, params }: Exchange): Promise<UserRecord> {
  const { id = '' } = params;
  const user = /^\d+$/.test(id)
    ? await findUser(service.database, pathId(id))
    : // In named URLs, a plus sign is written in brackets, and no username contains a bracket.
      await findUserByName(service.database, id.replaceAll('[+]', '+'));
  if (user === null) throw notFound();
  return user;
}

/** The user in the path. Throws 404, or 403 if the caller may not see the user. */
export async function seenUser(exchange: Exchange): Promise<UserRecord> {
  const user = await existing(exchange);
  if (!(await canSeeUser(exchange.service.database, exchange.caller.user, user.id))) throw forbidden();
  return user;
}

export async function canSeeUser(database: Queryable, user: UserRecord, other: number): Promise<boolean> {
  if (canSeeEverything(user)) return true;
  return sql`SELECT FROM auth_user u WHERE (${visibleUsers(user)}) AND u.id = ${other}`.exists(database);
}

/** The same, if the query string's filters match the user. */
async function matchingUser(exchange: Exchange): Promise<UserRecord> {
  const user = await seenUser(exchange);
  await requireMatch(exchange, userRows(exchange, sql`u.id = ${user.id}`));
  return user;
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { id } = await matchingUser(exchange);
  await changeUser(exchange, { id, body: jsonObject(exchange.request), replace });
  const changed = await findUser(exchange.service.database, id);
  if (changed === null) throw notFound();
  return userJson(changed, exchange.caller, true);
}

/** What the controller records of a deleted user. */
const DELETED_FACTS = ['id', 'username', 'first_name', 'last_name', 'email', 'is_superuser'] as const;

async function remove(exchange: Exchange): Promise<undefined> {
  const { service, caller } = exchange;
  const { id } = await matchingUser(exchange);
  await service.database.transaction(async (transaction) => {
    const { caller: deleter, user } = await lockUser(transaction, { caller: caller.user, id });
    if (!canDeleteUser(deleter, user)) throw forbidden();
    await recordTokenDeletions(transaction, { userId: user.id }, byCaller(exchange));
    await keepDeletedActor(transaction, user);
    if (!(await deleteUser(transaction, user.id))) throw notFound();
    if (user.is_superuser) await requireSuperuserLogin(service, transaction);
    const changes = { ...pick(user, DELETED_FACTS), password: 'hidden' };
    await logChange(exchange, transaction, { operation: 'delete', changes, object1: 'user' });
  });
}
