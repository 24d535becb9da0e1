// A worker: a controller that does nothing but answer, so that what a benchmark measures is the client. It
// has tokens 1 to N, lists and deletes them, and waits a given time before each answer.
import { createServer, type ServerResponse } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { tokens, delay } = workerData as { readonly tokens: number; readonly delay: number };
const alive = new Set(Array.from({ length: tokens }, (_, index) => index + 1));
const user = { id: 1, username: 'admin', first_name: '', last_name: '' };

function tokenJson(id: number): object {
  return {
    id,
    type: 'o_auth2_access_token',
    url: `/api/v2/tokens/${id}/`,
    related: {},
    summary_fields: { user },
    created: '2026-01-01T00:00:00Z',
    modified: '2026-01-01T00:00:00Z',
    description: '',
    user: 1,
    token: '************',
    refresh_token: null,
    application: null,
    expires: '3025-01-01T00:00:00Z',
    scope: 'write',
  };
}

function listed(query: URLSearchParams): object {
  const after = Number(query.get('id__gt') ?? 0);
  const last = Number(query.get('id__lte') ?? Number.POSITIVE_INFINITY);
  const only = query.get('id__in')?.split(',').map(Number);
  const ids = [...(only ?? alive)].filter((id) => id > after && id <= last && alive.has(id));
  if (query.get('order_by') === '-id') ids.reverse();
  const results = ids.slice(0, Number(query.get('page_size') ?? 25)).map(tokenJson);
  return query.has('count_disabled')
    ? { results }
    : { count: ids.length, next: null, previous: null, results };
}

const fixed: Readonly<Record<string, object>> = {
  '/api/': { current_version: '/api/v2/', available_versions: { v2: '/api/v2/' } },
  '/api/v2/ping/': { version: '24.6.1' },
  '/api/v2/me/': {
    count: 1,
    next: null,
    previous: null,
    results: [{ ...user, is_superuser: true, is_system_auditor: false }],
  },
  '/api/v2/settings/authentication/': {
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
  },
};

function answer(response: ServerResponse, status: number, body?: object): void {
  const text = body === undefined ? '' : JSON.stringify(body);
  const send = () => {
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  };
  if (delay > 0) setTimeout(send, delay);
  else send();
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://controller');
  const [, id] = /^\/api\/v2\/tokens\/(\d+)\/$/.exec(url.pathname) ?? [];
  if (request.method === 'DELETE' && id !== undefined) {
    return alive.delete(Number(id)) ? answer(response, 204) : answer(response, 404, { detail: 'Not found.' });
  }
  const body = url.pathname === '/api/v2/tokens/' ? listed(url.searchParams) : fixed[url.pathname];
  return body === undefined ? answer(response, 404, { detail: 'Not found.' }) : answer(response, 200, body);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  parentPort?.postMessage(
    typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : '',
  );
});
