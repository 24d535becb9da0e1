import { string } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags, goneFlag, localFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Offboard a user, or all departed users of a directory',
  description: `Ends all access of a user: deactivates the account if your account may do so, revokes access \
tokens, and ends sessions. Over a database connection it revokes refresh tokens and deletes authorization \
codes as well. Then it reads again which ways in are closed, and says which ones this context cannot check. \
First it shows what the user has; to confirm, type the user's name. It refuses to offboard the user that it \
logs in as. Running it again is safe.

A controller does not deactivate users over its REST API: there, --reset-password, --strip-roles and \
--end-applications end the access of a local user. What stays possible is listed.

With --gone, a directory of the configuration says who has left: users whom it lists as disabled, and users \
with an account of it that it does not list. The plan names the evidence for each. Who matches several \
users, no one, or by mail address only is listed and stays. Local users, the caller, the last superusers and \
exceptions stay. An empty, incomplete or suddenly smaller answer ends it before anything is done.`,
  exitCodes: 'Exit code 5: some access is left, or was not checked. Exit code 130: interrupted.',
  examples: [
    'alice --dry-run',
    'alice --reason "left the company" --ticket HR-112',
    '--gone staff --dry-run',
  ],
  args: { user: string({ description: 'The name of the user.', required: false, ignoreStdin: true }) },
  flags: { ...goneFlag, ...localFlags, ...changeFlags, ...allContextsFlag },
  async run({ args, flags }) {
    const { offboardingFlow } = await import('../../src/cli/incident/offboarding-flow.ts');
    const { gone } = flags;
    if ((args.user === undefined) === (gone === undefined)) {
      const { TokenctlError } = await import('@tokenctl/common/errors.ts');
      throw new TokenctlError('usage', 'Give either a user or --gone with the name of a directory');
    }
    if (args.user !== undefined) {
      const users = [args.user];
      return await this.changeInContexts(flags, (member) => offboardingFlow({ ...member, users, flags }));
    }
    const { goneUsersFlow } = await import('../../src/cli/incident/gone-users-flow.ts');
    return await this.changeInContexts(flags, (member) =>
      goneUsersFlow({ ...member, directory: gone ?? '', flags }),
    );
  },
});
