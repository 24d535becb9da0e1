import { string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, csvFlag } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Lists sessions. */
export default class SessionsList extends TokenctlCommand {
  static override summary = 'List the sessions of browsers: whose, since when, until when.';

  static override description =
    `It takes a context of a database: a controller's REST API does not show them. What is listed has not expired; no \
session is decoded.

With --json it prints one array, one session a line, as they come: user (id, username; null where nothing says whose \
it is), created (null where that is not known), expires, fingerprint. An array that is not closed was cut short; the \
error is on stderr then.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --user alice --json',
  ];

  static override flags = {
    user: string({
      multiple: true,
      multipleNonGreedy: true,
      helpGroup: 'SELECTION',
      summary: 'Sessions of this user.',
      helpValue: 'NAME',
    }),
    ...csvFlag,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(SessionsList);
    const { listSessions } = await import('../../src/operations/sessions/sessions.ts');
    const { sessionListing } = await import('../../src/cli/sessions.ts');
    const { user: users } = flags;
    return await this.inContexts(flags, null, async ({ runtime }) =>
      sessionListing(listSessions({ target: await runtime.target(), ...(users !== undefined && { users }) })),
    );
  }
}
