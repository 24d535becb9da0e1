import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { errorCode, exchange, OverlongResponse } from '@tokenctl/common/network/exchange.ts';
import { openOutgoing } from '@tokenctl/common/network/outgoing.ts';
import { isProtected } from '@tokenctl/common/network-address.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { Dispatcher } from 'undici';

export interface ProviderClientOptions {
  /** Its name in messages: `Okta at example.okta.com`. */
  readonly name: string;
  /** The base URL. Requests go only to this origin, because each contains the credential. */
  readonly url: URL;
  /** Additional trusted authorities in PEM. */
  readonly ca?: string | undefined;
  /** The value of the Authorization header. Called again once after a 401, because tokens expire during long reads. */
  readonly authorization: () => Promise<Secret>;
  readonly signal?: AbortSignal | undefined;
  /** The waits between attempts, in milliseconds. Tests shorten them. */
  readonly pauses?: readonly number[];
  /** The timeout of all requests together, in milliseconds. */
  readonly whole?: number;
}

export interface ProviderAnswer {
  readonly body: unknown;
  readonly headers: Headers;
}

/** The timeout of one request, in milliseconds. */
const TIMEOUT_MS = 30_000;
/** The maximum size of a page: many times that of a thousand users. */
const MAX_BYTES = 32 * 1024 * 1024;
const PAUSES_MS: readonly number[] = [500, 1_000, 2_000, 4_000, 8_000];
/** No further attempt is made if a provider requests a longer delay. Limits are per minute, and a margin is added. */
const MAX_DELAY_MS = 65_000;
/** The margin after a limit ends, in milliseconds: `Date` and that time are rounded differently to seconds. */
const RESET_MARGIN_MS = 1_000;
/** The factor of pauses after a rate limit without a stated end, so that they reach the next minute. */
const LIMIT_PAUSES = 4;
/** Google's reasons for a rate limit with status 403, as documented for the Admin SDK. */
const LIMIT_REASONS: readonly unknown[] = ['userRateLimitExceeded', 'rateLimitExceeded', 'quotaExceeded'];
/** The maximum of all delays of one reading, in milliseconds. */
const MAX_WAITING_MS = 600_000;
/** The timeout of one reading, in milliseconds: endless pages are not a list. */
const WHOLE_MS = 3_600_000;
/** Broken connections, after which the same request may succeed. */
const TRANSIENT_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * Reads JSON from an identity provider's API. Retries failures that may be temporary (RFC 9110 §15: 429, 502, 503,
 * 504, Google's equivalents, and broken connections), waiting as long as Retry-After or the provider's rate limit
 * header says. Follows no redirect, and quotes nothing of a response but its status and error code.
 */
export class ProviderClient {
  readonly #options: ProviderClientOptions;
  readonly #agent: Dispatcher;
  #authorization: Promise<Secret> | undefined;
  #waited = 0;
  readonly #begun = performance.now();

