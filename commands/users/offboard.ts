import { string } from '@oclif/core/args';
import { TokenctlCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags, localFlags } from '../../src/cli/flags.ts';
import type { OffboardingJson } from '../../src/cli/incident/offboarding-flow.ts';
import type { Result } from '../../src/reports/result.ts';

/** Ends all access of a user. */
export default class UsersOffboard extends TokenctlCommand {
  static override summary = 'Offboard a user';

  static override description =
    `Ends all access of a user: deactivates the account if your account may do so, revokes access tokens, and ends \
sessions. Over a database connection it revokes refresh tokens and deletes authorization codes as well. Then it \
reads again which ways in are closed, and says which ones this context cannot check. It shows what the user has \
first; confirm by typing the user's name. It refuses to offboard the user that it logs in as. Running it again \
is safe.

A controller does not deactivate users over its REST API: there, --reset-password, --strip-roles and \
--end-applications end the access of a local user. What stays possible is listed.

With --json, prints what docs/schemas/users-offboard.json describes.

Exit code 5: some access is left, or was not checked. Exit code 130: interrupted.`;

  static override examples = [
    '<%= config.bin %> <%= command.id %> alice --dry-run',
    '<%= config.bin %> <%= command.id %> alice --reason "left the company" --ticket HR-112',
  ];

  static override args = {
    user: string({ description: 'The name of the user.', required: true, ignoreStdin: true }),
  };

  static override flags = { ...localFlags, ...changeFlags, ...allContextsFlag };

  async run(): Promise<Result<OffboardingJson>> {
    const { args, flags } = await this.input(UsersOffboard);
    const { offboardingFlow } = await import('../../src/cli/incident/offboarding-flow.ts');
    const confirmation = await this.confirmation(flags);
    const users = [args.user];
    return await this.inContexts(flags, confirmation, (member) =>
      offboardingFlow({ ...member, users, flags }),
    );
  }
}
