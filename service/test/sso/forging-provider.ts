import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { formOf, type LoopbackServer, listenOnLoopback } from '@tokenctl/testing/sso/http-server.ts';

/** What becomes of an id token on its way; what is returned is sent. */
interface Forgery {
  /** The claims of the next tokens. */
  claims?: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** The algorithm that the header says, `none` for no signature at all. */
  algorithm?: string;
  /** Signs with a key that the provider does not publish. */
  foreignKey?: boolean;
  /** The `iss` of the answer to the redirect URI; none at all where it is null. */
  answerIssuer?: string | null;
  /** What the token endpoint answers instead of tokens. */
  tokenAnswer?: [number, object];
  /** What the UserInfo endpoint answers; there is none unless the provider is started with one. */
  userinfo?: Record<string, unknown>;
}

/** An OpenID provider that can be told to do wrong: one that answers at once, with what it was told. */
export interface ForgingProvider extends LoopbackServer {
  /** What is wrong from now on. */
  forgery: Forgery;
}

const KEY = generateKeyPairSync('rsa', { modulusLength: 2048 });
const FOREIGN = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Starts one. Without a forgery what it does is right: the tests make sure that it is accepted then. */
export async function startForgingProvider({ hasUserinfo = false } = {}): Promise<ForgingProvider> {
  const state: { forgery: Forgery } = { forgery: {} };
  const codes = new Map<string, { nonce: string; clientId: string; challenge: string }>();
  const server = await listenOnLoopback((url): RequestListener => {
    const answers: Record<
      string,
      (query: URLSearchParams, body: URLSearchParams) => [number, object | string]
    > = {
      '/.well-known/openid-configuration': () => [
        200,
        {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          ...(hasUserinfo && { userinfo_endpoint: `${url}/userinfo` }),
          response_types_supported: ['code'],
          id_token_signing_alg_values_supported: ['RS256'],
          authorization_response_iss_parameter_supported: true,
        },
      ],
      '/keys': () => [
        200,
        { keys: [{ ...KEY.publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }] },
      ],
      '/authorize': (query) => {
        const code = randomUUID();
        const clientId = query.get('client_id') ?? '';
        codes.set(code, {
          nonce: query.get('nonce') ?? '',
          clientId,
          challenge: query.get('code_challenge') ?? '',
        });
        const back = new URL(query.get('redirect_uri') ?? '');
        back.searchParams.set('code', code);
        back.searchParams.set('state', query.get('state') ?? '');
        const { answerIssuer = url } = state.forgery;
        if (answerIssuer !== null) back.searchParams.set('iss', answerIssuer);
        return [302, back.href];
      },
      '/userinfo': () => [200, state.forgery.userinfo ?? { sub: 'mallory' }],
      '/token': (_query, body) => {
        if (state.forgery.tokenAnswer !== undefined) return state.forgery.tokenAnswer;
        const code = body.get('code') ?? '';
        const asked = codes.get(code);
        codes.delete(code);
        const verifier = createHash('sha256')
          .update(body.get('code_verifier') ?? '')
          .digest('base64url');
        if (asked === undefined || verifier !== asked.challenge) return [400, { error: 'invalid_grant' }];
        const now = Math.floor(Date.now() / 1000);
        const claims = {
          iss: url,
          aud: asked.clientId,
          sub: 'mallory',
          nonce: asked.nonce,
          iat: now,
          exp: now + 300,
        };
        return [200, { access_token: 'x', token_type: 'Bearer', id_token: idToken(state.forgery, claims) }];
      },
    };
    return async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', url);
      const answer = answers[pathname];
      if (answer === undefined) return void response.writeHead(404).end();
      const [status, body] = answer(searchParams, await formOf(request));
      if (typeof body === 'string') return void response.writeHead(status, { location: body }).end();
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
  });
  return Object.assign(state, server);
}

function idToken(forgery: Forgery, claims: Record<string, unknown>): string {
  const { algorithm = 'RS256', foreignKey = false } = forgery;
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: algorithm, kid: 'k', typ: 'JWT' })}.${part(forgery.claims?.(claims) ?? claims)}`;
  if (algorithm === 'none') return `${signed}.`;
  const key: KeyObject = foreignKey ? FOREIGN.privateKey : KEY.privateKey;
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
}
