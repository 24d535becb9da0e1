import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag } from '../../src/cli/flags.ts';
import type { ListedUserJson } from '../../src/cli/users/user-view.ts';
import type { Result } from '../../src/reports/result.ts';

export default class UsersList extends TokenctlCommand {
  static override summary = 'List users';

  static override description =
    `Lists the users that you may see, with state, role, identity provider and last login.

With --json, prints what docs/schemas/users-list.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --inactive --tokens',
    "<%= config.bin %> <%= command.id %> --user 'ci-*' --csv",
  ];

  static override flags = {
    user: string({
      summary: "List this user; * and ? match any: 'ci-*'.",
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME',
    }),
    inactive: boolean({ summary: 'List deactivated users only.' }),
    superuser: boolean({ summary: 'List superusers only.' }),
    external: boolean({ summary: 'List users from an identity provider only.' }),
    tokens: boolean({ summary: 'Count the access tokens of each user: reads all tokens.' }),
    ...csvFlag,
    ...allContextsFlag,
  };

  async run(): Promise<Result<readonly ListedUserJson[]>> {
    const { flags } = await this.input(UsersList);
    const { listUsers } = await import('../../src/operations/users/users.ts');
    const { notingLimit } = await import('../../src/cli/output/streams.ts');
    const { userListing } = await import('../../src/cli/users/user-view.ts');
    return await this.inContexts(flags, null, async ({ runtime }) => {
      const users = listUsers({
        target: await runtime.target(),
        users: flags.user?.map((pattern) => ({ pattern })),
        inactive: flags.inactive === true,
        superuser: flags.superuser === true,
        external: flags.external === true,
        countTokens: flags.tokens === true,
      });
      return userListing(notingLimit(runtime, users));
    });
  }
}
