import { verify, X509Certificate } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceContext } from '../context.ts';
import type { RouteDescription } from '../endpoint.ts';
import { sendLoggedOut } from '../pages/sso.ts';
import { parseTarget, redirect } from '../request.ts';
import type { SamlIdp } from '../settings/sso-schemas.ts';
import { deleteProviderSessions, type ProviderSession } from '../store/sessions.ts';
import { type Backend, backendOf, CLOCK_TOLERANCE_S, LABELS, SsoFailure } from './backends.ts';
import { type SamlConfiguration, ssoConfiguration } from './configuration.ts';
import { callbackUrl, requireConfiguration } from './login.ts';
import { samlClient } from './saml-client.ts';
import { child, elements, NAMESPACES, parseXml } from './saml-xml.ts';

const PATH = '/sso/logout/saml/';

/** The session at a provider that continues after a logout here. */
export interface RemainingSession {
  readonly label: string;
  /** Where to log out at the provider; null if it offers no logout. */
  readonly url: string | null;
}

/** How long a logout waits for the metadata of an OpenID provider, in milliseconds. */
const DISCOVERY_TIMEOUT_MS = 2_000;

/**
 * The provider's session that remains after its session here has ended. OpenID providers may have an
 * `end_session_endpoint` (OpenID Connect RP-Initiated Logout 1.0), SAML providers a single logout service.
 */
export async function remainingSession(
  service: ServiceContext,
  request: FastifyRequest,
  session: ProviderSession,
): Promise<RemainingSession | null> {
  const backend = backendOf(session.backend);
  if (backend === null) return null;
  return providerLogout(service, request, { ...session, backend }).catch((error: unknown) => {
    request.log.warn({ err: error }, 'the logout at the provider is not offered');
    return { label: LABELS[backend], url: null };
  });
}

async function providerLogout(
  service: ServiceContext,
  request: FastifyRequest,
  { backend, details }: Pick<ProviderSession, 'details'> & { backend: Backend },
): Promise<RemainingSession> {
  const { backends, label } = await ssoConfiguration(service, service.database);
  const configuration = backends.find((each) => each.backend === backend);
  switch (configuration?.backend) {
    case 'saml': {
      const { idp: name = '', ...subject } = details;
      const idp = Object.hasOwn(configuration.idps, name) ? configuration.idps[name] : undefined;
      if (idp?.logout_url === undefined) return { label: idp?.label ?? name, url: null };
      const client = await logoutClient(configuration, { idp, request });
      const url = await client.getLogoutUrlAsync(
        {
          issuer: idp.entity_id,
          nameID: subject.nameId ?? '',
          nameIDFormat: subject.nameIdFormat ?? '',
          ...(subject.sessionIndex && { sessionIndex: subject.sessionIndex }),
        },
        '',
        {},
      );
      return { label: idp.label ?? name, url };
    }
    case 'oidc':
    case 'google-oauth2':
    case 'azuread-oauth2': {
      const late = new Promise<null>((resolve) => setTimeout(resolve, DISCOVERY_TIMEOUT_MS, null).unref());
      const found = await Promise.race([service.discoveries.find(configuration), late]).catch(() => null);
      const endpoint = found?.serverMetadata().end_session_endpoint;
      if (endpoint === undefined) return { label: label(backend), url: null };
      const url = new URL(endpoint);
      url.searchParams.set('client_id', configuration.clientId);
      return { label: label(backend), url: url.href };
    }
    default:
      return { label: label(backend), url: null };
  }
}

function logoutClient(
  configuration: SamlConfiguration,
  { idp, request }: { idp: SamlIdp; request: FastifyRequest },
) {
  const signed = { ...configuration.security, authnRequestsSigned: configuration.privateKey !== '' };
  return samlClient({
    configuration: { ...configuration, security: signed },
    idp,
    callback: callbackUrl(request, 'saml'),
  });
}

export function logoutUrl(request: FastifyRequest): string {
  return `${request.issuer}${PATH}`;
}

/**
 * The single logout service (SAML 2.0 Profiles, section 4.4) with the redirect binding. It accepts responses
 * to logouts that started here, and signed requests of an identity provider, which end that user's sessions.
 */
export function serveSamlLogout(
  app: FastifyInstance,
  service: ServiceContext,
  orErrorPage: (request: FastifyRequest, reply: FastifyReply, answer: () => Promise<FastifyReply>) => unknown,
): void {
  app.get(PATH, { config: { describes: LOGOUT }, exposeHeadRoute: false }, (request, reply) =>
    orErrorPage(request, reply, async () => {
      const configuration = await requireConfiguration(service, 'saml');
      const message = readMessage(parseTarget(request.url).query, configuration);
      const { label = message.name } = message.idp;
      if (message.kind === 'SAMLResponse') {
        const isConfirmed = message.isSigned && statusOf(message.root) === 'Success';
        return sendLoggedOut(reply, { provider: { label, url: null }, isConfirmed });
      }
      const { nameId, sessionIndexes } = readRequest(message, {
        now: service.now(),
        destination: logoutUrl(request),
      });
      await deleteProviderSessions(service.database, { idp: message.name, nameId, sessionIndexes });
      if (message.idp.logout_url === undefined) {
        return sendLoggedOut(reply, { provider: { label, url: null }, isConfirmed: true });
      }
      const client = await logoutClient(configuration, { idp: message.idp, request });
      const asked = { ID: message.root.getAttribute('ID') ?? '' } as unknown as Parameters<
        typeof client.getLogoutResponseUrlAsync
      >[0];
      const url = await client.getLogoutResponseUrlAsync(asked, message.relayState, {}, true);
      return redirect(reply, url);
    }),
  );
}

