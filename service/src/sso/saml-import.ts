import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { certificatePem } from '../settings/checks.ts';
import { fetchBounded, PROVIDER_TIMEOUT_S } from './provider-client.ts';
import { child, elements, NAMESPACES, parseXml } from './saml-xml.ts';

/**
 * Replaces each `metadata_url` in a new value of SOCIAL_AUTH_SAML_ENABLED_IDPS by the values of its metadata.
 * An entry that already has these values, as one read before does, is unchanged.
 * @throws Error with the entry's name.
 */
export async function withFetchedMetadata(value: unknown): Promise<unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries: [string, unknown][] = [];
  for (const [name, entry] of Object.entries(value)) entries.push([name, await fetched(name, entry)]);
  return Object.fromEntries(entries);
}

async function fetched(name: string, entry: unknown): Promise<unknown> {
  if (typeof entry !== 'object' || entry === null || !('metadata_url' in entry) || 'metadata' in entry)
    return entry;
  if (typeof entry.metadata_url !== 'string' || ('url' in entry && 'x509cert' in entry)) return entry;
  const metadata = await fetchMetadata(entry.metadata_url).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : 'unknown error';
    throw new Error(`${name}.metadata_url: ${why}`, { cause: error });
  });
  return { ...entry, metadata };
}

export interface ImportedProvider {
  readonly entity_id: string;
  readonly url: string;
  readonly x509cert: readonly string[];
  readonly logout_url?: string;
  readonly name_id_format?: 'persistent' | 'email';
}

/** The maximum length of parsed metadata, in characters. A provider's has a few thousand. */
const MAX_METADATA = 1024 * 1024;
const MAX_TAGS = 20_000;
const REDIRECT = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';

/**
 * Reads an identity provider's metadata (SAML 2.0 Metadata). Its signature is not checked: the administrator
 * decides where it comes from.
 * @param entityId Selects one of several providers; empty if there is only one.
 * @throws Error with what is missing, in a sentence for the administrator.
 */
export function readMetadata(text: string, entityId: string): ImportedProvider {
  if (text.length > MAX_METADATA) throw new Error('The metadata is longer than 1 MiB.');
  if (/<!DOCTYPE/i.test(text)) throw new Error('The metadata has a document type.');
  if (text.split('<').length > MAX_TAGS) throw new Error('The metadata has too many elements.');
  const entity = selectEntity(parse(text), entityId);
  const validUntil = entity.getAttribute('validUntil');
  if (validUntil && new Date(validUntil) < new Date())
    throw new Error(`The metadata expired at ${validUntil}.`);
  const descriptor = child(entity, 'metadata', 'IDPSSODescriptor');
  if (descriptor === undefined) throw new Error('The metadata has no IDPSSODescriptor.');
  const url = location(descriptor, 'SingleSignOnService');
  if (url === null) throw new Error('The metadata has no SingleSignOnService with the redirect binding.');
  const logout = location(descriptor, 'SingleLogoutService');
  const format = nameIdFormat(descriptor);
  return {
    entity_id: entity.getAttribute('entityID') ?? '',
    url,
    x509cert: certificates(descriptor),
    ...(logout !== null && { logout_url: logout }),
    ...(format !== null && { name_id_format: format }),
  };
}

function parse(text: string): Element {
  try {
    return parseXml(text);
  } catch {
    throw new Error('The metadata is not XML.');
  }
}

function selectEntity(root: Element, entityId: string): Element {
  const isEntity = root.namespaceURI === NAMESPACES.metadata && root.localName === 'EntityDescriptor';
  const all = isEntity
    ? [root]
    : elements(root, { namespace: NAMESPACES.metadata, name: 'EntityDescriptor' });
  const providers = all.filter((entity) => child(entity, 'metadata', 'IDPSSODescriptor') !== undefined);
  if (providers.length === 0) throw new Error('The metadata has no identity provider.');
  if (entityId === '' && providers.length > 1) {
    throw new Error(`The metadata has ${providers.length} identity providers. Select one with entity_id.`);
  }
  const [first] = providers;
  const found =
    entityId === '' ? first : providers.find((entity) => entity.getAttribute('entityID') === entityId);
  if (found === undefined) throw new Error('The metadata has no identity provider with this entity_id.');
  return found;
}

