import type { FastifyReply, FastifyRequest } from 'fastify';
import { hashToken, randomText } from '../auth/secret-hashes.ts';
import { localPath } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import { badRequest } from '../failure.ts';
import { issuerOf } from '../oauth2/metadata.ts';
import { parseTarget } from '../request.ts';
import { insertLogin, type LoginDetails, type PendingLogin, takeLogin } from '../store/sso-logins.ts';
import { type Backend, type Identity, SsoFailure } from './backends.ts';
import { type BackendConfiguration, ssoConfiguration } from './configuration.ts';
import { beginGithub, completeGithub, githubIdentity } from './github.ts';
import {
  type ProviderCallback,
  azureIdentity,
  type LoginRequest,
  beginOpenId,
  completeOpenId,
  type ProviderRedirect,
  googleIdentity,
} from './openid.ts';
import { beginSaml, LOGIN_LIFETIME_MS } from './saml-client.ts';

/** The configuration of a backend. Throws SsoFailure `not_configured`, or `misconfigured` for a key that does not fit. */
export async function requireConfiguration(service: ServiceContext, backend: Backend): Promise<BackendConfiguration> {
  const { backends, sealed } = await ssoConfiguration(service, service.database);
  const configuration = backends.find((each) => each.backend === backend);
  if (configuration !== undefined) return configuration;
  throw sealed.includes(backend)
    ? new SsoFailure('misconfigured', 'a secret was encrypted with another key than the service has')
    : new SsoFailure('not_configured', 'the provider is not configured');
}

/**
 * Begins a login: keeps its state, and sends the browser to the provider.
 *
 * @throws SsoFailure
 */
export async function beginLogin(
  service: ServiceContext,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  wanted: { readonly backend: Backend; readonly next: unknown; readonly idp: unknown },
): Promise<FastifyReply> {
  const { backend } = wanted;
  const configuration = await requireConfiguration(service, backend);
  const beginning = { redirectUri: callbackUrl(exchange.request, backend), state: newState() };
  const { url, details } = await startAtProvider(service, configuration, { ...beginning, idp: wanted.idp });
  await keepLogin(service, exchange, {
    backend,
    state: beginning.state,
    details: { ...details, redirectUri: beginning.redirectUri, next: localPath(wanted.next) },
  });
  return exchange.reply.code(302).header('Location', url).type('text/html; charset=utf-8').send('');
}

function startAtProvider(
  service: ServiceContext,
  configuration: BackendConfiguration,
  { idp, ...beginning }: LoginRequest & { readonly idp: unknown },
): Promise<ProviderRedirect> {
  switch (configuration.backend) {
    case 'github':
      return beginGithub(configuration, beginning);
    case 'saml': {
      // Without a name it is the only one there is.
      const [only = '', ...others] = Object.keys(configuration.idps);
      const name = typeof idp === 'string' ? idp : others.length === 0 ? only : '';
      return beginSaml(configuration, { ...beginning, idp: name });
    }
    default:
      return beginOpenId(service, configuration, beginning);
  }
}

/** Who came back from a provider, and where to go on. */
export interface Completed {
  readonly configuration: BackendConfiguration;
  readonly identity: Identity;
  readonly next: string | null;
}

/**
 * Completes a login with OAuth2 or OpenID Connect: takes the login that was begun, and asks the provider who
 * the user is.
 *
 * @throws SsoFailure
 */
export async function completeLogin(
  service: ServiceContext,
  request: FastifyRequest,
  backend: Exclude<BackendConfiguration['backend'], 'saml'>,
): Promise<Completed> {
  const configuration = await requireConfiguration(service, backend);
  const { query } = parseTarget(request.url);
  const state = new URLSearchParams(query).get('state') ?? '';
  const login = await takeLoginOf(service, request, { backend, state });
  if (login === null) throw new SsoFailure('no_such_login', 'the state belongs to no login of this browser');
  const { details } = login;
  const identity = await identify(service, configuration, { state, query, details });
  return { configuration, identity, next: details.next };
}

async function identify(
  service: ServiceContext,
  configuration: BackendConfiguration,
  arrival: ProviderCallback,
): Promise<Identity> {
  switch (configuration.backend) {
    case 'google-oauth2':
      return googleIdentity(configuration, await completeOpenId(service, configuration, arrival));
    case 'azuread-oauth2':
      return azureIdentity(configuration, await completeOpenId(service, configuration, arrival));
    case 'github':
      return githubIdentity(configuration, await completeGithub(configuration, arrival));
    case 'saml':
      throw new SsoFailure('no_such_login', 'SAML answers with a form, not with an address');
  }
}

const LENGTH = 43;
const WELL_FORMED = /^[A-Za-z0-9]{43}$/;

/** A new state: what the provider sends back, and what nobody can guess. */
function newState(): string {
  return randomText(LENGTH);
}

/**
 * Keeps a login that is about to begin in the database, where every replica finds it, bound to this browser
 * by a cookie: an answer that comes back in another browser is worth nothing there (login CSRF).
 */
async function keepLogin(
  service: ServiceContext,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  login: { readonly backend: Backend; readonly state: string; readonly details: LoginDetails },
): Promise<void> {
  const { request, reply } = exchange;
  const { backend, state, details } = login;
  const held = browserOf(request);
  const browser = held ?? randomText(LENGTH);
  const started = service.now();
  const expires = new Date(started.getTime() + LOGIN_LIFETIME_MS);
  await insertLogin(service.database, {
    state: hashToken(state),
    browser: hashToken(browser),
    backend,
    details,
    started,
    expires,
  });
  const secure = request.protocol === 'https';
  reply.setCookie(cookieName(request), browser, {
    path: '/',
    httpOnly: true,
    secure,
    // A SAML answer is posted by the provider's page: the cookie has to come along from there.
    sameSite: secure ? 'none' : 'lax',
    maxAge: LOGIN_LIFETIME_MS / 1000,
  });
}

/** Takes the login that an answer belongs to, once; null where there is none in this browser for this backend. */
export async function takeLoginOf(
  { database, now }: ServiceContext,
  request: FastifyRequest,
  answer: { readonly backend: Backend; readonly state: string },
): Promise<Pick<PendingLogin, 'details' | 'started'> | null> {
  const browser = browserOf(request);
  if (browser === null || !WELL_FORMED.test(answer.state)) return null;
  return takeLogin(database, {
    state: hashToken(answer.state),
    browser: hashToken(browser),
    backend: answer.backend,
    at: now(),
  });
}

function browserOf(request: FastifyRequest): string | null {
  const cookie = request.cookies[cookieName(request)];
  return cookie !== undefined && WELL_FORMED.test(cookie) ? cookie : null;
}

/** With the prefix no other host of the same domain can set the cookie (RFC 6265bis, section 4.1.3.2). */
function cookieName(request: FastifyRequest): string {
  return request.protocol === 'https' ? '__Host-sso_login' : 'sso_login';
}

/**
 * Where a provider sends users back to: below the address under which this service is reached. Providers
 * know that address, and send nobody elsewhere, whatever a Host header says.
 *
 * @throws RequestFailure 400 where the Host header is no host.
 */
export function callbackUrl(request: FastifyRequest, backend: Backend): string {
  const base = issuerOf(request);
  if (!URL.canParse(base) || !/^https?:\/\/[^/?#@\\]+$/.test(base)) {
    throw badRequest('The Host header is not a host.');
  }
  return `${base}/sso/complete/${backend}/`;
}
