/** Why a login through an identity provider did not come about: what the user is told. */
export type SsoReason =
  /** The provider is not set up here. */
  | 'not_configured'
  /** What is set up cannot be used: a key is wrong, or metadata make no sense. */
  | 'misconfigured'
  /** The provider could not be reached, or did not answer in time. */
  | 'unreachable'
  /** No such login was begun in this browser; it took too long, or was answered before. */
  | 'no_such_login'
  /** The provider itself says no. */
  | 'refused_by_provider'
  /** What came back could not be verified. */
  | 'unverified'
  /** The account at the provider is none of those that may log in here. */
  | 'not_allowed'
  /** There is no account here yet, and none is made. */
  | 'no_new_users'
  /** The account here is deactivated. */
  | 'deactivated';

/** A login through an identity provider that ends here. The detail is for the log, and holds no secret. */
export class SsoFailure extends Error {
  override readonly name = 'SsoFailure';
  readonly reason: SsoReason;

  constructor(reason: SsoReason, detail: string) {
    super(detail);
    this.reason = reason;
  }
}
