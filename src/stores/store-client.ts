import { TokenctlError } from '@tokenctl/common/errors.ts';
import { errorCode, exchange, OverlongResponse } from '@tokenctl/common/network/exchange.ts';
import { openOutgoing } from '@tokenctl/common/network/outgoing.ts';
import { isProtected } from '@tokenctl/common/network-address.ts';

const TIMEOUT_MS = 15_000;
/** In bytes. A Kubernetes Secret has at most 1 MiB, as base64 in JSON. */
const MAX_BYTES = 4 * 1024 * 1024;

export interface StoreRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Relative to the base URL, without a leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly signal: AbortSignal | undefined;
}

export interface StoreAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Sends requests to a store's API. Each has a timeout, follows no redirect, and goes only to the store's origin. */
export class StoreClient {
  readonly #name: string;
  readonly #base: URL;
  readonly #connect: ConnectOptions;

  /** @throws TokenctlError `configuration` for a URL that would send the credential unencrypted */
  constructor(name: string, url: URL, connect: ConnectOptions = {}) {
    if (!isProtected(url)) {
      throw new TokenctlError('configuration', `${name}: the address must start with https://`);
    }
    this.#name = name;
    this.#base = new URL(url.href.endsWith('/') ? url.href : `${url.href}/`);
    this.#connect = connect;
  }

  /** @throws TokenctlError `target_unreachable`, `target_misbehaved`, `interrupted` */
  async send({ method, path, headers, json, signal }: StoreRequest): Promise<StoreAnswer> {
    const url = new URL(path, this.#base);
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const { dispatcher } = openOutgoing(url, { connect: { timeout: 10_000, ...this.#connect } });
    try {
      const answer = await exchange(url, {
        method,
        headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
        ...(json !== undefined && { body: JSON.stringify(json) }),
        dispatcher,
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        maxBytes: MAX_BYTES,
      });
      return { status: answer.status, body: this.#parse(await answer.text(), answer.ok) };
    } catch (cause) {
      if (signal?.aborted) throw new TokenctlError('interrupted', 'Interrupted', { cause });
      if (cause instanceof OverlongResponse) throw this.misbehaved('sent a response that is too long');
      if (cause instanceof TokenctlError) throw cause;
      throw new TokenctlError(
        'target_unreachable',
        `${this.#name} could not be reached (${errorCode(cause)})`,
        { cause },
      );
    } finally {
      await dispatcher.destroy();
    }
  }

  misbehaved(what: string): TokenctlError {
    return new TokenctlError('target_misbehaved', `${this.#name} ${what}`);
  }

  /** The error for an unsuccessful status. The response is not quoted, because it may contain a value. */
  refusal(status: number, right: string): TokenctlError {
    const said = `${this.#name} answered ${status}`;
    if (status === 401) {
      return new TokenctlError('credentials_refused', said, { hint: "Check this store's credential." });
    }
    if (status === 403) {
      return new TokenctlError('permission_refused', said, {
        hint: `Grant ${right}, or check this store's credential.`,
      });
    }
    const isTransient = status === 429 || status >= 500;
    return new TokenctlError(isTransient ? 'target_unreachable' : 'target_misbehaved', said, {
      hint: isTransient ? 'Try again later.' : "Check this store's address and path.",
    });
  }

  /** The error if others keep changing values next to this one. The value itself is unchanged. */
  contended(): TokenctlError {
    return new TokenctlError(
      'target_unreachable',
      `${this.#name} was not written because others keep changing its other keys`,
      { hint: 'Try again later.' },
    );
  }

  /**
   * Numbers that JavaScript cannot represent keep their text, because values next to this one are written
   * back. Invalid JSON becomes null in a failure: a proxy in front of the store has its own pages.
   */
  #parse(text: string, isSuccess: boolean): unknown {
    if (text === '') return null;
    try {
      return JSON.parse(text, keepNumber);
    } catch {
      if (!isSuccess) return null;
      throw this.misbehaved('sent a response that is not JSON');
    }
  }
}

/** TLS to the store, all in PEM. */
export interface ConnectOptions {
  /** The trusted authorities. */
  readonly ca?: string;
  /** A client certificate, and its key. */
  readonly cert?: string;
  readonly key?: string;
}

/** A reviver according to ECMAScript's proposal for the source text of JSON.parse. */
function keepNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value;
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source);
}

/** The members of an object; empty for anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
