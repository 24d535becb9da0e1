import { hashToken, randomText } from '../auth/secret-hashes.ts';
import type { ServiceContext } from '../context.ts';
import type { Settings } from '../settings/settings.ts';
import type { ClientRecord } from '../store/applications.ts';
import type { NewPair } from '../store/issued-tokens.ts';
import { GrantRefused } from './oauth-request.ts';

/** Letters and digits in a token or an authorization code: about 178 bits. */
const VALUE_LENGTH = 30;

/** A successful response of the token endpoint (RFC 6749 §5.1). Token values are shown nowhere else. */
export interface TokenResponse {
  readonly access_token: string;
  readonly expires_in: number;
  readonly token_type: 'Bearer';
  readonly scope: string;
  readonly refresh_token?: string;
}

interface TokenFacts {
  readonly service: ServiceContext;
  readonly settings: Settings;
  readonly client: ClientRecord;
  readonly scope: string;
}

export function newValue(): string {
  return randomText(VALUE_LENGTH);
}

/** Generates an access and a refresh token: what to store, and the response to send after that. */
export function newPair(facts: TokenFacts): {
  pair: NewPair;
  response: TokenResponse & { refresh_token: string };
} {
  const { pair, response } = newAccessToken(facts);
  const refreshToken = newValue();
  return {
    pair: { ...pair, refreshToken: hashToken(refreshToken) },
    response: { ...response, refresh_token: refreshToken },
  };
}

/** Like {@link newPair} without a refresh token, for the implicit grant (RFC 6749 §4.2.2). */
export function newAccessToken(facts: TokenFacts): { pair: NewPair; response: TokenResponse } {
  const { service, settings, client, scope } = facts;
  const at = service.now();
  const lifetime = settings.OAUTH2_PROVIDER.ACCESS_TOKEN_EXPIRE_SECONDS;
  const value = newValue();
  return {
    pair: {
      at,
      node: service.node,
      accessToken: hashToken(value),
      refreshToken: null,
      expires: new Date(at.getTime() + lifetime * 1000),
      client,
      scope,
    },
    response: { access_token: value, expires_in: lifetime, token_type: 'Bearer', scope },
  };
}

/** Throws GrantRefused for external users unless ALLOW_OAUTH2_FOR_EXTERNAL_USERS is on (specification, section 5.3). */
export function refuseExternalUser(settings: Settings, isExternal: boolean): void {
  if (!isExternal || settings.ALLOW_OAUTH2_FOR_EXTERNAL_USERS) return;
  throw new GrantRefused(
    '(access_denied) OAuth2 Tokens cannot be created by users associated with an external authentication provider',
  );
}
