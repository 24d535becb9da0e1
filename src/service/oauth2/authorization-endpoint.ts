import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { csrfProblem, csrfToken } from '../auth/csrf.ts';
import { prolongSession, sessionOf } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import { redirectWithoutSlash } from '../endpoint.ts';
import { sendAuthorizationError, sendForgeryError } from '../pages/authorization-error.ts';
import { sendConsent } from '../pages/consent.ts';
import { grantedScopes } from '../store/presented-tokens.ts';
import type { UserRecord } from '../store/users.ts';
import { answerClient, type Consent, errorAnswer, grantAccess } from './authorization-answer.ts';
import { readAnswerAddress, readAuthorizationRequest, UnanswerableRequest } from './authorization-request.ts';
import { AUTHORIZE } from './descriptions.ts';
import { OAuthError } from './oauth-error.ts';
import { formParameters, type Parameters, queryParameters, type SentParameters } from './parameters.ts';
import { formActionSource } from './redirect-uri.ts';
import { covers } from './scope.ts';

/** What the consent page sends back, so that the request is read anew and nothing of it is remembered. */
const CARRIED = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
];

/** The authorization endpoint (RFC 6749 §3.1), GET and POST: asks the user, and answers the client. */
export function serveAuthorizationEndpoint(app: FastifyInstance, service: ServiceContext): void {
  const path = `${service.dialect.oauth2}authorize/`;
  app.get(path, { config: { describes: AUTHORIZE } }, async (request, reply) => {
    const user = await loggedIn(service, request, reply);
    if (user === null) return toLogin(service, request, reply);
    const sent = queryParameters(request);
    return answering({ service, request, reply, user, sent }, async (consent) => {
      if (await needsNoConsent(consent)) return grantAccess(consent);
      askUser(consent, { request, reply, parameters: sent.values });
      return null;
    });
  });
  app.post(path, { config: { describes: AUTHORIZE } }, async (request, reply) => {
    const user = await loggedIn(service, request, reply);
    if (user === null) return toLogin(service, request, reply);
    const forgery = csrfProblem(request);
    if (forgery !== null) return sendForgeryError(reply, forgery);
    const sent = formParameters(request);
    return answering({ service, request, reply, user, sent }, (consent) => {
      if (!sent.values.has('allow')) throw new OAuthError('access_denied');
      return grantAccess(consent);
    });
  });
  redirectWithoutSlash(app, path);
}

/** A request to the authorization endpoint of a user who is logged in. */
interface Asked {
  readonly service: ServiceContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly user: UserRecord;
  readonly sent: SentParameters;
}

/**
 * Reads the request, lets `decide` decide and sends its answer to the client (null: it was sent to the user).
 * What goes wrong before it is known where to answer is told the user, everything else the client.
 */
async function answering(
  { service, request, reply, user, sent }: Asked,
  decide: (consent: Consent) => Promise<Readonly<Record<string, string>> | null>,
): Promise<FastifyReply> {
  const address = await readAnswerAddress(service, sent).catch((error: unknown) => {
    if (error instanceof UnanswerableRequest) return error;
    throw error;
  });
  if (address instanceof UnanswerableRequest) return sendAuthorizationError(reply, address.message);
  try {
    const asked = readAuthorizationRequest(service, sent, address);
    const answer = await decide({ service, user, address, asked });
    return answer === null ? reply : answerClient(request, reply, { address, answer });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return answerClient(request, reply, { address, answer: errorAnswer(error) });
  }
}

/** Only a session shows that a user sits there; a password or token in a header may be a program's. */
async function loggedIn(
  service: ServiceContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<UserRecord | null> {
  const session = await sessionOf(service, request, reply);
  if (session === null) return null;
  await prolongSession(service, { request, reply, session });
  return session.owner;
}

function toLogin(service: ServiceContext, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const next = encodeURIComponent(request.url).replaceAll('%2F', '/');
  return reply
    .code(302)
    .header('Location', `${service.dialect.login}?next=${next}`)
    .type('text/html; charset=utf-8')
    .send('');
}

/**
 * Whether the user need not be asked: a trusted application, or, where the client wishes so, one that has a
 * token of at least this scope from this user. Not a public one, which could be anybody (RFC 6749 §10.2).
 */
async function needsNoConsent({ service, user, address, asked }: Consent): Promise<boolean> {
  const { client } = address;
  if (client.skip_authorization) return true;
  if (!asked.auto || client.client_type === 'public') return false;
  const grant = { userId: user.id, applicationId: client.id, at: service.now() };
  const scopes = await grantedScopes(service.database, grant);
  return scopes.some((scope) => covers(scope, asked.scope));
}

function askUser(
  { service, user, address, asked }: Consent,
  page: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly parameters: Parameters },
): void {
  const { request, reply, parameters } = page;
  sendConsent(reply, {
    endpoint: `${service.dialect.oauth2}authorize/`,
    application: address.client.name,
    username: user.username,
    scope: asked.scope,
    redirectUri: address.redirectUri,
    formAction: formActionSource(address.redirectUri),
    csrfToken: csrfToken(request, reply),
    carried: CARRIED.flatMap((name) => {
      const value = parameters.get(name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  });
}
