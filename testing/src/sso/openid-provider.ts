import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';
import { accountPage, formOf, type LoopbackServer, listenOnLoopback } from './http-server.ts';

export interface KnownClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUris: readonly string[];
  /** Where it takes logout tokens; and whether they name a session, not a user's sessions. */
  readonly logout?: { readonly uri: string; readonly bySession: boolean };
}

/** Accounts by subject, each with the claims of its id token. */
export type Accounts = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A real OpenID provider (oidc-provider), with a page that asks for the account. */
export interface OpenIdProvider extends LoopbackServer {
  readonly issuer: string;
  /** Disables an account: it cannot log in any more. No one is told. */
  disable(account: string): void;
  /** Sends a client a logout token for an account, by the provider's own code. */
  logOut(clientId: string, account: string, sid?: string): Promise<void>;
  /** Signs claims with the published key, `iss` and `iat` added. */
  sign(claims: JWTPayload, typ?: string): Promise<string>;
}

/** Starts one, whose issuer may have a path, as that of a tenant has. It insists on PKCE. */
export async function startOpenIdProvider(options: {
  readonly clients: readonly KnownClient[];
  readonly accounts: Accounts;
  readonly path?: string;
  /** Gives clients tokens of their own as well (RFC 6749, section 4.4): JWTs for the resource that they name (RFC 9068). */
  readonly machines?: boolean;
}): Promise<OpenIdProvider> {
  const { clients, path = '', machines = false } = options;
  const accounts = { ...options.accounts };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let provider: Provider | undefined;
  const server = await listenOnLoopback((url) => {
    const made = providerOf(`${url}${path}`, { clients, accounts, path, privateKey, machines });
    provider = made;
    const callback = made.callback();
    return async (request, response) => {
      const target = request.url ?? '';
      if (!target.startsWith(`${path}/`)) return void response.writeHead(404).end();
      Object.assign(request, { originalUrl: target, url: target.slice(path.length) });
      if (!request.url?.startsWith('/interaction/')) return void (await callback(request, response));
      if (request.method === 'GET') {
        return void response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(accountPage('Test provider'));
      }
      const accountId = (await formOf(request)).get('account') ?? '';
      const result =
        accountId in accounts
          ? { login: { accountId } }
          : { error: 'access_denied', error_description: 'no' };
      await made.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    };
  });
  const issuer = `${server.url}${path}`;
  return {
    ...server,
    issuer,
    disable(account) {
      delete accounts[account];
    },
    async logOut(clientId, account, sid) {
      const client = await provider?.Client.find(clientId);
      await client?.backchannelLogout(account, sid);
    },
    sign: (claims, typ) =>
      new SignJWT({ iss: issuer, iat: Math.floor(Date.now() / 1000), ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'only', ...(typ !== undefined && { typ }) })
        .sign(privateKey),
  };
}

function providerOf(
  issuer: string,
  options: {
    clients: readonly KnownClient[];
    accounts: Accounts;
    path: string;
    privateKey: KeyObject;
    machines: boolean;
  },
): Provider {
  const { clients, accounts, path, privateKey, machines } = options;
  const provider: Provider = new Provider(issuer, {
    clients: clients.map((client) => ({
      client_id: client.clientId,
      client_secret: client.clientSecret,
      redirect_uris: client.redirectUris,
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', ...(machines ? ['client_credentials'] : [])],
      response_types: ['code'],
      ...(client.logout !== undefined && {
        backchannel_logout_uri: client.logout.uri,
        backchannel_logout_session_required: client.logout.bySession,
      }),
    })),
    // Without the dispatcher that keeps it off loopback addresses.
    fetch: (url: string, { dispatcher: _, ...init }: RequestInit & { dispatcher?: unknown }) =>
      fetch(url, init),
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'only', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['a key of the tests'] },
    pkce: { required: () => true },
    conformIdTokenClaims: false,
    claims: {
      openid: ['sub', 'hd', 'tid', 'groups'],
      email: ['email', 'email_verified'],
      profile: ['name', 'given_name', 'family_name', 'preferred_username'],
    },
    findAccount: (_context: unknown, sub: string) =>
      sub in accounts ? { accountId: sub, claims: () => ({ sub, ...accounts[sub] }) } : undefined,
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `${path}/interaction/${uid}` },
    ttl: {
      AccessToken: 300,
      AuthorizationCode: 60,
      Grant: 300,
      IdToken: 300,
      Interaction: 300,
      Session: 300,
    },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      ...(machines && {
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context: unknown, audience: string) => ({
            ...{ scope: '', audience, accessTokenFormat: 'jwt', accessTokenTTL: 300 },
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      }),
    },
    loadExistingGrant: async (context: {
      oidc: { client: { clientId: string }; session: { accountId: string } };
    }) => {
      const { client, session } = context.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  return provider;
}
