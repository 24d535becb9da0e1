import type { FastifyReply, FastifyRequest } from 'fastify';
import { hashToken, randomText } from '../auth/secret-hashes.ts';
import { localPath } from '../auth/session.ts';
import type { ServiceContext } from '../context.ts';
import { badRequest } from '../failure.ts';
import { outsideTurn } from '../limits/request-shares.ts';
import { parseTarget, redirect } from '../request.ts';
import type { ProviderSession } from '../store/sessions.ts';
import { consumeLogin, insertLogin, type LoginDetails, type PendingLogin } from '../store/sso-logins.ts';
import { type Backend, type Identity, SsoFailure } from './backends.ts';
import { type BackendConfiguration, ssoConfiguration } from './configuration.ts';
import { beginGithub, completeGithub, githubIdentity } from './github.ts';
import {
  azureIdentity,
  beginOpenId,
  completeOpenId,
  googleIdentity,
  type LoginRequest,
  openIdSession,
  type ProviderCallback,
  type ProviderRedirect,
} from './openid.ts';
import { mappedAttributes } from './role-mapping.ts';
import { beginSaml, LOGIN_LIFETIME_MS } from './saml-client.ts';

type ConfigurationOf<Name extends Backend> = Extract<BackendConfiguration, { readonly backend: Name }>;

/** The configuration of a backend. Throws SsoFailure `not_configured`; `misconfigured` if its secret is unreadable. */
export async function requireConfiguration<Name extends Backend>(
  service: ServiceContext,
  backend: Name,
): Promise<ConfigurationOf<Name>> {
  const { backends, undecryptable } = await ssoConfiguration(service, service.database);
  const isAsked = (each: BackendConfiguration): each is ConfigurationOf<Name> => each.backend === backend;
  const configuration = backends.find(isAsked);
  if (configuration !== undefined) return configuration;
  throw undecryptable.includes(backend)
    ? new SsoFailure('misconfigured', "a secret was not encrypted with the service's current key")
    : new SsoFailure('not_configured', 'the provider is not configured');
}

/** Starts a login: stores its state and redirects the browser to the provider. Throws SsoFailure. */
export async function beginLogin(
  service: ServiceContext,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  wanted: { readonly backend: Backend; readonly next: unknown; readonly idp: unknown },
): Promise<FastifyReply> {
  const { backend } = wanted;
  const configuration = await requireConfiguration(service, backend);
  const next = localPath(wanted.next);
  const isAmbiguous = configuration.backend === 'saml' && Object.keys(configuration.idps).length > 1;
  if (isAmbiguous && wanted.idp === undefined) {
    // The user chooses among the buttons.
    const query = next === null ? '' : `?next=${encodeURIComponent(next)}`;
    return redirect(exchange.reply, `/api/login/${query}`);
  }
  const loginRequest = { redirectUri: callbackUrl(exchange.request, backend), state: newState() };
  const { url, details } = await outsideTurn(exchange.request, () =>
    startAtProvider(service, configuration, { ...loginRequest, idp: wanted.idp }),
  );
  await storePendingLogin(service, exchange, {
    backend,
    state: loginRequest.state,
    details: { ...details, redirectUri: loginRequest.redirectUri, next },
  });
  return redirect(exchange.reply, url);
}

function startAtProvider(
  service: ServiceContext,
  configuration: BackendConfiguration,
  { idp, ...loginRequest }: LoginRequest & { idp: unknown },
): Promise<ProviderRedirect> {
  switch (configuration.backend) {
    case 'github':
      return beginGithub(configuration, loginRequest);
    case 'saml': {
      // The name may be omitted if there is only one identity provider.
      const [only = ''] = Object.keys(configuration.idps);
      const name = idp === undefined ? only : String(idp);
      return beginSaml(configuration, { ...loginRequest, idp: name });
    }
    default:
      return beginOpenId(service, configuration, loginRequest);
  }
}

/** A login that the provider has confirmed. */
export interface Completed {
  readonly configuration: BackendConfiguration;
  readonly identity: Identity;
  /** The local path to continue at; null for the default page. */
  readonly next: string | null;
  /** The provider's session. */
  readonly session?: Pick<ProviderSession, 'details' | 'ends'>;
}

export interface Admission {
  /** Called once the response is known to belong to a login of this browser. Throws if it must wait. */
  readonly admit: () => void;
}

