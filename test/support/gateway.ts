import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '@tokenctl/common/db/database.ts';
import { readForms } from '@tokenctl/service/request.ts';
import { ADMIN } from '@tokenctl/service/testing/service.ts';
import { openOn } from '@tokenctl/testing/databases.ts';
import { createDatabase } from '@tokenctl/testing/embedded-postgres.ts';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { inject } from 'vitest';
import { makeGatewayTables } from './gateway-tables.ts';

const API = '/api/gateway/v1';
const TOKENS = 'dab_oauth2_provider_oauth2accesstoken';
const REFRESH_TOKENS = 'dab_oauth2_provider_oauth2refreshtoken';
const APPLICATIONS = 'dab_oauth2_provider_oauth2application';
const USERS = 'aap_gateway_api_user';

/** What precedes the digest in a stored token. */
const STORED_PREFIX = '$sha256$';

interface Caller {
  readonly id: number;
  readonly username: string;
  readonly is_superuser: boolean;
  readonly scope: string;
}

type Rows = readonly Record<string, unknown>[];

/**
 * A platform gateway on its real tables, as far as the targets go: its REST API, token endpoint and login, in
 * the forms that the gateway's own code uses. A session ends with its rows; a real gateway also keeps a copy
 * in a cache.
 */
export class Gateway implements AsyncDisposable {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly url: string;
  readonly #app: FastifyInstance;

  private constructor(
    app: FastifyInstance,
    at: { readonly database: Database; readonly databaseUrl: string; readonly url: string },
  ) {
    this.#app = app;
    this.database = at.database;
    this.databaseUrl = at.databaseUrl;
    this.url = at.url;
  }

  /** Starts one with the superuser ADMIN, on an empty PostgreSQL database and a free port of the loopback interface. */
  static async start(): Promise<Gateway> {
    const databaseUrl = await createDatabase(inject('postgresUrl'));
    const database = await openOn(databaseUrl);
    await makeGatewayTables(database);
    const app = fastify({ forceCloseConnections: true });
    readForms(app);
    serveRoots(app);
    serveApi(app, database);
    serveSettings(app, database);
    serveOAuth2(app, database);
    serveLogin(app, database);
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const gateway = new Gateway(app, { database, databaseUrl, url });
    await gateway.addUser({ ...ADMIN, isSuperuser: true });
    return gateway;
  }

  async addUser(user: {
    username: string;
    password: string;
    isSuperuser?: boolean;
    isActive?: boolean;
  }): Promise<void> {
    await this.database.execute(
      `INSERT INTO ${USERS} (username, password, is_superuser, first_name, last_name, email, is_staff, is_active,
         date_joined, created, modified, managed)
       VALUES ($1, $2, $3, '', '', '', false, $4, now(), now(), now(), false)`,
      [user.username, digest(user.password), user.isSuperuser ?? false, user.isActive ?? true],
    );
  }

  /** Adds a public application with the password grant. */
  async addApplication(name: string, clientId: string): Promise<void> {
    await this.database.execute(
      `INSERT INTO ${APPLICATIONS} (created, modified, client_id, name, description, client_secret, client_type,
         skip_authorization, authorization_grant_type, algorithm, redirect_uris, post_logout_redirect_uris,
         allowed_origins, hash_client_secret)
       VALUES (now(), now(), $2, $1, '', '', 'public', false, 'password', '', '', '', '', true)`,
      [name, clientId],
    );
  }

