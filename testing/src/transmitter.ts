import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CompactSign, exportJWK, generateKeyPair, type JWTPayload } from 'jose';
import { type LoopbackServer, listenOnLoopback } from './sso/http-server.ts';

/** The event types that tests send, by their short names. */
export const EVENTS = {
  sessionRevoked: 'https://schemas.openid.net/secevent/caep/event-type/session-revoked',
  credentialChange: 'https://schemas.openid.net/secevent/caep/event-type/credential-change',
  tokenClaims: 'https://schemas.openid.net/secevent/caep/event-type/token-claims-change',
  accountDisabled: 'https://schemas.openid.net/secevent/risc/event-type/account-disabled',
  accountPurged: 'https://schemas.openid.net/secevent/risc/event-type/account-purged',
  verification: 'https://schemas.openid.net/secevent/ssf/event-type/verification',
  streamUpdated: 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated',
  logout: 'http://schemas.openid.net/event/backchannel-logout',
} as const;

/** The audience that a transmitter of tests sends to. */
export const AUDIENCE = 'https://tokenctl.example.com';

/** How a token of a test differs from a valid one. */
interface Signing {
  readonly typ?: string | undefined;
  readonly kid?: string;
  readonly alg?: string;
  readonly issuedAgo?: number;
  /** Further members of the header. */
  readonly header?: object;
}

/** A transmitter of security events on loopback: signs tokens, and publishes its keys. */
export interface Transmitter extends LoopbackServer {
  readonly issuer: string;
  readonly jwks: string;
  /** How often its keys were asked for. */
  keyRequests(): number;
  /** Replaces the signing key. */
  rotate(options?: { readonly keepName?: boolean }): Promise<void>;
  /** Answers requests for keys with this status from now on. */
  answerKeysWith(status: number): void;
  /** Signs claims as they are, `iat` and `iss` added. */
  sign(claims: JWTPayload, signing?: Signing): Promise<string>;
  /** A security event about a subject, as Shared Signals 1.0 has it. */
  event(
    uri: string,
    subject: unknown,
    more?: { readonly jti?: string; readonly body?: object },
  ): Promise<string>;
}

/** Starts a transmitter. `serve` answers further addresses; it returns null for those that it does not know. */
export async function startTransmitter(
  serve: (
    request: IncomingMessage,
    url: string,
  ) => Promise<{ status: number; body: unknown } | null> = async () => null,
): Promise<Transmitter> {
  let requests = 0;
  let status = 200;
  let generation = 0;
  let pair = await generateKeyPair('RS256', { modulusLength: 2048 });
  const kid = () => `key-${generation}`;
  const server = await listenOnLoopback((url) => async (request, response) => {
    const answer = (code: number, body: unknown) => {
      const text = body === null ? '' : JSON.stringify(body);
      response.writeHead(code, { 'content-type': 'application/json' }).end(text);
    };
    if (request.url === '/jwks') {
      requests += 1;
      if (status !== 200) return answer(status, {});
      const key = { ...(await exportJWK(pair.publicKey)), kid: kid(), alg: 'RS256', use: 'sig' };
      return answer(200, { keys: [key] });
    }
    const found = await serve(request, url);
    answer(found?.status ?? 404, found?.body ?? null);
  });
  const sign: Transmitter['sign'] = async (claims, signing = {}) => {
    const issued = Math.floor(Date.now() / 1000) - (signing.issuedAgo ?? 0);
    const typ = 'typ' in signing ? signing.typ : 'secevent+jwt';
    return await new CompactSign(Buffer.from(JSON.stringify({ iss: server.url, iat: issued, ...claims })))
      .setProtectedHeader({
        alg: 'RS256',
        kid: signing.kid ?? kid(),
        ...(typ !== undefined && { typ }),
        ...signing.header,
      })
      .sign(pair.privateKey);
  };
  return {
    ...server,
    issuer: server.url,
    jwks: `${server.url}/jwks`,
    keyRequests: () => requests,
    async rotate({ keepName = false } = {}) {
      if (!keepName) generation += 1;
      pair = await generateKeyPair('RS256', { modulusLength: 2048 });
    },
    answerKeysWith(code) {
      status = code;
    },
    sign,
    event: (uri, subject, { jti = randomUUID(), body = {} } = {}) =>
      sign({ jti, aud: AUDIENCE, sub_id: subject, events: { [uri]: body } }),
  };
}
