import { TokenctlError } from '@tokenctl/common/errors.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { KeysUnavailable } from '@tokenctl/common/signals/signal-refusal.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Counter, Histogram, Registry } from 'prom-client';
import { isType, type ListenAddress, listen, newListener, tooMany } from '../http/listener.ts';
import { RETRY_AFTER_S, type RefusedRequests } from '../http/request-limits.ts';
import { type BrokerProblem, BrokerRefusal } from '../operations/ports/broker.ts';

/** The form parameters of a token request (RFC 8693, section 2.1). */
export interface TokenRequestForm {
  readonly identity: string;
  readonly audience: string | undefined;
  readonly scope: 'read' | 'write' | undefined;
}

/** A token issued for an identity. */
export interface IssuedToken {
  readonly value: Secret;
  readonly scope: string;
  /** How many seconds it is valid. */
  readonly seconds: number;
  /** Where it is accepted over REST; null if unknown. */
  readonly host: string | null;
  readonly rule: string;
}

/** Issues and revokes tokens. Throws {@link BrokerRefusal}, {@link KeysUnavailable}, TokenctlError. */
export interface TokenService {
  exchange(form: TokenRequestForm): Promise<IssuedToken>;
  revoke(value: Secret): Promise<boolean>;
}

interface EndpointOptions {
  readonly service: TokenService;
  readonly log: Logger;
  readonly isReady: () => Promise<boolean>;
}

/** In bytes: an identity of the maximum length, escaped, and the other parameters. */
const BODY_LIMIT = 64 * 1024;
/** The delay of unknown senders with many refused requests, in milliseconds: these cost as much as valid ones. */
const SLOWED_MS = 250;
const FORM = 'application/x-www-form-urlencoded';
const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';

/**
 * Serves OAuth 2.0 Token Exchange (RFC 8693) at `/token`, revocation (RFC 7009) at `/revoke`, and `/healthz`,
 * `/readyz` and `/metrics`. Responses of the first two are never cached.
 * @throws TokenctlError `usage` if it cannot listen.
 */
export async function serveTokens(options: EndpointOptions, address: ListenAddress) {
  const { log, service, isReady } = options;
  const { app, refused } = newListener({
    ...{ bodyLimit: BODY_LIMIT, types: [FORM], log, isReady, slowedMs: SLOWED_MS },
    refuse: (reply, status, text) =>
      refuse(
        reply,
        status,
        status === 503 || status === 429 ? 'temporarily_unavailable' : 'invalid_request',
        text,
      ),
  });
  const metrics = new BrokerMetrics();
  const noStore = async (_request: FastifyRequest, reply: FastifyReply) =>
    void reply.header('Cache-Control', 'no-store').header('Pragma', 'no-cache');
  const answer = answering({ log, refused });
  app.post('/token', {
    onRequest: noStore,
    handler: (request, reply) =>
      answer(request, reply, metrics.exchange(), async () => {
        const { value, scope, seconds, host } = await service.exchange(readForm(request));
        return {
          access_token: value.reveal(),
          issued_token_type: `${TOKEN_TYPE}access_token`,
          token_type: 'Bearer',
          expires_in: seconds,
          scope,
          // Our own member, which other clients ignore (RFC 6749, section 5.1).
          ...(host !== null && { controller_host: host }),
        };
      }),
  });
  app.post('/revoke', {
    onRequest: noStore,
    handler: (request, reply) =>
      answer(request, reply, metrics.revocation(), async () => {
        const token = single(parametersOf(request), 'token');
        if (token === undefined) throw new BrokerRefusal('invalid_request', 'The form needs one token');
        if (refused.blocks(request)) throw new BrokerRefusal('invalid_request', 'Too many requests');
        // RFC 7009, section 2.2: an unknown token is not an error.
        if (!(await service.revoke(new Secret(token)))) refused.count(request);
        return {};
      }),
  });
  app.get('/metrics', async (_request, reply) => {
    const { type, body } = await metrics.text();
    return reply.type(type).send(body);
  });
  return await listen(app, address);
}

function readForm(request: FastifyRequest): TokenRequestForm {
  const parameters = parametersOf(request);
  const value = (name: string) => single(parameters, name);
  if (value('grant_type') !== GRANT)
    throw new BrokerRefusal('unsupported_grant', `The grant_type has to be ${GRANT}`);
  const identity = value('subject_token');
  if (identity === undefined) throw new BrokerRefusal('invalid_request', 'The form needs a subject_token');
  const type = value('subject_token_type');
  if (type !== `${TOKEN_TYPE}jwt` && type !== `${TOKEN_TYPE}id_token`)
    throw new BrokerRefusal('invalid_request', `The subject_token_type has to be ${TOKEN_TYPE}jwt`);
  const wanted = value('requested_token_type');
  if (wanted !== undefined && wanted !== `${TOKEN_TYPE}access_token`)
    throw new BrokerRefusal('invalid_request', 'Only access tokens are issued');
  if (parameters.has('actor_token'))
    throw new BrokerRefusal('invalid_request', 'An actor_token is not supported');
  if (parameters.has('resource'))
    throw new BrokerRefusal('invalid_target', 'A resource is not supported: name a context as the audience');
  const scope = value('scope');
  if (scope !== undefined && scope !== 'read' && scope !== 'write')
    throw new BrokerRefusal('invalid_scope', 'The scope has to be read or write');
  return { identity, audience: value('audience'), scope };
}

