/**
 * A worker thread that verifies responses of SAML identity providers one by one. `SamlThread` starts it,
 * waits for a first message, and sends it one {@link SamlAnswer} at a time; each gets a {@link SamlVerdict}.
 */
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import { decrypt } from 'xml-encryption';
import { SsoFailure, type SsoReason } from './backends.ts';
import { type SamlExchange, samlClient } from './saml-client.ts';
import { child, elements, NAMESPACES, parseXml } from './saml-xml.ts';

export interface SamlAnswer extends SamlExchange {
  /** As posted, in base64. */
  readonly response: string;
}

/** A verified assertion, as the library returns it: only the signed content. */
export interface VerifiedAssertion {
  readonly nameId: string;
  readonly nameIdFormat: string;
  /** The identity provider's name for the session; empty if it has none. */
  readonly sessionIndex: string;
  /** The values of each attribute; values with elements are objects. */
  readonly attributes: Readonly<Record<string, readonly unknown[]>>;
  /** Whether it has individually encrypted attributes, whose names are unknown. */
  readonly hidesAttributes: boolean;
  /** The assertion's element in xml2js form. */
  readonly element: unknown;
}

/** The result of a verification, as data for another thread. */
export type SamlVerdict =
  | { readonly verified: VerifiedAssertion }
  | { readonly refused: SsoReason; readonly detail: string };

parentPort?.on('message', async (answer: SamlAnswer) => {
  parentPort?.postMessage(await verifySaml(answer));
});
// Loaded here, so that the time limit of a verification does not include it.
void import('@node-saml/node-saml').then(() => parentPort?.postMessage('ready'));

/**
 * Checks the envelope, and that the assertion, which may be encrypted, is signed by the identity provider
 * with matching audience and times. Does not check the recipient or whether it was used before. It runs in a
 * thread because an encrypted response can decrypt to a huge document and take long to verify.
 */
async function verifySaml(answer: SamlAnswer): Promise<SamlVerdict> {
  try {
    const { configuration, idp, callback } = answer;
    await checkEnvelope(Buffer.from(answer.response, 'base64').toString('utf8'), {
      destination: callback,
      issuer: idp.entity_id,
      acceptsSha1: configuration.security.rejectDeprecatedAlgorithm === false,
      key: configuration.privateKey,
    });
    const saml = await samlClient(answer);
    const { profile } = await saml.validatePostResponseAsync({ SAMLResponse: answer.response });
    const assertion = profile?.getAssertion?.()['Assertion'];
    if (profile === null || assertion === undefined) {
      return { refused: 'unverified', detail: 'the response has no assertion' };
    }
    return {
      verified: {
        nameId: profile.nameID ?? '',
        nameIdFormat: profile.nameIDFormat ?? '',
        sessionIndex: profile.sessionIndex ?? '',
        ...attributesIn(assertion as AssertionElement),
        element: assertion,
      },
    };
  } catch (error) {
    if (error instanceof SsoFailure) return { refused: error.reason, detail: error.message };
    const detail = error instanceof Error ? error.message.slice(0, 300) : 'unknown error';
    return { refused: 'unverified', detail };
  }
}

/** The part of an assertion's element with attributes. */
interface AssertionElement {
  readonly AttributeStatement?: readonly {
    readonly Attribute?: readonly {
      readonly $: { readonly Name: string };
      readonly AttributeValue?: readonly (string | Readonly<Record<string, unknown>>)[];
    }[];
    readonly EncryptedAttribute?: unknown;
  }[];
}

/** If an attribute is repeated for each value, as Keycloak does with roles, the library keeps only the last value. */
function attributesIn({ AttributeStatement: statements = [] }: AssertionElement) {
  const attributes = new Map<string, unknown[]>();
  for (const { $, AttributeValue: values = [] } of statements.flatMap(({ Attribute = [] }) => Attribute))
    if (values.length > 0)
      attributes.set($.Name, [...(attributes.get($.Name) ?? []), ...values.map(valueIn)]);
  return {
    attributes: Object.fromEntries(attributes),
    hidesAttributes: statements.some((statement) => statement.EncryptedAttribute !== undefined),
  };
}

function valueIn(value: string | Readonly<Record<string, unknown>>): unknown {
  if (typeof value === 'string') return value;
  return Object.keys(value).some((name) => name !== '_' && name !== '$') ? value : value['_'];
}

interface ExpectedEnvelope {
  /** The assertion consumer service that the response was posted to. */
  readonly destination: string;
  readonly issuer: string;
  readonly acceptsSha1: boolean;
  /** The private key for encrypted assertions; empty for none. */
  readonly key: string;
}

/**
 * Checks what the library does not check in a response: status, `Destination` and issuer of the envelope
 * (SAML 2.0 Core, section 3.2.2; Profiles, section 4.1.4.2), and that no signature, even inside an encrypted
 * assertion, uses SHA-1.
 * @throws SsoFailure `refused_by_provider` with the status; `unverified`.
 */
async function checkEnvelope(xml: string, expected: ExpectedEnvelope): Promise<void> {
  const response = parseResponse(xml);
  checkStatus(response);
  const isSigned = child(response, 'signature', 'Signature') !== undefined;
  const destination = response.getAttribute('Destination') ?? '';
  // Required if the response is signed (Bindings, section 3.5.5.2).
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
  throw refused('is not a SAML response');
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

/** SHA-1 has known collisions, so its signatures do not prove who wrote the content. */
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