  async close(): Promise<void> {
    await this.#app.close();
    await this.database.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function serveRoots(app: FastifyInstance): void {
  app.get('/api/', () => ({ description: 'Gateway REST API', apis: { gateway: '/api/gateway/' } }));
  app.get(`${API}/ping/`, () => ({ version: '0.0.0', status: 'good' }));
}

/** Users, applications, tokens and the activity stream. */
function serveApi(app: FastifyInstance, database: Database): void {
  const serveList = (path: string, list: List) =>
    app.get(`${API}/${path}/`, async (request, reply) => {
      if ((await callerOf(database, request)) === null) return refuse(reply);
      const page = await pageOf(database, list, request.query as Record<string, string>);
      return page ?? reply.code(400).send({ detail: 'Filtering on this field is not supported.' });
    });
  serveList('tokens', { sql: TOKEN_ROWS, filters: TOKEN_FILTERS, show: tokenJson });
  serveList('users', {
    sql: `SELECT u.*, ${IS_AUDITOR} FROM ${USERS} u`,
    filters: USER_FILTERS,
    show: userJson,
  });
  serveList('applications', { sql: `SELECT a.* FROM ${APPLICATIONS} a`, filters: APPLICATION_FILTERS });
  serveList('authenticators', { sql: 'SELECT d.* FROM dab_authentication_authenticator d', filters: {} });
  serveList('activitystream', { sql: ENTRY_ROWS, filters: ENTRY_FILTERS, show: entryJson });

  app.get(`${API}/me/`, async (request, reply) => {
    const caller = await callerOf(database, request);
    if (caller === null) return refuse(reply);
    const list = { sql: `SELECT u.*, ${IS_AUDITOR} FROM ${USERS} u`, filters: USER_FILTERS, show: userJson };
    return pageOf(database, list, { id: String(caller.id) });
  });
  // No is_active: a gateway takes none over REST.
  app.options(`${API}/users/`, () => ({ actions: { POST: { username: {}, password: {} } } }));
  app.options(`${API}/tokens/`, () => ({ actions: { POST: { scope: {}, description: {} } } }));
  app.patch<{ Params: { id: string } }>(`${API}/users/:id/`, async (request, reply) => {
    const caller = await callerOf(database, request);
    if (caller === null) return refuse(reply);
    const [user] = await database.query(`SELECT u.*, ${IS_AUDITOR} FROM ${USERS} u WHERE u.id = $1`, [
      Number(request.params.id),
    ]);
    return user === undefined ? reply.code(404).send({ detail: 'Not found.' }) : userJson(user);
  });

  app.post<{ Body: { scope?: string; description?: string } }>(`${API}/tokens/`, async (request, reply) => {
    const caller = await callerOf(database, request);
    if (caller === null) return refuse(reply);
    const { scope = 'write', description = '' } = request.body ?? {};
    const { id, value } = await issue(database, { userId: caller.id, scope, description });
    await record(database, { caller, operation: 'create', tokenId: id, fields: { scope, description } });
    const [token] = await database.query(`${TOKEN_ROWS} WHERE t.id = $1`, [id]);
    return reply.code(201).send({ ...tokenJson(token ?? {}), token: value });
  });
  app.delete<{ Params: { id: string } }>(`${API}/tokens/:id/`, async (request, reply) => {
    const caller = await callerOf(database, request);
    if (caller === null) return refuse(reply);
    const id = Number(request.params.id);
    const gone = await database.transaction(async (transaction) => {
      await transaction.execute(
        `UPDATE ${REFRESH_TOKENS} SET access_token_id = NULL WHERE access_token_id = $1`,
        [id],
      );
      return transaction.execute(`DELETE FROM ${TOKENS} WHERE id = $1`, [id]);
    });
    if (gone === 0) return reply.code(404).send({ detail: 'Not found.' });
    await record(database, { caller, operation: 'delete', tokenId: id, fields: {} });
    return reply.code(204).send();
  });
}

/** The settings of all sections. PUT takes a part of them. */
function serveSettings(app: FastifyInstance, database: Database): void {
  const path = `${API}/settings/all/`;
  const all = async () => {
    const rows = await database.query<{ name: string; raw_value: string }>(
      'SELECT name, raw_value FROM aap_gateway_api_preference',
    );
    return Object.fromEntries(rows.map(({ name, raw_value: raw }) => [name, settingValue(raw)]));
  };
  app.get(path, async (request, reply) => {
    const caller = await callerOf(database, request);
    if (caller === null) return refuse(reply);
    return caller.is_superuser ? all() : forbid(reply);
  });
  app.put<{ Body: Record<string, unknown> }>(path, async (request, reply) => {
    const caller = await callerOf(database, request);
    if (caller === null) return refuse(reply);
    if (!caller.is_superuser || !caller.scope.includes('write')) return forbid(reply);
    const known = await all();
    for (const name of Object.keys(request.body)) {
      if (!(name in known)) return reply.code(400).send({ [name]: 'Invalid key for category all' });
    }
    for (const [name, value] of Object.entries(request.body)) {
      const raw = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
      await database.execute('UPDATE aap_gateway_api_preference SET raw_value = $2 WHERE name = $1', [
        name,
        raw,
      ]);
    }
    return all();
  });
}

function settingValue(raw: string): unknown {
  if (raw === 'True' || raw === 'False') return raw === 'True';
  return /^\d+$/.test(raw) ? Number(raw) : raw;
}

/** The token endpoint, which answers 201. */
function serveOAuth2(app: FastifyInstance, database: Database): void {
  app.post<{ Body: Record<string, string> }>('/o/token/', async (request, reply) => {
    const form = request.body;
    const invalid = () => reply.code(400).send({ error: 'invalid_grant' });
    const [application] = await database.query<{ id: number }>(
      `SELECT id FROM ${APPLICATIONS} WHERE client_id = $1`,
      [form['client_id']],
    );
    if (application === undefined) return reply.code(401).send({ error: 'invalid_client' });
    if (form['grant_type'] === 'password') {
      const user = await userWith(database, form['username'] ?? '', form['password'] ?? '');
      return user === null
        ? invalid()
        : grant(reply, database, { userId: user.id, applicationId: application.id });
    }
    const [refresh] = await database.query<{ id: number; user_id: number; access_token_id: number | null }>(
      `SELECT id, user_id, access_token_id FROM ${REFRESH_TOKENS} WHERE token = $1 AND revoked IS NULL`,
      [digest(form['refresh_token'] ?? '')],
    );
    if (refresh === undefined) return invalid();
    // As the gateway's code does with a refresh token whose access token was deleted.
    if (refresh.access_token_id === null) return reply.code(500).send({});
    await database.transaction(async (transaction) => {
      await transaction.execute(
        `UPDATE ${REFRESH_TOKENS} SET revoked = now(), access_token_id = NULL WHERE id = $1`,
        [refresh.id],
      );
      await transaction.execute(`DELETE FROM ${TOKENS} WHERE id = $1`, [refresh.access_token_id]);
    });
    return grant(reply, database, { userId: refresh.user_id, applicationId: application.id });
  });
}

async function grant(
  reply: FastifyReply,
  database: Database,
  { userId, applicationId }: { userId: number; applicationId: number },
) {
  const { id, value } = await issue(database, { userId, applicationId, scope: 'write', description: '' });
  const refresh = randomBytes(24).toString('base64url');
  await database.execute(
    `INSERT INTO ${REFRESH_TOKENS} (created, modified, token, access_token_id, application_id, user_id)
     VALUES (now(), now(), $1, $2, $3, $4)`,
    [digest(refresh), id, applicationId, userId],
  );
  const body = { access_token: value, refresh_token: refresh, token_type: 'Bearer', expires_in: 31_536_000 };
  return reply.code(201).send({ ...body, scope: 'write' });
}

function serveLogin(app: FastifyInstance, database: Database): void {
  const path = `${API}/login/`;
  app.get(path, (_request, reply) => reply.header('Set-Cookie', 'csrftoken=fixed; Path=/').send('<form>'));
  app.post<{ Body: Record<string, string> }>(path, async (request, reply) => {
    const user = await userWith(database, request.body['username'] ?? '', request.body['password'] ?? '');
    if (user === null) return refuse(reply);
    const key = randomBytes(16).toString('hex');
    await database.execute(
      "INSERT INTO django_session (session_key, session_data, expire_date) VALUES ($1, '', now() + interval '15 minutes')",
      [key],
    );
    await database.execute(
      'INSERT INTO aap_gateway_api_usersessionmembership (created, session_id, user_id) VALUES (now(), $1, $2)',
      [key, user.id],
    );
    return reply.code(302).header('Set-Cookie', `gateway_sessionid=${key}; Path=/; HttpOnly`).send();
  });
}

/** The user of a request by Basic authentication, bearer token or session; null without a valid credential. */
async function callerOf(database: Database, request: FastifyRequest): Promise<Caller | null> {
  const { authorization = '', cookie = '' } = request.headers;
  const [, basic] = /^Basic (.+)$/.exec(authorization) ?? [];
  if (basic !== undefined) {
    const [username = '', password = ''] = Buffer.from(basic, 'base64').toString('utf8').split(/:(.*)/s);
    const [enabled] = await database.query(
      "SELECT FROM aap_gateway_api_preference WHERE name = 'gateway_basic_auth_enabled' AND raw_value = 'True'",
    );
    return enabled === undefined ? null : userWith(database, username, password);
  }
  const [, bearer] = /^Bearer (.+)$/.exec(authorization) ?? [];
  if (bearer !== undefined) {
    // An inactive user's token is accepted, as the gateway's code does.
    const [caller] = await database.query<Caller & { token_id: number }>(
      `UPDATE ${TOKENS} t SET last_used = now() FROM ${USERS} u
       WHERE t.token = $1 AND t.expires > now() AND u.id = t.user_id
       RETURNING u.id, u.username, u.is_superuser, t.scope`,
      [digest(bearer)],
    );
    return caller ?? null;
  }
  const [, key] = /gateway_sessionid=([^;]+)/.exec(cookie) ?? [];
  if (key === undefined) return null;
  const [caller] = await database.query<Caller>(
    `SELECT u.id, u.username, u.is_superuser, 'write' AS scope FROM django_session s
     JOIN aap_gateway_api_usersessionmembership m ON m.session_id = s.session_key JOIN ${USERS} u ON u.id = m.user_id
     WHERE s.session_key = $1 AND s.expire_date > now() AND u.is_active`,
    [key],
  );
  return caller ?? null;
}

async function userWith(database: Database, username: string, password: string): Promise<Caller | null> {
  const [user] = await database.query<Caller>(
    `SELECT id, username, is_superuser, 'write' AS scope FROM ${USERS}
     WHERE username = $1 AND password = $2 AND is_active`,
    [username, digest(password)],
  );
  return user ?? null;
}

const refuse = (reply: FastifyReply) =>
  reply.code(401).send({ detail: 'Authentication credentials were not provided.' });
const forbid = (reply: FastifyReply) =>
  reply.code(403).send({ detail: 'You do not have permission to perform this action.' });

async function issue(
  database: Database,
  token: { userId: number; scope: string; description: string; applicationId?: number },
): Promise<{ readonly id: number; readonly value: string }> {
  const value = randomBytes(24).toString('base64url');
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO ${TOKENS} (created, modified, token, expires, scope, description, user_id, application_id, created_by_id)
     VALUES (now(), now(), $1, now() + interval '1 year', $2, $3, $4, $5, $4) RETURNING id`,
    [digest(value), token.scope, token.description, token.userId, token.applicationId ?? null],
  );
  return { id: row?.id ?? 0, value };
}

/** Writes an entry of the activity stream about a token. */
async function record(
  database: Database,
  entry: { caller: Caller; operation: 'create' | 'delete'; tokenId: number; fields: object },
): Promise<void> {
  const changes = {
    added_fields: {},
    changed_fields: {},
    removed_fields: {},
    [entry.operation === 'create' ? 'added_fields' : 'removed_fields']: entry.fields,
  };
  await database.execute(
    `INSERT INTO dab_activitystream_entry (created, created_by_id, content_type_id, object_id, operation, changes)
     SELECT now(), $1, c.id, $2, $3, $4::jsonb FROM django_content_type c WHERE c.model = 'oauth2accesstoken'`,
    [entry.caller.id, String(entry.tokenId), entry.operation, JSON.stringify(changes)],
  );
}

function digest(value: string): string {
  return STORED_PREFIX + createHash('sha256').update(value).digest('hex');
}

/** A collection: its rows, its filters by query parameter with `?` for the value, and the JSON of a row. */
interface List {
  readonly sql: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly show?: (row: Record<string, unknown>) => object;
}

const IS_AUDITOR = `EXISTS (SELECT FROM dab_rbac_roleuserassignment s
  JOIN dab_rbac_roledefinition d ON d.id = s.role_definition_id AND d.name = 'Platform Auditor'
  WHERE s.user_id = u.id) AS is_platform_auditor`;
const TOKEN_ROWS = `SELECT t.*, u.username, a.name AS application_name,
    EXISTS (SELECT FROM ${REFRESH_TOKENS} r WHERE r.access_token_id = t.id) AS has_refresh_token
  FROM ${TOKENS} t LEFT JOIN ${USERS} u ON u.id = t.user_id LEFT JOIN ${APPLICATIONS} a ON a.id = t.application_id`;
const ENTRY_ROWS = `SELECT e.*, c.model, u.username FROM dab_activitystream_entry e
  JOIN django_content_type c ON c.id = e.content_type_id LEFT JOIN ${USERS} u ON u.id = e.created_by_id`;

const among = (column: string, type: string) => `${column} = ANY(string_to_array(?, ',')::${type}[])`;
const ids = (table: string) => ({
  id: `${table}.id = ?::bigint`,
  id__in: among(`${table}.id`, 'bigint'),
  id__gt: `${table}.id > ?::bigint`,
  id__lte: `${table}.id <= ?::bigint`,
});
const TOKEN_FILTERS = {
  ...ids('t'),
  user: 't.user_id = ?::bigint',
  user__id: 't.user_id = ?::bigint',
  user__id__in: among('t.user_id', 'bigint'),
  user__username: 'u.username = ?',
  user__username__in: among('u.username', 'text'),
  application__id: 't.application_id = ?::bigint',
  application__id__in: among('t.application_id', 'bigint'),
  application__name: 'a.name = ?',
  application__name__in: among('a.name', 'text'),
  scope__contains: 'position(? IN t.scope) > 0',
  description: 't.description = ?',
  description__regex: 't.description ~ ?',
  created__lt: 't.created < ?::timestamptz',
  created__gte: 't.created >= ?::timestamptz',
  expires__gt: 't.expires > ?::timestamptz',
  expires__lte: 't.expires <= ?::timestamptz',
  last_used__lt: 't.last_used < ?::timestamptz',
  last_used__gte: 't.last_used >= ?::timestamptz',
  last_used__isnull: '(t.last_used IS NULL) = ?::boolean',
};
const USER_FILTERS = {
  ...ids('u'),
  username: 'u.username = ?',
  username__in: among('u.username', 'text'),
  is_active: 'u.is_active = ?::boolean',
};
const APPLICATION_FILTERS = { ...ids('a'), name: 'a.name = ?', name__in: among('a.name', 'text') };
const ENTRY_FILTERS = {
  ...ids('e'),
  created__gte: 'e.created >= ?::timestamptz',
  created__lt: 'e.created < ?::timestamptz',
  content_type__model: 'c.model = ?',
  created_by__id: 'e.created_by_id = ?::bigint',
  created_by__id__in: among('e.created_by_id', 'bigint'),
  object_id: 'e.object_id = ?',
  object_id__in: among('e.object_id', 'text'),
};

/** A page of a list; null for a filter that the list does not have. Filters named `or__…` are alternatives. */
async function pageOf(database: Database, list: List, query: Record<string, string>): Promise<object | null> {
  const { page_size: size = '50', order_by: order = 'id', count_disabled: _, ...given } = query;
  const every: string[] = ['TRUE'];
  const any: string[] = [];
  const values: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const filter = list.filters[name.replace(/^or__/, '')];
    if (filter === undefined) return null;
    values.push(value);
    (name.startsWith('or__') ? any : every).push(filter.replace('?', `$${values.length}`));
  }
  if (any.length > 0) every.push(`(${any.join(' OR ')})`);
  const limit = Math.min(Number(size), 200);
  const by = order === 'id' ? 'id' : 'created DESC, id DESC';
  const rows: Rows = await database.query(
    `SELECT * FROM (${list.sql} WHERE ${every.join(' AND ')}) listed ORDER BY ${by} LIMIT ${limit + 1}`,
    values,
  );
  const results = rows.slice(0, limit).map((row) => list.show?.(row) ?? row);
  const [total] = await database.query<{ count: number }>(
    `SELECT count(*) AS count FROM (${list.sql} WHERE ${every.join(' AND ')}) listed`,
    values,
  );
  return { count: total?.count, next: rows.length > limit ? '/more' : null, previous: null, results };
}

function tokenJson({ id, created, modified, expires, scope, description, ...row }: Record<string, unknown>) {
  return {
    id,
    created,
    modified,
    expires,
    scope,
    description,
    user: row['user_id'],
    application: row['application_id'],
    last_used: row['last_used'],
    token: '$encrypted$',
    refresh_token: row['has_refresh_token'] === true ? '$encrypted$' : null,
    summary_fields: {
      user: { id: row['user_id'], username: row['username'] },
      ...(row['application_id'] !== null && {
        application: { id: row['application_id'], name: row['application_name'] },
      }),
    },
  };
}

function userJson({ id, username, is_superuser, is_platform_auditor, last_login }: Record<string, unknown>) {
  return { id, username, is_superuser, is_platform_auditor, last_login, associated_authenticators: {} };
}

function entryJson({ id, created, operation, object_id, changes, ...row }: Record<string, unknown>): object {
  const actor = { id: row['created_by_id'], username: row['username'] };
  return {
    id,
    created,
    operation,
    object_id,
    changes,
    content_type_model: row['model'],
    summary_fields: { created_by: row['created_by_id'] === null ? null : actor },
  };
}
