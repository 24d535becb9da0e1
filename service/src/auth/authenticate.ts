import { isUtf8 } from 'node:buffer';
import { allowsWriting } from '@tokenctl/common/token-terms.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import { badRequest, forbidden } from '../failure.ts';
import type { HashShare } from '../limits/hash-queue.ts';
import type { Attempt } from '../limits/limits.ts';
import { outsideTurn } from '../limits/request-shares.ts';
import { parseTarget } from '../request.ts';
import { currentSettings } from '../settings/settings.ts';
import { touchLastUsed } from '../store/tokens.ts';
import { findUserByName, type UserRecord } from '../store/users.ts';
import { knownDevice } from './device-cookie.ts';
import { hashToken, verifyPassword } from './secret-hashes.ts';
import { csrfProblem, findRequestSession, renewSession } from './session.ts';

export interface Caller {
  readonly user: UserRecord;
  readonly method: 'bearer' | 'session' | 'basic';
  /** The id of the bearer token, else null. */
  readonly tokenId: number | null;
  /** The key of the session, else null. */
  readonly sessionKey: string | null;
  /** Whether the credential allows changes: sessions and passwords do, tokens only with scope write. */
  readonly mayWrite: boolean;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a method is safe (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return SAFE_METHODS.has(method);
}

/**
 * Authenticates a request by bearer token, session or Basic, in this order (the controller's precedence; an
 * invalid bearer token falls back to the session). Returns null for every failure.
 * @throws RequestFailure 400 for a token in the query string (RFC 9700 §4.3.2), 403 for a session's unsafe
 * request without its CSRF token.
 */
export async function authenticate(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller | null> {
  const { authorization } = request.headers;
  const { query } = parseTarget(request.url);
  if (query !== '' && new URLSearchParams(query).has('access_token')) {
    throw badRequest('Tokens in the query string are not accepted. Use the Authorization header.');
  }
  const bearer = await findBearer(service, authorization);
  if (bearer !== null) {
    request.provenUser = bearer.owner.id;
    service.metrics.authenticated('bearer', 'accepted');
    const mayWrite = allowsWriting(bearer);
    return { user: bearer.owner, method: 'bearer', tokenId: bearer.token_id, sessionKey: null, mayWrite };
  }
  if (/^bearer /i.test(authorization ?? '')) service.metrics.authenticated('bearer', 'refused');
  const session = await findRequestSession(service, request, reply);
  if (session !== null) {
    service.metrics.authenticated('session', 'accepted');
    await renewSession(service, { request, reply, session });
    logUserMismatch(service, authorization, session.owner);
    const problem = isSafe(request.method) ? null : csrfProblem(request);
    if (problem !== null) throw forbidden(`CSRF Failed: ${problem}`);
    const { owner, session_key: sessionKey } = session;
    return { user: owner, method: 'session', tokenId: null, sessionKey, mayWrite: true };
  }
  const user = await userOfBasicCredentials(service, request);
  if (user !== null) request.provenUser = user.id;
  return user === null ? null : { user, method: 'basic', tokenId: null, sessionKey: null, mayWrite: true };
}

/** Logs Basic credentials of another user than the session's. The session wins. */
function logUserMismatch(service: ServiceContext, authorization: string | undefined, owner: UserRecord) {
  if (authorization === undefined || !/^basic /i.test(authorization)) return;
  const name = credentialsText(authorization.slice(6)).split(':')[0];
  if (name !== owner.username) {
    service.log.warn(
      { session_user: owner.username },
      'Basic credentials of another user; using the session',
    );
  }
}

/** `last_used` is written at most once a minute for each token. */
const LAST_USED_INTERVAL_MS = 60_000;
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/**
 * The live token of an Authorization header (RFC 6750 §2.1). Null if it is missing, unknown, expired or owned
 * by a deactivated user (whose tokens the controller accepts).
 */
async function findBearer(service: ServiceContext, authorization: string | undefined) {
  const presented = authorization === undefined ? null : BEARER.exec(authorization);
  if (presented === null) return null;
  const bearer = await service.lookups.bearers.find(hashToken(presented[1] ?? ''));
  if (bearer === null) return null;
  const at = service.now();
  const unless = new Date(at.getTime() - LAST_USED_INTERVAL_MS);
  if (bearer.last_used === null || bearer.last_used <= unless) {
    await touchLastUsed(service.database, { tokenId: bearer.token_id, at, unless });
  }
  return bearer;
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * The active user with the name and password of an Authorization header (RFC 7617), or null. The header is
 * ignored while AUTH_BASIC_ENABLED is off, as on the controller, or DISABLE_LOCAL_AUTH is on: users of
 * identity providers have no local password.
 */
async function userOfBasicCredentials(service: ServiceContext, request: FastifyRequest) {
  const { authorization } = request.headers;
  const presented = authorization === undefined ? null : BASIC.exec(authorization);
  if (presented === null) return null;
  const { AUTH_BASIC_ENABLED, DISABLE_LOCAL_AUTH } = await currentSettings(service.database);
  if (!AUTH_BASIC_ENABLED || DISABLE_LOCAL_AUTH) return null;
  const credentials = decode(presented[1] ?? '');
  return credentials === null
    ? null
    : userWithPassword(service, { ...credentials, network: request.network, request });
}

/** A name and a password, and the client's network for rate limits. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
  readonly network: string;
  readonly request: FastifyRequest;
  /** Whether a login form was sent: a browser in which this user logged in before has its own limits. */
  readonly isForm?: boolean;
}

/**
 * The active user with this name and password, or null. Unknown names and wrong passwords take the same time.
 * @throws RequestFailure 429 after too many wrong passwords from this network or for this name, or from this
 * browser, or if too many passwords are being verified.
 */
export async function userWithPassword(
  service: ServiceContext,
  { username, password, network, request, isForm = false }: Credentials,
): Promise<UserRecord | null> {
  const { database, credentials, metrics } = service;
  const user = await findUserByName(database, username);
  if (user !== null && credentials.has(user.password, password)) {
    metrics.authenticated('password', user.is_active ? 'accepted' : 'refused');
    return user.is_active ? user : null;
  }
  const device = user === null || !isForm ? null : knownDevice(service, request, user);
  const isCorrect = await outsideTurn(request, () =>
    credentials.shared([username, user?.password ?? '', network, device?.id ?? ''], password, () =>
      verify(service, { user, password, attempt: { username, network, device } }),
    ),
  );
  const isAccepted = user?.is_active === true && isCorrect;
  metrics.authenticated('password', isAccepted ? 'accepted' : 'refused');
  return isAccepted ? user : null;
}

/** Verifies a password when its turn comes: networks and accounts share the capacity for hashes. */
async function verify(
  service: ServiceContext,
  { user, password, attempt }: { user: UserRecord | null; password: string; attempt: Attempt },
): Promise<boolean> {
  const begun = beginAttempt(service, attempt);
  const stored = user?.is_active ? user.password : null;
  const isCorrect = await service.hashes
    .run(
      hashShare(service, attempt),
      () => verifyPassword(password, stored, service.passwordIterations),
      (result) => result,
    )
    .catch((error: unknown) => {
      begun.canceled();
      service.metrics.authenticated('password', 'slowed');
      throw error;
    });
  if (stored === null || !isCorrect) return false;
  begun.succeeded();
  service.credentials.add(stored, password);
  return true;
}

/** A browser or network in which the user logged in before has its own share and never waits for strangers. */
function hashShare({ passwordLimits }: ServiceContext, attempt: Attempt): HashShare {
  const { network, username, device = null } = attempt;
  const known =
    device !== null
      ? `browser ${device.userId} ${device.id}`
      : passwordLimits.isProven(attempt)
        ? `login ${network} ${username}`
        : null;
  return known === null ? { source: network, account: username } : { source: known, account: known };
}

function beginAttempt({ passwordLimits, metrics }: ServiceContext, attempt: Attempt) {
  try {
    return passwordLimits.begin(attempt);
  } catch (error) {
    metrics.authenticated('password', 'slowed');
    throw error;
  }
}

/**
 * The text of Basic credentials: UTF-8, or Latin-1 if it is not valid UTF-8, as on the controller (Django REST
 * framework). RFC 7617 leaves the encoding open, and Python's requests, which the awx CLI uses, sends Latin-1.
 */
function credentialsText(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}

function decode(encoded: string): { username: string; password: string } | null {
  const text = credentialsText(encoded);
  const colon = text.indexOf(':');
  if (colon < 1 || text.includes('\0')) return null;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
