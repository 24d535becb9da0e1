import { defineCommand } from '../../src/cli/base-command.ts';
import { instantFor, selectionOrAllFrom } from '../../src/cli/flags/flags.ts';
import { listFlags } from '../../src/cli/tokens/token-flags.ts';

export default defineCommand({
  summary: 'List tokens',
  description: `Without a selection, lists all tokens that you can see. Different flags narrow the \
selection; a repeated flag widens it. In names, * stands for any characters and ? for one. Put a backslash \
before them to match the character itself.

--organization and --team select by owner: the members and administrators, based on their direct roles. \
Users who only administer the team's organization, or have a role through another team, are not included. If \
several teams share a name, use ORGANIZATION/TEAM. --count-by organization or team counts a token once for \
each organization or team of its owner.

--finding accepts every rule about access tokens, and rules about users, applications and days for their \
tokens (see tokenctl docs policy).

A controller's REST API can select by last use, but does not show it. --last-used, or the column or sort \
order last_used, reads the day for up to 10,000 tokens. This takes about two requests for each day on which \
one of them was last used.`,
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
