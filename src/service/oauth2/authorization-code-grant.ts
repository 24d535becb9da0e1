import { storedForm } from '../auth/digest.ts';
import type { ServiceContext } from '../context.ts';
import { type CodeRecord, exchangeCode, findCode } from '../store/grants.ts';
import { endFamily } from '../store/refresh-tokens.ts';
import type { Grant } from './grant.ts';
import { newPair, refuseExternalUser } from './new-tokens.ts';
import { OAuthError } from './oauth-error.ts';
import { type Parameters, required } from './parameters.ts';
import { checkVerifier } from './pkce.ts';

/**
 * An authorization code (RFC 6749 §4.1.3): of this client, unused, not expired, with the redirect URI and the
 * code verifier of the authorization request. A second use ends the tokens of the first (§4.1.2). A request
 * that only got the redirect URI or the verifier wrong leaves the code as it is, as on the controller.
 */
export const authorizationCodeGrant: Grant = async ({ service, settings, client, parameters }) => {
  const presented = storedForm(required(parameters, 'code'));
  const code = await findCode(service.database, presented);
  if (code === null || code.application_id !== client.id) throw new OAuthError('invalid_grant');
  if (code.used !== null) throw await codeReused(service, code);
  if (code.expires <= service.now() || !code.is_admitted) throw new OAuthError('invalid_grant');
  checkRedirectUri(parameters, code);
  checkVerifier(parameters, {
    codeChallenge: code.code_challenge,
    codeChallengeMethod: code.code_challenge_method,
  });
  refuseExternalUser(settings, code.is_external);
  const { pair, response } = newPair({ service, settings, client, scope: code.scope });
  if (await exchangeCode(service.database, pair, code.id)) return response;
  const now = await findCode(service.database, presented);
  throw now === null || now.used === null ? new OAuthError('invalid_grant') : await codeReused(service, code);
};

/** Where the authorization request named a redirect URI, this request names the same (RFC 6749 §4.1.3). */
function checkRedirectUri(parameters: Parameters, code: CodeRecord): void {
  const given = parameters.get('redirect_uri');
  if (given === undefined && !code.redirect_uri_given) return;
  if (given !== code.redirect_uri) throw new OAuthError('invalid_request', 'Mismatching redirect URI.');
}

async function codeReused(service: ServiceContext, code: CodeRecord): Promise<OAuthError> {
  const { database, node } = service;
  await database.transaction((transaction) =>
    endFamily(transaction, { family: code.family, at: service.now(), node }),
  );
  service.log.warn(
    { application: code.application_id },
    'an authorization code was used twice: the tokens of its first use were ended',
  );
  return new OAuthError('invalid_grant');
}
