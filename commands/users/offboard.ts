import { string } from '@oclif/core/args';
import { defineCommand } from '../../src/cli/base-command.ts';
import { allContextsFlag, changeFlags, goneFlag, localFlags } from '../../src/cli/flags/flags.ts';

export default defineCommand({
  summary: 'Offboard a user or all departed users',
  description: `Ends all access of a user: deactivates the account if you have permission, revokes access \
tokens, and ends sessions. Over a database connection, it also revokes refresh tokens and deletes \
authorization codes. It then checks which access paths are closed, and lists those that this context cannot \
check. The plan comes first. To confirm, type the user name. It refuses to offboard the user that it is \
logged in as. Running it again is safe.

Controllers cannot deactivate users over the REST API. There, use --reset-password, --strip-roles and \
--end-applications to end a local user's access. Access that stays possible is listed.

With --gone, a configured directory determines who has left: users that it lists as disabled, and users \
with an account from it that it no longer lists. The plan shows the evidence for each user. Users that \
match several entries, no entry, or an entry by email address only are listed but not acted on. Local \
users, your own account, the last superusers and exceptions are skipped. If the directory's answer is \
empty, incomplete or suddenly smaller, the command stops before it changes anything.`,
  exitCodes: 'Exit code 5: some access remains or was not checked. Exit code 130: interrupted.',
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
      throw new TokenctlError('usage', 'Specify either a user or --gone with the name of a directory');
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
