import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import {
  type Outgoing,
  openOutgoing,
  type ProxySetting,
  proxyFailure,
} from '@tokenctl/common/network/outgoing.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { Dispatcher } from 'undici';
import {
  InterimResponses,
  networkError,
  OversizedResponse,
  SlowResponse,
  withRetries,
} from './network-errors.ts';
import { ServerClock } from './server-clock.ts';

export type Credential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly username: string; readonly password: Secret };

export interface ConnectionOptions {
  readonly address: string;
  readonly credential: Credential;
  /** False accepts any certificate. */
  readonly verifyTls: boolean;
  /** A PEM file with the certificate authorities to trust instead of the default ones. */
  readonly caFile?: string | undefined;
  /** By default, the proxy from the environment. */
  readonly proxy?: ProxySetting | undefined;
  /** The response timeout, in milliseconds. */
  readonly timeoutMs?: number;
}

/** A request. Its path is relative to the address. */
export interface HttpRequest {
  readonly method: 'GET' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly json?: object;
  /** An Authorization header to send instead of the credential's, to check whether it is accepted. */
  readonly authorization?: string;
  /** The media type to request instead of JSON. */
  readonly accept?: string;
  /** The response timeout in milliseconds, instead of the connection's. The request is then not retried. */
  readonly timeoutMs?: number | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const CONNECTIONS = 10;
/** Requests in flight on one connection. With ten, a slow round trip costs a tenth. */
const PIPELINING = 10;
export const MAX_REQUESTS_IN_FLIGHT = CONNECTIONS * PIPELINING;
const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 60_000;
/**
 * The timeout until a server has responded for the first time. The first request is for the root of the API, which
 * costs a controller nothing: a silent server is not working on it, and a command's other contexts wait for this one.
 */
const FIRST_RESPONSE_TIMEOUT_MS = 15_000;
/** The maximum size of a body, in bytes. A page of 200 tokens has a few hundred thousand. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** The maximum duration of a body, in milliseconds, plus one second for each MIN_BYTES_PER_SECOND bytes. */
const BODY_GRACE_MS = 30_000;
const MIN_BYTES_PER_SECOND = 1024;
/** How many responses with a status below 200 are accepted before the final one. */
const MAX_INTERIM_RESPONSES = 10;

/** A pool of connections to one controller, which sends the credential with every request. */
export class Connection {
  readonly #url: ControllerUrl;
  readonly #credential: Credential;
  readonly #verifyTls: boolean;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #way: Outgoing;
  readonly #bodyGraceMs: number;
  readonly #timeoutMs: number;
  /** The server's clock, according to its responses. */
  readonly clock = new ServerClock();
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
    this.#timeoutMs = timeoutMs;
    this.#bodyGraceMs = Math.min(timeoutMs, BODY_GRACE_MS);
    const way = {
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
    };
    this.#way = openOutgoing(new URL(this.#url.origin), way, options.proxy);
  }

  /** The number of unanswered requests. */
  get requestsInFlight(): number {
    return this.#requestsInFlight;
  }

  /** Without credentials. */
  get address(): string {
    return this.#url.origin + this.#url.basePath;
  }

  /** The proxy in use, without its credentials; null if there is none. */
  get proxy(): string | null {
    return this.#way.proxy;
  }

  /** The name, for messages, of the server that responded at an address of the controller. */
  answeredBy(address: string = this.address): string {
    return this.#way.answeredBy(address);
  }

  get credential(): Credential {
    return this.#credential;
  }

