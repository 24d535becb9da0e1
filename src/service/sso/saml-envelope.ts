import { promisify } from 'node:util';
import { decrypt } from 'xml-encryption';
import { SsoFailure } from './backends.ts';
import { child, elements, NAMESPACES, parseXml } from './saml-xml.ts';

/** What the envelope of a response must say. */
export interface ExpectedEnvelope {
  /** The assertion consumer service that the response was posted to. */
  readonly destination: string;
  /** The identity provider. */
  readonly issuer: string;
  /** Whether signatures with SHA-1 are accepted. */
  readonly acceptsSha1: boolean;
  /** The private key for encrypted assertions; empty for none. */
  readonly key: string;
}

/**
 * Checks what the library leaves unchecked in a response: status, `Destination` and issuer of the envelope (SAML 2.0
 * Core, section 3.2.2; Profiles, section 4.1.4.2), and that no signature, also inside an encrypted assertion, uses SHA-1.
 *
 * @throws SsoFailure `refused_by_provider` with the status; `unverified`.
 */
export async function checkEnvelope(xml: string, expected: ExpectedEnvelope): Promise<void> {
  const response = parseResponse(xml);
  checkStatus(response);
  const isSigned = child(response, 'signature', 'Signature') !== undefined;
  const destination = response.getAttribute('Destination') ?? '';
  // It must be there if the response is signed (Bindings, section 3.5.5.2).
  if (destination === '' ? isSigned : destination !== expected.destination) {
    throw refused(`is for ${printed(destination) || 'no destination'}`);
  }
  const issuer = child(response, 'assertion', 'Issuer');
  if (issuer === undefined ? isSigned : (issuer.textContent ?? '').trim() !== expected.issuer) {
    throw refused(`has the issuer ${printed(issuer?.textContent?.trim() ?? '') || 'none'}`);
  }
  if (expected.acceptsSha1) return;
  refuseSha1(response);
  const encrypted = child(response, 'assertion', 'EncryptedAssertion');
  if (encrypted === undefined || expected.key === '') return;
  const inside = await promisify(decrypt)(encrypted.toString(), { key: expected.key });
  refuseSha1(parseXml(String(inside)));
}

function parseResponse(xml: string): Element {
  try {
    const root = parseXml(xml);
    if (root.namespaceURI === NAMESPACES.protocol && root.localName === 'Response') return root;
  } catch (error) {
    throw refused(`is not XML: ${error instanceof Error ? error.message : ''}`);
  }
  throw refused('is no SAML response');
}

const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';

function checkStatus(response: Element): void {
  const status = child(response, 'protocol', 'Status');
  const codes =
    status === undefined ? [] : elements(status, { namespace: NAMESPACES.protocol, name: 'StatusCode' });
  const values = codes.map((code) => code.getAttribute('Value') ?? '');
  if (values[0] === SUCCESS) return;
  if (values.length === 0) throw refused('has no status');
  const names = values.map((value) => printed(value.replace(/^.*:/, ''))).join('/');
  const message = status && child(status, 'protocol', 'StatusMessage')?.textContent;
  const said = message ? `: ${printed(message)}` : '';
  throw new SsoFailure('refused_by_provider', `the provider returned the status ${names}${said}`);
}

/** SHA-1 has known collisions: a signature with it does not prove who wrote the content. */
function refuseSha1(root: Element): void {
  const namespace = NAMESPACES.signature;
  for (const info of elements(root, { namespace, name: 'SignedInfo' })) {
    const methods = [
      ...elements(info, { namespace, name: 'SignatureMethod' }),
      ...elements(info, { namespace, name: 'DigestMethod' }),
    ];
    const weak = methods
      .map((method) => method.getAttribute('Algorithm') ?? '')
      .find((algorithm) => /sha1$|md5$/i.test(algorithm));
    if (weak !== undefined) throw refused(`is signed with ${printed(weak.replace(/^.*#/, ''))}`);
  }
}

function refused(why: string): SsoFailure {
  return new SsoFailure('unverified', `the response ${why}`);
}

/** A value of a message, short and on one line, for the log. */
function printed(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200);
}
