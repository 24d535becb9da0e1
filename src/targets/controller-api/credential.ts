import { TokenctlError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';

/** How the tool signs in at a controller. */
export type Credential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly username: string; readonly password: Secret };

/** What a header may carry of a bearer token: RFC 6750 §2.1, b64token. */
const BEARER = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Whether a value can be sent as a bearer token at all. */
export function isBearer(value: string): boolean {
  return BEARER.test(value);
}

/**
 * The Authorization header of a credential: bearer (RFC 6750) or basic (RFC 7617, in UTF-8).
 *
 * @throws TokenctlError `configuration` for a credential that no such header can carry.
 */
export function authorization(credential: Credential): string {
  if (credential.kind === 'token') {
    const token = credential.token.reveal();
    if (!isBearer(token)) {
      throw new TokenctlError('configuration', 'The configured token holds characters that no token has', {
        hint: 'Check where it was copied: a line feed or quotes may have come along.',
      });
    }
    return `Bearer ${token}`;
  }
  // RFC 7617 §2: the user name ends at the first colon.
  if (credential.username.includes(':')) {
    throw new TokenctlError(
      'configuration',
      'The configured user name holds a colon, which basic authentication cannot carry',
    );
  }
  const pair = `${credential.username}:${credential.password.reveal()}`;
  return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
}
