import {
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import {
  eventEntries,
  eventId,
  LOGOUT_EVENT,
  readSecurityEvent,
  type SecurityEvent,
} from '../signals/signal-event.ts';
import { KeysUnavailable, type RefusalCode, SignalRefusal } from '../signals/signal-refusal.ts';
import { words } from '../text.ts';

/** The accepted algorithms, asymmetric ones of RFC 7518 and RFC 8037: with others, every verifier could also sign. */
export const signatureAlgorithms = words(
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519',
);

/** The tolerated difference between the clocks of a transmitter and this machine, in seconds. */
const CLOCK_TOLERANCE_S = 60;
/** How far in the future a token may be issued for its sender to be asked to resend it, in seconds. */
const MAX_AHEAD_S = 600;
/** The maximum age of a logout token or a caller's token, in seconds. */
const MAX_CALL_AGE_S = 600;
/** How many keys are tried for a token without a `kid`. */
const MAX_KEYS_TRIED = 10;
/** No token of this length is a security event about one user. */
const MAX_TOKEN_LENGTH = 64 * 1024;

/** Finds a token's key among those that its issuer publishes. */
export interface PublishedKeys extends JWTVerifyGetKey {
  /** Re-reads the keys because none matches a signature. Returns false if they were re-read a moment ago. */
  readAgain?(): Promise<boolean>;
}

/** The required issuer and audience of a token. */
export interface Expected {
  readonly issuer: string;
  /** Any one of these. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys: PublishedKeys;
  /** By default, this machine's clock. */
  readonly now?: Date;
}

/**
 * Verifies a security event token (RFC 8417): type, signature, algorithm, issuer, audience and age.
 * @param maxAge The maximum age in seconds: transmitters redeliver unacknowledged events.
 * @throws SignalRefusal for an invalid token, {@link KeysUnavailable} if it cannot be verified at the moment
 */
export async function verifySecurityEvent(
  token: string,
  { maxAge, ...expected }: Expected & { maxAge: number },
): Promise<SecurityEvent> {
  const claims = await verified(token, expected, { typ: 'secevent+jwt', maxTokenAge: maxAge });
  return readSecurityEvent(claims);
}

/** A logout at a provider (OpenID Connect Back-Channel Logout 1.0). */
export interface Logout {
  readonly issuer: string;
  readonly id: string;
  readonly issued: Date;
  /** The user; null if the token contains only the session. */
  readonly sub: string | null;
  /** The session at the provider; null for all of the user's sessions. */
  readonly sid: string | null;
  /** Whether access that outlives the session must also end: Keycloak's `revoke_offline_access` in the event. */
  readonly revokesOffline: boolean;
}

/**
 * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6). Its type is `logout+jwt`, or
 * missing with older providers; a `nonce` would make it an ID token.
 * @param withoutExpiry Accepts a token without `exp`, as in the drafts: it is too old ten minutes after its
 * `iat` anyway.
 * @throws SignalRefusal, KeysUnavailable
 */
export async function verifyLogoutToken(
  token: string,
  { withoutExpiry = false, ...expected }: Expected & { withoutExpiry?: boolean },
): Promise<Logout> {
  const claims = await verified(token, expected, {
    types: ['logout+jwt', 'jwt'],
    requiredClaims: withoutExpiry ? [] : ['exp'],
    maxTokenAge: MAX_CALL_AGE_S,
  });
  const { sub, nonce, events, jti, iat = 0, iss = '' } = claims;
  const sid = claims['sid'];
  if (nonce !== undefined) throw invalid('a logout token must not contain a nonce');
  const [, event] = eventEntries(events).find(([uri]) => uri === LOGOUT_EVENT) ?? [];
  if (event === undefined) throw invalid('it is not a logout token');
  const id = eventId(jti);
  const text = (value: unknown) =>
    typeof value === 'string' && value !== '' && value.length <= 512 ? value : null;
  if (text(sub) === null && text(sid) === null) throw invalid('it has neither sub nor sid');
  const revokesOffline = 'revoke_offline_access' in event && event.revoke_offline_access === true;
  return { issuer: iss, id, issued: new Date(iat * 1000), sub: text(sub), sid: text(sid), revokesOffline };
}

export interface RevocationCaller {
  readonly issuer: string;
  readonly id: string;
  readonly issued: Date;
}

/**
 * Verifies the bearer token of a global token revocation: a JWT that the provider signed for this URL. Its type is
 * `global-token-revocation+jwt` or missing; a token of another type, such as an ID token, is for something else.
 * @throws SignalRefusal, KeysUnavailable
 */
export async function verifyRevocationCaller(token: string, expected: Expected): Promise<RevocationCaller> {
  const claims = await verified(token, expected, {
    types: ['global-token-revocation+jwt', 'jwt'],
    requiredClaims: ['exp'],
    maxTokenAge: MAX_CALL_AGE_S,
  });
  const { iss = '', jti, iat = 0, nonce, events } = claims;
  if (nonce !== undefined || events !== undefined) throw invalid('it is a token for a different purpose');
  return { issuer: iss, id: eventId(jti), issued: new Date(iat * 1000) };
}

/** The maximum length of an identity token. */
export const MAX_IDENTITY_LENGTH = 16 * 1024;
/** Header members through which a token could supply its own key (RFC 7515, section 4.1). */
const OWN_KEYS = ['jku', 'jwk', 'x5u', 'x5c'];

/**
 * Verifies a JWT that identifies a run, such as a pipeline's from its CI system: for exactly one audience,
 * with `iat` and `exp`. It must not be another kind of token, or the ID token of a person's login, which has
 * a `nonce`. Keys in the token are never used.
 * @param maxAge The maximum age in seconds.
 * @returns Its unmodified claims.
 * @throws SignalRefusal, KeysUnavailable
 */
export async function verifyIdentity(
  token: string,
  { maxAge, ...expected }: Expected & { maxAge: number },
): Promise<JWTPayload & { readonly exp: number; readonly iat: number }> {
  if (token.length > MAX_IDENTITY_LENGTH) throw invalid('it is too long');
  const header = headerOf(token);
  const own = OWN_KEYS.find((name) => name in header);
  if (own !== undefined) throw new SignalRefusal('invalid_key', `The header ${own} is not followed`);
  const claims = await verified(token, expected, {
    types: ['jwt', 'jose', 'at+jwt'],
    requiredClaims: ['exp', 'sub'],
    maxTokenAge: maxAge,
  });
  const { aud, nonce, events, exp = 0, iat = 0 } = claims;
  if (nonce !== undefined || events !== undefined) throw invalid('it is a token for another purpose');
  // Each of its audiences could present it to the others.
  if (Array.isArray(aud) && aud.length !== 1)
    throw new SignalRefusal('invalid_audience', 'The token is for several audiences', claims);
  return { ...claims, exp, iat };
}

function headerOf(token: string): object {
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw invalid('it cannot be read');
  }
}

