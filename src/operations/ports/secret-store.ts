import { createHash, timingSafeEqual } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';

/**
 * One location in a secret store from which programs read a token: a file, a key of a secret in Vault or
 * Kubernetes, what a command stores.
 */
export interface SecretStore {
  /** Its name in messages: `The store ci (secret/ci/awx at vault.example.com)`. */
  readonly name: string;
  /**
   * Reads the value; null if there is none. Throws `target_unreachable`, `credentials_refused`,
   * `permission_refused`, `target_misbehaved`, `configuration`, `interrupted`.
   */
  read(signal?: AbortSignal): Promise<Secret | null>;
  /**
   * Replaces `over` with a value, and leaves everything else stored beside it unchanged. After an error other
   * than `store_changed`, it is unknown whether the value was written: read it.
   * @param over The value last read: if another value is there by now, nothing is written.
   * @throws TokenctlError `store_changed`, and as {@link read} does
   */
  write(value: Secret, over: Secret | null, signal?: AbortSignal): Promise<void>;
}

/** Whether two values of a store are equal, in constant time. Null is nothing stored. */
export function sameValue(one: Secret | null, other: Secret | null): boolean {
  if (one === null || other === null) return one === other;
  const digest = (secret: Secret) => createHash('sha256').update(secret.reveal()).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** The error of a store in which someone else wrote. */
export function storeChanged(name: string): TokenctlError {
  return new TokenctlError('store_changed', `${name} contains a value that tokenctl did not expect`, {
    hint: 'Nothing was written. Find out who else writes to it.',
  });
}
