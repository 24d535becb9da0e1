import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag } from '../../src/cli/flags.ts';
import type { SessionJson } from '../../src/cli/sessions.ts';
import type { Result } from '../../src/reports/result.ts';

export default class SessionsList extends TokenctlCommand {
  static override summary = 'List browser sessions';

  static override description =
    `Needs a database context: the REST API does not list sessions. Expired sessions are not listed, and session data \
is not decoded.

With --json, prints what docs/schemas/sessions-list.json describes.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --user alice --json',
  ];

  static override flags = {
    user: string({
      multiple: true,
      multipleNonGreedy: true,
      helpGroup: 'SELECTION',
      summary: 'Select the sessions of this user.',
      helpValue: 'NAME',
    }),
    ...csvFlag,
    ...allContextsFlag,
  };

  async run(): Promise<Result<readonly SessionJson[]>> {
    const { flags } = await this.input(SessionsList);
    const { listSessions } = await import('../../src/operations/sessions/sessions.ts');
    const { sessionListing } = await import('../../src/cli/sessions.ts');
    const { notingLimit } = await import('../../src/cli/output/streams.ts');
    const { user: users } = flags;
    return await this.inContexts(flags, null, async ({ runtime }) => {
      const target = await runtime.target();
      return sessionListing(notingLimit(runtime, listSessions({ target, users })));
    });
  }
}
