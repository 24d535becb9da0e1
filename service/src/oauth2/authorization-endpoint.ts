import type { Queryable } from '@tokenctl/common/db/database.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { canSeeApplications, isExternal } from '../access.ts';
import { hashToken } from '../auth/secret-hashes.ts';
import { csrfProblem, csrfToken, findRequestSession, renewSession } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import type { RouteDescription } from '../endpoint.ts';
import { sendAuthorizationError, sendConsent, sendForgeryError } from '../pages/authorization.ts';
import { redirect } from '../request.ts';
import { currentSettings, type Settings } from '../settings/settings.ts';
import { insertCode } from '../store/grants.ts';
import { findGrantedScopes, issuePair } from '../store/issued-tokens.ts';
import type { SessionRecord } from '../store/sessions.ts';
import { isStillProven, type UserRecord } from '../store/users.ts';
import {
  type AnswerAddress,
  type AuthorizationRequest,
  formActionSource,
  readAnswerAddress,
  readAuthorizationRequest,
  UnanswerableRequest,
  withAnswer,
} from './authorization-request.ts';
import { newAccessToken, newValue } from './new-tokens.ts';
import {
  covers,
  formParameters,
  OAuthError,
  type Parameters,
  queryParameters,
  type SentParameters,
} from './oauth-request.ts';

const AUTHORIZATION = {
  response_type: { description: 'code, or token where the implicit grant is allowed.', required: true },
  client_id: { description: "The application's client ID.", required: true },
  redirect_uri: {
    description: 'A registered redirect URI, compared exactly. Optional if only one is registered.',
  },
  scope: { description: 'read, write, or both separated by a space.' },
  state: { description: 'Returned unchanged.' },
  code_challenge: { description: 'RFC 7636, section 4.3.' },
  code_challenge_method: { description: 'S256 or plain.' },
} as const;

const AUTHORIZE: RouteDescription = {
  summary: 'Authorize an application (RFC 6749, section 3.1)',
  description:
    'A page for a logged-in user. GET asks for consent; POST sends the response to the application.',
  produces: 'text/html',
  authenticated: true,
  query: AUTHORIZATION,
  form: AUTHORIZATION,
  answers: {
    200: 'The consent page.',
    302: 'Redirects to the application with the response, or to the login page.',
    400: 'A page that explains the problem with the request.',
  },
};

/** The parameters that the consent page sends back: the service keeps no state between the page and its form. */
const CARRIED = Object.keys(AUTHORIZATION);

/** The authorization endpoint (RFC 6749 §3.1): GET asks the user for consent, POST answers the client. */
export function serveAuthorizationEndpoint(app: FastifyInstance, service: ServiceContext): void {
  const path = '/api/o/authorize/';
  app.get(path, { config: { describes: AUTHORIZE } }, async (request, reply) => {
    const session = await loggedIn(service, request, reply);
    if (session === null) return toLogin(request, reply);
    const sent = queryParameters(request);
    return handleRequest({ service, request, reply, session, sent }, async (consent) => {
      if (await consentIsImplied(consent)) return grantAccess(consent);
      askUser(consent, { request, reply, parameters: sent.values });
      return null;
    });
  });
  app.post(path, { config: { describes: AUTHORIZE } }, async (request, reply) => {
    const session = await loggedIn(service, request, reply);
    if (session === null) return toLogin(request, reply);
    const forgery = csrfProblem(request);
    if (forgery !== null) return sendForgeryError(reply, forgery);
    const sent = formParameters(request);
    return handleRequest({ service, request, reply, session, sent }, (consent) => {
      if (!sent.values.has('allow')) throw new OAuthError('access_denied');
      return grantAccess(consent);
    });
  });
  app.options(path, { config: { describes: AUTHORIZE } }, async (request, reply) => {
    if ((await loggedIn(service, request, reply)) === null) return toLogin(request, reply);
    return reply.header('Allow', 'GET, POST, OPTIONS').type('text/html; charset=utf-8').send('');
  });
}

interface UserRequest {
  readonly service: ServiceContext;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly session: SessionRecord;
  readonly sent: SentParameters;
}

/**
 * Reads the request and sends the answer of `decide` to the client; null means that the user got the reply.
 * An error goes to the user until the client's redirect URI is known, and then to the client.
 */
async function handleRequest(
  { service, request, reply, session, sent }: UserRequest,
  decide: (consent: Consent) => Promise<Readonly<Record<string, string>> | null>,
): Promise<FastifyReply> {
  const address = await readAnswerAddress(service, sent).catch((error: unknown) => {
    if (error instanceof UnanswerableRequest) return error;
    throw error;
  });
  if (address instanceof UnanswerableRequest) return sendAuthorizationError(reply, address.message);
  try {
    const asked = readAuthorizationRequest(service, sent, address);
    const user = session.owner;
    if (!canSeeApplications(user, address.client.organization_id)) {
      throw new OAuthError('access_denied', "This user has no role in the application's organization.");
    }
    const answer = await decide({ service, user, sessionKey: session.session_key, address, asked });
    return answer === null ? reply : answerClient(request, reply, { address, answer });
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return answerClient(request, reply, { address, answer: errorAnswer(error) });
  }
}

