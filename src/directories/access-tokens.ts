import { createPrivateKey } from 'node:crypto';
import { TokenctlError } from '@tokenctl/common/errors.ts';
import { exchange } from '@tokenctl/common/network/exchange.ts';
import { proxyFailure } from '@tokenctl/common/network/outgoing.ts';
import { Secret } from '@tokenctl/common/secret.ts';
import { importPKCS8, SignJWT } from 'jose';
import type { ClientAuth, Configuration } from 'openid-client';
import { requireEncrypted } from './provider-client.ts';

/** A provider's client that gets access tokens with its own credential (RFC 6749 §4.4). */
export interface ClientCredentials {
  /** The provider's name in messages. */
  readonly name: string;
  readonly tokenUrl: URL;
  readonly clientId: string;
  /** A client secret (RFC 6749 §2.3.1), or a private key in PEM that signs assertions (RFC 7523 §2.2). */
  readonly credential: { readonly secret: Secret } | { readonly privateKey: Secret; readonly keyId?: string };
  readonly scope?: string | undefined;
  readonly ca?: string | undefined;
}

/** A Google service account that acts for an administrator (RFC 7523 §2.1). */
export interface ServiceAccount {
  readonly name: string;
  readonly tokenUrl: URL;
  readonly email: string;
  readonly privateKey: Secret;
  readonly keyId: string | undefined;
  /** The administrator to impersonate. */
  readonly subject: string;
  readonly scope: string;
  readonly ca?: string | undefined;
}

/** The timeout of a token request, in seconds. */
const TIMEOUT_S = 20;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** How long an assertion is valid, in seconds. Google and Okta allow an hour. */
const ASSERTION_S = 300;

/**
 * Requests an access token with client credentials, as the value of an Authorization header. Throws
 * `credentials_refused`, `target_unreachable`, `configuration` for an invalid key.
 */
export async function clientCredentialsToken(client: ClientCredentials): Promise<Secret> {
  const library = await import('openid-client');
  const { credential, scope } = client;
  const authentication =
    'secret' in credential
      ? library.ClientSecretPost(credential.secret.reveal())
      : await privateKeyJwt(library, credential, client);
  const configuration = await tokenEndpoint(client, client.clientId, authentication);
  return await bearerOf(client.name, () =>
    library.clientCredentialsGrant(configuration, scope === undefined ? {} : { scope }),
  );
}

/** Requests an access token with a signed assertion, as the value of an Authorization header. */
export async function serviceAccountToken(account: ServiceAccount): Promise<Secret> {
  const library = await import('openid-client');
  const { email, subject, scope, tokenUrl, keyId, name } = account;
  const key = await readKey(account.privateKey, 'RS256', name);
  const assertion = await new SignJWT({ scope })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
    .setIssuer(email)
    .setSubject(subject)
    .setAudience(tokenUrl.href)
    .setIssuedAt()
    .setExpirationTime(`${ASSERTION_S}s`)
    .sign(key);
  const configuration = await tokenEndpoint(account, email, library.None());
  return await bearerOf(name, () =>
    library.genericGrantRequest(configuration, 'urn:ietf:params:oauth:grant-type:jwt-bearer', { assertion }),
  );
}

async function tokenEndpoint(
  { tokenUrl, ca }: Pick<ClientCredentials, 'tokenUrl' | 'ca'>,
  clientId: string,
  authentication: ClientAuth,
): Promise<Configuration> {
  requireEncrypted(tokenUrl);
  const library = await import('openid-client');
  const server = { issuer: tokenUrl.origin, token_endpoint: tokenUrl.href };
  const configuration = new library.Configuration(server, clientId, {}, authentication);
  configuration.timeout = TIMEOUT_S;
  configuration[library.customFetch] = (url, options) =>
    exchange(url, { ...(options as RequestInit), ca, maxBytes: MAX_ANSWER_BYTES });
  if (tokenUrl.protocol === 'http:') library.allowInsecureRequests(configuration);
  return configuration;
}

async function bearerOf(
  name: string,
  grant: () => Promise<{ readonly access_token: string; readonly token_type: string }>,
): Promise<Secret> {
  try {
    const { access_token: token, token_type: type } = await grant();
    if (type.toLowerCase() !== 'bearer') {
      throw new TokenctlError('target_misbehaved', `${name} returned a token of a type other than Bearer`, {
        hint: 'Turn off the DPoP requirement for this client.',
      });
    }
    return new Secret(`Bearer ${token}`);
  } catch (cause) {
    if (cause instanceof TokenctlError) throw cause;
    const ofProxy = proxyFailure(cause);
    if (ofProxy !== null) throw ofProxy;
    // RFC 6749 §5.2: the provider's error is a code. Its description is not quoted.
    const code = (cause as { error?: unknown }).error;
    if (typeof code === 'string' && /^[\w.-]{1,60}$/.test(code)) {
      throw new TokenctlError('credentials_refused', `${name} returned no access token (${code})`, {
        hint: 'Check the client ID, its secret or key, and the scopes granted to it.',
        cause,
      });
    }
    throw new TokenctlError('target_unreachable', `${name} returned no access token`, {
      hint: "Check the token endpoint's address, and that it can be reached from here.",
      cause,
    });
  }
}

async function privateKeyJwt(
  { PrivateKeyJwt, modifyAssertion }: typeof import('openid-client'),
  { privateKey, keyId }: { privateKey: Secret; keyId?: string },
  { name, tokenUrl }: Pick<ClientCredentials, 'name' | 'tokenUrl'>,
): Promise<ClientAuth> {
  const key = await readKey(privateKey, undefined, name);
  return PrivateKeyJwt(keyId === undefined ? key : { key, kid: keyId }, {
    // RFC 7523 §3: the URL of the token endpoint may be the audience. Okta accepts no other.
    [modifyAssertion](_header: object, payload: Record<string, unknown>) {
      payload['aud'] = tokenUrl.href;
    },
  });
}

/** Reads a private key in PEM (PKCS #8 or older), RSA or on a curve. */
async function readKey(pem: Secret, algorithm: string | undefined, name: string): Promise<CryptoKey> {
  try {
    const key = createPrivateKey(pem.reveal());
    const byCurve = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' } as const;
    const curve = key.asymmetricKeyDetails?.namedCurve as keyof typeof byCurve | undefined;
    const text = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    return await importPKCS8(text, algorithm ?? (curve === undefined ? 'RS256' : byCurve[curve]));
  } catch {
    throw new TokenctlError('configuration', `Cannot read the private key for ${name}`, {
      hint: 'It must be a PEM file with a private key without a passphrase: RSA, or on the curves P-256, P-384 or P-521.',
    });
  }
}
