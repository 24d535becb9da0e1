import type { FastifyInstance } from 'fastify';
import {
  canChangeUser,
  canDeleteUser,
  canSeeEverything,
  externalAccount,
  visibleTokens,
  visibleUsers,
} from '../access.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { ServiceContext } from '../context.ts';
import { type Exchange, serveEndpoint } from '../endpoint.ts';
import { forbidden, notFound } from '../failure.ts';
import type { FieldSet } from '../listing/fields.ts';
import type { Condition } from '../listing/filters.ts';
import { list } from '../listing/listing.ts';
import { jsonObject } from '../request.ts';
import { keepDeletedActor, recordTokenDeletions } from '../store/activity.ts';
import { deleteUser, findUser, findUserByName, USER_COLUMNS, type UserRecord } from '../store/users.ts';
import { changeUser, createUser, lockUser } from './change-user.ts';
import { namedSegment, pathId } from './request-values.ts';
import { leadingFields, logChange } from './resource.ts';
import { tokenFields } from './token-json.ts';
import { issueToken, listTokens } from './tokens.ts';

/** `/api/v2/me/`, `/api/v2/users/`, `/api/v2/users/N/` and the tokens of a user. */
export function serveUsers(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/me/',
    name: 'Me',
    description: 'The current user.',
    fields: userFields,
    handlers: {
      GET: me,
    },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/',
    name: 'Users',
    description: 'The users that you may see.',
    fields: userFields,
    handlers: { GET: (exchange) => listUsers(exchange, visibleUsers(exchange.caller.user)), POST: create },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/',
    name: 'User',
    description: 'One user, by id or by name. A new password or a deactivation ends all sessions.',
    fields: userFields,
    handlers: {
      GET: async (exchange) => userJson(await seenUser(exchange), exchange.caller, true),
      PUT: (exchange) => change(exchange, true),
      PATCH: (exchange) => change(exchange, false),
      DELETE: remove,
    },
  });
}

/**
 * `/users/N/tokens/`, `/personal_tokens/` and `/authorized_tokens/`. The first lists the tokens of user N that
 * the caller may see; the others list the caller's own tokens, whatever N is, as on the controller.
 */
export function serveUserTokens(app: FastifyInstance, service: ServiceContext): void {
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/tokens/',
    name: 'Tokens of a user',
    description: 'The tokens of this user that you may see. POST creates one for yourself.',
    fields: tokenFields,
    handlers: {
      GET: async (exchange) => {
        const owner = await existing(exchange);
        const visible = visibleTokens(exchange.caller.user, 2);
        return listTokens(exchange, {
          sql: `t.user_id = $1 AND (${visible.sql})`,
          values: [owner.id, ...visible.values],
        });
      },
      POST: (exchange) => issueToken(exchange, 'any'),
    },
  });
  const own = (application: string) => (exchange: Exchange) =>
    listTokens(exchange, {
      sql: `t.user_id = $1 AND t.application_id ${application}`,
      values: [exchange.caller.user.id],
    });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/personal_tokens/',
    name: 'Personal access tokens',
    description: 'Your own tokens without an application.',
    fields: tokenFields,
    handlers: { GET: own('IS NULL'), POST: (exchange) => issueToken(exchange, 'personal') },
  });
  serveEndpoint(app, service, {
    path: '/api/v2/users/:id/authorized_tokens/',
    name: 'Authorized tokens',
    description: 'Your own tokens with an application.',
    fields: tokenFields,
    handlers: { GET: own('IS NOT NULL'), POST: (exchange) => issueToken(exchange, 'authorized') },
  });
}

/** A list of one: the caller, whose row authentication has just read. */
async function me(exchange: Exchange): Promise<unknown> {
  const { request, caller } = exchange;
  const { user } = caller;
  if (request.url.includes('?')) return listUsers(exchange, { sql: 'u.id = $1', values: [user.id] });
  return { count: 1, next: null, previous: null, results: [userJson(user, caller)] };
}

/** Lists the users that meet a condition. */
export function listUsers({ service, request, caller }: Exchange, visible: Condition): Promise<unknown> {
  return list<UserRecord>(service.database, request.url, {
    fields: userFields,
    columns: USER_COLUMNS,
    from: 'auth_user u',
    visible,
    render: (user) => userJson(user, caller),
  });
}

async function create(exchange: Exchange): Promise<unknown> {
  const { service, caller, request, reply } = exchange;
  if (!caller.user.is_superuser && caller.user.admin_of.length === 0) throw forbidden();
  const id = await createUser(exchange, jsonObject(request));
  const user = await findUser(service.database, id);
  if (user === null) throw notFound();
  reply.code(201).header('Location', `/api/v2/users/${id}/`);
  return userJson(user, caller, true);
}

async function existing({ service, params }: Exchange): Promise<UserRecord> {
  const { id = '' } = params;
  const user = /^\d+$/.test(id)
    ? await findUser(service.database, pathId(id))
    : // A plus sign as named URLs write it; no username has a bracket.
      await findUserByName(service.database, id.replaceAll('[+]', '+'));
  if (user === null) throw notFound();
  return user;
}

