import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Peer } from '../peer.ts';

/** How long a statement about a user is valid, in seconds. */
const VALID_FOR_S = 600;

/**
 * The front door of a platform: what is under `/api/controller/` goes to a controller, everything else to a gateway. A request
 * that the gateway accepts is sent to the controller in the name of its user, with a signed statement that a real controller
 * verifies (RS256, X-DAB-JW-TOKEN); any other credential is handed through, as the controller's own tokens are.
 */
export class PlatformFront implements AsyncDisposable {
  readonly #gateway: Peer;
  readonly #controller: Peer;
  readonly #server: Server;
  readonly #key: KeyObject;

  private constructor(peers: { readonly gateway: Peer; readonly controller: Peer }, key: KeyObject) {
    this.#gateway = peers.gateway;
    this.#controller = peers.controller;
    this.#key = key;
    this.#server = createServer((request, response) => {
      this.#pass(request, response).catch(() => response.destroy());
    });
  }

  /** Has the controller trust the front, which resets it, and starts the front on a free port of the loopback interface. */
  static async start(peers: { readonly gateway: Peer; readonly controller: Peer }): Promise<PlatformFront> {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString().trim();
    const settings = join(peers.controller.folder, 'etc/settings.py');
    appendFileSync(settings, `\nANSIBLE_BASE_JWT_KEY = '''${pem}'''\n`);
    await peers.controller.reset();
    const front = new PlatformFront(peers, privateKey);
    await new Promise<void>((resolve) => front.#server.listen(0, '127.0.0.1', resolve));
    return front;
  }

  /** The platform's address. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    if (path === '/api/') {
      const apis = { gateway: '/api/gateway/', controller: '/api/controller/' };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ apis }));
      return;
    }
    const isController = path.startsWith('/api/controller/');
    const statement = isController ? await this.#statementFor(request) : null;
    const to = isController
      ? new URL(path.replace('/api/controller/', '/api/'), this.#controller.url)
      : new URL(path, this.#gateway.url);
    const { authorization, cookie, ...others } = request.headers;
    const credentials =
      statement === null
        ? { ...(authorization !== undefined && { authorization }), ...(cookie !== undefined && { cookie }) }
        : { 'x-dab-jw-token': statement };
    const headers = { ...others, host: to.host, ...credentials };
    const onward = httpRequest(to, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  }

  /** The signed statement whose request this is; null if the gateway does not accept its credential. */
  async #statementFor({ headers: { authorization, cookie } }: IncomingMessage): Promise<string | null> {
    const answer = await this.#gateway.request(`${this.#gateway.api}me/`, null, {
      headers: {
        ...(authorization !== undefined && { authorization }),
        ...(cookie !== undefined && { cookie }),
      },
    });
    const [user] = (answer.body['results'] ?? []) as readonly Record<string, unknown>[];
    if (answer.status !== 200 || user === undefined) return null;
    const { username, first_name, last_name, email, is_superuser, summary_fields } = user;
    const { resource } = (summary_fields ?? {}) as { resource?: { ansible_id?: string } };
    const now = Math.floor(Date.now() / 1000);
    return this.#signed({
      ...{ iss: 'ansible-issuer', aud: 'ansible-services', version: '1', iat: now, exp: now + VALID_FOR_S },
      sub: resource?.ansible_id ?? `${username}`,
      user_data: { username, first_name, last_name, email, is_superuser },
      ...{ objects: {}, object_roles: {}, global_roles: [] },
    });
  }

  #signed(body: object): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(body)}`;
    return `${text}.${sign('sha256', Buffer.from(text), this.#key).toString('base64url')}`;
  }
}
