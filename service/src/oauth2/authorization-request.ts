import { createHash } from 'node:crypto';
import { sameText } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import { parseTarget } from '../request.ts';
import { type ClientRecord, findClient } from '../store/applications.ts';
import {
  OAuthError,
  type Parameters,
  readParameters,
  requestedScope,
  type SentParameters,
} from './oauth-request.ts';

/** Where and how to answer an authorization request. It is read before the rest of the request. */
export interface AnswerAddress {
  readonly client: ClientRecord;
  readonly redirectUri: string;
  readonly redirectUriGiven: boolean;
  readonly mode: 'query' | 'fragment';
  /** Returned unchanged (RFC 6749 §4.1.1). */
  readonly state: string | undefined;
}

/** What a client requests from a user (RFC 6749 §4.1.1 and §4.2.1). */
export interface AuthorizationRequest extends CodeChallenge {
  readonly responseType: 'code' | 'token';
  readonly scope: string;
  /** Whether the client asks to skip the consent for a previously granted scope. */
  readonly auto: boolean;
}

/** An authorization request without a valid redirect URI: the error is shown to the user. */
export class UnanswerableRequest extends Error {
  override readonly name = 'UnanswerableRequest';
}

/** Reads the redirect URI, which must be registered (open redirector: RFC 6749 §10.15). Throws UnanswerableRequest. */
export async function readAnswerAddress(
  service: ServiceContext,
  sent: SentParameters,
): Promise<AnswerAddress> {
  const { values, repeated } = sent;
  if (repeated.has('client_id') || repeated.has('redirect_uri')) {
    throw new UnanswerableRequest('The request contains client_id or redirect_uri more than once.');
  }
  const clientId = values.get('client_id');
  if (clientId === undefined) throw new UnanswerableRequest('The request has no client_id.');
  const client = clientId.includes('\0') ? null : await findClient(service.database, clientId);
  if (client === null) throw new UnanswerableRequest('The client_id is not registered here.');
  const asked = values.get('redirect_uri');
  const redirectUri = redirectUriOf(client, asked);
  if (redirectUri === null) {
    throw new UnanswerableRequest('The redirect_uri is not registered for this application.');
  }
  return {
    client,
    redirectUri,
    redirectUriGiven: asked !== undefined,
    mode: client.authorization_grant_type === 'implicit' ? 'fragment' : 'query',
    state: repeated.has('state') ? undefined : values.get('state'),
  };
}

/** Reads the rest of an authorization request. Throws OAuthError for the client (RFC 6749 §4.1.2.1). */
export function readAuthorizationRequest(
  service: ServiceContext,
  sent: SentParameters,
  { client }: AnswerAddress,
): AuthorizationRequest {
  const { values, repeated } = sent;
  if (repeated.size > 0) throw new OAuthError('invalid_request', 'A parameter is repeated.');
  const responseType = readResponseType(service, values, client);
  return {
    responseType,
    scope: requestedScope(values.get('scope')),
    auto: values.get('approval_prompt') === 'auto',
    // The implicit grant exchanges no code, so PKCE does not apply (RFC 7636 §1).
    ...(responseType === 'token'
      ? { codeChallenge: '', codeChallengeMethod: '' }
      : readChallenge(values, service.requirePkce && client.client_type === 'public')),
  };
}

function readResponseType(service: ServiceContext, values: Parameters, client: ClientRecord) {
  const asked = values.get('response_type');
  const { authorization_grant_type: registered } = client;
  if (asked === undefined) throw new OAuthError('invalid_request', 'Missing response_type parameter.');
  if (asked !== 'code' && asked !== 'token') throw new OAuthError('unsupported_response_type');
  const allowed =
    asked === 'code'
      ? registered === 'authorization-code'
      : registered === 'implicit' && service.allowImplicitGrant === true;
  if (!allowed) throw new OAuthError('unauthorized_client');
  return asked;
}

/** The port in an http URI that names the loopback interface by IP address. */
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/;
const PLAIN_HOST = /^[a-z0-9.-]+$/i;

/**
 * The redirect URI of the answer: the requested one if it is registered, compared character by character (RFC
 * 9700 §2.1), or the only registered one if the request names none; null without a valid one, and then no
 * redirect may happen. A public client on the user's own machine may use any port (RFC 8252 §7.3).
 */
