import { Secret } from '@tokenctl/common/secret.ts';
import {
  type AssertionParts,
  type KeyPair,
  makeKeyPair,
  SamlIdentityProvider,
  type SamlRequest,
} from '@tokenctl/testing/sso/saml-identity-provider.ts';
import type { RunningService, ServiceOptions } from '../../src/server.ts';
import { startTestService } from '../support/service.ts';
import { Browser, type Stop } from '../support/sso/browser.ts';
import { set } from '../support/sso/world.ts';

/** The keys of the identity provider, of another one, and of the service. */
export interface SamlKeys {
  readonly idp: KeyPair;
  readonly other: KeyPair;
  readonly service: KeyPair;
}

/** Makes the keys, once for a test file. */
export function samlKeys(): SamlKeys {
  return { idp: makeKeyPair('idp'), other: makeKeyPair('other'), service: makeKeyPair('service') };
}

/** How the identity provider is configured at the service. */
export function idpSettings(
  keys: SamlKeys,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    entity_id: 'https://idp.example.org/saml',
    url: 'https://idp.example.org/saml/sso?tenant=7',
    x509cert: keys.idp.certificate,
    ...more,
  };
}

/** Starts a service that has one SAML identity provider, called `corporate`. */
export async function startSamlService({
  keys,
  options = {},
}: {
  keys: SamlKeys;
  options?: Partial<ServiceOptions>;
}): Promise<RunningService> {
  const secretKey = new Secret('a-key-of-the-tests-a-key-of-the-tests');
  const service = await startTestService({ secretKey, ...options });
  await set(service, 'saml', {
    SOCIAL_AUTH_SAML_SP_ENTITY_ID: 'https://automation.example.org',
    SOCIAL_AUTH_SAML_SP_PUBLIC_CERT: keys.service.certificate,
    SOCIAL_AUTH_SAML_SP_PRIVATE_KEY: keys.service.key,
    SOCIAL_AUTH_SAML_ENABLED_IDPS: { corporate: idpSettings(keys) },
  });
  return service;
}

/** The identity provider of a service's metadata. */
export async function idpFor(
  service: Pick<RunningService, 'url'>,
  keys: SamlKeys,
  options: { readonly encrypts?: boolean; readonly sha1?: boolean; readonly as?: KeyPair } = {},
): Promise<SamlIdentityProvider> {
  const metadata = await (await fetch(`${service.url}/sso/metadata/saml/`)).text();
  return new SamlIdentityProvider({
    keys: options.as ?? keys.idp,
    metadata,
    encrypts: options.encrypts ?? false,
    sha1: options.sha1 ?? false,
    location: 'https://idp.example.org/saml/sso?tenant=7',
  });
}

/** Begins a login: the browser, and what the identity provider is asked. */
export async function beginSamlLogin(
  service: Pick<RunningService, 'url'>,
  { idp, signed = false, query = '' }: { idp: SamlIdentityProvider; signed?: boolean; query?: string },
): Promise<{ readonly browser: Browser; readonly request: SamlRequest; readonly url: string }> {
  const browser = new Browser();
  const { location } = await browser.open(
    `${service.url}/sso/login/saml/${query}`,
    (url) => !url.startsWith(service.url),
  );
  return { browser, request: await idp.read(location ?? '', signed), url: location ?? '' };
}

/** Posts an answer to the service, as the identity provider's page does. */
export function post(
  service: Pick<RunningService, 'url'>,
  answer: { readonly browser: Browser; readonly response: string; readonly relayState: string },
): Promise<Stop> {
  const { browser, response, relayState } = answer;
  return browser.send(`${service.url}/sso/complete/saml/`, {
    SAMLResponse: response,
    RelayState: relayState,
  });
}

/** A whole login, with an assertion that a test may change before it is signed. */
export async function logInWithSaml(
  service: Pick<RunningService, 'url'>,
  login: {
    readonly idp: SamlIdentityProvider;
    readonly nameId: string;
    readonly change?: Partial<AssertionParts>;
    readonly query?: string;
    /** What becomes of the signed answer on its way. */
    readonly tamper?: (xml: string) => string;
  },
): Promise<{ readonly browser: Browser; readonly stop: Stop }> {
  const { idp, nameId, change = {}, tamper = (xml) => xml, query = '' } = login;
  const { browser, request } = await beginSamlLogin(service, { idp, query });
  const answer = await idp.answer({ ...idp.parts(request, nameId), ...change });
  const xml = tamper(Buffer.from(answer, 'base64').toString('utf8'));
  const response = Buffer.from(xml).toString('base64');
  return { browser, stop: await post(service, { browser, response, relayState: request.relayState }) };
}
