import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Database } from '@tokenctl/common/db/database.ts';
import { json } from './fake-controller.ts';
import type { RealTables } from './real-tables.ts';
import { passwordUser } from './recordings.ts';
import { pageOf, type TableList } from './table-lists.ts';

const API = '/api/gateway/v1/';

/** Who made a row and who changed it last, as summaries. */
const MAKERS = `jsonb_strip_nulls(jsonb_build_object(
    'created_by', CASE WHEN c.id IS NOT NULL THEN jsonb_build_object('id', c.id, 'username', c.username) END,
    'modified_by', CASE WHEN m.id IS NOT NULL THEN jsonb_build_object('id', m.id, 'username', m.username) END))`;
const WITH_MAKERS = `LEFT JOIN aap_gateway_api_user c ON c.id = x.created_by_id
  LEFT JOIN aap_gateway_api_user m ON m.id = x.modified_by_id`;
const made = (table: string): TableList => ({
  sql: `SELECT to_jsonb(x) - '{password,client_secret,token,configuration}'::text[]
      || jsonb_build_object('summary_fields', ${MAKERS}) AS body, x.* FROM ${table} x ${WITH_MAKERS}`,
  columns: { id: 'id' },
});
const assigned = (table: string, holder: 'user' | 'team', holders: string, name: string): TableList => ({
  sql: `SELECT jsonb_build_object('id', x.id, 'created', x.created, 'object_id', x.object_id,
      'content_type', CASE WHEN o.id IS NOT NULL THEN 'shared.' || o.model END,
      'summary_fields', jsonb_build_object(
        'created_by', CASE WHEN c.id IS NOT NULL THEN jsonb_build_object('id', c.id, 'username', c.username) END,
        'role_definition', jsonb_build_object('id', d.id, 'name', d.name, 'managed', d.managed),
        '${holder}', jsonb_build_object('id', h.id, '${name}', h.${name}))) AS body, x.id, x.object_id
    FROM ${table} x JOIN dab_rbac_roledefinition d ON d.id = x.role_definition_id
      JOIN ${holders} h ON h.id = x.${holder}_id LEFT JOIN django_content_type o ON o.id = x.content_type_id
      LEFT JOIN aap_gateway_api_user c ON c.id = x.created_by_id`,
  columns: { id: 'id', object_id: 'object_id' },
});

const LISTS: Readonly<Record<string, TableList>> = {
  tokens: {
    sql: `SELECT to_jsonb(x) - '{token}'::text[] || jsonb_build_object('user', x.user_id, 'application', x.application_id,
        'summary_fields', jsonb_strip_nulls(jsonb_build_object('user', jsonb_build_object('id', u.id, 'username', u.username),
          'application', CASE WHEN a.id IS NOT NULL THEN jsonb_build_object('id', a.id, 'name', a.name) END))) AS body,
        x.id, x.user_id, x.last_used, x.expires, u.username, a.name AS application_name
      FROM dab_oauth2_provider_oauth2accesstoken x LEFT JOIN aap_gateway_api_user u ON u.id = x.user_id
        LEFT JOIN dab_oauth2_provider_oauth2application a ON a.id = x.application_id`,
    columns: {
      ...{
        id: 'id',
        user: 'user_id',
        user__id: 'user_id',
        user__username: 'username',
        application__name: 'application_name',
      },
      ...{ last_used: 'last_used', expires: 'expires' },
    },
  },
  users: { ...made('aap_gateway_api_user'), columns: { id: 'id', username: 'username' } },
  organizations: made('aap_gateway_api_organization'),
  teams: {
    sql: `SELECT to_jsonb(x) || jsonb_build_object('summary_fields', jsonb_build_object(
        'organization', jsonb_build_object('id', o.id, 'name', o.name))) AS body, x.id
      FROM aap_gateway_api_team x JOIN aap_gateway_api_organization o ON o.id = x.organization_id`,
    columns: { id: 'id' },
  },
  applications: { ...made('dab_oauth2_provider_oauth2application'), columns: { id: 'id', name: 'name' } },
  authenticators: made('dab_authentication_authenticator'),
  authenticator_maps: made('dab_authentication_authenticatormap'),
  role_definitions: made('dab_rbac_roledefinition'),
  role_user_assignments: assigned('dab_rbac_roleuserassignment', 'user', 'aap_gateway_api_user', 'username'),
  role_team_assignments: assigned('dab_rbac_roleteamassignment', 'team', 'aap_gateway_api_team', 'name'),
  activitystream: {
    sql: `SELECT jsonb_build_object('id', x.id, 'created', x.created, 'operation', x.operation, 'changes', x.changes,
        'object_id', x.object_id, 'content_type_model', t.model, 'created_by', x.created_by_id,
        'summary_fields', jsonb_strip_nulls(jsonb_build_object('created_by',
          CASE WHEN c.id IS NOT NULL THEN jsonb_build_object('id', c.id, 'username', c.username) END))) AS body,
        x.id, x.created, x.operation, x.object_id, t.model, x.created_by_id, c.username
      FROM dab_activitystream_entry x JOIN django_content_type t ON t.id = x.content_type_id
        LEFT JOIN aap_gateway_api_user c ON c.id = x.created_by_id`,
    columns: {
      ...{ id: 'id', created: 'created', operation: 'operation', object_id: 'object_id' },
      ...{ content_type__model: 'model', created_by: 'created_by_id', created_by__id: 'created_by_id' },
      created_by__username: 'username',
    },
  },
};

