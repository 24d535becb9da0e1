import { KeysUnavailable, SignalRefusal } from '@tokenctl/common/signals/signal-refusal.ts';
import { revocationSubject } from '@tokenctl/common/signals/subject-identifier.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { NO_STORE } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import type { RouteDescription } from '../endpoint.ts';
import { handleError } from '../error-handler.ts';
import { tooManyRequests } from '../failure.ts';
import { Buckets } from '../limits/limits.ts';
import { outsideTurn } from '../limits/request-shares.ts';
import { jsonObject, readForms } from '../request.ts';
import { EVENT_PATHS, type EventOutcome, ProviderEvents } from './provider-events.ts';

/** Refused events per network: 100, then one every three seconds. Accepted events are never held up. */
const REFUSED_LIMIT = { burst: 100, refillSeconds: 3 };
/** Seconds after which a provider should retry. */
const RETRY_AFTER_S = 30;
const BODY_LIMIT = 128 * 1024;
const EVENT_TYPE = 'application/secevent+jwt';

/**
 * Events from OpenID providers about their users, a Fastify plugin: logout tokens (OpenID Connect
 * Back-Channel Logout 1.0), pushed security events (RFC 8935) and Global Token Revocation
 * (draft-parecki-oauth-global-token-revocation). Requests are anonymous: the signature of their content is
 * what counts. A response is sent after the transaction that ended the access.
 */
export async function serveProviderEvents(app: FastifyInstance, service: ServiceContext): Promise<void> {
  const events = new ProviderEvents(service);
  const refused = new Buckets(REFUSED_LIMIT, () => performance.now());
  readForms(app);
  app.addContentTypeParser<string>(EVENT_TYPE, { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  );
  app.setErrorHandler(handleError);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('Cache-Control', NO_STORE);
    const wait = refused.wait(request.network);
    if (wait > 0) throw tooManyRequests('Too many events were rejected.', wait);
  });
  app.addHook('onResponse', async (request, { statusCode }) => {
    if (statusCode >= 400 && statusCode !== 429) refused.take(request.network);
  });

  app.post(EVENT_PATHS.logout, { config: { describes: LOGOUT }, bodyLimit: BODY_LIMIT }, (request, reply) => {
    const { logout_token: token } = (request.body ?? {}) as Record<string, unknown>;
    if (typeof token !== 'string')
      return refuse(reply, 400, { code: 'invalid_request', why: 'The form has no logout_token.' });
    return answer({ request, reply }, async () => {
      await outsideTurn(request, () => events.logout(token)).then(logged(request));
      return reply.code(200).send();
    });
  });

  app.post(EVENT_PATHS.events, { config: { describes: EVENTS }, bodyLimit: BODY_LIMIT }, (request, reply) => {
    const { body } = request;
    if (typeof body !== 'string')
      return refuse(reply, 400, { code: 'invalid_request', why: `The content type is not ${EVENT_TYPE}.` });
    return answer({ request, reply }, async () => {
      await outsideTurn(request, () => events.securityEvent(body.trim())).then(logged(request));
      return reply.code(202).send();
    });
  });

  app.post(
    EVENT_PATHS.revocation,
    { config: { describes: REVOCATION }, bodyLimit: BODY_LIMIT },
    (request, reply) =>
      answer({ request, reply }, async () => {
        const bearer = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
        if (bearer === undefined)
          return unauthenticated(reply, {
            code: 'authentication_failed',
            why: 'The request has no bearer token.',
          });
        const subject = revocationSubject(jsonObject(request));
        const outcome = await outsideTurn(request, () => events.revocation(bearer, subject)).catch(
          (error: unknown) => {
            if (error instanceof SignalRefusal && error.code !== 'access_denied') return error;
            throw error;
          },
        );
        if (outcome instanceof SignalRefusal) {
          logRefusal(request, outcome);
          return unauthenticated(reply, { code: outcome.code, why: outcome.message });
        }
        logged(request)(outcome);
        return outcome.result === 'unknown'
          ? refuse(reply, 404, { code: 'invalid_request', why: 'No user here has this issuer and subject.' })
          : reply.code(204).send();
      }),
  );
}

interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface Refusal {
  readonly code: string;
  readonly why: string;
}

async function answer({ request, reply }: Visit, work: () => Promise<FastifyReply> | FastifyReply) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SignalRefusal) {
      logRefusal(request, error);
      return refuse(reply, 400, { code: error.code, why: error.message });
    }
    if (!(error instanceof KeysUnavailable)) throw error;
    request.log.warn(
      { detail: error.message },
      'an event from a provider was not accepted: the provider should send it again',
    );
    return reply.code(503).header('Retry-After', String(RETRY_AFTER_S)).send();
  }
}

function logRefusal(request: FastifyRequest, { code, message }: SignalRefusal): void {
  request.log.warn({ reason: code, detail: message }, 'an event from a provider was rejected');
}

/** Logs the result of an event: who lost which access, and which provider requested it. */
function logged(request: FastifyRequest): (outcome: EventOutcome) => void {
  return ({ kind, issuer, id, result, users, ended }) => {
    request.log.info(
      { event: id.slice(0, 256), issuer, kind, result, users, ended },
      result === 'ended'
        ? 'a provider ended the access of a user'
        : 'an event from a provider changed nothing',
    );
  };
}

/** The members of RFC 8935 (section 2.3), and those of OAuth 2.0, which the other two kinds of callers read. */
function refuse(reply: FastifyReply, status: number, { code, why }: Refusal): FastifyReply {
  return reply.code(status).send({ err: code, description: why, error: code, error_description: why });
}

function unauthenticated(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return refuse(reply.header('WWW-Authenticate', 'Bearer'), 401, refusal);
}

const COMMON = {
  429: 'Too many events from one network were rejected.',
  503: "The provider's keys cannot be read at the moment. Send it again.",
};

const LOGOUT: RouteDescription = {
  summary: 'Back-channel logout by an OpenID provider',
  description:
    "OpenID Connect Back-Channel Logout 1.0: ends a user's sessions that the provider started here.",
  form: { logout_token: { description: 'The logout token signed by the provider.', required: true } },
  answers: { 200: 'The sessions have ended, or none existed.', 400: 'The token is rejected.', ...COMMON },
};

const EVENTS: RouteDescription = {
  summary: 'Security events from an OpenID provider',
  description:
    'Push delivery (RFC 8935) of security event tokens. Events that withdraw an account, a session or a credential end the ' +
    "user's sessions and tokens.",
  answers: { 202: 'The event was processed.', 400: 'The event is rejected.', ...COMMON },
};

const REVOCATION: RouteDescription = {
  summary: 'Global Token Revocation by an OpenID provider',
  description:
    'Ends the sessions and tokens of the user that `sub_id` names by issuer and subject (RFC 9493).',
  answers: {
    204: 'The sessions and tokens have ended, or none existed.',
    400: 'The subject is invalid.',
    401: 'The bearer token is not a JWT signed by a configured provider for this service.',
    404: 'No user here has this issuer and subject.',
    ...COMMON,
  },
};
