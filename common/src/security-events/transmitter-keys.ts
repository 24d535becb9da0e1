import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type JSONWebKeySet,
  type JWK,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose';
import { codeOf, TokenctlError } from '../errors.ts';
import { exchange } from '../network/exchange.ts';
import { KeysUnavailable } from '../signals/signal-refusal.ts';
import type { PublishedKeys } from './verify-token.ts';

/** The timeout of a request for keys, in milliseconds. */
const TIMEOUT_MS = 5_000;
/** Keys are re-read after this time, in milliseconds, so that a withdrawn key is no longer accepted. */
const MAX_AGE_MS = 600_000;
/** A token with an unknown key causes a re-read, but not more often than this, in milliseconds. */
const COOLDOWN_MS = 30_000;
/** The wait after a failure, in milliseconds: every forged token would cause a new attempt. */
const RETRY_MS = 2_000;
/** The maximum size of a key set, in bytes. */
const MAX_BYTES = 256 * 1024;
const MAX_SETS = 100;

interface KeySet {
  readonly find: RemoteJWKSet;
  failed: { readonly at: number; readonly error: unknown } | null;
  /** When they were last re-read for a signature that matches none of them. */
  again: number;
}

/**
 * The published keys of transmitters and providers (JWK Set, RFC 7517), read on demand and cached for ten
 * minutes. A token with an unknown key, or whose signature matches none, causes a re-read at most every 30
 * seconds. So a rotated key is found, and forged tokens cause no flood of requests.
 */
export class TransmitterKeys {
  readonly #sets = new Map<string, KeySet>();

  /**
   * The keys at a URL or in a file, for `jwtVerify`. The result throws {@link KeysUnavailable} if they are
   * unreadable, or cannot be re-read yet for an unknown key, and jose's own errors if no key matches.
   * @param ca The trusted authorities in PEM.
   */
  at(address: string | { readonly file: string }, ca?: string): PublishedKeys {
    if (typeof address !== 'string') return keysInFile(address.file);
    const known = this.#sets.get(address) ?? this.#add(address, ca);
    const find: JWTVerifyGetKey = async (header, token) => {
      if (known.failed !== null && performance.now() - known.failed.at < RETRY_MS)
        throw unavailable(known.failed.error);
      const keptBack = known.find.coolingDown;
      try {
        const key = await known.find(header, token);
        known.failed = null;
        return key;
      } catch (error) {
        // The key may be a new one, which is found once a re-read is allowed again.
        if (isUnknownKey(error) && keptBack) throw unavailable(error);
        if (isAboutToken(error)) throw error;
        known.failed = { at: performance.now(), error };
        throw unavailable(error);
      }
    };
    const readAgain = async () => {
      if (performance.now() - known.again < COOLDOWN_MS) return false;
      known.again = performance.now();
      await known.find.reload().catch((error: unknown) => {
        known.failed = { at: performance.now(), error };
        throw unavailable(error);
      });
      return true;
    };
    return Object.assign(find, { readAgain });
  }

  #add(address: string, ca: string | undefined): KeySet {
    const oldest = this.#sets.keys().next();
    if (this.#sets.size >= MAX_SETS && oldest.done !== true) this.#sets.delete(oldest.value);
    const find = createRemoteJWKSet(new URL(address), {
      timeoutDuration: TIMEOUT_MS,
      cacheMaxAge: MAX_AGE_MS,
      cooldownDuration: COOLDOWN_MS,
      [customFetch]: (url, options) => exchange(url, { ...options, ca, maxBytes: MAX_BYTES }),
    });
    const set: KeySet = { find, failed: null, again: Number.NEGATIVE_INFINITY };
    this.#sets.set(address, set);
    return set;
  }
}

/** Reads a file of keys once, before tokens arrive. Throws `configuration`, which quotes nothing from it. */
export async function requireKeysIn(path: string): Promise<void> {
  try {
    createLocalJWKSet(keysIn(await readFile(path, 'utf8')).keys);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
    throw new TokenctlError('configuration', `Cannot read the keys of an issuer from ${path}${code}`, {
      hint: 'The file must contain a JWK Set, or certificates or public keys in PEM format.',
    });
  }
}

/** Re-reads the file for each token, so that a new certificate takes effect at once. */
function keysInFile(path: string): PublishedKeys {
  return async (header, token) => {
    const { isNamed, keys } = await readFile(path, 'utf8')
      .then(keysIn)
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    // A certificate does not contain the provider's name for its key.
    const { kid: _, ...unnamed } = header;
    return await createLocalJWKSet(keys)(isNamed ? header : unnamed, token);
  };
}

/** The keys of a JWK Set, or of certificates and public keys in PEM. */
function keysIn(text: string): { readonly isNamed: boolean; readonly keys: JSONWebKeySet } {
  const blocks = text.match(/-----BEGIN (CERTIFICATE|PUBLIC KEY)-----[^-]+-----END \1-----/g);
  if (blocks === null) return { isNamed: true, keys: JSON.parse(text) as JSONWebKeySet };
  const keys = blocks.map((block) => createPublicKey(block).export({ format: 'jwk' }) as JWK);
  return { isNamed: false, keys: { keys } };
}

/** Codes of jose that are about the token, not about the keys. */
const ABOUT_TOKEN: readonly string[] = [
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JOSE_NOT_SUPPORTED',
];

function isUnknownKey(error: unknown): boolean {
  return codeOf(error) === ABOUT_TOKEN[0];
}

function isAboutToken(error: unknown): boolean {
  return ABOUT_TOKEN.includes(codeOf(error) ?? '');
}

function unavailable(cause: unknown): KeysUnavailable {
  return new KeysUnavailable("Cannot read the transmitter's keys", { cause });
}