/** The fields of entries that the API gives as numbers, and the truth values: the table has texts [seen]. */
const NUMBERS =
  /^(id|user|application|organization|created_by|modified_by|access_token|source_refresh_token)$/;

/**
 * The REST API of a platform gateway on the tables of a real one, in the forms that were recorded: the lists that tokenctl
 * reads, and the owner of a bearer token. Tokens can be made and deleted, settings changed, by a superuser. Each request sets the last use of its token, and one of the scope write adds an
 * entry to the activity stream. A filter that it does not know is refused.
 */
export class RecordedGateway implements AsyncDisposable {
  /** `METHOD /path?query` of every request. */
  readonly requests: string[] = [];
  readonly #database: Database;
  readonly #server: Server;

  private constructor(database: Database) {
    this.#database = database;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) =>
        json(response, 500, { detail: String(error) }),
      );
    });
  }

  static async start({ database }: RealTables): Promise<RecordedGateway> {
    const gateway = new RecordedGateway(database);
    await new Promise<void>((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve));
    return gateway;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(`${request.method} ${request.url}`);
    const [status, body] = await this.#answer(request);
    if (status === 204) response.writeHead(204).end();
    else json(response, status, body);
  }

  async #answer(request: IncomingMessage): Promise<readonly [status: number, body: object]> {
    const url = new URL(request.url ?? '/', 'http://gateway');
    if (url.pathname === '/api/') return [200, { apis: { gateway: '/api/gateway/' } }];
    if (url.pathname === `${API}ping/`) return [200, { status: 'good' }];
    const userId = await this.#callerOf(request);
    if (userId === null) return [401, { detail: 'Authentication credentials were not provided.' }];
    const path = url.pathname.slice(API.length).replace(/\/$/, '');
    if (request.method === 'OPTIONS') return [200, { actions: { POST: {} } }];
    if (request.method !== 'GET') return await this.#write(request, { path, userId });
    if (path === 'settings/all') return [200, await this.#settings()];
    const [, one] = /^tokens\/(\d+)$/.exec(path) ?? [];
    if (one !== undefined) return await this.#token(one);
    const [list, query] =
      path === 'me' ? ['users', new URLSearchParams({ id: String(userId) })] : [path, url.searchParams];
    if (!Object.hasOwn(LISTS, list)) return [404, { detail: 'Not found.' }];
    const page = await this.#page(list, query);
    return page === null ? [400, { detail: 'no such field' }] : [200, page];
  }

  async #token(id: string): Promise<readonly [status: number, body: object]> {
    const [body] =
      (await pageOf(this.#database, LISTS['tokens'] as TableList, new URLSearchParams({ id })))?.bodies ?? [];
    return body === undefined ? [404, { detail: 'Not found.' }] : [200, body];
  }

  /** Makes and deletes tokens and changes settings, as a superuser. */
  async #write(
    request: IncomingMessage,
    { path, userId }: { path: string; userId: number },
  ): Promise<readonly [status: number, body: object]> {
    const sent = JSON.parse((await text(request)) || '{}') as Readonly<Record<string, unknown>>;
    if (request.method === 'PUT' && path === 'settings/all') {
      for (const [name, value] of Object.entries(sent)) await this.#set(name, value);
      return [200, await this.#settings()];
    }
    if (request.method === 'POST' && path === 'tokens') {
      const value = randomBytes(15).toString('hex');
      const [row] = await this.#database.query<{ id: number }>(
        `INSERT INTO dab_oauth2_provider_oauth2accesstoken (token, user_id, scope, description, expires, created, modified, created_by_id, modified_by_id)
         SELECT CASE WHEN t.token LIKE '$sha256$%' THEN '$sha256$' || encode(sha256($1::text::bytea), 'hex') ELSE $1::text END,
           $2, $3, $4, now() + interval '1 year', now(), now(), $2, $2
         FROM dab_oauth2_provider_oauth2accesstoken t LIMIT 1 RETURNING id`,
        [value, userId, sent['scope'], sent['description'] ?? ''],
      );
      const [status, body] = await this.#token(String(row?.id));
      return [status === 200 ? 201 : status, { ...body, token: value }];
    }
    const [, id] = /^tokens\/(\d+)$/.exec(path) ?? [];
    if (request.method !== 'DELETE' || id === undefined) return [405, { detail: 'Method not allowed.' }];
    await this.#database.execute(
      'UPDATE dab_oauth2_provider_oauth2refreshtoken SET access_token_id = NULL WHERE access_token_id = $1',
      [id],
    );
    const count = await this.#database.execute(
      'DELETE FROM dab_oauth2_provider_oauth2accesstoken WHERE id = $1',
      [id],
    );
    return count === 0 ? [404, { detail: 'Not found.' }] : [204, {}];
  }

  /** Stores a setting as the table has it. */
  async #set(name: string, value: unknown): Promise<void> {
    const stored = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
    await this.#database.execute('UPDATE aap_gateway_api_preference SET raw_value = $2 WHERE name = $1', [
      name,
      stored,
    ]);
  }

  /** The user of a password, or of a bearer token, whose use is recorded. */
  async #callerOf({ headers }: IncomingMessage): Promise<number | null> {
    const name = passwordUser(headers.authorization);
    if (name !== null) {
      const query = new URLSearchParams({ username: name });
      const page = await pageOf(this.#database, LISTS['users'] as TableList, query);
      return Number(page?.bodies[0]?.['id'] ?? Number.NaN) || null;
    }
    const [, value = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    const hashed = `$sha256$${createHash('sha256').update(value).digest('hex')}`;
    const [token] = await this.#database.query<{ id: number; user_id: number; scope: string }>(
      `UPDATE dab_oauth2_provider_oauth2accesstoken SET last_used = clock_timestamp()
       WHERE token = ANY($1) AND expires > now() RETURNING id, user_id, scope`,
      [[value, hashed]],
    );
    if (token?.scope === 'write') {
      await this.#database.execute(
        `INSERT INTO dab_activitystream_entry (created, operation, changes, content_type_id, object_id, created_by_id)
         SELECT now(), 'update', '{"added_fields": {}, "changed_fields": {"scope": ["write", "write read"]}, "removed_fields": {}}',
           t.id, $1, $2 FROM django_content_type t WHERE t.model = 'oauth2accesstoken'`,
        [String(token.id), token.user_id],
      );
    }
    return token?.user_id ?? null;
  }

  async #settings(): Promise<object> {
    const rows = await this.#database.query<{ name: string; raw_value: string }>(
      'SELECT name, raw_value FROM aap_gateway_api_preference',
    );
    return Object.fromEntries(rows.map(({ name, raw_value: raw }) => [name, typed('', raw)]));
  }

  /** Null for a filter that is not known. */
  async #page(name: string, query: URLSearchParams): Promise<object | null> {
    const page = await pageOf(this.#database, LISTS[name] as TableList, query);
    if (page === null) return null;
    const { count } = page;
    const results = page.bodies.map((body) => (name === 'activitystream' ? entryBody(body) : body));
    return { count, next: count > results.length ? '/more' : null, previous: null, results };
  }
}

function entryBody(body: Record<string, unknown>): object {
  const changes = body['changes'] as Record<string, Record<string, unknown>>;
  return {
    ...body,
    changes: Object.fromEntries(
      Object.entries(changes).map(([part, fields]) => [
        part,
        Object.fromEntries(
          Object.entries(fields).map(([field, value]) => [
            field,
            Array.isArray(value) ? value.map((each) => typed(field, each)) : typed(field, value),
          ]),
        ),
      ]),
    ),
  };
}

/** A text of the table as the API gives it; settings (no field) are typed, their recorded texts are not. */
function typed(field: string, value: unknown): unknown {
  if (typeof value !== 'string' || field === 'raw_value') return value;
  if (value === 'True' || value === 'False') return value === 'True';
  const isNumber = field === '' ? /^-?\d+(\.\d+)?$/.test(value) : NUMBERS.test(field) && /^\d+$/.test(value);
  return isNumber ? Number(value) : value;
}
