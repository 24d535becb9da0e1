import type { FastifyInstance, FastifyRequest } from 'fastify';
import { canSeeApplications, isExternal } from '../access.ts';
import { userWithPassword } from '../auth/authenticate.ts';
import { hashToken } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import type { Settings } from '../settings/settings.ts';
import type { ClientRecord } from '../store/applications.ts';
import { type CodeRecord, exchangeCode, findCode } from '../store/grants.ts';
import { issuePair } from '../store/issued-tokens.ts';
import {
  endFamily,
  findRefreshToken,
  type RefreshTokenRecord,
  rotateRefreshToken,
} from '../store/refresh-tokens.ts';
import { checkVerifier } from './authorization-request.ts';
import { authenticateClient, serveFormEndpoint } from './form-endpoint.ts';
import { newPair, refuseExternalUser, type TokenResponse } from './new-tokens.ts';
import {
  covers,
  endpointParameters,
  GrantRefused,
  OAuthError,
  type Parameters,
  requestedScope,
  required,
} from './oauth-request.ts';

/** How a `grant_type` is served, and the grant types of the applications that may use it. */
interface KnownGrant {
  readonly applications: readonly string[];
  readonly grant: Grant;
}

const GRANTS: ReadonlyMap<string, KnownGrant> = new Map([
  ['password', { applications: ['password'], grant: passwordGrant }],
  ['authorization_code', { applications: ['authorization-code'], grant: authorizationCodeGrant }],
  ['refresh_token', { applications: ['password', 'authorization-code'], grant: refreshGrant }],
  // The controller accepts the value, but no application can be registered for it.
  ['client_credentials', { applications: [], grant: () => Promise.reject(new OAuthError('invalid_grant')) }],
]);

/** The supported values of `grant_type`. */
export const GRANT_TYPES = [...GRANTS]
  .filter(([, known]) => known.applications.length > 0)
  .map(([name]) => name);

/** The token endpoint (RFC 6749 §3.2), in these steps: parameters, grant type, client, permission, grant. */
export function serveTokenEndpoint(app: FastifyInstance, service: ServiceContext): void {
  serveFormEndpoint(app, { name: 'token' }, async (request) => {
    const parameters = endpointParameters(request);
    const known = knownGrant(parameters);
    const [client, settings] = await Promise.all([
      authenticateClient(service, request, parameters),
      service.lookups.settings(),
    ]);
    requirePermission(client, known);
    // Traffic of others on a client's network, such as its proxy, does not slow down its users.
    const network = request.provenClient === '' ? request.network : `client ${request.provenClient}`;
    return known.grant({ service, request, settings, client, parameters, network });
  });
}

/** A missing grant type counts as an unknown one, as on the controller. */
function knownGrant(parameters: Parameters): KnownGrant {
  const known = GRANTS.get(parameters.get('grant_type') ?? '');
  if (known === undefined) throw new OAuthError('unsupported_grant_type');
  return known;
}

function requirePermission(client: ClientRecord, { applications }: KnownGrant): void {
  if (!applications.includes(client.authorization_grant_type)) throw new OAuthError('unauthorized_client');
}

interface TokenRequest {
  readonly service: ServiceContext;
  readonly request: FastifyRequest;
  readonly settings: Settings;
  readonly client: ClientRecord;
  /** What wrong passwords are counted under: the network, or the client with a secret. */
  readonly network: string;
  readonly parameters: Parameters;
}

/** Issues tokens. Throws OAuthError or GrantRefused. */
type Grant = (request: TokenRequest) => Promise<TokenResponse>;

/**
 * Resource owner password credentials (RFC 6749 §4.3). An unknown user, a wrong password, a deactivated
 * account and a local account while DISABLE_LOCAL_AUTH is on all get the same answer.
 */
async function passwordGrant({ service, request, settings, client, parameters, network }: TokenRequest) {
  const username = required(parameters, 'username');
  const password = required(parameters, 'password');
  const scope = requestedScope(parameters.get('scope'));
  const user = await userWithPassword(service, { username, password, network, request });
  if (user === null || settings.DISABLE_LOCAL_AUTH) throw wrongCredentials();
  refuseExternalUser(settings, isExternal(user));
  requireApplication(canSeeApplications(user, client.organization_id));
  const { pair, response } = newPair({ service, settings, client, scope });
  if (!(await issuePair(service.database, pair, user))) throw wrongCredentials();
  return response;
}

/** Users have tokens only for applications that they see. */
function requireApplication(isSeen: boolean): void {
  if (!isSeen)
    throw new OAuthError('invalid_grant', "This user has no role in the application's organization.");
}

function wrongCredentials(): OAuthError {
  return new OAuthError('invalid_grant', 'Invalid credentials given.');
}

