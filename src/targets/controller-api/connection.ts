import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import { TokenctlError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';
import { networkError, OversizedResponse, withRetries } from './network-errors.ts';

/** How tokenctl authenticates to a controller. */
export type Credential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly username: string; readonly password: Secret };

/** Where and how to connect. */
export interface ConnectionOptions {
  /** The controller's base URL. */
  readonly address: string;
  readonly credential: Credential;
  /** False accepts any certificate. */
  readonly verifyTls: boolean;
  /** A PEM file with the certificate authorities to trust instead of the default ones. */
  readonly caFile?: string;
  /** How long to wait for a response, in milliseconds. */
  readonly timeoutMs?: number;
}

/** One request, by its path below the address. */
export interface HttpRequest {
  readonly method: 'GET' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly json?: object;
  /** An Authorization header to send instead of the credential's, to find out whether it is accepted. */
  readonly authorization?: string;
}

/** One response with its complete body. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const CONNECTIONS = 10;
/** Requests in flight on one connection: with ten, a slow round trip costs a tenth. */
const PIPELINING = 10;
/** How many requests can be in flight at the same time. */
export const MAX_REQUESTS_IN_FLIGHT = CONNECTIONS * PIPELINING;
const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 60_000;
/** The largest body that is accepted, in bytes: a page of 200 tokens is a few hundred thousand. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** A pool of connections to one controller that sends the credential with every request. */
export class Connection {
  readonly #url: ControllerUrl;
  readonly #credential: Credential;
  readonly #verifyTls: boolean;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #pool: Pool;
  #hasResponded = false;
  #requestsInFlight = 0;

  /** @throws TokenctlError `configuration` for an invalid address or credential or an unreadable CA file. */
  constructor(options: ConnectionOptions) {
    this.#url = parseAddress(options.address);
    this.#credential = options.credential;
    this.#verifyTls = options.verifyTls;
    this.#headers = {
      accept: 'application/json',
      'user-agent': 'tokenctl',
      authorization: authorizationHeader(options.credential),
    };
    const timeoutMs = options.timeoutMs ?? RESPONSE_TIMEOUT_MS;
    this.#pool = new Pool(this.#url.origin, {
      connections: CONNECTIONS,
      pipelining: PIPELINING,
      allowH2: false,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        rejectUnauthorized: options.verifyTls,
        ...(options.caFile === undefined ? {} : { ca: readCaFile(options.caFile) }),
      },
    });
  }

  /** The number of requests that have no response yet. */
  get requestsInFlight(): number {
    return this.#requestsInFlight;
  }

  /** The controller's address without credentials. */
  get address(): string {
    return this.#url.origin + this.#url.basePath;
  }

  get credential(): Credential {
    return this.#credential;
  }

  get transport(): 'https' | 'https_unverified' | 'http' {
    if (!this.#url.isHttps) return 'http';
    return this.#verifyTls ? 'https' : 'https_unverified';
  }

  /**
   * Sends a request, and retries GET, OPTIONS, PUT and DELETE after a transient failure. It follows no redirect, so that the
   * credential reaches no other host.
   *
   * @returns The response, whatever its status.
   * @throws TokenctlError `target_unreachable`, `target_misbehaved`.
   */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const idempotent = request.method !== 'POST' && request.method !== 'PATCH';
    const send = () => this.#dispatch(request, idempotent);
    this.#requestsInFlight += 1;
    try {
      const response = await (idempotent
        ? withRetries({ send, hasResponded: () => this.#hasResponded })
        : send());
      this.#hasResponded = true;
      return response;
    } catch (cause) {
      throw networkError(cause, this.#url.origin);
    } finally {
      this.#requestsInFlight -= 1;
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #dispatch({ method, path, json, authorization }: HttpRequest, idempotent: boolean): Promise<HttpResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
    this.#pool.dispatch(
      {
        method,
        path: this.#url.basePath + path,
        headers: {
          ...this.#headers,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(authorization !== undefined && { authorization }),
        },
        body: json === undefined ? null : JSON.stringify(json),
        idempotent,
        // By default a DELETE would block its connection until the response arrives.
        blocking: false,
      },
      new ResponseHandler({ resolve, reject }),
    );
    return promise;
  }
}

/** Collects one response. */
class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #settle: { resolve: (response: HttpResponse) => void; reject: (error: unknown) => void };
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(settle: { resolve: (response: HttpResponse) => void; reject: (error: unknown) => void }) {
    this.#settle = settle;
  }

  /** Its presence tells undici that the handler uses the current interface. */
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > MAX_BODY_BYTES) controller.abort(new OversizedResponse());
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first, ...rest] = this.#chunks;
    const body = first !== undefined && rest.length === 0 ? first : Buffer.concat(this.#chunks);
    this.#settle.resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#settle.reject(error);
  }
}

interface ControllerUrl {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The path before the controller's own paths, without a trailing slash; usually empty. */
  readonly basePath: string;
  readonly isHttps: boolean;
}

function parseAddress(address: string): ControllerUrl {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new TokenctlError('configuration', "The controller's address is not an http or https URL", {
      hint: 'Write it like https://controller.example.org.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new TokenctlError('configuration', `The address of ${url.host} contains credentials`, {
      hint: 'Remove them from the address, which is shown and recorded.',
    });
  }
  return {
    origin: url.origin,
    basePath: url.pathname.replace(/\/+$/, ''),
    isHttps: url.protocol === 'https:',
  };
}

/** The characters of a bearer token: RFC 6750 §2.1, b64token. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Whether a value can be sent as a bearer token. */
export function isBearerToken(value: string): boolean {
  return BEARER_TOKEN.test(value);
}

/** Bearer (RFC 6750) or basic (RFC 7617, in UTF-8). */
function authorizationHeader(credential: Credential): string {
  if (credential.kind === 'token') {
    const token = credential.token.reveal();
    if (!isBearerToken(token)) {
      throw new TokenctlError('configuration', 'The configured token contains invalid characters', {
        hint: 'Check the source of the token for a line feed or quotes.',
      });
    }
    return `Bearer ${token}`;
  }
  // RFC 7617 §2: the user name ends at the first colon.
  if (credential.username.includes(':')) {
    throw new TokenctlError(
      'configuration',
      'The configured user name contains a colon, which basic authentication does not allow',
      { hint: 'Use a token instead.' },
    );
  }
  const pair = `${credential.username}:${credential.password.reveal()}`;
  return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
}

function readCaFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new TokenctlError('configuration', `Cannot read the CA file ${path}`, {
      hint: 'Give the path of a PEM file.',
      cause,
    });
  }
}
