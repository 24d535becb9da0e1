import { storedForm } from '../auth/digest.ts';
import type { ServiceContext } from '../context.ts';
import {
  endFamily,
  findRefreshToken,
  type RefreshTokenRecord,
  rotateRefreshToken,
} from '../store/refresh-tokens.ts';
import type { Grant } from './grant.ts';
import { newPair, refuseExternalUser } from './new-tokens.ts';
import { GrantRefused, OAuthError } from './oauth-error.ts';
import { type Parameters, required } from './parameters.ts';
import { askedScope, covers } from './scope.ts';

/**
 * A refresh token (RFC 6749 §6), which is replaced each time. One that was used before was copied by
 * somebody: who it was cannot be told, so all tokens of its family end (RFC 9700 §4.14.2). That holds for a
 * client's own concurrent requests too: there is no time in which a used token is good once more.
 */
export const refreshGrant: Grant = async ({ service, settings, client, parameters }) => {
  const presented = storedForm(required(parameters, 'refresh_token'));
  const token = await service.lookups.refreshTokens.find(presented);
  if (token === null || token.application_id !== client.id) throw new OAuthError('invalid_grant');
  if (token.revoked !== null) throw await refreshTokenReused(service, token);
  const lifetime = settings.OAUTH2_PROVIDER.REFRESH_TOKEN_EXPIRE_SECONDS;
  if (token.created.getTime() + lifetime * 1000 <= service.now().getTime()) {
    throw new GrantRefused('The refresh token has expired.');
  }
  const { access_token_id: accessTokenId, granted } = token;
  if (accessTokenId === null || granted === null || !token.is_admitted) throw new OAuthError('invalid_grant');
  refuseExternalUser(settings, token.is_external);
  const scope = scopeWithin(granted, parameters);
  const { pair, response } = newPair({
    service,
    settings,
    client,
    scope,
    granted: covers(scope, granted) ? null : granted,
  });
  if (await rotateRefreshToken(service.database, pair, { id: token.id, accessTokenId })) return response;
  const now = await findRefreshToken(service.database, presented);
  throw now === null || now.revoked === null
    ? new OAuthError('invalid_grant')
    : await refreshTokenReused(service, token);
};

/** All that was granted, or the part of it that is asked for (RFC 6749 §6). */
function scopeWithin(granted: string, parameters: Parameters): string {
  const asked = parameters.get('scope');
  if (asked === undefined) return granted;
  const scope = askedScope(asked);
  if (!covers(granted, scope)) throw new OAuthError('invalid_scope');
  return scope;
}

async function refreshTokenReused(service: ServiceContext, token: RefreshTokenRecord): Promise<OAuthError> {
  const { database, node } = service;
  await database.transaction((transaction) =>
    endFamily(transaction, { family: token.family, at: service.now(), node }),
  );
  service.log.warn(
    { application: token.application_id, refresh_token: token.id },
    'a used refresh token was presented again: the tokens of its family were ended',
  );
  return new OAuthError('invalid_grant');
}