type QueriedBackend = Exclude<Backend, 'saml'>;

/** Completes a login with OAuth2 or OpenID Connect, by asking the provider who the user is. Throws SsoFailure. */
export async function completeLogin(
  service: ServiceContext,
  request: FastifyRequest,
  { backend, admit }: Admission & { backend: QueriedBackend },
): Promise<Completed> {
  const { query } = parseTarget(request.url);
  const state = new URLSearchParams(query).get('state') ?? '';
  // This comes first, so that a response without a login costs at most one lookup.
  const login = await takePendingLogin(service, request, { backend, state });
  if (login === null)
    throw new SsoFailure('no_such_login', 'this browser has no pending login with this state');
  admit();
  const configuration = await requireConfiguration(service, backend);
  const { details } = login;
  const identified = await outsideTurn(request, () =>
    identify(service, configuration, { state, query, details }),
  );
  return { configuration, ...identified, next: details.next };
}

async function identify(
  service: ServiceContext,
  configuration: ConfigurationOf<QueriedBackend>,
  callback: ProviderCallback,
): Promise<Pick<Completed, 'identity' | 'session'>> {
  const { rules } = await ssoConfiguration(service, service.database);
  const mapped = mappedAttributes(rules(configuration.backend));
  if (configuration.backend === 'github')
    return { identity: await githubIdentity(configuration, await completeGithub(configuration, callback)) };
  const claims = await completeOpenId(service, configuration, { ...callback, mapped });
  const session = openIdSession(configuration.backend, claims);
  const identity =
    configuration.backend === 'azuread-oauth2'
      ? azureIdentity(configuration, claims, mapped)
      : googleIdentity(configuration, claims, mapped);
  return { identity, session };
}

const STATE_LENGTH = 43;
const WELL_FORMED = /^[A-Za-z0-9]{43}$/;

/** A new `state` parameter: random, and returned by the provider. */
function newState(): string {
  return randomText(STATE_LENGTH);
}

/**
 * Stores a pending login in the database, where every replica finds it, and binds it to this browser with a
 * cookie. A response in another browser is refused (login CSRF, RFC 6819, section 4.4.1.8).
 */
async function storePendingLogin(
  service: ServiceContext,
  exchange: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  login: { readonly backend: Backend; readonly state: string; readonly details: LoginDetails },
): Promise<void> {
  const { request, reply } = exchange;
  const { backend, state, details } = login;
  const existing = browserOf(request);
  const browser = existing ?? randomText(STATE_LENGTH);
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
    // A SAML response is a cross-site POST, which carries the cookie only with SameSite=None.
    sameSite: secure ? 'none' : 'lax',
    maxAge: LOGIN_LIFETIME_MS / 1000,
  });
}

/** Removes and returns the pending login of this browser for a state and backend. Null if it does not exist. */
export async function takePendingLogin(
  { database, now }: ServiceContext,
  request: FastifyRequest,
  response: { readonly backend: Backend; readonly state: string },
): Promise<Pick<PendingLogin, 'details' | 'started'> | null> {
  const browser = browserOf(request);
  if (browser === null || !WELL_FORMED.test(response.state)) return null;
  return consumeLogin(database, {
    state: hashToken(response.state),
    browser: hashToken(browser),
    backend: response.backend,
    at: now(),
  });
}

function browserOf(request: FastifyRequest): string | null {
  const cookie = request.cookies[cookieName(request)];
  return cookie !== undefined && WELL_FORMED.test(cookie) ? cookie : null;
}

/** The prefix keeps other hosts of the same domain from setting the cookie (RFC 6265bis, section 4.1.3.2). */
function cookieName(request: FastifyRequest): string {
  return request.protocol === 'https' ? '__Host-sso_login' : 'sso_login';
}

/**
 * A backend's redirect URI, under the request's URL. A forged Host header does no harm, because providers
 * redirect only to registered URIs.
 * @throws RequestFailure 400 if the Host header is invalid.
 */
export function callbackUrl(request: FastifyRequest, backend: Backend): string {
  const base = request.issuer;
  if (!URL.canParse(base) || !/^https?:\/\/[^/?#@\\]+$/.test(base)) throw badRequest('Invalid Host header.');
  return `${base}/sso/complete/${backend}/`;
}
