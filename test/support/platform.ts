import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunningService } from '@tokenctl/service/server.ts';
import { ADMIN, Client, startTestService } from '@tokenctl/service/testing/service.ts';
import { Gateway } from './gateway.ts';

/**
 * A platform: a gateway, and behind it a controller with users and tokens of its own, as after an upgrade. A
 * proxy before both passes on what is under `/api/controller/`, as a gateway does. For the administrator's
 * gateway tokens it vouches on the controller; other credentials it hands through, so that the controller's
 * own tokens go on working. It vouches with a session of the controller's administrator, for a gateway's own
 * way of vouching is no token that is listed or revoked either, and goes on without Basic authentication.
 */
export class Platform implements AsyncDisposable {
  readonly gateway: Gateway;
  readonly controller: RunningService;
  readonly #proxy: Server;
  readonly #session: Client;

  private constructor(gateway: Gateway, controller: RunningService) {
    this.gateway = gateway;
    this.controller = controller;
    this.#session = new Client(controller.url);
    this.#proxy = createServer((request, response) => {
      void this.#pass(request, response);
    });
  }

  /** Starts both on databases of their own, and the proxy on a free port of the loopback interface. */
  static async start(): Promise<Platform> {
    const platform = new Platform(await Gateway.start(), await startTestService());
    const { status } = await platform.#session.logIn(ADMIN.username, ADMIN.password);
    if (status !== 302) throw new Error(`The controller's login page answers ${status}`);
    await new Promise<void>((resolve) => platform.#proxy.listen(0, '127.0.0.1', resolve));
    return platform;
  }

  /** The platform's address. */
  get url(): string {
    return `http://127.0.0.1:${(this.#proxy.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#proxy.closeAllConnections();
    await new Promise((resolve) => this.#proxy.close(resolve));
    await Promise.all([this.gateway.close(), this.controller.close()]);
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    if (path === '/api/') {
      const apis = { gateway: '/api/gateway/', controller: '/api/controller/', eda: '/api/eda/' };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ apis }));
      return;
    }
    const isController = path.startsWith('/api/controller/');
    const vouched = isController && (await this.#vouchesFor(request.headers.authorization));
    const to = isController
      ? new URL(path.replace('/api/controller/', '/api/'), this.controller.url)
      : new URL(path, this.gateway.url);
    const { authorization, ...others } = request.headers;
    const headers = {
      ...others,
      host: to.host,
      ...(vouched ? this.#sessionHeaders() : authorization !== undefined && { authorization }),
    };
    const onward = httpRequest(to, { method: request.method, headers }, (answer) => {
      const { 'set-cookie': _ofSession, ...rest } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, vouched ? rest : answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  }

  /** The session's cookies, and its CSRF token for what changes something. */
  #sessionHeaders(): { readonly cookie: string; readonly 'x-csrftoken': string } {
    const { cookies } = this.#session;
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { cookie, 'x-csrftoken': cookies.get('csrftoken') ?? '' };
  }

  /** Whether a credential is one of the gateway's tokens. */
  async #vouchesFor(authorization: string | undefined): Promise<boolean> {
    if (authorization?.startsWith('Bearer ') !== true) return false;
    const me = await fetch(`${this.gateway.url}/api/gateway/v1/me/`, { headers: { authorization } });
    await me.body?.cancel();
    return me.status === 200;
  }
}
