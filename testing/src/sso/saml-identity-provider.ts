import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { IdentityProvider, SamlLib, ServiceProvider, setSchemaValidator } from 'samlify';
import { accountPage, formOf, type LoopbackServer, listenOnLoopback } from './http-server.ts';

/** A key and its certificate, in PEM. */
export interface KeyPair {
  readonly key: string;
  readonly certificate: string;
}

/** What an assertion says; each part can be made wrong. */
export interface AssertionParts {
  readonly id: string;
  readonly inResponseTo: string | null;
  readonly issuer: string;
  readonly audience: string;
  readonly recipient: string;
  readonly nameId: string;
  readonly nameIdFormat: string;
  readonly notBefore: Date;
  readonly notOnOrAfter: Date;
  readonly attributes: Readonly<Record<string, readonly string[]>>;
  /** More elements of the statement of attributes, as XML. */
  readonly moreAttributes?: string;
  /** When the session has to end; the assertion does not say unless it is given. */
  readonly sessionNotOnOrAfter?: Date;
  /** What the envelope says: the same as the assertion, and success, unless it is given; null for nothing. */
  readonly envelope?: {
    readonly destination?: string | null;
    readonly issuer?: string | null;
    readonly status?: string | null;
  };
}

/** What a service asked for. */
export interface SamlRequest {
  readonly id: string;
  readonly relayState: string;
  readonly callback: string;
}

const REDIRECT = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
/** Settings that samlify reads and its types leave out. */
const ENCRYPTION: object = {
  dataEncryptionAlgorithm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  keyEncryptionAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
};

// The schemas would need a Java program; that messages are well formed is seen by the signatures.
setSchemaValidator({ validate: () => Promise.resolve('valid') });

/** Makes a key and a certificate for it. */
export function makeKeyPair(name: string): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'tokenctl-saml-'));
  const [key, certificate] = [join(folder, 'key'), join(folder, 'certificate')];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`];
  execFileSync('openssl', [...request, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  const made = { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

/** A SAML identity provider, made with samlify: it verifies requests, and signs and encrypts assertions. */
export class SamlIdentityProvider {
  readonly entityId = 'https://idp.example.org/saml';
  readonly keys: KeyPair;
  readonly #metadata: string;
  readonly #encrypts: boolean;
  readonly #algorithm: string;
  readonly #location: string;

  /** @param options The service's metadata, whether assertions are encrypted, and where requests are sent to. */
  constructor(options: {
    readonly keys: KeyPair;
    readonly metadata: string;
    readonly encrypts?: boolean;
    readonly sha1?: boolean;
    readonly location: string;
  }) {
    this.keys = options.keys;
    this.#metadata = options.metadata;
    this.#encrypts = options.encrypts ?? false;
    this.#algorithm = options.sha1
      ? 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'
      : 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
    this.#location = options.location;
  }

  /** Reads a request by the redirect binding; one that has to be signed is verified with the service's certificate. */
  async read(url: string, signed: boolean): Promise<SamlRequest> {
    const { search, searchParams } = new URL(url);
    const octetString = search
      .slice(1)
      .split('&')
      .filter((part) => /^(SAMLRequest|RelayState|SigAlg)=/.test(part))
      .join('&');
    const query = Object.fromEntries(searchParams);
    const idp = this.#provider(signed);
    await idp.parseLoginRequest(this.#service(), 'redirect', { query, octetString });
    const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
    return {
      id: / ID="([^"]+)"/.exec(xml)?.[1] ?? '',
      relayState: searchParams.get('RelayState') ?? '',
      callback: / AssertionConsumerServiceURL="([^"]+)"/.exec(xml)?.[1] ?? '',
    };
  }

  /** A right assertion for a request; `null` for one that no one asked for. */
  parts(
    request: Pick<SamlRequest, 'callback'> & { readonly id: string | null },
    nameId: string,
  ): AssertionParts {
    return {
      id: `_${randomUUID()}`,
      inResponseTo: request.id,
      issuer: this.entityId,
      audience: this.#service().entityMeta.getEntityID(),
      recipient: request.callback,
      nameId,
      nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      notBefore: new Date(Date.now() - 5_000),
      notOnOrAfter: new Date(Date.now() + 300_000),
      attributes: {},
    };
  }

  /** The answer with an assertion, signed and perhaps encrypted, in base64. */
  async answer(parts: AssertionParts): Promise<string> {
    const context = responseXml(parts);
    const made = await this.#provider(false).createLoginResponse(
      this.#service(),
      { extract: {} },
      'post',
      {},
      { customTagReplacement: () => ({ id: parts.id, context }) },
    );
    return made.context;
  }

  /** The answer with an assertion that no one signed, in base64. */
  unsigned(parts: AssertionParts): string {
    return Buffer.from(responseXml(parts)).toString('base64');
  }

  #provider(wantAuthnRequestsSigned: boolean) {
    return IdentityProvider({
      entityID: this.entityId,
      privateKey: this.keys.key,
      signingCert: this.keys.certificate,
      wantAuthnRequestsSigned,
      isAssertionEncrypted: this.#encrypts,
      requestSignatureAlgorithm: this.#algorithm,
      ...ENCRYPTION,
      singleSignOnService: [{ Binding: REDIRECT, Location: this.#location }],
      singleLogoutService: [{ Binding: REDIRECT, Location: this.#location }],
    });
  }

  #service() {
    return ServiceProvider({ metadata: this.#metadata });
  }
}

/** Starts a page that asks who logs in and posts the answer back, as the browser sees an identity provider. */
export function startSamlPages(
  provider: (location: string) => SamlIdentityProvider,
  attributes: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>,
): Promise<LoopbackServer> {
  return listenOnLoopback((url) => async (request, response) => {
    const html = { 'content-type': 'text/html; charset=utf-8' };
    if (request.method === 'GET')
      return void response.writeHead(200, html).end(accountPage('Corporate login'));
    const account = (await formOf(request)).get('account') ?? '';
    const idp = provider(`${url}/`);
    const asked = await idp.read(`${url}${request.url}`, false);
    const answer = await idp.answer({ ...idp.parts(asked, account), attributes: attributes[account] ?? {} });
    response.writeHead(200, html).end(`<!doctype html><title>Back</title>