/**
 * An authorization code (RFC 6749 §4.1.3): issued to this client, unused, not expired, with the redirect URI
 * and the code verifier of the authorization request. A second use revokes the tokens of the first (§4.1.2).
 * A wrong redirect URI or verifier does not use up the code, as on the controller.
 */
async function authorizationCodeGrant({ service, settings, client, parameters }: TokenRequest) {
  const presented = hashToken(required(parameters, 'code'));
  const code = await findCode(service.database, presented);
  if (code === null || code.application_id !== client.id) throw new OAuthError('invalid_grant');
  if (code.used !== null) throw await codeReused(service, code);
  if (code.expires <= service.now() || !code.may_authenticate) throw new OAuthError('invalid_grant');
  checkRedirectUri(parameters, code);
  checkVerifier(parameters, {
    codeChallenge: code.code_challenge,
    codeChallengeMethod: code.code_challenge_method,
  });
  refuseExternalUser(settings, code.is_external);
  requireApplication(code.sees_application);
  const { pair, response } = newPair({ service, settings, client, scope: code.scope });
  if (await exchangeCode(service.database, pair, code.id)) return response;
  const now = await findCode(service.database, presented);
  throw now === null || now.used === null ? new OAuthError('invalid_grant') : await codeReused(service, code);
}

/** If the authorization request contained a redirect URI, this request repeats it (RFC 6749 §4.1.3). */
function checkRedirectUri(parameters: Parameters, code: CodeRecord): void {
  const given = parameters.get('redirect_uri');
  if (given === undefined && !code.redirect_uri_given) return;
  if (given !== code.redirect_uri) throw new OAuthError('invalid_request', 'Mismatching redirect URI.');
}

function codeReused(service: ServiceContext, code: CodeRecord): Promise<OAuthError> {
  return revokeFamily(service, {
    family: code.family,
    ids: { application: code.application_id },
    message: 'authorization code used twice: revoked the tokens of its first use',
  });
}

/**
 * A refresh token (RFC 6749 §6), which is replaced at each use. A second use means that the token was copied,
 * by client or attacker, so all tokens of its family are revoked (RFC 9700 §4.14.2). There is no grace
 * period: concurrent requests of the client itself count as reuse as well.
 */
async function refreshGrant({ service, settings, client, parameters }: TokenRequest): Promise<TokenResponse> {
  const presented = hashToken(required(parameters, 'refresh_token'));
  const token = await service.lookups.refreshTokens.find(presented);
  if (token === null || token.application_id !== client.id) throw new OAuthError('invalid_grant');
  if (token.revoked !== null) throw await refreshTokenReused(service, token);
  const lifetime = settings.OAUTH2_PROVIDER.REFRESH_TOKEN_EXPIRE_SECONDS;
  if (token.created.getTime() + lifetime * 1000 <= service.now().getTime()) {
    throw new GrantRefused('The refresh token has expired.');
  }
  const { access_token_id: accessTokenId } = token;
  if (accessTokenId === null || token.scope === null || !token.may_authenticate)
    throw new OAuthError('invalid_grant');
  refuseExternalUser(settings, token.is_external);
  requireApplication(token.sees_application);
  const scope = scopeWithin(token.scope, parameters);
  const { pair, response } = newPair({ service, settings, client, scope });
  if (await rotateRefreshToken(service.database, pair, { id: token.id, accessTokenId })) return response;
  const now = await findRefreshToken(service.database, presented);
  throw now === null || now.revoked === null
    ? new OAuthError('invalid_grant')
    : await refreshTokenReused(service, token);
}

/**
 * The scope of the access token, or the requested part of it. As on the controller, a scope omitted at a refresh is
 * lost: the refresh token never gives more than the scope that a list shows. RFC 6749 §6 would keep it.
 */
function scopeWithin(shown: string, parameters: Parameters): string {
  const requested = parameters.get('scope');
  // A parameter without a value counts as omitted (§3.2), which here widens nothing.
  if (requested === undefined || requested === '') return shown;
  const scope = requestedScope(requested);
  if (!covers(shown, scope)) throw new OAuthError('invalid_scope');
  return scope;
}

function refreshTokenReused(service: ServiceContext, token: RefreshTokenRecord): Promise<OAuthError> {
  return revokeFamily(service, {
    family: token.family,
    ids: { application: token.application_id, refresh_token: token.id },
    message: 'refresh token used twice: revoked all tokens of its family',
  });
}

/** Revokes all tokens of a grant whose code or refresh token was used twice, and logs it. */
async function revokeFamily(
  service: ServiceContext,
  reuse: { readonly family: number; readonly ids: Record<string, unknown>; readonly message: string },
): Promise<OAuthError> {
  const { database, node } = service;
  await database.transaction((transaction) =>
    endFamily(transaction, { family: reuse.family, at: service.now(), node }),
  );
  service.log.warn(reuse.ids, reuse.message);
  return new OAuthError('invalid_grant');
}
