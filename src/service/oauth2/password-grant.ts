import { isExternal } from '../access.ts';
import { userWithPassword } from '../auth/basic.ts';
import { issuePair } from '../store/issued-tokens.ts';
import type { Grant } from './grant.ts';
import { newPair, refuseExternalUser } from './new-tokens.ts';
import { OAuthError } from './oauth-error.ts';
import { required } from './parameters.ts';
import { askedScope } from './scope.ts';

/**
 * The resource owner's password (RFC 6749 §4.3). An unknown name, a wrong password and a deactivated account
 * look the same, and so does every local account while DISABLE_LOCAL_AUTH is on.
 */
export const passwordGrant: Grant = async ({ service, settings, client, parameters, network }) => {
  const username = required(parameters, 'username');
  const password = required(parameters, 'password');
  const scope = askedScope(parameters.get('scope'));
  const user = await userWithPassword(service, { username, password, network });
  if (user === null || settings.DISABLE_LOCAL_AUTH) throw wrongCredentials();
  refuseExternalUser(settings, isExternal(user));
  const { pair, response } = newPair({ service, settings, client, scope });
  if (!(await issuePair(service.database, pair, user))) throw wrongCredentials();
  return response;
};

function wrongCredentials(): OAuthError {
  return new OAuthError('invalid_grant', 'Invalid credentials given.');
}
