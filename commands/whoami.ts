import { defineCommand } from '../src/cli/base-command.ts';
import { allContextsFlag } from '../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Show the logged-in account',
  description:
    'Asks the controller, so an invalid or expired credential results in an error. Use tokenctl context check for details.',
  examples: [''],
  flags: allContextsFlag,
  async run({ flags }) {
    const { ownToken } = await import('../src/operations/contexts/own-token.ts');
    const { compatibilityOf } = await import('../src/domain/tried-versions.ts');
    const { identityResult } = await import('../src/cli/contexts/check-result.ts');
    return await this.inContexts(flags, async ({ runtime }) => {
      const description = await runtime.description();
      return identityResult({
        ...description,
        ownToken: await ownToken(await runtime.target(), description),
        compatibility: compatibilityOf(description),
      });
    });
  },
});
