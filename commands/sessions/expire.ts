import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { sessionExpiryFlags } from '../../src/cli/revocation/revocation-flags.ts';
import type { SessionExpiryJson } from '../../src/cli/sessions.ts';
import type { Result } from '../../src/reports/result.ts';

export default class SessionsExpire extends TokenctlCommand {
  static override summary = 'End browser sessions';

  static override description =
    `Needs a database context. The plan is shown first; confirm by typing the number of sessions. The users have to \
log in again. Their tokens stay valid.

With --json, prints what docs/schemas/sessions-expire.json describes.

Exit code 5: some sessions are left, or may be, or users have logged in again. Exit code 130: interrupted.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --reason "laptop stolen"',
    '<%= config.bin %> <%= command.id %> --all --dry-run',
  ];

  static override flags = sessionExpiryFlags;

  async run(): Promise<Result<SessionExpiryJson>> {
    const { flags } = await this.input(SessionsExpire);
    const { requireSessions, sessionExpiryFlow } = await import('../../src/cli/sessions.ts');
    requireSessions(flags);
    const confirmation = await this.confirmation(flags);
    return await this.inContexts(flags, confirmation, (member) => sessionExpiryFlow({ ...member, flags }));
  }
}