/** Only a session counts: a program instead of a user may send a password or token in a header. */
async function loggedIn(service: ServiceContext, request: FastifyRequest, reply: FastifyReply) {
  const session = await findRequestSession(service, request, reply);
  if (session === null) return null;
  await renewSession(service, { request, reply, session });
  return session;
}

function toLogin(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const next = encodeURIComponent(request.url).replaceAll('%2F', '/');
  return redirect(reply, `/api/login/?next=${next}`);
}

/**
 * Whether consent can be skipped: for a trusted application, and with `approval_prompt=auto` for one that
 * already has a token of at least this scope from this user. Never for a public client, whose identity is not
 * proven (RFC 6749 §10.2).
 */
async function consentIsImplied({ service, user, address, asked }: Consent): Promise<boolean> {
  const { client } = address;
  if (client.client_type === 'public') return false;
  if (client.skip_authorization) return true;
  if (!asked.auto) return false;
  const grant = { userId: user.id, applicationId: client.id, at: service.now() };
  const scopes = await findGrantedScopes(service.database, grant);
  return scopes.some((scope) => covers(scope, asked.scope));
}

function askUser(
  { user, address, asked }: Consent,
  page: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly parameters: Parameters },
): void {
  const { request, reply, parameters } = page;
  sendConsent(reply, {
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

interface Consent {
  readonly service: ServiceContext;
  readonly user: UserRecord;
  readonly sessionKey: string;
  readonly address: AnswerAddress;
  readonly asked: AuthorizationRequest;
}

/** The answer after the user's consent: a code, or a token with the implicit grant; none if the session has ended. */
async function grantAccess(consent: Consent): Promise<Readonly<Record<string, string>>> {
  const { service, user, sessionKey, asked } = consent;
  const settings = await currentSettings(service.database);
  return service.database.transaction(async (transaction) => {
    const proof = { userId: user.id, sessionKey, tokenId: null };
    if (!(await isStillProven(transaction, proof))) throw new OAuthError('access_denied');
    return asked.responseType === 'code'
      ? issueCode(consent, { settings, transaction })
      : issueAccessToken(consent, { settings, transaction });
  });
}

interface Granting {
  readonly settings: Settings;
  readonly transaction: Queryable;
}

/** Issues an authorization code, bound to the client, the redirect URI and the code challenge. */
async function issueCode(
  { service, user, address, asked }: Consent,
  { settings: { OAUTH2_PROVIDER }, transaction }: Granting,
): Promise<{ code: string }> {
  const code = newValue();
  const created = service.now();
  await insertCode(transaction, {
    hash: hashToken(code),
    created,
    expires: new Date(created.getTime() + OAUTH2_PROVIDER.AUTHORIZATION_CODE_EXPIRE_SECONDS * 1000),
    applicationId: address.client.id,
    userId: user.id,
    redirectUri: address.redirectUri,
    redirectUriGiven: address.redirectUriGiven,
    scope: asked.scope,
    codeChallenge: asked.codeChallenge,
    codeChallengeMethod: asked.codeChallengeMethod,
  });
  return { code };
}

/** The implicit grant (RFC 6749 §4.2.2): an access token without a refresh token. */
async function issueAccessToken(
  { service, user, address, asked }: Consent,
  { settings, transaction }: Granting,
): Promise<Record<string, string>> {
  if (isExternal(user) && !settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS) throw new OAuthError('access_denied');
  const { pair, response } = newAccessToken({
    service,
    settings,
    client: address.client,
    scope: asked.scope,
  });
  if (!(await issuePair(transaction, pair, { id: user.id, password: null }))) {
    throw new OAuthError('access_denied');
  }
  return { ...response, expires_in: String(response.expires_in) };
}

/** Redirects the user to the client with the answer and the issuer (`iss`, RFC 9207). */
function answerClient(
  request: FastifyRequest,
  reply: FastifyReply,
  { address, answer }: { address: AnswerAddress; answer: Readonly<Record<string, string>> },
): FastifyReply {
  const { redirectUri, mode, state } = address;
  const parameters = new URLSearchParams(answer);
  if (state !== undefined) parameters.set('state', state);
  parameters.set('iss', request.issuer);
  return redirect(reply, withAnswer(redirectUri, mode, parameters));
}

/** The parameters of an error that goes to the client (RFC 6749 §4.1.2.1). */
function errorAnswer({ code, description }: OAuthError): Record<string, string> {
  return { error: code, ...(description !== undefined && { error_description: description }) };
}
