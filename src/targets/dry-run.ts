import { TokenctlError } from '../domain/errors.ts';
import type { Outcome } from '../domain/plan.ts';
import type { AuthenticationSettings, Target } from '../operations/ports/target.ts';
import { refuseAbsent } from './absent-settings.ts';

/**
 * Wraps a target so that it reads but changes nothing: a revocation leaves every token unchanged, no session ends, and
 * settings read as they would after the change.
 */
export function dryRun(target: Target): Target {
  let change: Partial<AuthenticationSettings> = {};
  const read = async () => ({ ...(await target.settings.read()), ...change });
  return {
    describe: () => target.describe(),
    tokens: (selector) => target.tokens(selector),
    users: (selector) => target.users(selector),
    applications: (names) => target.applications(names),
    activity: (selector) => target.activity(selector),
    lastChanges: (userIds) => target.lastChanges(userIds),
    ownTokenIds: () => target.ownTokenIds(),
    staysAlive: (facts) => target.staysAlive(facts),
    revoke: unchanged,
    refreshTokens: (selector) => target.refreshTokens(selector),
    revokeRefreshTokens: unchanged,
    deleteRefreshTokens: unchanged,
    authorizationCodes: (selector) => target.authorizationCodes(selector),
    deleteAuthorizationCodes: unchanged,
    sessions: (selector) => target.sessions(selector),
    endSessions: async function* () {},
    createToken: () => Promise.reject(new TokenctlError('unsupported', 'A dry run does not create tokens')),
    identify: (values) => target.identify(values),
    setUserActive: () => Promise.resolve(false),
    settings: {
      read,
      write: async (added) => {
        refuseAbsent(added, await read());
        change = { ...change, ...added };
        return await read();
      },
    },
    close: () => target.close(),
  };
}

async function* unchanged(tokenIds: readonly number[]): AsyncIterable<Outcome> {
  for (const tokenId of tokenIds) yield { tokenId, result: 'unchanged' };
}
