import { createHash, timingSafeEqual } from 'node:crypto';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Logger } from 'pino';
import { TokenctlError } from '../domain/errors.ts';
import type { Secret } from '../domain/secret.ts';
import { KeysUnavailable, SignalRefusal } from '../domain/signals/signal-refusal.ts';

/** What a call of /global-token-revocation came to. */
export type RevocationAnswer = 'accepted' | 'unknown_user' | 'held';

/** What takes the signals that arrive. What returns is on stable storage. */
export interface SignalIntake {
  /** Throws {@link SignalRefusal}, {@link KeysUnavailable}. */
  securityEvent(transmitter: string, token: string): Promise<void>;
  /** Throws {@link SignalRefusal}, {@link KeysUnavailable}. */
  logout(token: string): Promise<void>;
  /** Throws {@link SignalRefusal}, {@link KeysUnavailable}. */
  revocation(bearer: string, body: unknown): Promise<RevocationAnswer>;
}

interface ReceiverOptions {
  readonly intake: SignalIntake;
  /** The transmitters that may push, with the token that each sends; null for one that sends none. */
  readonly pushers: ReadonlyMap<string, Secret | null>;
  readonly log: Logger;
  /** Why the receiver cannot take signals at present; null if it can. */
  readonly problem: () => Promise<string | null>;
  readonly counts: () => Promise<Readonly<Record<string, number>>>;
}

interface ReceiverAddress {
  readonly host: string;
  readonly port: number;
  /** A socket that the service manager has opened, instead of host and port. */
  readonly fd?: number | undefined;
}

const BODY_LIMIT = 128 * 1024;
/** How long a request may take to arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Seconds after which a sender is to try again. */
const RETRY_AFTER_S = 30;
/** Refused requests of one sender's address: so many at once, then one in so many milliseconds. */
const REFUSED = { burst: 100, refillMs: 1_000 };
/** All requests: so many under way; further ones are to come again. */
const MAX_UNDER_WAY = 200;

/**
 * Serves pushed security events (RFC 8935) at `/signals/NAME`, Global Token Revocation at `/global-token-revocation`,
 * logout tokens (OpenID Connect Back-Channel Logout 1.0) at `/backchannel-logout`, and `/healthz` and `/readyz`.
 *
 * @returns its URL, and how to close it
 * @throws TokenctlError `usage` if the port is in use or the address is not available.
 */
export async function startReceiver(
  options: ReceiverOptions,
  { host, port, fd }: ReceiverAddress,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: 2 * REQUEST_TIMEOUT_MS,
    keepAliveTimeout: 60_000,
    trustProxy: ['loopback', 'linklocal', 'uniquelocal'],
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 100 },
  });
  limitRequests(app);
  app.removeAllContentTypeParsers();
  for (const type of ['application/secevent+jwt', 'application/json', 'application/x-www-form-urlencoded'])
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error: { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) options.log.error({ err: error, path: request.routeOptions.url }, 'internal error');
    const known: Readonly<Record<number, string>> = {
      413: 'The request is too large',
      415: 'The content type is not supported',
    };
    return refuse(
      reply,
      status,
      'invalid_request',
      known[status] ?? (status < 500 ? 'The request is invalid' : 'Internal error'),
    );
  });
  app.setNotFoundHandler((_request, reply) =>
    refuse(reply, 404, 'invalid_request', 'There is nothing at this address'),
  );
  servePushed(app, options);
  serveRevocation(app, options);
  serveLogout(app, options);
  app.get('/healthz', async (_request, reply) => reply.send({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const problem = await options.problem();
    const counts = problem === null ? await options.counts() : null;
    return reply.code(problem === null ? 200 : 503).send({ ready: problem === null, problem, counts });
  });
  try {
    const url = await (fd === undefined ? app.listen({ host, port }) : app.listen({ fd } as never));
    return { url, close: () => app.close() };
  } catch (cause) {
    await app.close();
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new TokenctlError(
      'usage',
      `Cannot listen on ${fd === undefined ? `${host}:${port}` : `socket ${fd}`}: ${code}`,
      {
        hint: 'Choose another port with signals.port.',
        cause,
      },
    );
  }
}

/** RFC 8935: 202 without a body once it is recorded, 400 with a code where it is refused for good. */
function servePushed(app: FastifyInstance, { intake, pushers, log }: ReceiverOptions): void {
  app.post('/signals/:transmitter', async (request, reply) => {
    const { transmitter: name } = request.params as { readonly transmitter: string };
    const token = pushers.get(name);
    if (token === undefined) return refuse(reply, 404, 'access_denied', 'No such stream');
    if (token !== null && !isSame(bearerOf(request), token)) {
      // Section 2.4 has a code for this; the status lets a proxy and an operator see it as well.
      reply.header('WWW-Authenticate', 'Bearer');
      return refuse(
        reply,
        401,
        'authentication_failed',
        'The authorization header is not that of the stream',
      );
    }
    if (!isType(request, 'application/secevent+jwt'))
      return refuse(reply, 400, 'invalid_request', 'The content type is not application/secevent+jwt');
    return await answering({ reply, log, what: `event from ${name}` }, async () => {
      await intake.securityEvent(name, String(request.body).trim());
      return await reply.code(202).send();
    });
  });
}