/** The user that the path names. Throws 404, or 403 if the caller may not see the user. */
export async function seenUser(exchange: Exchange): Promise<UserRecord> {
  const user = await existing(exchange);
  if (canSeeEverything(exchange.caller.user)) return user;
  const { sql, values } = visibleUsers(exchange.caller.user);
  const rows = await exchange.service.database.query(
    `SELECT FROM auth_user u WHERE (${sql}) AND u.id = $${values.length + 1}`,
    [...values, user.id],
  );
  if (rows.length === 0) throw forbidden();
  return user;
}

async function change(exchange: Exchange, replace: boolean): Promise<unknown> {
  const { id } = await seenUser(exchange);
  await changeUser(exchange, { id, body: jsonObject(exchange.request), replace });
  const changed = await findUser(exchange.service.database, id);
  if (changed === null) throw notFound();
  return userJson(changed, exchange.caller, true);
}

async function remove(exchange: Exchange): Promise<undefined> {
  const { service, caller } = exchange;
  const { id } = await seenUser(exchange);
  await service.database.transaction(async (transaction) => {
    const { caller: deleter, user } = await lockUser(transaction, { caller: caller.user, id });
    if (!canDeleteUser(deleter, user)) throw forbidden();
    const by = { actorId: caller.user.id, at: service.now(), node: service.node };
    await recordTokenDeletions(transaction, { userId: user.id }, by);
    await keepDeletedActor(transaction, user);
    if (!(await deleteUser(transaction, user.id))) throw notFound();
    await logChange(exchange, transaction, {
      operation: 'delete',
      changes: { id: user.id, username: user.username, password: 'hidden' },
      object1: 'user',
    });
  });
}

/** A user as the API shows it to a caller. A masked password shows that the account is local. */
function userJson(user: UserRecord, caller: Caller, detail = false): Record<string, unknown> {
  const url = `/api/v2/users/${user.id}/`;
  const external = externalAccount(user);
  return {
    id: user.id,
    type: 'user',
    url,
    related: {
      ...(detail && { named_url: `/api/v2/users/${namedSegment([user.username])}/` }),
      organizations: `${url}organizations/`,
      admin_of_organizations: `${url}admin_of_organizations/`,
      activity_stream: `${url}activity_stream/`,
      tokens: `${url}tokens/`,
      authorized_tokens: `${url}authorized_tokens/`,
      personal_tokens: `${url}personal_tokens/`,
    },
    summary_fields: {
      user_capabilities: {
        edit: caller.mayWrite && canChangeUser(caller.user, user),
        delete: caller.mayWrite && canDeleteUser(caller.user, user),
      },
    },
    created: user.date_joined,
    modified: user.last_login,
    username: user.username,
    first_name: user.first_name,
    last_name: user.last_name,
    email: user.email,
    is_superuser: user.is_superuser,
    is_system_auditor: user.is_system_auditor,
    ...(external === null && { password: '$encrypted$' }),
    ldap_dn: user.ldap_dn,
    last_login: user.last_login,
    external_account: external,
    auth: user.social_accounts,
  };
}

/** The fields of a user. */
export const userFields: FieldSet = {
  type: 'user',
  fields: {
    ...leadingFields({ type: 'user', name: 'user', alias: 'u', summary: 'What you may do with this user.' }),
    created: {
      type: 'datetime',
      label: 'Created',
      helpText: 'When the account was created.',
      column: 'u.date_joined',
    },
    modified: { type: 'datetime', label: 'Modified', helpText: 'When the user last logged in.' },
    username: {
      type: 'string',
      label: 'Username',
      helpText: 'Up to 150 letters, digits and @ . + - _.',
      column: 'u.username',
      writable: 'change',
      required: true,
      maxLength: 150,
    },
    first_name: {
      type: 'string',
      label: 'First name',
      column: 'u.first_name',
      writable: 'change',
      maxLength: 150,
    },
    last_name: {
      type: 'string',
      label: 'Last name',
      column: 'u.last_name',
      writable: 'change',
      maxLength: 150,
    },
    email: { type: 'string', label: 'Email address', column: 'u.email', writable: 'change', maxLength: 254 },
    is_superuser: {
      type: 'boolean',
      label: 'Superuser status',
      helpText: 'Full access.',
      column: 'u.is_superuser',
      writable: 'change',
      defaultValue: false,
    },
    is_system_auditor: {
      type: 'boolean',
      label: 'System auditor',
      helpText: 'Read access to everything.',
      writable: 'change',
      defaultValue: false,
    },
    password: {
      type: 'string',
      label: 'Password',
      helpText: 'Write-only.',
      column: 'u.password',
      secret: true,
      writable: 'change',
      defaultValue: '',
    },
    ldap_dn: { type: 'string', label: 'LDAP DN', helpText: 'Distinguished name in the LDAP directory.' },
    last_login: { type: 'datetime', label: 'Last login', column: 'u.last_login' },
    external_account: {
      type: 'field',
      label: 'External account',
      helpText: 'ldap, social or enterprise for an external account.',
    },
    auth: { type: 'list', label: 'Auth', helpText: 'Linked accounts at identity providers.' },
    is_active: {
      type: 'boolean',
      label: 'Active',
      column: 'u.is_active',
      hidden: true,
      writable: 'change',
      defaultValue: true,
    },
    date_joined: { type: 'datetime', label: 'Date joined', column: 'u.date_joined', hidden: true },
  },
  relations: {},
  searchFields: ['username', 'first_name', 'last_name', 'email'],
  order: ['username'],
};
