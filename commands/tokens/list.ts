import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { instantFor, selectionOrAllFrom } from '../../src/cli/flags.ts';
import type { Counted } from '../../src/cli/tokens/list-flow.ts';
import { listFlags } from '../../src/cli/tokens/token-flags.ts';
import type { Result } from '../../src/reports/result.ts';
import type { TokenJson } from '../../src/reports/tables/token-view.ts';

export default class TokensList extends TokenctlCommand {
  static override summary = 'List tokens';

  static override description =
    `Without a selection, lists all tokens that you may see. Different flags narrow the selection; a repeated flag \
widens it. In names, * stands for any characters and ? for one; put a backslash before them for the character \
itself. --finding takes every rule about access tokens, and rules about users, applications and days for their \
tokens (see docs/policy.md).

The REST API of a controller selects by the last use, but does not show it. --last-used, or the column or order \
last_used, reads the day for up to 10,000 tokens, with about two requests for each day on which one of them was \
last used.

With --json, prints what docs/schemas/tokens-list.json describes.`;

  static override examples = [
    "<%= config.bin %> <%= command.id %> --user 'ci-*' --not-user ci-legacy",
    '<%= config.bin %> <%= command.id %> --never-expires --count-by user',
    '<%= config.bin %> <%= command.id %> --scope write --unused-for 90d --last-used --csv',
    '<%= config.bin %> <%= command.id %> --owner-inactive',
    '<%= config.bin %> <%= command.id %> --expires-within 30d --sort expires --limit 20',
    '<%= config.bin %> <%= command.id %> --finding duplicate-purpose --columns user,description,created',
  ];

  static override flags = listFlags;

  async run(): Promise<Result<readonly TokenJson[] | readonly Counted[]>> {
    const { flags } = await this.input(TokensList);
    const { tokenListFlow } = await import('../../src/cli/tokens/list-flow.ts');
    return await this.inContexts(flags, null, async ({ runtime }) => {
      const selection = selectionOrAllFrom(flags, await instantFor(flags, runtime));
      return await tokenListFlow({ runtime, selection, flags });
    });
  }
}
