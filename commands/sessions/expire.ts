import { boolean, string } from '@oclif/core/flags';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Ends sessions. */
export default class SessionsExpire extends TokenctlCommand {
  static override summary =
    'End the sessions of browsers, of some users or of all: plan, confirm, end, verify.';

  static override description =
    `It takes a context of a database. What is to end is shown first, and confirmed by typing the number of sessions. \
Whoever is logged in has to log in again; tokens stay as they are.

With --json it prints the report: planned, ended, stillAlive, begunSince (new logins), verified, interrupted, stopped, run, seconds. With \
--dry-run, or where there is nothing to end: dryRun and plan (selection, sessions, byUser).

Exits with 5 where some are left, with 130 after an interruption.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> --user alice --reason "laptop stolen"',
    '<%= config.bin %> <%= command.id %> --all --dry-run',
  ];

  static override flags = {
    user: string({
      multiple: true,
      multipleNonGreedy: true,
      helpGroup: 'SELECTION',
      summary: 'Sessions of this user.',
      helpValue: 'NAME',
      exclusive: ['all'],
    }),
    all: boolean({ summary: 'Every session.', helpGroup: 'SELECTION' }),
    ...changeFlags,
    ...allContextsFlag,
  };

  async run(): Promise<Result> {
    const { flags } = await this.input(SessionsExpire);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { requireSessions, sessionExpiryFlow } = await import('../../src/cli/sessions.ts');
    requireSessions(flags);
    const confirmation = consentFrom(flags);
    return await this.inContexts(flags, confirmation, (member) => sessionExpiryFlow({ ...member, flags }));
  }
}
