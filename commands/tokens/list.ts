import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag, selectorFlags, selectorOrAllFrom } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Lists tokens. */
export default class TokensList extends TokenctlCommand {
  static override summary = 'List tokens: whose, for what, until when.';

  static override description = `Without a selection it lists every token that you may see.

With --json it prints one array, one token a line, as the tokens come: id, user (id, username; null where \
the owner is gone), application (id, name; null for a personal access token), scope, description, created, \
expires, lastUsed (null for never; missing where the target does not tell), hasRefreshToken, fingerprint. \
An array that is not closed was cut short; the error is on stderr then.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice',
    '<%= config.bin %> <%= command.id %> --unused-for 90d --csv',
    '<%= config.bin %> <%= command.id %> --expired --json',
  ];

  static override flags = { ...selectorFlags, ...csvFlag, ...allContextsFlag };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensList);
    const { listTokens } = await import('../../src/operations/tokens/list-tokens.ts');
    const { tokenListing } = await import('../../src/reports/tables/token-view.ts');
    const selector = selectorOrAllFrom(flags, (await this.runtime(flags)).clock.now());
    return await this.inContexts(flags, null, async ({ runtime }) =>
      tokenListing(listTokens({ target: await runtime.target(), selector })),
    );
  }
}
