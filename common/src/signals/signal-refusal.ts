/**
 * Why a security event is refused, as the error codes of RFC 8935, section 2.4, which RFC 8936 shares.
 * `invalid_state` is from OpenID Shared Signals 1.0.
 */
export type RefusalCode =
  | 'invalid_request'
  | 'invalid_key'
  | 'invalid_issuer'
  | 'invalid_audience'
  | 'authentication_failed'
  | 'access_denied'
  | 'invalid_state';

/** A permanently refused security event: resent, it would be refused again. The message contains no secret. */
export class SignalRefusal extends Error {
  override readonly name = 'SignalRefusal';
  readonly code: RefusalCode;
  /** What its issuer signed, where that is known. */
  readonly claims: object | undefined;

  constructor(code: RefusalCode, message: string, claims?: object) {
    super(message);
    this.code = code;
    this.claims = claims;
  }
}

/** An event can be neither verified nor refused at the moment, for example because keys are unreadable. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}