/** draft-parecki-oauth-global-token-revocation: 204 once it is recorded, 404 for an unknown user. */
function serveRevocation(app: FastifyInstance, { intake, log }: ReceiverOptions): void {
  app.post('/global-token-revocation', async (request, reply) => {
    const bearer = bearerOf(request);
    if (bearer === null) {
      reply.header('WWW-Authenticate', 'Bearer');
      return refuse(reply, 401, 'authentication_failed', 'The request has no bearer token');
    }
    if (!isType(request, 'application/json'))
      return refuse(reply, 400, 'invalid_request', 'The content type is not application/json');
    const body = parsed(request.body);
    return await answering({ reply, log, what: 'global token revocation' }, async () => {
      const answer = await intake.revocation(bearer, body);
      if (answer === 'unknown_user')
        return refuse(reply, 404, 'invalid_request', 'No user matches the subject');
      if (answer === 'held')
        return refuse(reply, 422, 'invalid_request', 'The revocation waits for a person, who was told');
      return await reply.code(204).send();
    });
  });
}

/** OpenID Connect Back-Channel Logout 1.0, section 2.8: 200, or 400 with an error; never cached. */
function serveLogout(app: FastifyInstance, { intake, log }: ReceiverOptions): void {
  app.post('/backchannel-logout', async (request, reply) => {
    reply.header('Cache-Control', 'no-store');
    const token = isType(request, 'application/x-www-form-urlencoded')
      ? new URLSearchParams(String(request.body)).get('logout_token')
      : null;
    if (token === null) return refuse(reply, 400, 'invalid_request', 'The form has no logout_token');
    return await answering({ reply, log, what: 'logout' }, async () => {
      await intake.logout(token);
      return await reply.code(200).send();
    });
  });
}

async function answering(
  { reply, log, what }: { readonly reply: FastifyReply; readonly log: Logger; readonly what: string },
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof SignalRefusal) {
      const status = error.code === 'authentication_failed' ? 401 : 400;
      log.warn({ code: error.code, reason: error.message }, `refused: ${what}`);
      return refuse(reply, status, error.code, error.message);
    }
    const passes = error instanceof KeysUnavailable || error instanceof TokenctlError;
    if (!passes) throw error;
    log.error({ reason: error.message }, `not taken, the sender is to try again: ${what}`);
    reply.header('Retry-After', String(RETRY_AFTER_S));
    return await reply.code(503).send();
  }
}

function refuse(reply: FastifyReply, status: number, err: string, description: string): FastifyReply {
  // The members of RFC 8935, and those of OAuth 2.0 (RFC 6749), which the other two kinds of callers read.
  const body = { err, description, error: err, error_description: description };
  return reply.code(status).header('Content-Language', 'en').send(body);
}

function parsed(body: unknown): unknown {
  try {
    return JSON.parse(String(body));
  } catch {
    return null;
  }
}

function isType(request: FastifyRequest, type: string): boolean {
  return request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === type;
}

function bearerOf({ headers: { authorization = '' } }: FastifyRequest): string | null {
  return /^bearer +([^\s]+)$/i.exec(authorization)?.[1] ?? null;
}

/** In a time that does not depend on where the two differ. */
function isSame(given: string | null, expected: Secret): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(expected.reveal()));
}

/** Limits requests under way, and refused requests by the address of their sender: to verify a signature takes time. */
function limitRequests(app: FastifyInstance): void {
  let underWay = 0;
  const refused = new Map<string, { left: number; at: number }>();
  const levelOf = (address: string) => {
    const now = performance.now();
    const { left, at } = refused.get(address) ?? { left: REFUSED.burst, at: now };
    return { left: Math.min(REFUSED.burst, left + (now - at) / REFUSED.refillMs), at: now };
  };
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'GET') return;
    if (levelOf(request.ip).left < 1 || underWay >= MAX_UNDER_WAY) {
      reply.header('Retry-After', String(RETRY_AFTER_S));
      await refuse(reply, 429, 'access_denied', 'Too many requests');
      return reply;
    }
    underWay += 1;
    reply.raw.once('close', () => {
      underWay -= 1;
    });
  });
  app.addHook('onResponse', async (request, reply) => {
    if (reply.statusCode < 400 || reply.statusCode >= 500) return;
    const { left, at } = levelOf(request.ip);
    refused.set(request.ip, { left: Math.max(0, left - 1), at });
    // The oldest entries are full again first.
    const [oldest] = refused.keys();
    if (refused.size > 10_000 && oldest !== undefined) refused.delete(oldest);
  });
}
