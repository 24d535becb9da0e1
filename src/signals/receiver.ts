import { createHash, timingSafeEqual } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Secret } from '@tokenctl/common/secret.ts';
import { KeysUnavailable, SignalRefusal } from '@tokenctl/common/signals/signal-refusal.ts';
import { jsonOrNull } from '@tokenctl/common/text.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { isType, type ListenAddress, listen, newListener, tooMany } from '../http/listener.ts';
import { RETRY_AFTER_S, type RefusedRequests } from '../http/request-limits.ts';

export type RevocationAnswer = 'accepted' | 'unknown_user' | 'held' | 'not_acted_on';

/** Accepts incoming signals. Once a method returns, the signal is on stable storage. */
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
  /** The transmitters that may push, each with its token; null for one that sends none. */
  readonly pushers: ReadonlyMap<string, Secret | null>;
  readonly log: Logger;
  /** Called for a refused event if its sender has the stream's token. */
  readonly onRefused?: (transmitter: string, reason: string) => void;
  /** Whether the receiver can currently accept signals. */
  readonly isReady: () => Promise<boolean>;
}

const BODY_LIMIT = 128 * 1024;

/**
 * Serves pushed security events (RFC 8935) at `/signals/NAME`, Global Token Revocation at `/global-token-revocation`,
 * logout tokens (OpenID Connect Back-Channel Logout 1.0) at `/backchannel-logout`, and `/healthz` and `/readyz`.
 * @returns its URL, and how to close it
 * @throws TokenctlError `usage` if the port is in use or the address is not available.
 */
export async function startReceiver(
  options: ReceiverOptions,
  address: ListenAddress,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { app, refused } = newListener({
    bodyLimit: BODY_LIMIT,
    types: ['application/secevent+jwt', 'application/json', 'application/x-www-form-urlencoded'],
    log: options.log,
    refuse: refuseRequest,
    isReady: options.isReady,
  });
  servePushed(app, { ...options, refused });
  serveRevocation(app, { ...options, refused });
  serveLogout(app, { ...options, refused });
  return await listen(app, address);
}

/** A sender who exceeds a limit gets `access_denied`; other requests are invalid. */
function refuseRequest(reply: FastifyReply, status: number, description: string): FastifyReply {
  return refuse(reply, status, LIMITED.has(status) ? 'access_denied' : 'invalid_request', description);
}

const LIMITED: ReadonlySet<number> = new Set([429, 503]);

interface RouteOptions extends ReceiverOptions {
  readonly refused: RefusedRequests;
}

/** RFC 8935: 202 without a body once it is recorded, 400 with a code for a permanent refusal. */
function servePushed(app: FastifyInstance, { intake, pushers, log, refused, onRefused }: RouteOptions): void {
  const nameOf = ({ params }: FastifyRequest) => (params as { readonly transmitter: string }).transmitter;
  app.post('/signals/:transmitter', {
    // Before the body is read, which may be large.
    async onRequest(request, reply) {
      const token = pushers.get(nameOf(request));
      if (token === undefined) return refuse(reply, 404, 'access_denied', 'No such stream');
      // A sender with the stream's token is not blocked because of others at the same address.
      if (token !== null && isSame(bearerOf(request), token)) return refused.exempt(request);
      // Its signature shows who sent it.
      if (token === null) return;
      if (refused.blocks(request)) return tooMany(reply, refuseRequest);
      // RFC 8935, section 2.4, has a code for this. The status also shows it to a proxy and an operator.
      reply.header('WWW-Authenticate', 'Bearer');
      const description = 'The authorization header does not match the stream';
      return refuse(reply, 401, 'authentication_failed', description);
    },
    async handler(request, reply) {
      const name = nameOf(request);
      if (!isType(request, 'application/secevent+jwt'))
        return refuse(reply, 400, 'invalid_request', 'The content type is not application/secevent+jwt');
      return await answering({ request, reply, log, refused, what: `event from ${name}` }, async () => {
        await intake.securityEvent(name, String(request.body).trim()).catch((error: unknown) => {
          // Otherwise anyone without a token could trigger notices.
          if (error instanceof SignalRefusal && pushers.get(name) != null) onRefused?.(name, error.message);
          throw error;
        });
        return await reply.code(202).send();
      });
    },
  });
}

