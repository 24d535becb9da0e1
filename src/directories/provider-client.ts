import { setTimeout as sleep } from 'node:timers/promises';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { errorCode, exchange, OverlongResponse } from '@tokenctl/common/network/exchange.ts';
import { openOutgoing } from '@tokenctl/common/network/outgoing.ts';
import { isProtected } from '@tokenctl/common/network-address.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import type { Dispatcher } from 'undici';

/** How to reach the API of an identity provider. */
export interface ProviderClientOptions {
  /** What messages call it: `Okta at example.okta.com`. */
  readonly name: string;
  /** The base address; requests go to this origin only, because each carries the credential. */
  readonly url: URL;
  /** PEM of more authorities to trust. */
  readonly ca?: string | undefined;
  /** The value of the Authorization header; called again once after a 401, because tokens expire during long reads. */
  readonly authorization: () => Promise<Secret>;
  readonly signal?: AbortSignal | undefined;
  /** Waits between attempts, in milliseconds; tests make them short. */
  readonly pauses?: readonly number[];
  /** How long all requests together may take, in milliseconds. */
  readonly whole?: number;
}

/** A response of JSON. */
export interface ProviderAnswer {
  readonly body: unknown;
  readonly headers: Headers;
}

/** The timeout of one request, in milliseconds. */
const TIMEOUT_MS = 30_000;
/** The longest page that is read: a thousand users fit in many times. */
const MAX_BYTES = 32 * 1024 * 1024;
const PAUSES_MS: readonly number[] = [500, 1_000, 2_000, 4_000, 8_000];
/** A provider that asks for a longer delay gets no further attempt: limits are per minute, and a margin is added. */
const MAX_DELAY_MS = 65_000;
/** What is added to the time at which a limit ends: `Date` and the time are rounded to seconds, each its own way. */
const RESET_MARGIN_MS = 1_000;
/** The first pauses do not reach the next minute, in which a limit without a stated end is over. */
const LIMIT_PAUSES = 4;
/** The reasons with which Google limits the rate with a 403, as the Admin SDK documents them. */
const LIMIT_REASONS: readonly unknown[] = ['userRateLimitExceeded', 'rateLimitExceeded', 'quotaExceeded'];
/** All delays of one reading together. */
const MAX_WAITING_MS = 600_000;
/** One reading: pages without an end are no list. */
const WHOLE_MS = 3_600_000;
/** Broken connections, after which the same request may succeed. */
const TRANSIENT_CODES = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * Reads JSON from the API of an identity provider. Retries what may succeed later (RFC 9110 §15: 429, 502, 503, 504, what
 * Google says instead, and broken connections), waiting as Retry-After or the provider's header of the limit asks. Follows no redirect, and quotes nothing of a
 * response but its status and error code.
 */
export class ProviderClient {
  readonly #options: ProviderClientOptions;
  readonly #agent: Dispatcher;
  #authorization: Promise<Secret> | undefined;
  #waited = 0;
  readonly #begun = performance.now();

  /** Throws TokenctlError `configuration` for an address that would send the credential unencrypted. */
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
   * @param address Relative to the base address, or the absolute address of the next page.
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

  /** Ends its connections. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** The error for an answer that no complete list can be made of. */
  misbehaved(what: string): TokenctlError {
    return new TokenctlError('target_misbehaved', `${this.#options.name} ${what}`);
  }

  /** Null for a broken connection, if another attempt is left. */
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

/** Whether an error is an answer of the provider with one of these statuses. */
export function isAnswer(error: unknown, statuses: readonly number[]): boolean {
  return error instanceof TokenctlError && statuses.includes(Number(error.details?.['status']));
}

/** Checks that credentials travel encrypted. Throws `configuration`. */
export function requireEncrypted(url: URL): void {
  if (isProtected(url)) return;
  throw new TokenctlError('configuration', `The address of ${url.host} must start with https://`, {
    hint: 'Every request to an identity provider contains a credential.',
  });
}

/** How long to wait before the next attempt, in milliseconds; null if it is no use. */
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
  // RFC 9110 §10.2.3: seconds or a date. Okta gives the time in seconds since 1970 in a header of its own.
  const until = Date.parse(retryAfter) || Number(headers.get('x-rate-limit-reset') ?? 0) * 1000;
  if (!(until > 0)) return isLimit(status, code) ? LIMIT_PAUSES * pause : pause;
  // By the clock that named the time: this machine's may be minutes away from it.
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  return Math.max(until - now + RESET_MARGIN_MS, pause);
}

/** Whether an answer limits the rate. */
function isLimit(status: number, code: string | null): boolean {
  return status === 429 || (status === 403 && LIMIT_REASONS.includes(code));
}

/** The code of an error as RFC 6749 §5.2, RFC 7644 §3.12, Microsoft Graph, Google and Okta give it; only if it is a code. */
function errorCodeIn(text: string): string | null {
  try {
    const body = JSON.parse(text) as Record<string, unknown>;
    const error = body['error'];
    const inner = membersOf(error);
    const [first] = Array.isArray(inner['errors']) ? (inner['errors'] as readonly unknown[]) : [];
    // Google's status of a limit is PERMISSION_DENIED: the reason says more.
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
