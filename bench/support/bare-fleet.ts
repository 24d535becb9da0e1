// A worker: many controllers that do nothing but answer, so that what a benchmark measures is the client. Each has the tokens 1
// to N, of which the first belong to alice and the others to admin, and waits a given time before each answer.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/** How a fleet is made. */
export interface FleetOptions {
  readonly controllers: number;
  /** Tokens of each controller. */
  readonly tokens: number;
  /** Those of alice among them. */
  readonly ofAlice: number;
  /** How long an answer takes, in milliseconds. */
  readonly delay: number;
}

const { controllers, tokens, ofAlice, delay } = workerData as FleetOptions;
const admin = { id: 1, username: 'admin', first_name: '', last_name: '' };
const alice = { id: 2, username: 'alice', first_name: 'Alice', last_name: '' };
const users = [admin, alice].map((user) => ({
  ...user,
  type: 'user',
  url: `/api/v2/users/${user.id}/`,
  email: '',
  is_superuser: user.id === 1,
  is_system_auditor: false,
  is_active: true,
  created: '2026-01-01T00:00:00Z',
  modified: null,
  last_login: null,
  ldap_dn: '',
  external_account: null,
  auth: [],
  related: {},
  summary_fields: {},
}));
const settings = {
  AUTH_BASIC_ENABLED: true,
  ALLOW_OAUTH2_FOR_EXTERNAL_USERS: false,
  SESSION_COOKIE_AGE: 1800,
  SESSIONS_PER_USER: -1,
  DISABLE_LOCAL_AUTH: false,
  OAUTH2_PROVIDER: {
    ACCESS_TOKEN_EXPIRE_SECONDS: 31_536_000_000,
    REFRESH_TOKEN_EXPIRE_SECONDS: 2_628_000,
    AUTHORIZATION_CODE_EXPIRE_SECONDS: 600,
  },
  LOGIN_REDIRECT_OVERRIDE: '',
  ALLOW_METRICS_FOR_ANONYMOUS_USERS: false,
};

function tokenJson(id: number): object {
  const user = id <= ofAlice ? alice : admin;
  return {
    id,
    type: 'o_auth2_access_token',
    url: `/api/v2/tokens/${id}/`,
    related: {},
    summary_fields: { user },
    created: '2026-01-01T00:00:00Z',
    modified: '2026-01-01T00:00:00Z',
    description: '',
    user: user.id,
    token: '************',
    refresh_token: null,
    application: null,
    expires: '3025-01-01T00:00:00Z',
    scope: 'write',
  };
}

const listed = (results: readonly object[], count = results.length) => ({
  count,
  next: null,
  previous: null,
  results,
});

/** A page of tokens by the filters that the toolkit sends. Nothing of a large list is touched but the page. */
function tokenPage(query: URLSearchParams, gone: ReadonlySet<number>): object {
  const ofUser = query.get('user') ?? query.get('user__id') ?? query.get('user__username');
  const [low, high] =
    ofUser === null ? [1, tokens] : ['2', 'alice'].includes(ofUser) ? [1, ofAlice] : [ofAlice + 1, tokens];
  const first = Math.max(low, Number(query.get('id__gt') ?? 0) + 1);
  const last = Math.min(high, Number(query.get('id__lte') ?? high));
  const size = Number(query.get('page_size') ?? 25);
  // None was ever used, and none has expired.
  if ([...query.keys()].some((key) => key.startsWith('last_used__') || key === 'expires__lt'))
    return listed([]);
  const only = query.get('id__in')?.split(',').map(Number);
  if (only !== undefined) {
    const found = only
      .filter((id) => id >= first && id <= last && !gone.has(id))
      .sort((one, other) => one - other);
    return pageOf(found.values(), { query, size, count: found.length });
  }
  const isDescending = query.get('order_by') === '-id';
  const ids = isDescending ? descending(last, first, gone) : ascending(first, last, gone);
  return pageOf(ids, { query, size, count: Math.max(0, last - first + 1 - gone.size) });
}

function* ascending(first: number, last: number, gone: ReadonlySet<number>): Generator<number> {
  for (let id = first; id <= last; id += 1) if (!gone.has(id)) yield id;
}

function* descending(last: number, first: number, gone: ReadonlySet<number>): Generator<number> {
  for (let id = last; id >= first; id -= 1) if (!gone.has(id)) yield id;
}

function pageOf(
  ids: Iterable<number>,
  { query, size, count }: { query: URLSearchParams; size: number; count: number },
): object {
  const results: object[] = [];
  for (const id of ids) {
    if (results.push(tokenJson(id)) >= size) break;
  }
  return query.has('count_disabled') ? { results } : listed(results, count);
}

function isAskedFor(user: { readonly id: number; readonly username: string }, query: URLSearchParams) {
  const [id, name] = [query.get('id'), query.get('username')];
  return (id === null || Number(id) === user.id) && (name === null || name === user.username);
}

function answerTo(request: IncomingMessage, gone: Set<number>): readonly [status: number, body?: object] {
  const url = new URL(request.url ?? '/', 'http://controller');
  const [, id] = /^\/api\/v2\/tokens\/(\d+)\/$/.exec(url.pathname) ?? [];
  if (request.method === 'DELETE' && id !== undefined) {
    if (gone.has(Number(id))) return [404, { detail: 'Not found.' }];
    gone.add(Number(id));
    return [204];
  }
  if (id !== undefined)
    return gone.has(Number(id)) ? [404, { detail: 'Not found.' }] : [200, tokenJson(Number(id))];
  switch (url.pathname) {
    case '/api/':
      return [200, { current_version: '/api/v2/', available_versions: { v2: '/api/v2/' } }];
    case '/api/v2/ping/':
      return [
        200,
        {
          version: '24.6.1',
          install_uuid: `00000000-0000-4000-8000-${String(process.pid).padStart(12, '0')}`,
        },
      ];
    case '/api/v2/me/':
      return [200, listed(users.slice(0, 1))];
    case '/api/v2/users/':
      return [200, listed(users.filter((user) => isAskedFor(user, url.searchParams)))];
    case '/api/v2/settings/authentication/':
      return [200, settings];
    case '/api/v2/tokens/':
      return [200, tokenPage(url.searchParams, gone)];
    case '/api/v2/applications/':
    case '/api/v2/activity_stream/':
      return [200, listed([])];
    default:
      return [404, { detail: 'Not found.' }];
  }
}

function send(response: ServerResponse, [status, body]: readonly [number, object?]): void {
  const text = body === undefined ? '' : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

const urls: string[] = [];
for (let number = 0; number < controllers; number += 1) {
  const gone = new Set<number>();
  const server = createServer((request, response) => {
    setTimeout(() => send(response, answerTo(request, gone)), delay);
  });
  server.listen(0, '127.0.0.1', () => {
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    if (urls.length === controllers) parentPort?.postMessage(urls);
  });
}
