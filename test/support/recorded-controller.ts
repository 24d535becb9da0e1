import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Database } from '@tokenctl/common/db/database.ts';
import { json } from './fake-controller.ts';
import type { Peer, RealTables } from './real-tables.ts';
import { passwordUser, recorded } from './recordings.ts';
import { pageOf, type TableList } from './table-lists.ts';

const API = '/api/v2/';
const summary = (alias: string) =>
  `CASE WHEN ${alias}.id IS NOT NULL THEN jsonb_build_object('id', ${alias}.id, 'username', ${alias}.username, 'first_name', '', 'last_name', '') END`;

const TOKENS: TableList = {
  sql: `SELECT jsonb_build_object('id', x.id, 'type', 'o_auth2_access_token', 'created', x.created, 'modified', x.modified,
      'description', x.description, 'user', x.user_id, 'token', '************', 'application', x.application_id,
      'refresh_token', CASE WHEN EXISTS (SELECT FROM oauth2_provider_refreshtoken r WHERE r.access_token_id = x.id) THEN '************' END,
      'expires', x.expires, 'scope', x.scope, 'summary_fields', jsonb_strip_nulls(jsonb_build_object('user', ${summary('u')},
        'application', CASE WHEN a.id IS NOT NULL THEN jsonb_build_object('id', a.id, 'name', a.name) END))) AS body,
      x.*, u.username, a.name AS application_name
    FROM main_oauth2accesstoken x LEFT JOIN auth_user u ON u.id = x.user_id
      LEFT JOIN main_oauth2application a ON a.id = x.application_id`,
  columns: {
    ...{ id: 'id', user: 'user_id', user__id: 'user_id', user__username: 'username' },
    ...{ application__name: 'application_name', application__id: 'application_id' },
    ...{ last_used: 'last_used', expires: 'expires', created: 'created', scope: 'scope' },
  },
};

/** The rows of a table as they are, with who made and changed them. */
const rowsOf = (table: string): TableList => ({
  sql: `SELECT to_jsonb(x) || jsonb_build_object('summary_fields', jsonb_strip_nulls(jsonb_build_object(
      'created_by', ${summary('c')}, 'modified_by', ${summary('m')}))) AS body, x.*
    FROM ${table} x LEFT JOIN auth_user c ON c.id = x.created_by_id LEFT JOIN auth_user m ON m.id = x.modified_by_id`,
  columns: {
    ...{ id: 'id', created: 'created', modified: 'modified', managed: 'managed' },
    ...{ created_by__id: 'created_by_id', modified_by__id: 'modified_by_id', created_by: 'created_by_id' },
  },
});

/** With the ids of the roles of members and administrators, and the organization. */
const withRoles = (
  { sql, columns: { managed, ...columns } }: TableList,
  organization: string,
): TableList => ({
  sql: `SELECT jsonb_set(w.body, '{summary_fields}', w.body->'summary_fields' || jsonb_strip_nulls(jsonb_build_object(
      'organization', ${organization}, 'object_roles', jsonb_build_object(
        'admin_role', jsonb_build_object('id', w.admin_role_id), 'member_role', jsonb_build_object('id', w.member_role_id)))))
      AS body, w.id, w.created, w.modified, w.created_by_id, w.modified_by_id FROM (${sql}) w`,
  columns,
});

/** Templates have what all of them share in a table of its own. */
const templatesOf = (table: string): TableList => ({
  ...rowsOf('main_unifiedjobtemplate'),
  sql: rowsOf('main_unifiedjobtemplate').sql.replace(
    ' x LEFT JOIN',
    ` x JOIN ${table} s ON s.unifiedjobtemplate_ptr_id = x.id LEFT JOIN`,
  ),
});

const assigned = (holder: 'user' | 'team', holders: string, name: string): TableList => ({
  sql: `SELECT jsonb_build_object('id', x.id, 'created', x.created, 'object_id', x.object_id,
      'content_type', regexp_replace(o.app_label, '^main$', 'awx') || '.' || o.model, 'summary_fields', jsonb_build_object('created_by', ${summary('c')},
        'role_definition', jsonb_build_object('id', d.id, 'name', d.name, 'managed', d.managed),
        '${holder}', jsonb_build_object('id', h.id, '${name}', h.${name}))) AS body, x.*
    FROM dab_rbac_role${holder}assignment x JOIN dab_rbac_roledefinition d ON d.id = x.role_definition_id
      JOIN ${holders} h ON h.id = x.${holder}_id LEFT JOIN django_content_type o ON o.id = x.content_type_id
      LEFT JOIN auth_user c ON c.id = x.created_by_id`,
  columns: {
    ...{ id: 'id', created: 'created', created_by__id: 'created_by_id', created_by: 'created_by_id' },
    ...{ user__id: 'user_id', team__id: 'team_id', object_id: 'object_id' },
  },
});

