import { rememberedMatch } from './personal-token-of-service-account.ts';
import type { TokenRule } from './rule.ts';
import type { WithUsers } from './setting.ts';

/** Finds application tokens that belong to a person, where programs are to have accounts of their own. */
export const applicationTokenOfPerson: TokenRule<WithUsers> = {
  judges: 'tokens',
  tokens: 'live',
  defaults: { enabled: false, severity: 'low', users: [], exceptions: [] },
  needs: [],
  help: {
    finds: "An application's access token whose owner is no service account.",
    matters:
      'The program acts as that person: with all their rights, under their name, and until they leave. Off by default: an application that people sign in to works so.',
    remedy: 'Give the program a service account, and have it get its tokens for that.',
    reference: 'OWASP Non-Human Identities Top 10, NHI10: human use of non-human identities',
    parameters: { users: 'The names of the service accounts, each a name or a pattern such as ci-*.' },
  },
  prepare({ setting: { users } }) {
    const isServiceAccount = rememberedMatch(users);
    return {
      breaks: ({ application, user }) =>
        application !== null && user !== null && !isServiceAccount(user.username),
      message: ({ application, user }) =>
        `${application?.name ?? ''} acts as ${user?.username ?? ''}, who is no service account.`,
    };
  },
};
