import { boolean, string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'List OAuth2 applications',
  description: `Lists the applications that you can see, with client type, grant type and age. Client \
secrets are neither read nor shown.`,
  examples: ['--tokens'],
  flags: {
    application: string({
      summary: 'List this application. * and ? are wildcards.',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: 'NAME',
    }),
    tokens: boolean({ summary: 'Count the access tokens of each application. Reads all tokens.' }),
    ...csvFlag,
    ...allContextsFlag,
  },
  async run({ flags }) {
    const { listApplications } = await import('../../src/operations/users/users.ts');
    const { noteLimit } = await import('../../src/cli/output/streams.ts');
    const { applicationListing } = await import('../../src/cli/users/user-view.ts');
    return await this.inContexts(flags, async ({ runtime }) => {
      const applications = await listApplications({
        target: await runtime.target(),
        applications: flags.application?.map((pattern) => ({ pattern })),
        countTokens: flags.tokens === true,
      });
      await noteLimit(runtime, 'applications');
      return applicationListing(applications);
    });
  },
});