const links = (kind: string, table: string, fields: string) => `'${kind}', (
  SELECT jsonb_agg(jsonb_build_object('id', o.id, ${fields})) FROM main_activitystream_${kind} l
    JOIN ${table} o ON o.id = l.${kind.replaceAll('_', '')}_id WHERE l.activitystream_id = x.id)`;
const STREAM: TableList = {
  sql: `SELECT jsonb_build_object('id', x.id, 'timestamp', x.timestamp, 'operation', x.operation, 'object1', x.object1,
      'object2', x.object2, 'object_association', '', 'changes', x.changes::jsonb,
      'summary_fields', jsonb_strip_nulls(jsonb_build_object('actor', coalesce(${summary('u')}, x.deleted_actor::jsonb),
        'setting', CASE WHEN x.setting::jsonb ? 'name' THEN jsonb_build_array(x.setting::jsonb) END,
        ${links('user', 'auth_user', "'username', o.username")},
        ${links('o_auth2_access_token', 'main_oauth2accesstoken', "'user_id', o.user_id, 'description', o.description")},
        ${links('o_auth2_application', 'main_oauth2application', "'name', o.name")}))) AS body, x.*
    FROM main_activitystream x LEFT JOIN auth_user u ON u.id = x.actor_id`,
  columns: {
    ...{ id: 'id', timestamp: 'timestamp', operation: 'operation', object1: 'object1', changes: 'changes' },
    ...{ actor: 'actor_id', actor__id: 'actor_id', deleted_actor: 'deleted_actor' },
    o_auth2_access_token__id:
      'EXISTS (SELECT FROM main_activitystream_o_auth2_access_token l WHERE l.activitystream_id = p.id AND l.oauth2accesstoken_id::text = VALUE)',
  },
};

const LISTS: Readonly<Record<string, TableList>> = {
  tokens: TOKENS,
  activity_stream: STREAM,
  applications: {
    sql: `SELECT to_jsonb(x) - 'client_secret' || jsonb_build_object('modified', x.updated, 'organization', x.organization_id,
        'summary_fields', jsonb_build_object('tokens', jsonb_build_object('count', 0, 'results', '[]'::jsonb))) AS body, x.*
      FROM main_oauth2application x`,
    columns: { id: 'id', name: 'name' },
  },
  role_user_assignments: assigned('user', 'auth_user', 'username'),
  role_team_assignments: assigned('team', 'main_team', 'name'),
  role_definitions: rowsOf('dab_rbac_roledefinition'),
  credentials: rowsOf('main_credential'),
  credential_input_sources: rowsOf('main_credentialinputsource'),
  credential_types: rowsOf('main_credentialtype'),
  execution_environments: rowsOf('main_executionenvironment'),
  groups: rowsOf('main_group'),
  hosts: rowsOf('main_host'),
  inventories: rowsOf('main_inventory'),
  notification_templates: rowsOf('main_notificationtemplate'),
  organizations: withRoles(rowsOf('main_organization'), 'NULL'),
  schedules: rowsOf('main_schedule'),
  teams: withRoles(
    rowsOf('main_team'),
    `(SELECT jsonb_build_object('id', o.id, 'name', o.name) FROM main_organization o WHERE o.id = w.organization_id)`,
  ),
  projects: templatesOf('main_project'),
  inventory_sources: templatesOf('main_inventorysource'),
  job_templates: templatesOf('main_jobtemplate'),
  workflow_job_templates: templatesOf('main_workflowjobtemplate'),
  unified_jobs: rowsOf('main_unifiedjob'),
};

/** The tables that tell of users that they are external, in the order of the controller. */
const EXTERNAL = [
  ['sso_userenterpriseauth', 'enterprise'],
  ['social_auth_usersocialauth', 'social'],
] as const;

