import { exchange } from '../network/exchange.ts';
import { isProtected } from '../network-address.ts';
import { KeysUnavailable } from '../signals/signal-refusal.ts';
import { TransmitterKeys } from './transmitter-keys.ts';
import type { PublishedKeys } from './verify-token.ts';

/** An issuer, and where its keys are. */
export interface KeyIssuer {
  /** Its `iss`. */
  readonly url: string;
  /** The URL or file of its keys. By default from its discovery document. */
  readonly jwks?: string | { readonly file: string } | undefined;
  /** The trusted authorities in PEM. */
  readonly ca?: string | undefined;
}

/** The timeout of a discovery document, in milliseconds. */
const TIMEOUT_MS = 5_000;
/** The maximum size of a discovery document, in bytes. */
const MAX_BYTES = 64 * 1024;
/** How long a discovery document is cached, and when a failed read is retried, in milliseconds. */
const MAX_AGE_MS = 3_600_000;
const RETRY_MS = 2_000;
/** How many tokens of one issuer may wait for its keys, so that a slow issuer does not hold up others. */
const MAX_WAITING = 50;

/** Where the keys are or why that is unknown, and the time of the query. */
interface Discovered {
  readonly at: number;
  readonly address: Promise<string>;
  readonly isFailed: boolean;
}

/**
 * The keys of issuers, found by OpenID Connect Discovery 1.0: only at the URL in the issuer's own document,
 * over a protected connection, with limits of size and time. Throws as {@link TransmitterKeys}.
 */
export class IssuerKeys {
  readonly #keys = new TransmitterKeys();
  readonly #discovered = new Map<string, Discovered>();
  readonly #waiting = new Map<string, number>();

  of({ url, jwks, ca }: KeyIssuer): PublishedKeys {
    const at = async () => this.#keys.at(jwks ?? (await this.#addressOf(url, ca)), ca);
    const limited = async <T>(work: () => Promise<T>): Promise<T> => {
      const waiting = this.#waiting.get(url) ?? 0;
      if (waiting >= MAX_WAITING) throw unavailable('are being read');
      this.#waiting.set(url, waiting + 1);
      try {
        return await work();
      } finally {
        this.#waiting.set(url, (this.#waiting.get(url) ?? 1) - 1);
      }
    };
    const find: PublishedKeys = (header, token) => limited(async () => await (await at())(header, token));
    return Object.assign(find, {
      readAgain: () => limited(async () => (await (await at()).readAgain?.()) ?? false),
    });
  }

  #addressOf(url: string, ca: string | undefined): Promise<string> {
    const known = this.#discovered.get(url);
    const age = performance.now() - (known?.at ?? Number.NEGATIVE_INFINITY);
    if (known !== undefined && age < (known.isFailed ? RETRY_MS : MAX_AGE_MS)) return known.address;
    const found = { at: performance.now(), address: discover(url, ca), isFailed: false };
    this.#discovered.set(url, found);
    found.address.catch(() => {
      Object.assign(found, { at: performance.now(), isFailed: true });
    });
    return found.address;
  }
}

async function discover(issuer: string, ca: string | undefined): Promise<string> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await exchange(address, {
    ca,
    headers: { accept: 'application/json' },
    maxBytes: MAX_BYTES,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((cause: unknown) => {
    throw unavailable('cannot be found', cause);
  });
  const document: unknown = response.ok ? await response.json().catch(() => null) : null;
  const { issuer: stated, jwks_uri: jwks } = Object(document) as Readonly<Record<string, unknown>>;
  // Section 4.3: a document for another issuer is invalid.
  if (stated !== issuer) throw unavailable('cannot be found: its discovery document is not of this issuer');
  if (typeof jwks !== 'string' || !URL.canParse(jwks) || !isProtected(new URL(jwks)))
    throw unavailable('cannot be found: its discovery document names no https address for them');
  return jwks;
}

function unavailable(why: string, cause?: unknown): KeysUnavailable {
  return new KeysUnavailable(`The keys of the issuer ${why}`, { cause });
}
