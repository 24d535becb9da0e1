import { defineCommand } from '../src/cli/base-command.ts';
import { accountFlags, changeFlags } from '../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Revoke the token of a context and delete its file',
  description: `Revokes the token that login stored for the context, and those of earlier logins that are \
left, on the controller, and then deletes the file. If the token may still be valid, the file stays, and the \
message names the id. The context stays in the configuration.`,
  examples: ['', '--context production', '--dry-run'],
  flags: { 'dry-run': changeFlags['dry-run'], ...accountFlags },
  async run({ flags }) {
    const { logoutFlow } = await import('../src/cli/contexts/logout-flow.ts');
    return await logoutFlow(await this.runtime(flags), flags);
  },
});
