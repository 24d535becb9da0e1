import type { Secret } from '../../domain/secret.ts';

/** Where the key stands that signs checkpoints, in the texts of `core/note-key.ts`. */
export interface LogKeys {
  /**
   * Keeps a new key.
   *
   * @throws TokenctlError `configuration` where there is one already, or it cannot be kept.
   */
  create(key: { readonly signer: Secret; readonly verifier: string }): Promise<void>;
  /**
   * The private key.
   *
   * @throws TokenctlError `configuration` where there is none, or it cannot be read.
   */
  signer(): Promise<Secret>;
  /**
   * The public keys, oldest first: those that were replaced still verify what they signed.
   *
   * @throws TokenctlError `configuration` where there are none, or they cannot be read.
   */
  verifiers(): Promise<readonly string[]>;
  /** Keeps a key beside the one in use, which {@link LogKeys.adopt} puts in its place. */
  stage(signer: Secret): Promise<void>;
  /** Puts the staged key, whose public one is given, in the place of the one in use. */
  adopt(verifier: string): Promise<void>;
}