  get transport(): 'https' | 'https_unverified' | 'http' {
    if (!this.#url.isHttps) return 'http';
    return this.#verifyTls ? 'https' : 'https_unverified';
  }

  /**
   * Sends a request, and retries all but POST after a transient failure. tokenctl's PATCH requests set
   * absolute values, so that a repeated one changes nothing (RFC 9110 §9.2.2). It follows no redirect, so
   * that no other host receives the credential.
   * @returns The response, whatever its status.
   * @throws TokenctlError `target_unreachable`, `target_misbehaved`.
   */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const idempotent = request.method !== 'POST';
    const send = () => this.#dispatch(request, idempotent);
    this.#requestsInFlight += 1;
    try {
      const response = await (idempotent && request.timeoutMs === undefined
        ? withRetries({ send, hasResponded: () => this.#hasResponded })
        : send());
      this.#hasResponded = true;
      return response;
    } catch (cause) {
      throw proxyFailure(cause) ?? networkError(cause, this.#url.origin, this.proxy);
    } finally {
      this.#requestsInFlight -= 1;
    }
  }

  close(): Promise<void> {
    return this.#way.dispatcher.destroy();
  }

  /** The timeout of the first response, in milliseconds; undefined for later ones and for changes. */
  #firstTimeoutMs(idempotent: boolean): number | undefined {
    return this.#hasResponded || !idempotent
      ? undefined
      : Math.min(this.#timeoutMs, FIRST_RESPONSE_TIMEOUT_MS);
  }

  #dispatch(request: HttpRequest, idempotent: boolean): Promise<HttpResponse> {
    const { method, path, json, authorization, accept } = request;
    const timeoutMs = request.timeoutMs ?? this.#firstTimeoutMs(idempotent);
    const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
    const sent = Date.now();
    const onHead = (headers: IncomingHttpHeaders) => this.clock.note(headers, sent, Date.now());
    this.#way.dispatcher.dispatch(
      {
        origin: this.#url.origin,
        method,
        path: this.#url.basePath + path,
        headers: {
          ...this.#headers,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(authorization !== undefined && { authorization }),
          ...(accept !== undefined && { accept }),
        },
        body: json === undefined ? null : JSON.stringify(json),
        idempotent,
        // By default a DELETE would block its connection until the response arrives.
        blocking: false,
        ...(timeoutMs !== undefined && { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }),
      },
      new ResponseHandler({ resolve, reject, onHead, bodyGraceMs: this.#bodyGraceMs }),
    );
    return promise;
  }
}

interface ResponseOptions {
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
  /** Called when the response's headers arrive. */
  readonly onHead: (headers: IncomingHttpHeaders) => void;
  readonly bodyGraceMs: number;
}

/** Collects one response, and aborts one that is too slow: the pool's timeout limits only the time between bytes. */
class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #options: ResponseOptions;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #interim = 0;
  #deadline: NodeJS.Timeout | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(options: ResponseOptions) {
    this.#options = options;
  }

  /** Its presence tells undici that the handler uses the current interface. */
  onRequestStart(): void {}

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders) {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM_RESPONSES) controller.abort(new InterimResponses());
      return;
    }
    this.#status = status;
    this.#headers = headers;
    this.#options.onHead(headers);
    this.#expectBody(controller, performance.now(), this.#options.bodyGraceMs);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > MAX_BODY_BYTES) controller.abort(new OversizedResponse());
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first, ...rest] = this.#chunks;
    const body = first !== undefined && rest.length === 0 ? first : Buffer.concat(this.#chunks);
    clearTimeout(this.#deadline);
    this.#options.resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: unknown, error: Error): void {
    clearTimeout(this.#deadline);
    this.#options.reject(error);
  }

  /** Aborts the body after some time, or waits longer if enough of it has arrived. */
  #expectBody(controller: Dispatcher.DispatchController, started: number, waitMs: number): void {
    this.#deadline = setTimeout(() => {
      const allowed = this.#options.bodyGraceMs + (this.#length / MIN_BYTES_PER_SECOND) * 1000;
      const left = started + allowed - performance.now();
      if (left > 0) this.#expectBody(controller, started, left);
      else controller.abort(new SlowResponse(this.#length, (performance.now() - started) / 1000));
    }, waitMs);
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
      hint: 'Use an address such as https://controller.example.org.',
    });
  }
  if (url.username !== '' || url.password !== '') {
    throw new TokenctlError('configuration', `The address of ${url.host} contains credentials`, {
      hint: 'Remove them, because the address is shown and recorded.',
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

export function isBearerToken(value: string): boolean {
  return BEARER_TOKEN.test(value);
}

/** Bearer (RFC 6750) or basic (RFC 7617, in UTF-8). */
export function authorizationHeader(credential: Credential): string {
  if (credential.kind === 'token') {
    const token = credential.token.reveal();
    if (!isBearerToken(token)) {
      throw new TokenctlError('configuration', 'The configured token contains invalid characters', {
        hint: 'Check whether the token contains a line feed or quotes.',
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
      hint: 'Specify the path of a PEM file.',
      cause,
    });
  }
}