function location(descriptor: Element, name: string): string | null {
  const services = elements(descriptor, { namespace: NAMESPACES.metadata, name, children: true });
  const service = services.find((each) => each.getAttribute('Binding') === REDIRECT);
  return service?.getAttribute('Location') ?? null;
}

function certificates(descriptor: Element): readonly string[] {
  const keys = elements(descriptor, {
    namespace: NAMESPACES.metadata,
    name: 'KeyDescriptor',
    children: true,
  }).filter((key) => ['', 'signing'].includes(key.getAttribute('use') ?? ''));
  const found = keys.flatMap((key) =>
    elements(key, { namespace: NAMESPACES.signature, name: 'X509Certificate' }).map((element) =>
      certificatePem(element.textContent ?? ''),
    ),
  );
  const valid = [...new Set(found.filter((pem) => pem !== null))];
  if (valid.length === 0) throw new Error('The metadata has no certificate for signatures.');
  return valid;
}

/** A permanent format that the provider offers; null if there is none. */
function nameIdFormat(descriptor: Element): 'persistent' | 'email' | null {
  const offered = elements(descriptor, {
    namespace: NAMESPACES.metadata,
    name: 'NameIDFormat',
    children: true,
  });
  const names = offered.map((element) => (element.textContent ?? '').trim().replace(/^.*:/, ''));
  if (names.includes('persistent')) return 'persistent';
  return names.includes('emailAddress') ? 'email' : null;
}

const REFUSED_ADDRESSES = new BlockList();
REFUSED_ADDRESSES.addSubnet('0.0.0.0', 8);
REFUSED_ADDRESSES.addSubnet('127.0.0.0', 8);
REFUSED_ADDRESSES.addSubnet('169.254.0.0', 16);
REFUSED_ADDRESSES.addSubnet('224.0.0.0', 3);
REFUSED_ADDRESSES.addAddress('::', 'ipv6');
REFUSED_ADDRESSES.addAddress('::1', 'ipv6');
REFUSED_ADDRESSES.addSubnet('fe80::', 10, 'ipv6');
REFUSED_ADDRESSES.addSubnet('ff00::', 8, 'ipv6');
// The metadata service of a cloud machine, over IPv6.
REFUSED_ADDRESSES.addAddress('fd00:ec2::254', 'ipv6');

/**
 * Fetches an identity provider's metadata: over https, or http from `localhost`, without redirects, at most 1 MiB
 * within ten seconds. Other host names or addresses of this machine or of the link-local network, where cloud
 * machines serve credentials, are refused. Private networks are allowed, since identity providers are there.
 * @throws Error with the reason, and nothing from the response.
 */
async function fetchMetadata(address: string): Promise<string> {
  if (!URL.canParse(address)) throw new Error('Enter a valid URL.');
  const url = new URL(address);
  const isLocal = url.hostname === 'localhost';
  if (url.username !== '' || url.password !== '') throw new Error('The URL must not contain a user name.');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) {
    throw new Error('The URL must start with https://.');
  }
  if (!isLocal) await requirePublicHost(url.hostname.replace(/^\[|\]$/g, ''));
  const signal = AbortSignal.timeout(PROVIDER_TIMEOUT_S * 1000);
  const text = await fetchBounded(url.href, {
    method: 'GET',
    headers: { accept: 'application/samlmetadata+xml, application/xml, text/xml' },
    redirect: 'manual',
    body: null,
    signal,
  })
    .then(async (response) => (response.status === 200 ? response.text() : response.status))
    .catch((error: unknown) => {
      throw new Error('The metadata could not be fetched.', { cause: error });
    });
  if (typeof text === 'number') throw new Error(`The server responded with ${text}.`);
  if (text.length > MAX_METADATA) throw new Error('The metadata is longer than 1 MiB.');
  return text;
}

async function requirePublicHost(host: string): Promise<void> {
  const found = await lookup(host, { all: true }).catch(() => []);
  if (found.length === 0) throw new Error('The host of the URL is unknown.');
  for (const { address } of found) {
    if (REFUSED_ADDRESSES.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
      throw new Error("The URL's host resolves to this machine or to the link-local network.");
    }
  }
}
