/** The use of an identity, and the limits of its rule. */
export interface IdentityUse {
  /** The digest that identifies the identity. */
  readonly id: string;
  readonly rule: string;
  /** The maximum lifetime of its token, in milliseconds. */
  readonly lifetimeMs: number;
  /** How long it is remembered, in milliseconds: as long as it could be presented again. */
  readonly rememberMs: number;
  /** The maximum number of live tokens of the rule, and of tokens created per hour. */
  readonly live: number;
  readonly hourly: number;
}

/** `used`: the identity was used before. `live`, `hourly`: a limit of the rule was reached. */
export type Admission = 'admitted' | 'used' | 'live' | 'hourly';

/**
 * Records used identities and the live tokens of each rule, shared by all replicas. What a method wrote is on
 * stable storage when it returns. Every method throws `TokenctlError` (`database_unreachable`) if the store
 * does not respond.
 */
export interface IdentityStore {
  /** Marks an identity as used, once, and counts its token as live. */
  admit(use: IdentityUse): Promise<Admission>;
  /** Reverts an admission: no token was created. */
  withdraw(id: string): Promise<void>;
  /** Records the fingerprint of the token that an identity got. */
  made(id: string, fingerprint: string): Promise<void>;
  /** No longer counts the token with this fingerprint as live. */
  ended(fingerprint: string): Promise<void>;
  /** Deletes identities that can no longer be presented and no longer count. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** Why an identity gets no token, or a request is invalid. */
export type BrokerProblem =
  | Exclude<Admission, 'admitted'>
  | 'invalid_request'
  | 'unsupported_grant'
  | 'invalid_target'
  | 'invalid_scope'
  | 'invalid_identity'
  | 'no_rule'
  | 'several_rules'
  | 'stopped';

/** A refused token request. The message contains no secret. */
export class BrokerRefusal extends Error {
  override readonly name = 'BrokerRefusal';
  readonly problem: BrokerProblem;

  constructor(problem: BrokerProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
