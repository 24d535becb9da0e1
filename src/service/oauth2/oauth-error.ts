import type { FastifyReply } from 'fastify';

/** The errors of RFC 6749 §4.1.2.1 and §5.2 that the service answers with. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'access_denied';

/** A request to an OAuth2 endpoint that is answered with an error. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: OAuthErrorCode;
  /** For whoever develops the client; it holds nothing of the request. */
  readonly description: string | undefined;

  constructor(code: OAuthErrorCode, description?: string) {
    super(`request answered with ${code}`);
    this.code = code;
    this.description = description;
  }
}

/**
 * A grant that the service knows and does not honour. The controller answers these with 403 and a sentence
 * instead of a JSON error.
 */
export class GrantRefused extends Error {
  override readonly name = 'GrantRefused';
}

/** Sends an error as RFC 6749 §5.2 has it; the challenge to a client is the controller's. */
export function sendOAuthError(reply: FastifyReply, { code, description }: OAuthError): FastifyReply {
  if (code === 'invalid_client') reply.header('WWW-Authenticate', 'Bearer error="invalid_client"');
  return reply
    .code(code === 'invalid_client' ? 401 : 400)
    .send({ error: code, ...(description !== undefined && { error_description: description }) });
}
