import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { installed } from './memory-target.ts';

export interface FakeToken {
  readonly id: number;
  readonly username: string;
  readonly scope: string;
  readonly created: string;
  readonly expires: string;
  readonly lastUsed: string | null;
  readonly application: string | null;
  readonly hasRefreshToken: boolean;
}

/** Responds to a request in place of the controller, or returns false to let the controller respond. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A fault in every response except the one by which a controller is recognized. */
export function pastRoot(fault: Fault): Fault {
  return (request, response) => request.url !== '/api/' && fault(request, response);
}

/**
 * A controller in memory that simulates faults: broken connections, invalid responses, failures halfway. It
 * has tokens by id, user, application and page, and one superuser: `admin` with the password `secret` or any
 * bearer token.
 */
export class FakeController implements AsyncDisposable {
  readonly tokens = new Map<number, FakeToken>();
  readonly settings: Record<string, unknown> = { ...structuredClone(installed) };
  /** `METHOD /path?query` of every request, in the order of arrival. */
  readonly requests: string[] = [];
  fault: Fault = () => false;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a controller on a free port of the loopback interface, with this many tokens. */
  static async start(tokens = 0): Promise<FakeController> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const fake = new FakeController(server);
    for (let id = 1; id <= tokens; id += 1) fake.tokens.set(id, fakeToken(id));
    server.on('request', (request, response) => fake.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many clients are connected. Requests of a killed client may be in flight until it is 0. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(`${request.method} ${request.url}`);
    request.resume();
    if (this.fault(request, response)) return;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake');
    const one = /^\/api\/v2\/tokens\/(\d+)\/$/.exec(pathname);
    const list = this.#lists(searchParams)[pathname];
    if (one !== null) this.#remove(Number(one[1]), response);
    else if (request.method === 'PATCH') this.#change(request, response);
    else if (list === undefined) json(response, 404, { detail: 'Not found.' });
    else json(response, 200, list());
  }

  #remove(id: number, response: ServerResponse): void {
    if (this.tokens.delete(id)) response.writeHead(204).end();
    else json(response, 404, { detail: 'Not found.' });
  }

  #change(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      Object.assign(this.settings, JSON.parse(Buffer.concat(chunks).toString()));
      json(response, 200, this.settings);
    });
  }

  #lists(query: URLSearchParams): Record<string, () => unknown> {
    return {
      '/api/': () => ({ description: 'AWX REST API', current_version: '/api/v2/' }),
      '/api/v2/ping/': () => ({ version: '24.6.1' }),
      '/api/v2/me/': () => ({ results: [user(1, 'admin')] }),
      '/api/v2/users/': () => page(query, [user(1, 'admin'), user(2, 'alice'), user(3, 'bob')]),
      '/api/v2/settings/authentication/': () => this.settings,
      '/api/v2/tokens/': () => page(query, this.#named(query).map(tokenJson)),
    };
  }

  #named(query: URLSearchParams): FakeToken[] {
    const ids = query.get('id__in')?.split(',') ?? query.getAll('id');
    const named =
      ids.length > 0 ? ids.flatMap((id) => this.tokens.get(Number(id)) ?? []) : [...this.tokens.values()];
    const user = query.get('user__username');
    const userIds = query.get('user__id__in')?.split(',') ?? query.getAll('user__id');
    const since = query.get('last_used__gte');
    return named
      .filter((token) => user === null || token.username === user)
      .filter((token) => userIds.length === 0 || userIds.includes(String(userIdOf(token))))
      .filter((token) => since === null || (token.lastUsed ?? '') >= since)
      .sort((a, b) => a.id - b.id);
  }
}

/** A token of a thousand years, owned by alice or bob in turn. */
export function fakeToken(id: number, other: Partial<FakeToken> = {}): FakeToken {
  return {
    id,
    username: id % 2 === 0 ? 'alice' : 'bob',
    scope: 'write',
    created: '2026-01-01T00:00:00.000000Z',
    expires: '3026-01-01T00:00:00.000000Z',
    lastUsed: null,
    application: null,
    hasRefreshToken: false,
    ...other,
  };
}

/** Answers with JSON. Returns true, as a fault does that has answered. */
export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  return true;
}

function page(query: URLSearchParams, items: readonly { readonly id: number }[]): unknown {
  const after = Number(query.get('id__gt') ?? 0);
  const last = Number(query.get('id__lte') ?? Infinity);
  const username = query.get('username');
  const names = query.get('username__in')?.split(',') ?? (username === null ? null : [username]);
  const ids = query.get('id__in')?.split(',') ?? query.getAll('id');
  const size = Number(query.get('page_size') ?? 25);
  const left = items.filter(
    (item) =>
      item.id > after &&
      item.id <= last &&
      (ids.length === 0 || ids.includes(String(item.id))) &&
      (names === null || ('username' in item && names.includes(String(item.username)))),
  );
  if (query.get('order_by') === '-id') left.reverse();
  const results = left.slice(0, size);
  if (query.has('count_disabled')) return { results };
  return { count: left.length, next: left.length > size ? '/more' : null, previous: null, results };
}

function userIdOf({ username }: FakeToken): number {
  return { admin: 1, alice: 2 }[username] ?? 3;
}

/** A token as the API shows it. */
export function tokenJson(token: FakeToken) {
  const userId = userIdOf(token);
  return {
    id: token.id,
    type: 'o_auth2_access_token',
    url: `/api/v2/tokens/${token.id}/`,
    summary_fields: {
      user: { id: userId, username: token.username },
      ...(token.application === null ? {} : { application: { id: 9, name: token.application } }),
    },
    created: token.created,
    modified: token.created,
    description: '',
    user: userId,
    token: '************',
    refresh_token: token.hasRefreshToken ? '************' : null,
    application: token.application === null ? null : 9,
    expires: token.expires,
    scope: token.scope,
  };
}

function user(id: number, username: string) {
  return {
    id,
    username,
    is_superuser: username === 'admin',
    is_system_auditor: false,
    external_account: username === 'bob' ? 'ldap' : null,
    last_login: null,
  };
}
