import { defineCommand } from '../../src/cli/base-command.ts';
import { instantFor, selectionOrAllFrom } from '../../src/cli/flags/flags.ts';
import { listFlags } from '../../src/cli/tokens/token-flags.ts';

export default defineCommand({
  summary: 'List tokens',
  description: `Without a selection, lists all tokens that you may see. Different flags narrow the \
selection; a repeated flag widens it. In names, * stands for any characters and ? for one; put a backslash \
before them for the character itself.

--organization and --team select by the owner: its members and administrators, through their own roles. Who only administers the organization of a team, or has a role by another team, is not of the team. A team that shares its name is ORGANIZATION/TEAM. --count-by organization or team counts a token for each that its owner is of.

--finding takes every rule about access tokens, and rules about users, \
applications and days for their tokens (see tokenctl docs policy).

The REST API of a controller selects by the last use, but does not show it. --last-used, or the column or \
order last_used, reads the day for up to 10,000 tokens, with about two requests for each day on which one of \
them was last used.`,
  examples: [
    "--user 'ci-*' --not-user ci-legacy",
    '--never-expires --count-by user',
    '--scope write --unused-for 90d --last-used --csv',
    '--owner-inactive',
    "--organization Eng --description 'nightly *'",
    '--expires-within 30d --sort expires --limit 20',
    '--finding duplicate-purpose --columns user,description,created',
  ],
  flags: listFlags,
  async run({ flags }) {
    const { tokenListFlow } = await import('../../src/cli/tokens/list-flow.ts');
    return await this.inContexts(flags, async ({ runtime }) => {
      const selection = selectionOrAllFrom(flags, await instantFor(flags, runtime));
      return await tokenListFlow({ runtime, selection, flags });
    });
  },
});
