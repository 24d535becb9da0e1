import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a proxy in front of a controller answers what is under `settings/`. */
export const HIDING_WAYS = ['404 page', '404 JSON', '405', '500', 'time-out', 'not their own'] as const;

type HidingWay = (typeof HIDING_WAYS)[number];

/** A small proxy that passes on everything but the settings. */
export class SettingsProxy implements AsyncDisposable {
  readonly #server: Server;
  /** Null passes the settings on as well. */
  way: HidingWay | null = '404 page';
  /** The authentication settings that it has instead of those behind it, if any. */
  settings: Record<string, unknown> | null = null;
  /** Which other requests are answered with an internal error. */
  fails: (method: string, path: string) => boolean = () => false;
  /** What becomes of the addresses that are passed on. */
  passedOn: (path: string) => string = (path) => path;
  asked = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts it on a free port of the loopback interface. */
  static async start(behind: () => string): Promise<SettingsProxy> {
    const proxy = new SettingsProxy(
      createServer((request, response) => {
        const path = request.url ?? '/';
        if (proxy.settings !== null && path === '/api/v2/settings/authentication/') {
          void proxy.#own(request, response);
          return;
        }
        if (proxy.way !== null && /^\/api\/(gateway\/v1|v2)\/settings\//.test(path)) {
          proxy.asked += 1;
          request.resume();
          hide(response, proxy.way);
          return;
        }
        if (proxy.fails(request.method ?? '', path)) {
          request.resume();
          hide(response, '500');
          return;
        }
        const to = new URL(proxy.passedOn(path), behind());
        const headers = { ...request.headers, host: to.host };
        const onward = httpRequest(to, { method: request.method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        });
        onward.on('error', () => response.destroy());
        request.pipe(onward);
      }),
    );
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** Answers as a controller does: what it does not know in a change is ignored. */
  async #own(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const settings = this.settings ?? {};
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method === 'PATCH') {
      const change = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      for (const name of Object.keys(change)) if (name in settings) settings[name] = change[name];
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(settings));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function hide(response: ServerResponse, way: HidingWay): void {
  const send = (status: number, type: string, body: string) =>
    response.writeHead(status, { 'content-type': type }).end(body);
  switch (way) {
    case '404 page':
      return void send(404, 'text/html', '<h1>Not Found</h1>');
    case '404 JSON':
      return void send(404, 'application/json', '{"detail": "Not found."}');
    case '405':
      return void send(405, 'application/json', '{"detail": "Method \\"GET\\" not allowed."}');
    case '500':
      return void send(500, 'text/html', '<h1>Server Error (500)</h1>');
    case 'not their own':
      return void send(200, 'application/json', '{"detail": "Welcome"}');
    case 'time-out':
      // No answer, until the client gives up.
      return;
  }
}