async function verified(
  token: string,
  { issuer, audiences, algorithms, keys, now }: Expected,
  { types, ...options }: JWTVerifyOptions & { types?: readonly string[] },
): Promise<JWTPayload> {
  if (token.length > MAX_TOKEN_LENGTH) throw invalid('it is too long');
  try {
    const { payload, protectedHeader } = await verifyWithNewest(token, keys, {
      ...options,
      issuer,
      audience: [...audiences],
      algorithms: [...algorithms],
      clockTolerance: CLOCK_TOLERANCE_S,
      ...(now !== undefined && { currentDate: now }),
    });
    const { typ } = protectedHeader;
    if (types !== undefined && typ !== undefined) {
      const type = typ.toLowerCase().replace(/^application\//, '');
      if (!types.includes(type)) throw invalid('its type is for a different kind of token');
    }
    return payload;
  } catch (error) {
    throw refusalOf(error, now);
  }
}

/** A signature may come from a new key under the old name. Refusing the event for good would lose it. */
async function verifyWithNewest(token: string, keys: PublishedKeys, options: JWTVerifyOptions) {
  try {
    return await verifyWithAny(token, keys, options);
  } catch (error) {
    const fitsNone =
      error instanceof errors.JWSSignatureVerificationFailed ||
      error instanceof errors.JWKSMultipleMatchingKeys;
    if (!fitsNone || keys.readAgain === undefined) throw error;
    if (!(await keys.readAgain()))
      throw new KeysUnavailable('The signature matches no key, and the keys were read a moment ago', {
        cause: error,
      });
    return await verifyWithAny(token, keys, options);
  }
}

/** Any of the keys may have signed a token without a `kid`: during a key rotation, there are two. */
async function verifyWithAny(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, keys, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if (++tried > MAX_KEYS_TRIED) break;
      try {
        return await jwtVerify(token, key, options);
      } catch (mismatch) {
        if (!(mismatch instanceof errors.JWSSignatureVerificationFailed)) throw mismatch;
      }
    }
    throw error;
  }
}

/** RFC 8935 codes by the claim whose check failed in jose. */
const CODE_BY_CLAIM: Readonly<Record<string, RefusalCode>> = {
  iss: 'invalid_issuer',
  aud: 'invalid_audience',
};

function refusalOf(error: unknown, now = new Date()): unknown {
  if (error instanceof SignalRefusal || error instanceof KeysUnavailable) return error;
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    const { iat } = error.payload;
    const ahead = error.claim === 'iat' && typeof iat === 'number' ? iat - now.getTime() / 1000 : 0;
    if (ahead > 0 && ahead <= MAX_AHEAD_S)
      return new KeysUnavailable("The token's issue time is ahead of this machine's clock", { cause: error });
    const claim = /^\w{1,20}$/.test(error.claim) ? error.claim : 'unknown';
    const problem = error.reason === 'missing' ? 'is missing' : 'is not acceptable';
    const code = CODE_BY_CLAIM[claim] ?? 'invalid_request';
    return new SignalRefusal(code, `The claim ${claim} ${problem}`, error.payload);
  }
  const isSignature =
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys;
  if (isSignature)
    return new SignalRefusal('invalid_key', 'The signature matches none of the published keys');
  if (error instanceof errors.JOSEError) return invalid('it cannot be parsed');
  return error;
}

/** The issuer in an unverified token, for finding the keys. Throws SignalRefusal. */
export function unverifiedIssuer(token: string): string {
  const [, payload = ''] = token.split('.', 3);
  if (token.length > MAX_TOKEN_LENGTH) throw invalid('it is too long');
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const iss = typeof claims === 'object' && claims !== null && 'iss' in claims ? claims.iss : undefined;
    if (typeof iss === 'string') return iss;
  } catch {
    // Reported below, like a token without an issuer.
  }
  throw invalid('it contains no issuer');
}

function invalid(why: string): SignalRefusal {
  return new SignalRefusal('invalid_request', `The token is invalid: ${why}`);
}