  /** Throws TokenctlError `configuration` for a URL that would send the credential unencrypted. */
  constructor(options: ProviderClientOptions) {
    requireEncrypted(options.url);
    this.#options = options;
    this.#agent = openOutgoing(options.url, {
      connect: { timeout: 10_000, ...(options.ca !== undefined && { ca: options.ca }) },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    }).dispatcher;
  }

  /**
   * Requests one page.
   * @param address Relative to the base URL, or the absolute URL of the next page.
   * @throws TokenctlError `credentials_refused`, `permission_refused`, `target_unreachable`,
   * `target_misbehaved`, and `interrupted` when the signal ends the reading.
   */
  async get(address: string, headers: Readonly<Record<string, string>> = {}): Promise<ProviderAnswer> {
    const url = URL.parse(address, this.#options.url);
    if (url === null) throw this.misbehaved('sent an invalid address for the next page');
    if (url.origin !== this.#options.url.origin) {
      throw this.misbehaved(
        'sent an address for the next page on another host, which must not get the credential',
      );
    }
    const { pauses = PAUSES_MS, whole = WHOLE_MS } = this.#options;
    if (performance.now() - this.#begun > whole) {
      throw new TokenctlError(
        'target_unreachable',
        `${this.#options.name} did not finish its list within ${whole / 60_000} min`,
      );
    }
    let hasRenewed = false;
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.#send(url, headers, attempt < pauses.length);
      if (answer === null) {
        await this.#wait(pauses[attempt] ?? 0);
        continue;
      }
      const { status } = answer;
      if (status === 200) return { body: this.#parse(answer.text), headers: answer.headers };
      if (status === 401 && !hasRenewed) {
        hasRenewed = true;
        this.#authorization = undefined;
        continue;
      }
      const code = errorCodeIn(answer.text);
      const delay = delayOf({ status, code, headers: answer.headers }, pauses[attempt]);
      if (delay === null || delay > MAX_DELAY_MS) throw this.#refusal(status, code);
      await this.#wait(delay);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** The error for a response that allows no complete list. */
  misbehaved(what: string): TokenctlError {
    return new TokenctlError('target_misbehaved', `${this.#options.name} ${what}`);
  }

  /** Null for a broken connection, if another attempt is allowed. */
  async #send(url: URL, headers: Readonly<Record<string, string>>, mayRetry: boolean) {
    const { signal } = this.#options;
    this.#authorization ??= this.#options.authorization();
    const authorization = await this.#authorization;
    try {
      const timeout = AbortSignal.timeout(TIMEOUT_MS);
      const answer = await exchange(url, {
        headers: { accept: 'application/json', ...headers, authorization: authorization.reveal() },
        dispatcher: this.#agent,
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        maxBytes: MAX_BYTES,
      });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    } catch (cause) {
      if (signal?.aborted) throw new TokenctlError('interrupted', 'Interrupted', { cause });
      if (cause instanceof OverlongResponse) throw this.misbehaved('sent a page that is too long');
      if (cause instanceof TokenctlError) throw cause;
      const code = errorCode(cause);
      if (mayRetry && TRANSIENT_CODES.has(code)) return null;
      throw new TokenctlError('target_unreachable', `${this.#options.name} could not be reached (${code})`, {
        cause,
      });
    }
  }

  async #wait(delay: number): Promise<void> {
    this.#waited += delay;
    if (this.#waited > MAX_WAITING_MS) {
      throw new TokenctlError(
        'target_unreachable',
        `${this.#options.name} limits the request rate: waited ${MAX_WAITING_MS / 60_000} min in total`,
        { hint: 'Raise the rate limit there, or run the command at another time.' },
      );
    }
    const { signal } = this.#options;
    try {
      await sleep(delay, undefined, signal === undefined ? {} : { signal });
    } catch (cause) {
      throw new TokenctlError('interrupted', 'Interrupted', { cause });
    }
  }

  #parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.misbehaved('sent a response that is not JSON');
    }
  }

  #refusal(status: number, code: string | null): TokenctlError {
    const { name } = this.#options;
    const said = `${name} answered ${status}${code === null ? '' : ` (${code})`}`;
    if (status === 401) {
      return new TokenctlError('credentials_refused', said, { hint: 'Check the credential of this source.' });
    }
    if (isLimit(status, code)) {
      return new TokenctlError('target_unreachable', `${said}: it limits the request rate`, {
        hint: 'Raise the rate limit there, or run the command at another time.',
      });
    }
    if (status === 403) {
      return new TokenctlError('permission_refused', said, {
        details: { status },
        hint: 'Grant the permission to list users. `tokenctl docs identity-providers` names it for each provider.',
      });
    }
    const isTransient = status === 429 || status >= 500;
    return new TokenctlError(isTransient ? 'target_unreachable' : 'target_misbehaved', said, {
      details: { status },
      hint: isTransient ? 'Try again later.' : 'Check the address of this source.',
    });
  }
}

/** Whether an error is a provider's response with one of these statuses. */
export function isAnswer(error: unknown, statuses: readonly number[]): boolean {
  return error instanceof TokenctlError && statuses.includes(Number(error.details?.['status']));
}

/** Checks that credentials are sent encrypted. Throws `configuration`. */
export function requireEncrypted(url: URL): void {
  if (isProtected(url)) return;
  throw new TokenctlError('configuration', `The address of ${url.host} must start with https://`, {
    hint: 'Every request to an identity provider contains a credential.',
  });
}

/** The wait before the next attempt, in milliseconds; null if a retry is useless. */
function delayOf(
  answer: { status: number; code: string | null; headers: ProviderAnswer['headers'] },
  pause: number | undefined,
): number | null {
  const { status, code, headers } = answer;
  const passes =
    isLimit(status, code) || [502, 503, 504].includes(status) || (status === 500 && code === 'backendError');
  if (!passes || pause === undefined) return null;
  const retryAfter = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(retryAfter)) return Math.max(Number(retryAfter) * 1000, pause);
  // RFC 9110 §10.2.3: seconds or a date. Okta sends seconds since 1970 in its own header.
  const until = Date.parse(retryAfter) || Number(headers.get('x-rate-limit-reset') ?? 0) * 1000;
  if (!(until > 0)) return isLimit(status, code) ? LIMIT_PAUSES * pause : pause;
  // By the provider's clock: this machine's may differ by minutes.
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  return Math.max(until - now + RESET_MARGIN_MS, pause);
}

function isLimit(status: number, code: string | null): boolean {
  return status === 429 || (status === 403 && LIMIT_REASONS.includes(code));
}

/** The error code as in RFC 6749 §5.2, RFC 7644 §3.12, Microsoft Graph, Google or Okta; null if it is not a code. */
function errorCodeIn(text: string): string | null {
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const error = body['error'];
    const inner = membersOf(error);
    const [first] = Array.isArray(inner['errors']) ? (inner['errors'] as readonly unknown[]) : [];
    // Google's status for a rate limit is PERMISSION_DENIED: the reason is more specific.
    const { reason } = membersOf(first);
    const code = [reason, error, inner['code'], inner['status'], body['errorCode'], body['scimType']].find(
      (each) => typeof each === 'string' && /^[\w.-]{1,60}$/.test(each),
    );
    return typeof code === 'string' ? code : null;
  } catch {
    return null;
  }
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
