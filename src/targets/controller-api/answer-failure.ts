import { TokenctlError } from '../../domain/errors.ts';
import type { Credential } from './credential.ts';
import type { Answer } from './receiver.ts';

/** Who answered, and what was presented there: a connection or an API. */
export interface Answerer {
  readonly address: string;
  readonly credential: Credential;
}

/** Whether an answer says that it is JSON. */
export function isJson({ headers }: Answer): boolean {
  return /^application\/([\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '');
}

/**
 * The parsed body of an answer that must be good JSON.
 *
 * @param what What was asked for, for messages: `the list of tokens`.
 * @throws TokenctlError what {@link answerFailure} makes of it, or `target_misbehaved`.
 */
export function jsonOf(answer: Answer, at: Answerer, what: string): unknown {
  if (answer.status < 200 || answer.status > 299) throw answerFailure(answer, at, what);
  if (!isJson(answer)) throw notAController(at, what);
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch (cause) {
    throw new TokenctlError('target_misbehaved', `${at.address} sent broken JSON for ${what}`, {
      cause,
    });
  }
}

/** Says in words what an answer refuses. Nothing of its body is repeated: it may hold anything. */
export function answerFailure(answer: Answer, at: Answerer, what: string): TokenctlError {
  const { address } = at;
  const { status } = answer;
  if (status >= 300 && status <= 399) return redirected(answer, address);
  if (isUnauthenticated(answer)) return credentialsRefused(at);
  if (status === 403) {
    return new TokenctlError('permission_refused', `${address} does not allow this account ${what}`, {
      hint: 'Use an account with the rights for it, and a token with the scope write for changes.',
    });
  }
  if (status === 404 && !isJson(answer)) return notAController(at, what);
  if (status === 404) return new TokenctlError('not_found', `${address} knows nothing of ${what}`);
  if (status === 400)
    return new TokenctlError('unsupported', `${address} refuses the way in which it was asked for ${what}`);
  if (status === 405) return new TokenctlError('unsupported', `${address} does not take ${what}`);
  if (status === 429) {
    return new TokenctlError('target_unreachable', `${address} is being asked too often`, {
      hint: 'Try again later.',
    });
  }
  if (status >= 502 && status <= 504) {
    return new TokenctlError(
      'target_unreachable',
      `${address} is not available: overloaded, or under maintenance`,
      {
        hint: 'Try again later; what is done already stays done.',
      },
    );
  }
  return new TokenctlError('target_misbehaved', `${address} failed when asked for ${what}`, {
    hint: 'Look into its own log.',
    details: { status },
  });
}

/**
 * Whether the credential was not accepted. A gateway that asks for no particular kind of credential says so
 * with 403 (Django REST framework does without a `WWW-Authenticate` header).
 */
export function isUnauthenticated({ status, body }: Answer): boolean {
  return status === 401 || (status === 403 && body.includes('Authentication credentials were not provided'));
}

function credentialsRefused({ address, credential }: Answerer): TokenctlError {
  if (credential.kind === 'token') {
    return new TokenctlError('credentials_refused', `${address} does not accept the token`, {
      hint: 'It may be revoked, expired or mistyped. Make another, and use that.',
    });
  }
  return new TokenctlError(
    'credentials_refused',
    `${address} does not accept ${credential.username} with this password`,
    {
      hint: 'Check both. If basic authentication is turned off there, use a token.',
    },
  );
}

function redirected({ headers }: Answer, address: string): TokenctlError {
  const { location } = headers;
  const to =
    location !== undefined && URL.canParse(location, address) ? new URL(location, address).origin : null;
  const elsewhere = to !== null && to !== new URL(address).origin;
  return new TokenctlError(
    'target_misbehaved',
    elsewhere
      ? `${address} redirects to ${to}, where the credential is not sent`
      : `${address} redirects to another page`,
    { hint: elsewhere ? `If ${to} is the controller, use that address.` : 'Check the path in the address.' },
  );
}

/** Something answers, and it is not a controller. */
export function notAController({ address }: Answerer, what: string): TokenctlError {
  return new TokenctlError(
    'target_misbehaved',
    `${address} is neither a controller nor a gateway: it answers with a page where ${what} should be`,
    {
      hint: 'Check host, port and path of the address; a proxy or login page may stand before it.',
    },
  );
}
