import { defineCommand } from '../../src/cli/base-command.ts';
import { sessionExpiryFlags } from '../../src/cli/revocation/revocation-flags.ts';

export default defineCommand({
  summary: 'End browser sessions',
  description: `Requires a database context. The plan comes first. To confirm, type the number of sessions. \
Users have to log in again. Their tokens stay valid.`,
  exitCodes:
    'Exit code 5: some sessions remain or may remain, or users have logged in again. Exit code 130: interrupted.',
  examples: ['--user alice --reason "laptop stolen"', '--all --dry-run'],
  flags: sessionExpiryFlags,
  async run({ flags }) {
    const { requireSessions, sessionExpiryFlow } = await import('../../src/cli/sessions/session-flow.ts');
    requireSessions(flags);
    return await this.changeInContexts(flags, (member) => sessionExpiryFlow({ ...member, flags }));
  },
});