/**
 * The REST API of a controller on the tables of a real one: what is the same for all requests (root, version, settings, options) is as
 * recorded of that version, the lists and their filters have the forms that were recorded. Tokens can be made and deleted, settings and
 * passwords changed, by a superuser. A filter, list or setting that it does not know is refused.
 */
export class RecordedController implements AsyncDisposable {
  /** `METHOD /path?query` of every request. */
  readonly requests: string[] = [];
  readonly #peer: Peer;
  readonly #database: Database;
  readonly #users: TableList;
  readonly #changed: Record<string, unknown> = {};
  readonly #server: Server;

  private constructor(peer: Peer, database: Database, tables: ReadonlySet<string>) {
    [this.#peer, this.#database] = [peer, database];
    const external = EXTERNAL.filter(([table]) => tables.has(table)).map(
      ([table, kind]) => `WHEN EXISTS (SELECT FROM ${table} e WHERE e.user_id = x.id) THEN '${kind}'`,
    );
    this.#users = {
      sql: `SELECT jsonb_build_object('id', x.id, 'username', x.username, 'email', x.email, 'is_superuser', x.is_superuser,
          'is_system_auditor', EXISTS (SELECT FROM main_rbac_roles_members m JOIN main_rbac_roles r ON r.id = m.role_id
            WHERE m.user_id = x.id AND r.singleton_name = 'system_auditor'),
          'created', x.date_joined, 'modified', x.date_joined, 'last_login', x.last_login,
          'summary_fields', jsonb_build_object('user_capabilities', jsonb_build_object('edit', true, 'delete', x.id <> 1)),
          'external_account', ${external.length === 0 ? 'NULL' : `CASE ${external.join(' ')} END`}) AS body, x.*
        FROM auth_user x`,
      columns: { id: 'id', username: 'username', is_active: 'is_active', is_superuser: 'is_superuser' },
    };
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) =>
        json(response, 500, { detail: String(error) }),
      );
    });
  }

  static async start(peer: Peer, { database }: RealTables): Promise<RecordedController> {
    const rows = await database.query<{ name: string }>(
      "SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = 'public'",
    );
    const tables = new Set(rows.map(({ name }) => name));
    const controller = new RecordedController(peer, database, tables);
    await new Promise<void>((resolve) => controller.#server.listen(0, '127.0.0.1', resolve));
    return controller;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The authentication settings. */
  settings(): Readonly<Record<string, unknown>> {
    return { ...(this.#recorded('GET', '/api/v2/settings/authentication/') as object), ...this.#changed };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #recorded(method: string, path: string): unknown {
    return recorded(this.#peer, 'raw').find(
      (each) => each.as === 'admin' && each.method === method && each.path === path && each.status === 200,
    )?.response;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(`${request.method} ${request.url}`);
    const [status, body] = await this.#answer(request);
    if (status === 204) response.writeHead(204).end();
    else json(response, status, body);
  }

  async #answer(request: IncomingMessage): Promise<readonly [status: number, body: unknown]> {
    const { method = '', url = '' } = request;
    const { pathname, searchParams } = new URL(url, 'http://controller');
    if (pathname === '/api/' || pathname === `${API}ping/`) return [200, this.#recorded('GET', pathname)];
    const caller = await this.#callerOf(request);
    if (caller === null) return [401, { detail: 'Authentication credentials were not provided.' }];
    if (method === 'OPTIONS') return [200, this.#recorded('OPTIONS', pathname)];
    if (method === 'GET') return await this.#read(pathname, searchParams, caller);
    const sent = JSON.parse((await text(request)) || '{}') as Readonly<Record<string, unknown>>;
    if (method === 'PATCH' && pathname === `${API}settings/authentication/`) return [200, this.#change(sent)];
    if (method === 'POST' && pathname === `${API}tokens/`) return [201, await this.#create(caller, sent)];
    const [, token] = /^\/api\/v2\/tokens\/(\d+)\/$/.exec(pathname) ?? [];
    if (method === 'DELETE' && token !== undefined) return await this.#remove(Number(token));
    return [405, { detail: `Method "${method}" not allowed.` }];
  }

  async #read(pathname: string, query: URLSearchParams, caller: number): Promise<readonly [number, unknown]> {
    if (pathname === `${API}settings/authentication/`) return [200, this.settings()];
    const [, name = '', id] = /^\/api\/v2\/(\w+)\/(?:(\d+)\/)?$/.exec(pathname) ?? [];
    if (pathname === `${API}settings/all/`)
      return [200, { ...(this.#recorded('GET', pathname) as object), ...this.#changed }];
    const [, role] = /^\/api\/v2\/roles\/(\d+)\/users\/$/.exec(pathname) ?? [];
    if (role !== undefined) return await this.#holders(query, Number(role));
    const list = name === 'users' || name === 'me' ? this.#users : LISTS[name];
    const isThere = Object.keys((this.#recorded('GET', API) as object) ?? {}).includes(name);
    if (list === undefined || !isThere)
      return [404, { detail: 'The requested resource could not be found.' }];
    if (id !== undefined) {
      const [body] = (await pageOf(this.#database, list, new URLSearchParams({ id })))?.bodies ?? [];
      return body === undefined ? [404, { detail: 'Not found.' }] : [200, body];
    }
    const own = new URLSearchParams({ id: String(caller) });
    const page = await pageOf(this.#database, list, name === 'me' ? own : query);
    if (page === null) return [400, { detail: `No such filter: ${query}` }];
    const next = page.count > page.bodies.length ? `${pathname}?page=2` : null;
    return [200, { count: page.count, next, previous: null, results: page.bodies }];
  }

  async #holders(query: URLSearchParams, role: number): Promise<readonly [number, unknown]> {
    const holders = `JOIN main_rbac_roles_members h ON h.user_id = x.id AND h.role_id = ${role}`;
    const list = {
      ...this.#users,
      sql: `${this.#users.sql} ${holders}`.replace('AS body, x.*', 'AS body, x.id'),
    };
    const page = await pageOf(this.#database, list, query);
    if (page === null) return [400, { detail: `No such filter: ${query}` }];
    return [200, { count: page.count, next: null, previous: null, results: page.bodies }];
  }

  /** A version answers a setting that it does not have with its others. */
  #change(sent: Readonly<Record<string, unknown>>): unknown {
    const known = this.settings();
    for (const [name, value] of Object.entries(sent)) if (name in known) this.#changed[name] = value;
    return this.settings();
  }

  async #create(caller: number, { scope, description }: Readonly<Record<string, unknown>>): Promise<object> {
    const value = Array.from(
      { length: 30 },
      () => 'abcdefghijklmnopqrstuvwxyz'[Math.floor(Math.random() * 26)],
    ).join('');
    const [row] = await this.#database.query<{ id: number }>(
      `INSERT INTO main_oauth2accesstoken (token, user_id, scope, description, expires, created, updated, modified)
       VALUES ($1, $2, $3, $4, now() + interval '1000 years', now(), now(), now()) RETURNING id`,
      [value, caller, scope, description ?? ''],
    );
    const made = await pageOf(this.#database, TOKENS, new URLSearchParams({ id: String(row?.id) }));
    return { ...made?.bodies[0], token: value };
  }

  async #remove(id: number): Promise<readonly [number, unknown]> {
    await this.#database.execute(
      'DELETE FROM main_activitystream_o_auth2_access_token WHERE oauth2accesstoken_id = $1',
      [id],
    );
    await this.#database.execute(
      'UPDATE oauth2_provider_refreshtoken SET access_token_id = NULL WHERE access_token_id = $1',
      [id],
    );
    const count = await this.#database.execute('DELETE FROM main_oauth2accesstoken WHERE id = $1', [id]);
    return count === 0 ? [404, { detail: 'Not found.' }] : [204, null];
  }

  /** The user of a password, or of a bearer token, whose use is recorded. */
  async #callerOf({ headers }: IncomingMessage): Promise<number | null> {
    const name = passwordUser(headers.authorization);
    if (name !== null) {
      const page = await pageOf(this.#database, this.#users, new URLSearchParams({ username: name }));
      return Number(page?.bodies[0]?.['id'] ?? Number.NaN) || null;
    }
    const [, value = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? [];
    const [token] = await this.#database.query<{ user_id: number }>(
      'UPDATE main_oauth2accesstoken SET last_used = clock_timestamp() WHERE token = $1 AND expires > now() RETURNING user_id',
      [value],
    );
    return token?.user_id ?? null;
  }
}
