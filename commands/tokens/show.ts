import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { countArgument } from '../../src/cli/flags.ts';
import type { ShownTokenJson } from '../../src/cli/tokens/show-flow.ts';
import type { Result } from '../../src/reports/result.ts';

export default class TokensShow extends TokenctlCommand {
  static override summary = 'Show a token, its owner and its findings';

  static override description =
    `Never shows the value of the token. tokenctl tokens trace also shows its history, and works for deleted tokens.

With --json, prints what docs/schemas/tokens-show.json describes.`;

  static override examples = ['<%= config.bin %> <%= command.id %> 4711'];

  static override args = {
    id: countArgument({ description: 'The token id.', required: true }),
  };

  static override flags = {
    policy: string({
      summary: "The policy file to use instead of the configuration's policy section.",
      helpValue: 'FILE',
    }),
  };

  async run(): Promise<Result<ShownTokenJson>> {
    const { args, flags } = await this.input(TokensShow);
    const { shownTokenFlow } = await import('../../src/cli/tokens/show-flow.ts');
    return await shownTokenFlow(await this.runtime(flags), args.id, flags);
  }
}
