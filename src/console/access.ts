import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `code`: the URL printed in the terminal. `page`: the page's files, which contain no target data. */
    readonly open?: 'code' | 'page';
    /** The route is read-only, although its method is not GET: allowed with --read-only. */
    readonly readsOnly?: true;
  }
}

/** How long a URL from the terminal can be opened. */
const CODE_LIFETIME_MS = 5 * 60_000;
/** The maximum number of URLs and of browsers at a time; the oldest is dropped. */
const MAX_CODES = 5;
const MAX_BROWSERS = 10;

/** The name of the cookie, different for each port, because all ports of a host share their cookies. */
export function cookieName(host: string): string {
  return `tokenctl_console_${host.replace(/^.*:/, '')}`;
}

/** The header with the key of a page. All ports of a host share cookies, but not the key. */
export const KEY_HEADER = 'x-console-key';
/** The header of a request that the page makes on its own: it does not keep the console running. */
const QUIET_HEADER = 'x-console-quiet';

/** The secrets of one browser, as hashes. */
interface Browser {
  readonly cookie: Buffer;
  readonly key: Buffer;
}

/**
 * Decides who may use the console: a browser that opened a URL from the terminal. The URL contains a code
 * that works once, within five minutes. It is exchanged for a cookie that scripts cannot read and a key that
 * only pages of this origin have.
 */
export class ConsoleAccess {
  #codes: { readonly hash: Buffer; readonly until: number }[] = [];
  #browsers: Browser[] = [];
  readonly #now: () => number;

  /** @param now A monotonic clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  newCode(): string {
    const code = secret();
    this.#codes = [...this.#codes, { hash: hashOf(code), until: this.#now() + CODE_LIFETIME_MS }].slice(
      -MAX_CODES,
    );
    return code;
  }

  /** Exchanges a code for a browser's secrets; null for an unknown, used or expired one. */
  redeem(code: string): { readonly cookie: string; readonly key: string } | null {
    const hash = hashOf(code);
    const matching = this.#codes.filter((each) => timingSafeEqual(each.hash, hash));
    this.#codes = this.#codes.filter((each) => !matching.includes(each));
    if (!matching.some(({ until }) => until > this.#now())) return null;
    const [cookie, key] = [secret(), secret()];
    this.#browsers = [...this.#browsers, { cookie: hashOf(cookie), key: hashOf(key) }].slice(-MAX_BROWSERS);
    return { cookie, key };
  }

  /** Whether these are the secrets of one browser. */
  isKnown(cookie: string, key: string): boolean {
    const given = { cookie: hashOf(cookie), key: hashOf(key) };
    return this.#browsers.some((browser) => {
      // Both are compared, whatever the first result is.
      const matches = [
        timingSafeEqual(browser.cookie, given.cookie),
        timingSafeEqual(browser.key, given.key),
      ];
      return matches.every(Boolean);
    });
  }
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}

/** Equal length makes the comparison constant in time. */
function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The data for the checks of requests. */
interface Checks {
  readonly access: ConsoleAccess;
  /** The host and port of the URL, once the console listens. */
  readonly host: () => string;
  readonly readOnly: boolean;
  /** Called for each request of a user. */
  readonly onActivity: () => void;
}

/**
 * Checks each request before anything else: the host against DNS rebinding, the origin and the fetch metadata
 * against other sites, the cookie and the key. With `readOnly`, routes are refused unless they state that
 * they are read-only.
 */
export function checkRequests(app: FastifyInstance, { access, host, readOnly, onActivity }: Checks): void {
  app.addHook('onRequest', async (request, reply) => {
    secureHeaders(reply);
    const { open, readsOnly } = request.routeOptions.config;
    if (request.headers.host !== host()) {
      throw new RequestRefused(421, `This console only responds to http://${host()}`);
    }
    requireSameOrigin(request, `http://${host()}`, open);
    if (open !== undefined) return;
    const key = request.headers[KEY_HEADER];
    if (!access.isKnown(request.cookies[cookieName(host())] ?? '', typeof key === 'string' ? key : '')) {
      throw new RequestRefused(401, "This browser has not opened the console's address");
    }
    if (readOnly && !isRead(request) && readsOnly !== true) {
      throw new RequestRefused(403, 'The console was started with --read-only');
    }
    if (request.headers[QUIET_HEADER] === undefined) onActivity();
  });
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The URL from the terminal may be opened from other sites, as a link; nothing else may. */
function requireSameOrigin(request: FastifyRequest, own: string, open: 'code' | 'page' | undefined): void {
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const isForeign = origin !== undefined && origin !== own;
  const isUnknown = origin === undefined && !isRead(request);
  const isCrossSite = site !== undefined && site !== 'same-origin' && site !== 'none' && open !== 'code';
  if (isForeign || isUnknown || isCrossSite) throw new RequestRefused(403, 'Refused: from another site');
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function secureHeaders(reply: FastifyReply): void {
  reply.headers({
    'Content-Security-Policy': POLICY,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cache-Control': 'no-store',
  });
}

/** A request that is refused before it is processed, with its HTTP status. */
export class RequestRefused extends TokenctlError {
  readonly status: number;

  constructor(status: number, message: string) {
    super('permission_refused', message, {
      hint: 'Open the address that `tokenctl console` printed. Press Enter there to get a new one.',
    });
    this.status = status;
  }
}
