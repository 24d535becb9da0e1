import type { ServiceContext } from '../context.ts';
import { parseTarget } from '../target.ts';
import { readAnswerAddress, UnanswerableRequest } from './authorization-request.ts';
import { readParameters } from './parameters.ts';
import { formActionSource } from './redirect-uri.ts';

/**
 * Where a login may end beyond this service: at the client whose authorization request it interrupted, where
 * that is answered without asking the user. Browsers hold the login form to its page's `form-action` through
 * all redirects.
 *
 * @param next The path that follows the login.
 * @returns A Content-Security-Policy source of a registered redirect URI, or null.
 */
export async function clientAfterLogin(service: ServiceContext, next: string): Promise<string | null> {
  const { path, query } = parseTarget(next);
  if (path !== `${service.dialect.oauth2}authorize/`) return null;
  try {
    const { redirectUri } = await readAnswerAddress(service, readParameters(query));
    return formActionSource(redirectUri);
  } catch (error) {
    if (error instanceof UnanswerableRequest) return null;
    throw error;
  }
}
