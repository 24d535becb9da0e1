import { string } from '@oclif/core/flags';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'List browser sessions',
  description: `Requires a database context because the REST API does not list sessions. Expired sessions \
are not listed, and session data is not decoded.`,
  examples: ['', '--user alice --json'],
  flags: {
    user: string({
      multiple: true,
      multipleNonGreedy: true,
      helpGroup: 'SELECTION',
      summary: 'Select the sessions of this user.',
      helpValue: 'NAME',
    }),
    ...csvFlag,
    ...allContextsFlag,
  },
  async run({ flags }) {
    const { unreadSessions } = await import('../../src/operations/access/cached-sessions.ts');
    const { listSessions } = await import('../../src/operations/sessions/sessions.ts');
    const { sessionListing } = await import('../../src/cli/sessions/session-flow.ts');
    const { notingLimit } = await import('../../src/cli/output/streams.ts');
    const { user: users } = flags;
    return await this.inContexts(flags, async ({ runtime }) => {
      const { target, description } = await runtime.readTarget();
      const rows = notingLimit(runtime, listSessions({ target, users }));
      return sessionListing(rows, unreadSessions(description));
    });
  },
});
