import { TokenctlCommand } from '../src/cli/base-command.ts';
import type { IdentityJson } from '../src/cli/contexts/check-result.ts';
import { allContextsFlag } from '../src/cli/flags.ts';
import type { Result } from '../src/reports/result.ts';

export default class WhoAmI extends TokenctlCommand {
  static override summary = 'Show who you are at the controller';

  static override description =
    `Asks the controller, so that a wrong or expired credential is an error. tokenctl context check shows more.

With --json, prints what docs/schemas/whoami.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %>'];

  static override flags = { ...allContextsFlag };

  async run(): Promise<Result<IdentityJson>> {
    const { flags } = await this.input(WhoAmI);
    const { ownToken } = await import('../src/operations/contexts/own-token.ts');
    const { compatibilityOf } = await import('../src/domain/tried-versions.ts');
    const { identityResult } = await import('../src/cli/contexts/check-result.ts');
    return await this.inContexts(flags, null, async ({ runtime }) => {
      const description = await runtime.description();
      return identityResult({
        ...description,
        ownToken: await ownToken(await runtime.target(), description),
        compatibility: compatibilityOf(description),
      });
    });
  }
}