type Message = ReturnType<typeof readMessage>;

const MAX_MESSAGE = 65_536;
const MAX_TAGS = 200;
const PARAMETERS = ['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature'] as const;

/** Reads a message (SAML 2.0 Bindings, section 3.4.4) and its identity provider, which signed it if `isSigned`. */
function readMessage(query: string, configuration: SamlConfiguration) {
  // The signature covers the parameters as sent, so other spellings of their names are not accepted.
  const raw = new Map(
    query.split('&').map((part) => {
      const [name = '', ...value] = part.split('=');
      return [name, value.join('=')] as const;
    }),
  );
  const known = [...raw.keys()].filter((name) => PARAMETERS.some((parameter) => parameter === name));
  const kind = raw.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse';
  if (known.length !== query.split('&').length || (raw.has('SAMLRequest') && raw.has('SAMLResponse'))) {
    throw unverified('has different parameters, or duplicates');
  }
  const value = (name: string) => new URLSearchParams(`v=${raw.get(name) ?? ''}`).get('v') ?? '';
  const root = parseMessage(value(kind));
  const issuer = child(root, 'assertion', 'Issuer')?.textContent?.trim() ?? '';
  const found = Object.entries(configuration.idps).find(([, { entity_id }]) => entity_id === issuer);
  if (found === undefined) throw unverified('has an unknown issuer');
  const [name, idp] = found;
  const isSigned = raw.has('Signature');
  const acceptsSha1 = configuration.security.rejectDeprecatedAlgorithm === false;
  if (isSigned && !isSignedBy(idp, { kind, raw, value, acceptsSha1 }))
    throw unverified('has an invalid signature');
  return { kind, root, name, idp, isSigned, relayState: value('RelayState') };
}

function parseMessage(base64: string): Element {
  try {
    const bytes = Buffer.from(base64, 'base64');
    const xml = inflateRawSync(bytes, { maxOutputLength: MAX_MESSAGE }).toString('utf8');
    if (/<!DOCTYPE/i.test(xml) || xml.split('<').length > MAX_TAGS) throw new Error('no SAML');
    return parseXml(xml);
  } catch {
    throw unverified('cannot be read');
  }
}

function isSignedBy(
  idp: SamlIdp,
  message: {
    readonly kind: string;
    readonly raw: ReadonlyMap<string, string>;
    readonly value: (name: string) => string;
    readonly acceptsSha1: boolean;
  },
): boolean {
  const { kind, raw, value, acceptsSha1 } = message;
  const [, hash = ''] = /#rsa-(sha1|sha256|sha384|sha512)$/.exec(value('SigAlg')) ?? [];
  if (hash === '' || (hash === 'sha1' && !acceptsSha1)) return false;
  const signed = [kind, 'RelayState', 'SigAlg']
    .filter((name) => raw.has(name))
    .map((name) => `${name}=${raw.get(name)}`)
    .join('&');
  const signature = Buffer.from(value('Signature'), 'base64');
  return [idp.x509cert]
    .flat()
    .some((pem) => verify(hash, Buffer.from(signed), new X509Certificate(pem).publicKey, signature));
}

function readRequest({ root, isSigned }: Message, { now, destination }: { now: Date; destination: string }) {
  if (!isSigned) throw unverified('is not signed');
  if (root.namespaceURI !== NAMESPACES.protocol || root.localName !== 'LogoutRequest') {
    throw unverified('is not a logout request');
  }
  if ((root.getAttribute('Destination') ?? '') !== destination)
    throw unverified('is for a different destination');
  const skew = CLOCK_TOLERANCE_S * 1000;
  const issued = new Date(root.getAttribute('IssueInstant') ?? '').getTime();
  const until = new Date(root.getAttribute('NotOnOrAfter') || issued + MAX_AGE_MS).getTime();
  // An invalid date fails both comparisons.
  if (!(now.getTime() < until + skew && issued < now.getTime() + skew))
    throw unverified('is not valid at this time');
  const nameId = child(root, 'assertion', 'NameID')?.textContent?.trim() ?? '';
  if (nameId === '') throw unverified('has no NameID');
  const indexes = elements(root, { namespace: NAMESPACES.protocol, name: 'SessionIndex', children: true });
  return { nameId, sessionIndexes: indexes.map((index) => index.textContent?.trim() ?? '') };
}

const MAX_AGE_MS = 300_000;

function statusOf(root: Element): string {
  const [code] = elements(root, { namespace: NAMESPACES.protocol, name: 'StatusCode' });
  return (code?.getAttribute('Value') ?? '').replace(/^.*:/, '');
}

function unverified(why: string): SsoFailure {
  return new SsoFailure('unverified', `the logout message ${why}`);
}

const LOGOUT: RouteDescription = {
  summary: 'The SAML single logout service for identity providers',
  description: 'The SAML 2.0 redirect binding. Requests must be signed.',
  produces: 'text/html',
  query: {
    SAMLRequest: { description: "An identity provider's request to end a user's sessions." },
    SAMLResponse: { description: "The identity provider's response to a logout that was started here." },
    RelayState: { description: 'Returned with the response to a request.' },
    SigAlg: { description: 'The algorithm of the signature.' },
    Signature: { description: 'The signature over the other parameters.' },
  },
  answers: {
    200: 'A page shown after a logout.',
    302: 'Redirects to the identity provider, or to /sso/error/.',
  },
};
