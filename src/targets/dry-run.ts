import { TokenctlError } from '@tokenctl/common/errors.ts';
import type { Outcome } from '../domain/plan.ts';
import type { Target } from '../operations/ports/target.ts';
import type { Applications, AuthenticationSettings, Settings } from '../operations/ports/target-parts.ts';
import { refuseAbsent } from './absent-settings.ts';

/**
 * Wraps a target so that it reads but changes nothing: a revocation leaves every token unchanged, no session
 * ends, and settings read as they would after the change. It has the same parts as the target.
 */
export function dryRun(target: Target): Target {
  const { refreshTokens, authorizationCodes, sessions, transactions, passwords, roles } = target;
  return {
    describe: () => target.describe(),
    tokens: (selector) => target.tokens(selector),
    ...(target.tokensToPlan && { tokensToPlan: target.tokensToPlan.bind(target) }),
    ...(target.countTokens && { countTokens: target.countTokens.bind(target) }),
    revoke: unchanged,
    ownTokenIds: () => target.ownTokenIds(),
    identifies: target.identifies,
    identify: (values, options) => target.identify(values, options),
    createToken: () => refuse('create tokens'),
    users: { ...target.users, setActive: () => Promise.resolve(false) },
    applications: unchangedApplications(target.applications),
    activity: target.activity,
    settings: unwrittenSettings(target.settings),
    refreshTokens: refreshTokens && { ...refreshTokens, revoke: unchanged, delete: unchanged },
    authorizationCodes: authorizationCodes && { ...authorizationCodes, delete: unchanged },
    transactions,
    sessions: sessions && { ...sessions, end: async function* () {} },
    passwords: passwords && { set: () => Promise.resolve(), accepts: () => Promise.resolve(false) },
    roles: roles && { ...roles, set: () => Promise.resolve() },
    close: () => target.close(),
  };
}

function unchangedApplications({ list, find, replaceSecret }: Applications): Applications {
  const replace = () => refuse('replace client secrets');
  return { list, find, delete: () => Promise.resolve(false), replaceSecret: replaceSecret && replace };
}

/** There is no secret to return. */
function refuse(what: string): Promise<never> {
  return Promise.reject(new TokenctlError('unsupported', `A dry run does not ${what}`));
}

function unwrittenSettings(settings: Settings): Settings {
  let change: Partial<AuthenticationSettings> = {};
  const read: Settings['read'] = async (options) => ({ ...(await settings.read(options)), ...change });
  return {
    read,
    write: async (added) => {
      refuseAbsent(added, await read());
      change = { ...change, ...added };
      return await read();
    },
  };
}

async function* unchanged(tokenIds: readonly number[]): AsyncIterable<Outcome> {
  for (const tokenId of tokenIds) yield { tokenId, result: 'unchanged' };
}