function redirectUriOf(client: ClientRecord, asked: string | undefined): string | null {
  const registered = client.redirect_uris.split(/\s+/).filter((uri) => uri !== '' && !uri.includes('#'));
  if (asked === undefined) return registered.length === 1 ? (registered[0] ?? null) : null;
  if (registered.includes(asked)) return asked;
  // The pattern also matches ports above 65535, which no URL can have.
  if (client.client_type !== 'public' || !LOOPBACK_PORT.test(asked) || !URL.canParse(asked)) return null;
  const withoutPort = (uri: string) => uri.replace(LOOPBACK_PORT, '$1');
  return registered.some((uri) => withoutPort(uri) === withoutPort(asked)) ? asked : null;
}

/** Adds an answer to a redirect URI: in the query, or in the fragment with the implicit grant. */
export function withAnswer(uri: string, mode: 'query' | 'fragment', answer: URLSearchParams): string {
  const separator = mode === 'fragment' ? '#' : uri.includes('?') ? '&' : '?';
  // A header is ASCII only; a registered URI may contain other characters.
  return uri.replace(/[^\x21-\x7e]/gu, encodeURIComponent) + separator + answer.toString();
}

/**
 * The Content-Security-Policy source (`form-action`) for a form that ends at a redirect URI; browsers apply
 * it to redirects after the form as well. It is the origin, or the scheme if CSP cannot express the host.
 */
export function formActionSource(uri: string): string {
  const { protocol, hostname, origin } = new URL(uri);
  return /^https?:$/.test(protocol) && PLAIN_HOST.test(hostname) ? origin : protocol;
}

/** The transformations of RFC 7636 §4.2. */
export const CHALLENGE_METHODS = ['S256', 'plain'] as const;

/** A code challenge; empty strings if the request has none. */
interface CodeChallenge {
  readonly codeChallenge: string;
  readonly codeChallengeMethod: string;
}

const CHALLENGE = /^[A-Za-z0-9\-._~]{43,128}$/;

/**
 * The code challenge of an authorization request (RFC 7636 §4.3). Throws OAuthError `invalid_request` if it
 * is `mandatory` and missing, malformed, has an unknown method, or is a method alone.
 */
function readChallenge(parameters: Parameters, mandatory: boolean): CodeChallenge {
  const codeChallenge = parameters.get('code_challenge');
  const method = parameters.get('code_challenge_method');
  if (codeChallenge === undefined) {
    if (mandatory || method !== undefined)
      throw new OAuthError('invalid_request', 'Code challenge required.');
    return { codeChallenge: '', codeChallengeMethod: '' };
  }
  const codeChallengeMethod = method ?? 'plain';
  if (!CHALLENGE_METHODS.some((known) => known === codeChallengeMethod)) {
    throw new OAuthError('invalid_request', 'Transform algorithm not supported.');
  }
  if (!CHALLENGE.test(codeChallenge)) throw new OAuthError('invalid_request', 'Code challenge malformed.');
  return { codeChallenge, codeChallengeMethod };
}

/**
 * Checks the code verifier of a token request (RFC 7636 §4.6). A verifier for a code without a challenge
 * shows that an attacker removed the challenge (PKCE downgrade, RFC 9700 §4.8.2).
 * @throws OAuthError `invalid_request` if it is missing, `invalid_grant` if it is wrong or unexpected
 */
export function checkVerifier(parameters: Parameters, challenge: CodeChallenge): void {
  const verifier = parameters.get('code_verifier');
  if (challenge.codeChallenge === '') {
    if (verifier !== undefined) throw new OAuthError('invalid_grant');
    return;
  }
  if (verifier === undefined) throw new OAuthError('invalid_request', 'Code verifier required.');
  const transformed =
    challenge.codeChallengeMethod === 'S256'
      ? createHash('sha256').update(verifier).digest('base64url')
      : verifier;
  if (!CHALLENGE.test(verifier) || !sameText(transformed, challenge.codeChallenge)) {
    throw new OAuthError('invalid_grant');
  }
}

/**
 * The client that a login may redirect to, as a Content-Security-Policy source: the one whose authorization request
 * the login interrupted, or null. Browsers apply the login page's `form-action` to all redirects after it.
 */
export async function loginFormAction(service: ServiceContext, next: string): Promise<string | null> {
  const { path, query } = parseTarget(next);
  if (path !== '/api/o/authorize/') return null;
  try {
    const { redirectUri } = await readAnswerAddress(service, readParameters(query));
    return formActionSource(redirectUri);
  } catch (error) {
    if (error instanceof UnanswerableRequest) return null;
    throw error;
  }
}
