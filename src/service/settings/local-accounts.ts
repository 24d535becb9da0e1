import type { Queryable } from '../../db/database.ts';
import type { ServiceContext } from '../context.ts';
import { invalid } from '../failure.ts';
import { configurationDigest, ssoConfiguration } from '../sso/configuration.ts';
import { superuserOf } from '../store/linked-accounts.ts';
import { successes } from '../store/sso-logins.ts';
import { currentSettings } from './settings.ts';

/**
 * Makes sure that somebody can still log in while local accounts are off: through a provider that is
 * configured, has logged somebody in as it is configured now, and knows an active superuser. To be called
 * where DISABLE_LOCAL_AUTH is turned on.
 *
 * @throws RequestFailure 400.
 */
export async function requireOtherLogin(service: ServiceContext, transaction: Queryable): Promise<void> {
  const { backends } = await ssoConfiguration(service, transaction);
  if (backends.length === 0) {
    throw refused('no identity provider is configured, and nobody could log in');
  }
  const seen = await successes(transaction);
  const working = backends.filter((each) => seen.get(each.backend) === configurationDigest(each));
  if (working.length === 0) {
    throw refused(
      'nobody has logged in yet through an identity provider as it is configured now. Try it first',
    );
  }
  const providers = working.map(({ backend }) => backend);
  if (!(await superuserOf(transaction, providers))) {
    throw refused('no superuser could log in. Make a user of an identity provider a superuser first');
  }
}

/**
 * Makes sure that a change of settings leaves a way to log in. To be called after it was written.
 *
 * @throws RequestFailure 400, which takes the change back.
 */
export async function requireSomeLogin(service: ServiceContext, transaction: Queryable): Promise<void> {
  const { DISABLE_LOCAL_AUTH } = await currentSettings(transaction);
  if (!DISABLE_LOCAL_AUTH) return;
  const { backends } = await ssoConfiguration(service, transaction);
  if (backends.length > 0) return;
  throw invalid({
    __all__: [
      'Local accounts are turned off, and after this change no identity provider would be configured.',
    ],
  });
}

function refused(why: string): Error {
  return invalid({ __all__: [`Local accounts cannot be turned off: ${why}.`] });
}
