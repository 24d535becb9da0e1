import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags } from '../../src/cli/flags.ts';
import type { Result } from '../../src/reports/tables/result.ts';

/** Ends the access of a user. */
export default class UsersOffboard extends TokenctlCommand {
  static override summary =
    'End the access of a user who leaves: deactivate, revoke, end sessions, look again.';

  static override description =
    `Shows first what the user has, and is confirmed by typing the name. Deactivates the user where this account may, \
revokes refresh tokens (in a database) and access tokens, ends sessions (in a database), and reads again until nothing of \
theirs is there. Running it again is harmless. Whoever signs in here is refused.

With --json it prints users, result (done or partly), steps (step, result, message), accessPaths (path, state, how), \
staysActive, staysAlive (what, count, why, remedy), interrupted, stopped, run. With --dry-run, or where nothing is left: \
dryRun and plan.

Exits with 5 where something is left, with 130 after an interruption.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> alice --dry-run',
    '<%= config.bin %> <%= command.id %> alice --reason "left the company" --ticket HR-112',
  ];

  static override args = {
    user: string({ description: "The user's name.", required: true, ignoreStdin: true }),
  };

  static override flags = { ...changeFlags, ...allContextsFlag };

  async run(): Promise<Result> {
    const { args, flags } = await this.input(UsersOffboard);
    const { confirmationFrom: consentFrom } = await import('../../src/cli/confirmation.ts');
    const { offboardingFlow } = await import('../../src/cli/incident/offboarding-flow.ts');
    const confirmation = consentFrom(flags);
    const users = [args.user];
    return await this.inContexts(flags, confirmation, (member) =>
      offboardingFlow({ ...member, users, flags }),
    );
  }
}
