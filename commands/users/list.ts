import { boolean, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, count, csvFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'List users',
  description: 'Lists the users that you can see, with state, role, identity provider and last login.',
  examples: ['--inactive --tokens', "--user 'ci-*' --csv"],
  flags: {
    user: string({
      summary: "List this user. * and ? are wildcards: 'ci-*'.",
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME',
    }),
    inactive: boolean({ summary: 'List only deactivated users.' }),
    superuser: boolean({ summary: 'List superusers only.' }),
    external: boolean({ summary: 'List only users from an identity provider.' }),
    tokens: boolean({ summary: 'Count the access tokens of each user. Reads all tokens.' }),
    limit: count({ summary: 'List at most this many users.', helpValue: 'N' }),
    ...csvFlag,
    ...allContextsFlag,
  },
  async run({ flags }) {
    const { listUsers } = await import('../../src/operations/users/users.ts');
    const { limited, notingLimit } = await import('../../src/cli/output/streams.ts');
    const { userListing } = await import('../../src/cli/users/user-view.ts');
    return await this.inContexts(flags, async ({ runtime }) => {
      const users = listUsers({
        target: await runtime.target(),
        users: flags.user?.map((pattern) => ({ pattern })),
        inactive: flags.inactive === true,
        superuser: flags.superuser === true,
        external: flags.external === true,
        countTokens: flags.tokens === true,
      });
      return userListing(limited(notingLimit(runtime, users, 'users'), flags.limit));
    });
  },
});
