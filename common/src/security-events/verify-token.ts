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

/**
 * The signature algorithms that are accepted: asymmetric ones of RFC 7518 and RFC 8037. With a symmetric one, whoever can
 * verify could also sign, and `none` is no signature.
 */
export const signatureAlgorithms = words(
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519',
);

/** How far the clock of a transmitter may differ from that of this machine, in seconds. */
const CLOCK_TOLERANCE_S = 60;
/** How far ahead a token may be issued for its sender to be asked to send it again, in seconds. */
const MAX_AHEAD_S = 600;
/** How long a logout token or the token of a caller is accepted after it was issued, in seconds. */
const MAX_CALL_AGE_S = 600;
/** How many keys a token without a `kid` is tried with. */
const MAX_KEYS_TRIED = 10;
/** No token of this length is a security event of one user. */
const MAX_TOKEN_LENGTH = 64 * 1024;

/** Finds the key of a token among those that its issuer publishes. */
export interface PublishedKeys extends JWTVerifyGetKey {
  /** Reads them anew, because none fits a signature: true once that is done, false where it was done a moment ago. */
  readAgain?(): Promise<boolean>;
}

/** Whom a token has to be from and for. */
export interface Expected {
  readonly issuer: string;
  /** One of these. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys: PublishedKeys;
  /** The time of this machine; by default, its clock. */
  readonly now?: Date;
}

/**
 * Verifies a security event token (RFC 8417): type, signature, algorithm, issuer, audience and age.
 * @param maxAge How old it may be, in seconds: transmitters redeliver what was not acknowledged.
 * @throws SignalRefusal for one that is invalid, {@link KeysUnavailable} where that cannot be told
 */
export async function verifySecurityEvent(
  token: string,
  { maxAge, ...expected }: Expected & { readonly maxAge: number },
): Promise<SecurityEvent> {
  const claims = await verified(token, expected, { typ: 'secevent+jwt', maxTokenAge: maxAge });
  return readSecurityEvent(claims);
}

/** Who logged out at a provider (OpenID Connect Back-Channel Logout 1.0). */
export interface Logout {
  readonly issuer: string;
  readonly id: string;
  readonly issued: Date;
  /** The user; null if only the session is named. */
  readonly sub: string | null;
  /** The session at the provider; null if all sessions of the user are meant. */
  readonly sid: string | null;
  /** Whether access that outlives the session is to end as well: Keycloak's `revoke_offline_access` in the event. */
  readonly revokesOffline: boolean;
}

/**
 * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6). Its type is `logout+jwt`, or is not stated by
 * older providers; a `nonce` would make it an ID token.
 *
 * @param withoutExpiry Accepts one without `exp`, as in the drafts: it is too old ten minutes after its `iat` anyway.
 * @throws SignalRefusal, KeysUnavailable
 */
export async function verifyLogoutToken(
  token: string,
  { withoutExpiry = false, ...expected }: Expected & { readonly withoutExpiry?: boolean },
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

/** The caller of a global token revocation. */
export interface RevocationCaller {
  readonly issuer: string;
  readonly id: string;
  readonly issued: Date;
}

/**
 * Verifies the bearer token of a global token revocation: a JWT that the provider signed for this address. Its type is
 * `global-token-revocation+jwt`, or is not stated; a token of another type, such as an ID token, is for something else.
 *
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

/** The longest identity token that is read. */
export const MAX_IDENTITY_LENGTH = 16 * 1024;
/** Members of a header by which a token would bring its own key, or say where to get it (RFC 7515, section 4.1). */
const OWN_KEYS = ['jku', 'jwk', 'x5u', 'x5c'];

/**
 * Verifies a JWT that says who runs, as a pipeline has it of its CI system: for one audience and no other, with `iat` and `exp`. It is no
 * token of another kind, nor the ID token of a person's login, which has a `nonce`. Its own keys are never used.
 *
 * @param maxAge How long after it was issued it is accepted, in seconds.
 * @returns Its claims, as they are.
 * @throws SignalRefusal, KeysUnavailable
 */
export async function verifyIdentity(
  token: string,
  { maxAge, ...expected }: Expected & { readonly maxAge: number },
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
  { types, ...options }: JWTVerifyOptions & { readonly types?: readonly string[] },
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

/** A signature that fits no key may be of one that replaced another under the same name: refused for good, the event would be lost. */
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

/** A token without a `kid` may be of any of the keys: while keys are replaced, there are two. */
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

/** jose's claims by which a check failed, as the codes of RFC 8935. */
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

/** The issuer that a token names, before anything is verified: for finding the keys. Throws SignalRefusal. */
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
