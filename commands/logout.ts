import { defineCommand } from '../src/cli/base-command.ts';
import { accountFlags, changeFlags } from '../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Revoke the token of a context and delete its file',
  description: `Revokes the context's login token, and any remaining tokens from earlier logins, and then \
deletes the credential file. If the token may still be valid, the file is kept, and the message includes the \
token ID. The context stays in the configuration.`,
  examples: ['', '--context production', '--dry-run'],
  flags: { 'dry-run': changeFlags['dry-run'], ...accountFlags },
  async run({ flags }) {
    const { logoutFlow } = await import('../src/cli/contexts/logout-flow.ts');
    return await logoutFlow(await this.runtime(flags), flags);
  },
});