function parametersOf(request: FastifyRequest): URLSearchParams {
  if (isType(request, FORM)) return new URLSearchParams(String(request.body));
  throw new BrokerRefusal('invalid_request', `The content type has to be ${FORM}`);
}

/** RFC 6749, section 3.2: a parameter is sent at most once; an empty one counts as omitted. Values are trimmed. */
function single(parameters: URLSearchParams, name: string): string | undefined {
  const [value = '', ...others] = parameters.getAll(name);
  if (others.length > 0) throw new BrokerRefusal('invalid_request', `The parameter ${name} is given twice`);
  return value.trim() || undefined;
}

/** The status and error code, by RFC 6749, section 5.2, and RFC 8693, section 2.2.2. */
const ANSWERS: Readonly<Record<BrokerProblem, readonly [status: number, error: string]>> = {
  invalid_request: [400, 'invalid_request'],
  unsupported_grant: [400, 'unsupported_grant_type'],
  invalid_target: [400, 'invalid_target'],
  invalid_scope: [400, 'invalid_scope'],
  invalid_identity: [400, 'invalid_request'],
  used: [400, 'invalid_request'],
  no_rule: [400, 'invalid_request'],
  several_rules: [400, 'invalid_request'],
  stopped: [400, 'invalid_request'],
  live: [429, 'temporarily_unavailable'],
  hourly: [429, 'temporarily_unavailable'],
};

function answering(around: { readonly log: Logger; readonly refused: RefusedRequests }) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    done: (result: string) => void,
    work: () => Promise<object>,
  ): Promise<FastifyReply> => {
    try {
      const body = await work();
      done('done');
      return await reply.code(200).send(body);
    } catch (error) {
      done(error instanceof BrokerRefusal ? error.problem : 'unavailable');
      return answerFailure(error, { request, reply, ...around });
    }
  };
}

function answerFailure(
  error: unknown,
  around: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly log: Logger;
    readonly refused: RefusedRequests;
  },
): FastifyReply {
  const { request, reply, log, refused } = around;
  const path = request.routeOptions.url;
  const isAnonymous = error instanceof BrokerRefusal || error instanceof KeysUnavailable;
  if (isAnonymous && refused.blocks(request)) return tooMany(reply, unavailable);
  if (error instanceof BrokerRefusal) {
    const [status, code] = ANSWERS[error.problem];
    log.warn({ path, problem: error.problem, reason: error.message }, 'refused');
    if (status === 429) reply.header('Retry-After', String(RETRY_AFTER_S));
    return refuse(reply, status, code, error.message);
  }
  if (!(error instanceof KeysUnavailable) && !(error instanceof TokenctlError)) throw error;
  if (error instanceof TokenctlError && UNABLE.has(error.code)) {
    log.error({ path, reason: error.message }, 'not possible');
    return refuse(reply, 400, 'invalid_target', 'The controller makes no token for this rule');
  }
  // Anyone can send an unknown key id.
  if (error instanceof KeysUnavailable) refused.count(request);
  log.error({ path, reason: error.message }, 'not done');
  reply.header('Retry-After', String(RETRY_AFTER_S));
  const why = isAnonymous ? error.message : 'The controller or the audit log does not respond';
  return unavailable(reply, 503, why);
}

/** Failures that last until someone changes the controller or the configuration. */
const UNABLE: ReadonlySet<string> = new Set([
  'permission_refused',
  'unsupported',
  'not_found',
  'usage',
  'configuration',
]);

function unavailable(reply: FastifyReply, status: number, description: string): FastifyReply {
  return refuse(reply, status, 'temporarily_unavailable', description);
}

function refuse(reply: FastifyReply, status: number, error: string, description: string): FastifyReply {
  return reply.code(status).send({ error, error_description: description });
}

/** The Prometheus metrics of one broker process. Labels have few values: fixed words. */
class BrokerMetrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #exchanges = new Counter({
    name: 'tokenctl_broker_exchanges_total',
    help: 'Requests for a token, by result: done, or why it was refused.',
    labelNames: ['result'],
    registers: this.#registers,
  });
  readonly #revocations = new Counter({
    name: 'tokenctl_broker_revocations_total',
    help: 'Requests to revoke a token, by result.',
    labelNames: ['result'],
    registers: this.#registers,
  });
  readonly #durations = new Histogram({
    name: 'tokenctl_broker_exchange_duration_seconds',
    help: 'How long exchanges that gave a token took, in seconds.',
    buckets: [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 5, 30],
    registers: this.#registers,
  });

  /** Begins an exchange; what it returns counts its result. */
  exchange(): (result: string) => void {
    const end = this.#durations.startTimer();
    return (result) => {
      this.#exchanges.inc({ result });
      if (result === 'done') end();
    };
  }

  /** The same for a revocation. */
  revocation(): (result: string) => void {
    return (result) => this.#revocations.inc({ result });
  }

  async text(): Promise<{ readonly type: string; readonly body: string }> {
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}
