import { createHash } from 'node:crypto';
import { sameText } from '../auth/digest.ts';
import { OAuthError } from './oauth-error.ts';
import type { Parameters } from './parameters.ts';

/** The transformations of RFC 7636 §4.2. */
export const CHALLENGE_METHODS = ['S256', 'plain'] as const;

/** A code challenge; empty where there is none. */
export interface CodeChallenge {
  readonly codeChallenge: string;
  readonly codeChallengeMethod: string;
}

const CHALLENGE = /^[A-Za-z0-9\-._~]{43,128}$/;

/**
 * The code challenge of an authorization request (RFC 7636 §4.3).
 *
 * @param mandatory Whether there must be one.
 * @throws OAuthError `invalid_request` for none, a malformed one, an unknown method, or a method alone
 */
export function readChallenge(parameters: Parameters, mandatory: boolean): CodeChallenge {
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
 * Checks the code verifier of a token request (RFC 7636 §4.6). One for a code that was asked for without a
 * challenge shows that somebody took the challenge away (RFC 9700 §4.8.2, PKCE downgrade).
 *
 * @throws OAuthError `invalid_request` where it is missing, `invalid_grant` where it is wrong or was not expected
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
