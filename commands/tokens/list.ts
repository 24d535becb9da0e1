import { boolean, option, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import {
  allContextsFlag,
  count,
  csvFlag,
  findingPolicyFlag,
  selectionOrAllFrom,
  selectorFlags,
} from '../../src/cli/flags.ts';
import type { Counted } from '../../src/cli/tokens/list-flow.ts';
import type { Result } from '../../src/reports/tables/result.ts';
import type { TokenJson } from '../../src/reports/tables/token-view.ts';

/** Lists tokens. */
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

  static override flags = {
    ...selectorFlags,
    ...findingPolicyFlag,
    'last-used': boolean({ summary: 'Show when each token was last used, also over REST (the day).' }),
    sort: string({
      summary: 'Sort by id, user, application, scope, created, expires, last_used or description; add :desc.',
      helpValue: 'COLUMN',
    }),
    limit: count({ summary: 'List at most this many.', helpValue: 'N' }),
    columns: string({
      summary: 'Show these columns of the table or CSV, separated by commas.',
      helpValue: 'NAMES',
      exclusive: ['json'],
    }),
    'count-by': option({ options: ['user', 'application', 'scope'] as const })({
      summary: 'Count the tokens of each user, application or scope, the most first.',
      exclusive: ['columns', 'sort', 'last-used'],
    }),
    ...csvFlag,
    ...allContextsFlag,
  };

  async run(): Promise<Result<readonly TokenJson[] | readonly Counted[]>> {
    const { flags } = await this.input(TokensList);
    const { tokenListFlow } = await import('../../src/cli/tokens/list-flow.ts');
    const selection = selectionOrAllFrom(flags, (await this.runtime(flags)).clock.now());
    return await this.inContexts(flags, null, ({ runtime }) => tokenListFlow({ runtime, selection, flags }));
  }
}