<form method="post" action="${asked.callback}"><input type="hidden" name="SAMLResponse" value="${answer}">
<input type="hidden" name="RelayState" value="${asked.relayState}"><button>Back to the service</button></form>`);
  });
}

function responseXml(parts: AssertionParts): string {
  const now = new Date().toISOString();
  const answers = parts.inResponseTo === null ? '' : ` InResponseTo="${parts.inResponseTo}"`;
  const attributes = Object.entries(parts.attributes).map(
    ([name, values]) =>
      `<saml:Attribute Name="${name}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
  );
  const stated = attributes.join('') + (parts.moreAttributes ?? '');
  const statement = stated === '' ? '' : `<saml:AttributeStatement>${stated}</saml:AttributeStatement>`;
  const { destination = parts.recipient, issuer = parts.issuer, status = 'Success' } = parts.envelope ?? {};
  const to = destination === null ? '' : ` Destination="${destination}"`;
  const from = issuer === null ? '' : `<saml:Issuer>${issuer}</saml:Issuer>`;
  const said =
    status === null
      ? ''
      : `<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status}"/></samlp:Status>`;
  const ends = parts.sessionNotOnOrAfter?.toISOString();
  const session = ends === undefined ? '' : ` SessionNotOnOrAfter="${ends}"`;
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_${randomUUID()}" Version="2.0" IssueInstant="${now}"${to}${answers}>${from}${said}<saml:Assertion ID="${parts.id}" Version="2.0" IssueInstant="${now}"><saml:Issuer>${parts.issuer}</saml:Issuer><saml:Subject><saml:NameID Format="${parts.nameIdFormat}">${parts.nameId}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${parts.notOnOrAfter.toISOString()}" Recipient="${parts.recipient}"${answers}/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${parts.notBefore.toISOString()}" NotOnOrAfter="${parts.notOnOrAfter.toISOString()}"><saml:AudienceRestriction><saml:Audience>${parts.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="${now}" SessionIndex="${parts.id}"${session}><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>${statement}</saml:Assertion></samlp:Response>`;
}

/** Signs a message's assertion once more, as someone who has the key. */
export function signAgain(xml: string, { key, certificate }: KeyPair): string {
  return SamlLib.constructSAMLSignature({
    rawSamlMessage: xml,
    referenceTagXPath: "/*[local-name(.)='Response']/*[local-name(.)='Assertion']",
    privateKey: key,
    signingCert: certificate.replace(/-----[^-]+-----|\s/g, ''),
    signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    isBase64Output: false,
    signatureConfig: {
      prefix: 'ds',
      location: {
        reference: "/*[local-name(.)='Response']/*[local-name(.)='Assertion']/*[local-name(.)='Issuer']",
        action: 'after',
      },
    },
  });
}
