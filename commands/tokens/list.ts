import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag, selectorFlags, selectorOrAllFrom } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Lists tokens. */
export default class TokensList extends TokenctlCommand {
  static override summary = 'List tokens';

  static override description = `Without a selection, lists all tokens that you may see.

With --json, prints an array with one token per line: id, user (id, username; null if the owner was deleted), \
application (id, name; null for a personal access token), scope, description, created, expires, lastUsed (null \
if never used; absent if the target does not report it), hasRefreshToken, fingerprint. If the array is not \
closed, the output is incomplete; stderr has the error.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice',
    '<%= config.bin %> <%= command.id %> --unused-for 90d --csv',
    '<%= config.bin %> <%= command.id %> --expired --json',
  ];

  static override flags = { ...selectorFlags, ...csvFlag, ...allContextsFlag };

  async run(): Promise<Result> {
    const { flags } = await this.input(TokensList);
    const { listTokens } = await import('../../src/operations/tokens/list-tokens.ts');
    const { notingLimit } = await import('../../src/cli/output/streams.ts');
    const { tokenListing } = await import('../../src/reports/tables/token-view.ts');
    const selector = selectorOrAllFrom(flags, (await this.runtime(flags)).clock.now());
    return await this.inContexts(flags, null, async ({ runtime }) => {
      const tokens = listTokens({ target: await runtime.target(), selector });
      return tokenListing(notingLimit(runtime, tokens));
    });
  }
}