/** draft-parecki-oauth-global-token-revocation: 204 once it is recorded, 404 for an unknown user. */
function serveRevocation(app: FastifyInstance, { intake, log, refused }: RouteOptions): void {
  app.post('/global-token-revocation', {
    async onRequest(request, reply) {
      if (bearerOf(request) !== null) return;
      if (refused.blocks(request)) return tooMany(reply, refuseRequest);
      reply.header('WWW-Authenticate', 'Bearer');
      return refuse(reply, 401, 'authentication_failed', 'The request has no bearer token');
    },
    async handler(request, reply) {
      if (!isType(request, 'application/json'))
        return refuse(reply, 400, 'invalid_request', 'The content type is not application/json');
      const body = jsonOrNull(String(request.body));
      return await answering({ request, reply, log, refused, what: 'global token revocation' }, async () => {
        const answer = await intake.revocation(bearerOf(request) ?? '', body);
        if (answer === 'accepted') return await reply.code(204).send();
        const [status, text] = NOT_REVOKED[answer];
        return refuse(reply, status, 'invalid_request', text);
      });
    },
  });
}

const NOT_REVOKED: Readonly<Record<Exclude<RevocationAnswer, 'accepted'>, readonly [number, string]>> = {
  unknown_user: [404, 'No user matches the subject'],
  held: [422, 'The revocation needs a decision by a person, who is notified'],
  not_acted_on: [422, 'Revocations from this provider are recorded but not acted on'],
};

/** OpenID Connect Back-Channel Logout 1.0, section 2.8: 200, or 400 with an error; never cached. */
function serveLogout(app: FastifyInstance, { intake, log, refused }: RouteOptions): void {
  app.post('/backchannel-logout', {
    onRequest: async (_request, reply) => void reply.header('Cache-Control', 'no-store'),
    async handler(request, reply) {
      const tokens = isType(request, 'application/x-www-form-urlencoded')
        ? new URLSearchParams(String(request.body)).getAll('logout_token')
        : [];
      const [token] = tokens;
      if (token === undefined || tokens.length > 1)
        return refuse(reply, 400, 'invalid_request', 'The form must contain one logout_token');
      return await answering({ request, reply, log, refused, what: 'logout' }, async () => {
        await intake.logout(token);
        return await reply.code(200).send();
      });
    },
  });
}

interface Answering extends Pick<RouteOptions, 'log' | 'refused'> {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly what: string;
}

async function answering(
  { request, reply, log, refused, what }: Answering,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    const isAnonymous = error instanceof SignalRefusal || error instanceof KeysUnavailable;
    if (isAnonymous && refused.blocks(request)) return tooMany(reply, refuseRequest);
    if (error instanceof SignalRefusal) {
      const status = error.code === 'authentication_failed' ? 401 : 400;
      log.warn({ code: error.code, reason: error.message }, `refused: ${what}`);
      return refuse(reply, status, error.code, error.message);
    }
    const passes = error instanceof KeysUnavailable || error instanceof TokenctlError;
    if (!passes) throw error;
    // Anyone can send an unknown key id.
    if (error instanceof KeysUnavailable) refused.count(request);
    log.error({ reason: error.message }, `not accepted; the sender should try again: ${what}`);
    reply.header('Retry-After', String(RETRY_AFTER_S));
    return await reply.code(503).send();
  }
}

function refuse(reply: FastifyReply, status: number, err: string, description: string): FastifyReply {
  // The members of RFC 8935, and those of OAuth 2.0 (RFC 6749), which the other two kinds of callers read.
  const body = { err, description, error: err, error_description: description };
  return reply.code(status).header('Content-Language', 'en').send(body);
}

function bearerOf({ headers: { authorization = '' } }: FastifyRequest): string | null {
  return /^bearer +([^\s]+)$/i.exec(authorization)?.[1] ?? null;
}

/** Compares in constant time. */
function isSame(given: string | null, expected: Secret): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given ?? ''), digest(expected.reveal()));
}
