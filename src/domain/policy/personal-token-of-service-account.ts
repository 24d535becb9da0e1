import { matchesAny } from './glob.ts';
import type { TokenRule } from './rule.ts';
import type { WithUsers } from './setting.ts';

/** Finds personal access tokens of accounts that a machine works under. */
export const personalTokenOfServiceAccount: TokenRule<WithUsers> = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: true, severity: 'low', users: [], exceptions: [] },
  needs: [],
  help: {
    finds: 'A personal access token of a service account.',
    matters:
      'It belongs to no application, so that nothing says which program uses it, and it cannot be revoked with the program.',
    remedy: 'Register the program as an application, and give it tokens of that application.',
    reference: 'RFC 6749, section 2: client registration',
    parameters: { users: 'The names of the service accounts, each a name or a pattern such as ci-*.' },
  },
  prepare({ setting: { users } }) {
    const isServiceAccount = rememberedMatch(users);
    return {
      breaks: ({ application, user }) =>
        application === null && user !== null && isServiceAccount(user.username),
      message: ({ user }) =>
        `It is personal, and ${user?.username ?? ''} is a service account: nothing says which program uses it.`,
    };
  },
};

/** Whether a name matches one of the patterns; each name is compared once. */
export function rememberedMatch(patterns: readonly string[]): (name: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    let match = known.get(name);
    if (match === undefined) {
      match = matchesAny(name, patterns);
      known.set(name, match);
    }
    return match;
  };
}
