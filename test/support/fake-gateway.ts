import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from './fake-controller.ts';

/** A body with status 200, or a status and a body. */
type FakeResponse = object | readonly [status: number, body: object];

/**
 * A platform gateway with configured responses, for other versions and errors. By default it lists a gateway
 * and a controller, and has one superuser.
 */
export class FakeGateway implements AsyncDisposable {
  /** Responses by `METHOD /path` without the query; 404 for other requests. */
  readonly told = new Map<string, FakeResponse>([
    ['GET /api/', { apis: { gateway: '/api/gateway/', controller: '/api/controller/', eda: '/api/eda/' } }],
    ['GET /api/gateway/v1/ping/', { version: '2.6', pong: '2026-11-20 10:00:00', status: 'good' }],
    ['GET /api/gateway/v1/me/', page([user(1, 'admin', { is_superuser: true })])],
  ]);
  /** `METHOD /path?query` of every request, with its body where it has one. */
  readonly requests: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a gateway on a free port of the loopback interface. */
  static async start(told: Readonly<Record<string, FakeResponse>> = {}): Promise<FakeGateway> {
    const server = createServer();
    const fake = new FakeGateway(server);
    for (const [request, answer] of Object.entries(told)) fake.told.set(request, answer);
    server.on('request', async (request, response) => {
      const body = await textOf(request);
      fake.requests.push(`${request.method} ${request.url}${body === '' ? '' : ` ${body}`}`);
      const { pathname } = new URL(request.url ?? '/', 'http://fake');
      const answer = fake.told.get(`${request.method} ${pathname}`) ?? [404, { detail: 'Not found.' }];
      const [status, value] = Array.isArray(answer) ? answer : [200, answer];
      json(response, status, value);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A page of a list. */
export function page(results: readonly object[]): object {
  return { count: results.length, next: null, previous: null, results };
}

/** A user in the gateway's format. */
export function user(id: number, username: string, other: object = {}): object {
  return { id, username, is_superuser: false, is_platform_auditor: false, last_login: null, ...other };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return text;
}
