import { TokenctlError, type TokenctlErrorCode } from '@tokenctl/common/errors.ts';
import { isFromService } from '@tokenctl/common/product.ts';
import type { Connection, Credential, HttpResponse } from './connection.ts';

/** The server that responded, and the credential that was sent to it: a connection or an API. */
export interface Responder {
  readonly address: string;
  readonly credential: Credential;
  /** See {@link Connection.answeredBy}. */
  answeredBy(): string;
}

export function isJson({ headers }: HttpResponse): boolean {
  return /^application\/([\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '');
}

/** The parsed JSON of a response to a request for `what`. Throws {@link responseError}, or `target_misbehaved`. */
export function parseJson(response: HttpResponse, from: Responder, what: string): unknown {
  if (response.status < 200 || response.status > 299) throw responseError(response, from, what);
  if (!isJson(response)) throw notAControllerError(from, what);
  try {
    return JSON.parse(response.body.toString('utf8'));
  } catch (cause) {
    throw new TokenctlError('target_misbehaved', `${from.answeredBy()} sent invalid JSON for ${what}`, {
      hint: "Check the server's log, and try again.",
      cause,
    });
  }
}

/** Explains an unsuccessful response. Never includes the body, because it can contain anything. */
export function responseError(response: HttpResponse, from: Responder, what: string): TokenctlError {
  const answerer = from.answeredBy();
  const { status } = response;
  if (status >= 300 && status <= 399) return redirectError(response, from);
  if (isUnauthenticated(response)) return credentialsError(response, from);
  if (status === 403) {
    return new TokenctlError('permission_refused', `${answerer} does not allow this account ${what}`, {
      hint: 'Use an account with the required permissions, and for changes a token with scope write.',
    });
  }
  if (status === 404 && !isJson(response)) return notAControllerError(from, what);
  if (status === 404) return new TokenctlError('not_found', `${answerer} did not find ${what}`);
  if (status === 400 || status === 405) {
    const refused = status === 405 ? 'does not support' : 'rejected the parameters of the request for';
    return new TokenctlError('unsupported', `${answerer} ${refused} ${what}`);
  }
  if (status === 429) {
    return new TokenctlError('target_unreachable', `${answerer} limits the rate of requests`, {
      hint: 'Try again later.',
    });
  }
  if (status >= 502 && status <= 504) {
    return new TokenctlError(
      'target_unreachable',
      `${answerer} is unavailable: overloaded or under maintenance`,
      { hint: 'Try again later. Completed work is kept.' },
    );
  }
  return new TokenctlError('target_misbehaved', `${answerer} failed to return ${what} (HTTP ${status})`, {
    hint: "Check the server's log.",
    details: { status },
  });
}

/** The errors if this version does not have something, or this account may not read it. */
export const MISSING: readonly TokenctlErrorCode[] = ['not_found', 'permission_refused', 'unsupported'];

/** The result, or null for an error with one of these codes. */
export async function orNull<T>(
  codes: readonly TokenctlErrorCode[],
  read: () => Promise<T>,
): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof TokenctlError && codes.includes(error.code)) return null;
    throw error;
  }
}

/** The error for a response in another format than that of any controller or gateway. */
export function unknownFormat(said: string): TokenctlError {
  return new TokenctlError('target_misbehaved', said, {
    hint: 'Run `tokenctl context check` to see which server answers at this address.',
  });
}

/**
 * Whether the credential was refused. A gateway that requires no particular kind of credential answers 403
 * (Django REST framework then has no `WWW-Authenticate` header to send).
 */
export function isUnauthenticated({ status, body }: HttpResponse): boolean {
  return status === 401 || (status === 403 && body.includes('Authentication credentials were not provided'));
}

/**
 * From the vendor's documentation of 2.7, "Mandatory platform gateway authentication". The response itself
 * does not differ from one for a wrong credential.
 */
const SINCE_2_7 =
  "According to the platform's documentation, controllers accept requests only from the gateway from platform version 2.7 on. Use the gateway's address and one of its tokens.";

function credentialsError({ headers }: HttpResponse, from: Responder): TokenctlError {
  const { credential } = from;
  const since = isFromService(headers) ? '' : ` ${SINCE_2_7}`;
  if (credential.kind === 'token') {
    return new TokenctlError('credentials_refused', `${from.answeredBy()} does not accept the token`, {
      hint: `It may be revoked, expired or mistyped. Create a new token and use it.${since}`,
    });
  }
  return new TokenctlError(
    'credentials_refused',
    `${from.answeredBy()} does not accept ${credential.username} with this password`,
    { hint: `Check both. If basic authentication is turned off there, use a token.${since}` },
  );
}

function redirectError({ headers }: HttpResponse, from: Responder): TokenctlError {
  const { address } = from;
  const { location } = headers;
  const origin =
    location !== undefined && URL.canParse(location, address) ? new URL(location, address).origin : null;
  if (origin === null || origin === new URL(address).origin) {
    return new TokenctlError('target_misbehaved', `${from.answeredBy()} redirects to another page`, {
      hint: 'Check the path in the address.',
    });
  }
  return new TokenctlError(
    'target_misbehaved',
    `${from.answeredBy()} redirects to ${origin}; the credential was not sent there`,
    { hint: `If ${origin} is the controller, use that address.` },
  );
}

/** Something responds, but it is not a controller. */
export function notAControllerError(from: Responder, what: string): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `${from.answeredBy()} does not respond like a controller or a gateway: it returned a web page instead of ${what}`,
    { hint: "Check the address's host, port and path. A proxy or a login page may be in front of it." },
  );
}
