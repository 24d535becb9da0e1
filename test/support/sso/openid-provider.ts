import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';
import { accountPage, formOf, type LoopbackServer, listenOnLoopback } from './http-server.ts';

/** A client that the provider knows. */
export interface KnownClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUris: readonly string[];
}

/** Accounts by subject, each with the claims of its id token. */
export type Accounts = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A real OpenID provider (oidc-provider), with a page that asks for the account. */
export interface OpenIdProvider extends LoopbackServer {
  readonly issuer: string;
}

/** Starts one, whose issuer may have a path, as that of a tenant has. It insists on PKCE. */
export async function startOpenIdProvider(options: {
  readonly clients: readonly KnownClient[];
  readonly accounts: Accounts;
  readonly path?: string;
}): Promise<OpenIdProvider> {
  const { clients, accounts, path = '' } = options;
  const server = await listenOnLoopback((url) => {
    const provider = providerOf(`${url}${path}`, { clients, accounts, path });
    const callback = provider.callback();
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
      await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    };
  });
  return { ...server, issuer: `${server.url}${path}` };
}

function providerOf(
  issuer: string,
  options: { readonly clients: readonly KnownClient[]; readonly accounts: Accounts; readonly path: string },
): Provider {
  const { clients, accounts, path } = options;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider: Provider = new Provider(issuer, {
    clients: clients.map((client) => ({
      client_id: client.clientId,
      client_secret: client.clientSecret,
      redirect_uris: client.redirectUris,
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code'],
      response_types: ['code'],
    })),
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
    features: { devInteractions: { enabled: false } },
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
