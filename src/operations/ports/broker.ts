/** An identity that is used now, and the limits of its rule. */
export interface IdentityUse {
  /** The digest that names the identity. */
  readonly id: string;
  readonly rule: string;
  /** How long its token lives at most, in milliseconds. */
  readonly lifetimeMs: number;
  /** How long it is remembered, in milliseconds: for as long as it could be presented again. */
  readonly rememberMs: number;
  /** How many tokens of the rule may live at a time, and how many may be made within an hour. */
  readonly live: number;
  readonly hourly: number;
}

/** `used` before; or as many tokens of the rule as may, `live` or were made within the hour (`hourly`). */
export type Admission = 'admitted' | 'used' | 'live' | 'hourly';

/**
 * Which identities were used, and how many tokens of each rule live, shared by all replicas. What a method wrote is on stable storage
 * when it returns. Every method throws `TokenctlError` (`database_unreachable`) if it does not respond.
 */
export interface IdentityStore {
  /** Uses an identity, once, and counts its token as living. */
  admit(use: IdentityUse): Promise<Admission>;
  /** Takes that back: no token was made. */
  withdraw(id: string): Promise<void>;
  /** Notes the fingerprint of the token that an identity got. */
  made(id: string, fingerprint: string): Promise<void>;
  /** Counts the token of a fingerprint as living no more. */
  ended(fingerprint: string): Promise<void>;
  /** Forgets what can neither be presented again nor counts. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** Why an identity gets no token, or a request is not understood. */
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

/** A request for a token that is refused. The message holds no secret. */
export class BrokerRefusal extends Error {
  override readonly name = 'BrokerRefusal';
  readonly problem: BrokerProblem;

  constructor(problem: BrokerProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
